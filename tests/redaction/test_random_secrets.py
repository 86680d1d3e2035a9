"""Random secrets are injected into bodies, and none is left after redaction."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from toolstream_core.redaction import Redaction, redacted_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALNUM: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"
UPPER: Final = string.ascii_uppercase + "234567"
URLSAFE: Final = ALNUM + "-_"


def random_text(rng: random.Random, alphabet: str, size: int) -> str:
    """A random text that begins and ends with a letter or a digit."""
    middle = "".join(rng.choices(alphabet, k=size - 2))
    return rng.choice(alphabet.strip("-_+/")) + middle + rng.choice(alphabet.strip("-_+/"))


def token(rng: random.Random) -> str:
    """A JSON web token."""
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": random_text(rng, ALNUM, 12)}).encode()).decode().rstrip("=")
    return f"{head}.{body}.{random_text(rng, URLSAFE, 43)}"


def shaped(prefix: str, alphabet: str, size: int, end: str = "") -> Callable[[random.Random], str]:
    """Returns a function that makes a secret with its issuer's prefix."""
    return lambda rng: prefix + random_text(rng, alphabet, size) + end


SHAPED: Final[dict[str, Callable[[random.Random], str]]] = {
    "openai": shaped("sk" + "-", ALNUM, 48),
    "openai-project": shaped("sk-" + "proj-", URLSAFE, 120),
    "openai-service": shaped("sk-" + "svcacct-", URLSAFE, 60),
    "openai-admin": shaped("sk-" + "admin-", URLSAFE, 60),
    "anthropic": shaped("sk-" + "ant-api03-", URLSAFE, 93, "AA"),
    "anthropic-admin": shaped("sk-" + "ant-admin01-", URLSAFE, 93, "AA"),
    "anthropic-oauth": shaped("sk-" + "ant-oat01-", URLSAFE, 80),
    "openrouter": shaped("sk-" + "or-v1-", HEX, 64),
    "deepseek": shaped("sk" + "-", HEX, 32),
    "google": shaped("AI" + "za", URLSAFE, 35),
    "google-oauth": shaped("ya" + "29.", URLSAFE, 100),
    "groq": shaped("gs" + "k_", ALNUM, 52),
    "xai": shaped("xa" + "i-", ALNUM, 80),
    "huggingface": shaped("h" + "f_", ALNUM, 34),
    "replicate": shaped("r" + "8_", ALNUM, 37),
    "perplexity": shaped("pp" + "lx-", ALNUM, 48),
    "fireworks": shaped("f" + "w_", ALNUM, 24),
    "together": shaped("tg" + "p_v1_", URLSAFE, 43),
    "nvidia": shaped("nv" + "api-", URLSAFE, 64),
    "aws-id": shaped("AK" + "IA", UPPER, 16),
    "aws-temporary": shaped("AS" + "IA", UPPER, 16),
    "bedrock": shaped("AB" + "SK", ALNUM, 120, "=="),
    "github": shaped("gh" + "p_", ALNUM, 36),
    "github-oauth": shaped("gh" + "o_", ALNUM, 36),
    "github-app": shaped("gh" + "s_", ALNUM, 36),
    "github-fine": lambda rng: "github" + f"_pat_{random_text(rng, ALNUM, 22)}_{random_text(rng, ALNUM, 59)}",
    "gitlab": shaped("gl" + "pat-", URLSAFE, 20),
    "slack-bot": lambda rng: "xo" + f"xb-{rng.randrange(10**12)}-{rng.randrange(10**12)}-{random_text(rng, ALNUM, 24)}",
    "slack-app": lambda rng: (
        "xa" + f"pp-1-{random_text(rng, UPPER, 11)}-{rng.randrange(10**13)}-{random_text(rng, HEX, 64)}"
    ),
    "stripe": shaped("sk" + "_live_", ALNUM, 24),
    "twilio": shaped("S" + "K", HEX, 32),
    "sendgrid": lambda rng: f"SG.{random_text(rng, URLSAFE, 22)}.{random_text(rng, URLSAFE, 43)}",
    "npm": shaped("np" + "m_", ALNUM, 36),
    "pypi": shaped("py" + "pi-AgEIcHlwaS5vcmc", URLSAFE, 70),
    "databricks": shaped("da" + "pi", HEX, 32),
    "vault": shaped("hv" + "s.", URLSAFE, 90),
    "organization": shaped("or" + "g-", ALNUM, 24),
    "project": shaped("pr" + "oj_", ALNUM, 24),
    "user": shaped("us" + "er-", ALNUM, 24),
    "token": token,
}
"""Kinds that are found in any text."""

NAMED: Final[dict[str, Callable[[random.Random], str]]] = {
    "mistral": lambda rng: random_text(rng, ALNUM, 32),
    "azure": lambda rng: random_text(rng, HEX, 32),
    "uuid": lambda rng: "-".join(random_text(rng, HEX, size) for size in (8, 4, 4, 4, 12)),
    "aws-secret": lambda rng: random_text(rng, ALNUM + "+/", 40),
    "short": lambda rng: random_text(rng, ALNUM, 6) + str(rng.randrange(10, 99)),
}
"""Kinds that are found only by a name next to them."""
NAMES: Final = (
    "api_key", "apiKey", "API_KEY", "x-api-key", "OPENAI_API_KEY", "access_token", "refresh_token", "id_token",
    "client_secret", "password", "passwd", "secret", "authorization", "session_token", "AWS_SECRET_ACCESS_KEY", "auth",
)  # fmt: skip
FREE: Final = (
    "{}",
    "the key is {}, use it",
    'curl -H "Authorization: Bearer {}" https://api.example.com/v1',
    "export OPENAI_API_KEY={}",
    "https://api.example.com/v1/x?key={}&alt=sse",
    "https://me:{}@git.example.com/a.git",
    "see\n{}\n",
    "Incorrect API key provided: {}.",
    "x\t{}\u2028é",
)
WITH_A_NAME: Final = (
    '{{"{name}": "{}"}}',
    '{{"{name}":"{}","city":"Bern"}}',
    "export {name}={}",
    'curl -H "{name}: {}"',
    "https://x.example/?{name}={}&b=c",
    "{name}='{}'",
    "grant_type=x&{name}={}",
)


def texts(rng: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Texts, and the secret in each."""
    for number in range(count):
        if number % 4:
            secret = SHAPED[list(SHAPED)[number % len(SHAPED)]](rng)
            yield rng.choice(FREE).format(secret), secret
        else:
            secret = NAMED[rng.choice(list(NAMED))](rng)
            yield rng.choice(WITH_A_NAME).format(secret, name=rng.choice(NAMES)), secret


def split(rng: random.Random, text: str) -> list[str]:
    """A text cut into one, a few, or as many fragments as characters."""
    cuts = rng.choice([0, 1, 2, 5, len(text) // 4, len(text) - 1])
    places = sorted(rng.sample(range(1, len(text)), min(cuts, len(text) - 1)))
    return [text[low:high] for low, high in zip([0, *places], [*places, len(text)], strict=True)]


def escaped(rng: random.Random, text: str) -> str:
    """A JSON string, some of whose characters are escaped unnecessarily."""
    plain = json.dumps(text, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.4:
        plain = re.sub(r"(?<!\\)[-_.]", lambda found: f"\\u{ord(found[0]):04x}", plain)
    return plain.replace("/", "\\/") if rng.random() < 0.3 else plain


def chat(index: int, fragment: str) -> str:
    """A delta of a call's arguments."""
    return (
        '{"id":"chatcmpl-9Zs1aQ","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":'
        f'{index},"function":{{"arguments":{fragment}}}}}]}},"finish_reason":null}}]}}'
    )


def responses(index: int, fragment: str) -> str:
    """A delta of a call's arguments, with the index after it."""
    return f'{{"type":"response.function_call_arguments.delta","delta":{fragment},"output_index":{index}}}'


def messages(index: int, fragment: str) -> str:
    """A delta of a block."""
    delta = f'{{"type":"input_json_delta","partial_json":{fragment}}}'
    return f'{{"type":"content_block_delta","index":{index},"delta":{delta}}}'


def ollama(index: int, fragment: str) -> str:
    """A line of text or of thinking."""
    return (
        f'{{"model":"m","message":{{"role":"assistant","{("content", "thinking")[index]}":{fragment}}},"done":false}}'
    )


def framed(rng: random.Random, events: list[str]) -> bytes:
    """Events as SSE, lines or an array."""
    kind = rng.randrange(3)
    if kind == 0:
        text = "".join(f"data: {event}\n\n" for event in events) + "data: [DONE]\n\n"
    elif kind == 1:
        text = "".join(event + "\n" for event in events)
    else:
        text = "[" + ",\r\n".join(events) + "]"
    return text.encode()


def injected(rng: random.Random, text: str, other: str) -> bytes:
    """A body with `text` in deltas of a call, perhaps as a string in JSON, among deltas with `other`."""
    for _ in range(rng.randrange(3)):
        text = json.dumps({"command": text})
    event = rng.choice([chat, responses, messages, ollama])
    first, second = split(rng, text), split(rng, other)
    events = []
    for at in range(max(len(first), len(second))):
        events += [event(0, escaped(rng, part)) for part in first[at : at + 1]]
        events += [event(1, escaped(rng, part)) for part in second[at : at + 1]]
    return framed(rng, events)


def fragment_of(event: Any) -> tuple[int, str]:
    """The index of an event's call, and the fragment."""
    if "choices" in event:
        [call] = event["choices"][0]["delta"]["tool_calls"]
        return call["index"], call["function"]["arguments"]
    if "message" in event:
        kind = ("content", "thinking")["thinking" in event["message"]]
        return int(kind == "thinking"), event["message"][kind]
    if "output_index" in event:
        return event["output_index"], event["delta"]
    return event["index"], event["delta"]["partial_json"]


def readable(body: bytes) -> str:
    """The body, and the joined deltas of each call, also with their escapes undone several times."""
    plain = body.decode()
    events = [json.loads(line.rstrip("],\r")) for line in re.findall(r"(?m)^(?:data: |\[)?(\{.*)$", plain)]
    fragments = [fragment_of(event) for event in events]
    everything = [plain, *("".join(fragment for at, fragment in fragments if at == index) for index in (0, 1))]
    for text in everything[1:3]:
        everything.append(text)
        for _ in range(4):
            plain = re.sub(r"\\u00([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), everything[-1])
            everything.append(plain.replace("\\", ""))
    return "\n".join(everything)


@pytest.mark.parametrize("seed", range(5))
def test_no_secret_is_left_in_a_stream(seed: int) -> None:
    """In deltas of two calls, in every framing, with escapes, and in JSON in strings."""
    rng = random.Random(seed)
    left = []
    for text, secret in texts(rng, 220):
        body = injected(rng, text, "the weather in Bern is fine today, and so on")
        assert secret in readable(body)
        clean = redacted_body(body)
        assert len(clean) == len(body)
        if secret in readable(clean):
            left.append((text, body))
    assert left == []


@pytest.mark.parametrize("seed", range(2))
def test_no_secret_is_left_in_other_bodies(seed: int) -> None:
    """In JSON, comments and plain text."""
    rng = random.Random(seed)
    for text, secret in texts(rng, 200):
        for body in (json.dumps({"messages": [{"role": "user", "content": text}]}), f": {text}\n\n", text):
            clean = redacted_body(body.encode())
            assert len(clean) == len(body.encode())
            assert secret not in clean.decode(), body


def test_a_secret_of_the_request_is_found_in_every_form() -> None:
    """In plain text, in a URL, in base64 and in JSON."""
    rng = random.Random(1)
    for _ in range(50):
        secret = random_text(rng, ALNUM + "+/ ", 16)
        coded = base64.b64encode(f"user:{secret}".encode()).decode()
        body = json.dumps({"error": f"no {secret}, no {quote(secret, safe='')}, no {coded}"}).encode()
        clean = redacted_body(body, Redaction(), (secret,))
        assert secret.encode() not in clean
        assert quote(secret, safe="").encode() not in clean
        assert coded[-12:].encode() not in clean
