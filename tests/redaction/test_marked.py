"""Secrets that are found by a mark next to them: in commands, markup, tables, URLs and published key formats."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus

import pytest

from toolstream_core.redaction import redacted_body

if TYPE_CHECKING:
    from collections.abc import Callable

ALNUM: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"
SPOTS: Final = (
    # Commands.
    "docker login -u bob -p {} registry.example.com",
    "mysql -u root -p{} shop",
    "sshpass -p '{}' ssh root@host",
    "redis-cli -h host -a {} ping",
    "ldapsearch -D cn=admin -w {} -b dc=x",
    "echo {} | gh auth login --with-token",
    "curl -b 'session={}' https://x.example",
    "curl -H 'Cookie: theme=dark; connect.sid=s%3A{}' https://x.example",
    # Configuration.
    "requirepass {}",
    "AUTH default {}",
    "bindpw {}",
    "CREATE USER bob IDENTIFIED BY '{}';",
    "env:\n  - name: DB_PASSWORD\n    value: {}\n",
    'env:\n  - name: "API_TOKEN"\n    value: "{}"\n',
    'password = """{}"""',
    "client-key-data: {}",
    "PGPASSWORD={} psql",
    "SECRET_KEY_BASE={}",
    'network={{ psk="{}" }}',
    "db.host:5432:shop:app:{}",
    "jdbc:oracle:thin:scott/{}@//db:1521/orcl",
    "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{}\nPrivate-MAC: x",
    # Markup.
    '<input type="hidden" name="csrf_token" value="{}">',
    '<meta name="csrf-token" content="{}">',
    '<input type="password" name="pw" value="{}">',
    '<add key="ApiKey" value="{}"/>',
    "<key>apiKey</key>\n  <string>{}</string>",
    "| password | {} |",
    "**Password:** {}",
    "- **API key**: `{}`",
    # Source.
    "api_key: str = '{}'",
    'let api_key: &str = "{}";',
    'password = "a\\"{}"',
    # URLs, headers, forms.
    "amqp://guest:ab/{}@mq/vhost",
    "https://f.example.net/api/x?code={}",
    "https://x.example.com/a;jsessionid={}?x=1",
    "https://x.example.com/?PHPSESSID={}",
    "client_assertion={}&x=1",
    "code_verifier={}",
    "SAMLResponse={}",
    '{{"device_code": "{}"}}',
    '{{"tenantId": "{}"}}',
    '{{"bearer": "{}"}}',
    '{{"otp": "{}"}}',
    '{{"recovery_code": "{}"}}',
    "$2b$12${}{}",
    "bob:$apr1$abcdefgh${}",
)
WITH_HEX: Final = (
    'Digest username="bob", realm="x", response="{}"',
    "AWS4-HMAC-SHA256 Credential=x/20260101/eu/bedrock/aws4_request, SignedHeaders=host, Signature={}{}",
    "/subscriptions/{}/resourceGroups/x",
)
SHAPED: Final[tuple[tuple[str, str, *tuple[str | int, ...]], ...]] = (
    ("ek" + "_", HEX, 32),
    ("vc" + "p_", ALNUM, 56),
    ("vercel" + "_blob_rw_", ALNUM, 16, "_", 30),
    ("dckr" + "_pat_", ALNUM, 27),
    ("re" + "_", ALNUM, 8, "_", 24),
    ("fig" + "d_", ALNUM, 40),
    ("sq" + "u_", HEX, 40),
    ("tskey" + "-auth-", ALNUM, 12, "CNTRL-", 32),
    ("nap" + "i_", HEX, 64),
    ("sb_" + "secret_", ALNUM, 31),
    ("ph" + "x_", ALNUM, 43),
    ("bk" + "ua_", HEX, 40),
    ("rn" + "d_", ALNUM, 32),
    ("nf" + "p_", ALNUM, 36),
    ("bb_" + "live_", ALNUM, 27),
    ("signkey-" + "prod-", HEX, 64),
    ("sk" + "_", HEX, 48),
    ("", HEX, 32, ".", 16),
    ("", HEX, 32, "-us", 14),
    ("AT" + "BB", ALNUM, 32),
    ("AQ." + "Ab8RN6", ALNUM, 44),
    ("4/" + "0A", ALNUM, 68),
    ("N", ALNUM, 24, "A.", 6, ".", 38),
    ("CCIPAT" + "_", HEX, 22, "_", 40),
    ("unkey" + "_", ALNUM, 22),
    ("AK" + "ID", ALNUM, 32),
    ("sdk" + "-", HEX, 8, "-4f2a-", 4, "-9c1d-", 12),
    ("discord.com/api/webhooks/123456789012345678/", ALNUM, 68),
)
"""Prefix, alphabet, and then lengths of random parts and the texts between them."""
HARMLESS: Final = (
    "docker run -p 5432:5432 postgres",
    "ssh -p 2222 host",
    "mkdir -p src/components",
    "the AUTH header, the AUTH middleware and auth2 come next",
    "please login first, then -p is a flag of no use",
    "def f(password: str = None, key: str | None = None) -> None",
    "| password | string | required |",
    "**Token:** the smallest unit",
    "name: main\nvalue: 12",
    '<input name="city" value="Oslo-Sentrum-2026">',
    '<option key="1" value="a-long-value-of-nothing-1">',
    "?code=ENOENT&state=open",
    "cookie: chocolate chip",
    "100%25 of all, %d of %s",
    "https://host.example:8080/path@v1.2.3/x",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZI\n",
    "as-is, api-version, re_compile_pattern, vc_redist, sk_learn",
    "$1 and $2b, $6 each",
    "an otp is sent",
    "signature=(a: int)",
    "<key>CFBundleName</key><string>Some12Name34Long</string>",
    "the hash d41d8cd98f00b204e9800998ecf8427e.json",
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "hmac=sha256",
    "PIN header J4",
    "user-agent: curl/8.0, docker run -u 1000:1000 image",
    "x\\ncache-key: node-modules-v1",
)


def in_deltas(text: str) -> str:
    """A stream with a delta for each character."""
    return "".join(f'data: {{"choices":[{{"delta":{{"content":{json.dumps(one)}}}}}]}}\n\n' for one in text)


FORMS: Final[dict[str, Callable[[str], str]]] = {
    "in text": lambda text: json.dumps({"content": text}),
    "in deltas": in_deltas,
    "in arguments": lambda text: json.dumps({"arguments": json.dumps({"command": text})}),
    "in a query": lambda text: f"https://x.example/?note={quote_plus(text)}&b=1",
    "in a query within arguments": lambda text: json.dumps(
        {"arguments": json.dumps({"url": "x?a=%20&y=" + quote_plus(text)})}
    ),
}


def left(body: str, text: str, secret: str, form: str) -> str:
    """The secret, if eight of its characters are left in the redacted body."""
    clean = redacted_body(body.encode()).decode()
    assert len(clean) == len(body)
    if form == "in deltas":
        clean = "".join(json.loads(line[6:])["choices"][0]["delta"]["content"] for line in clean.splitlines() if line)
    return secret if any(secret[at : at + 8] in clean for at in range(len(secret) - 7)) else ""


def secrets() -> list[tuple[str, str]]:
    """Texts, and the secret of each."""
    rng = random.Random(5)
    filled = [(text, "".join(rng.choices(ALNUM, k=22)) + "7aB") for text in SPOTS]
    filled += [(text, "".join(rng.choices(HEX, k=30)) + "7a") for text in WITH_HEX]
    found = [(text.format(*[secret] * text.count("{}")), secret) for text, secret in filled]
    for prefix, alphabet, *rest in SHAPED:
        text, secret = prefix, ""
        for part in rest:
            if isinstance(part, str):
                text += part
            else:
                secret = "".join(rng.choices(alphabet, k=part - 2)) + "7a" if part > 6 else "Ab3dE6"[:part]
                text += secret
        found.append((text.replace("-us" + secret, "-us14") if "-us" in rest else text, secret))
    return found


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_left(form: str) -> None:
    """Each secret is overwritten in every form."""
    assert not [text for text, secret in secrets() if len(secret) > 7 and left(FORMS[form](text), text, secret, form)]


@pytest.mark.parametrize("form", FORMS)
def test_harmless_texts_stay(form: str) -> None:
    """They are unchanged byte for byte in every form."""
    changed = [text for text in HARMLESS if redacted_body(FORMS[form](text).encode()).decode() != FORMS[form](text)]
    assert not changed


def test_keys_in_separate_parts_of_a_response() -> None:
    """The end of a part and the beginning of the next are not joined to a word."""
    first, second = "AK" + "IA" + "QWERTZ23ABCDE234", "sk" + "-proj-" + "Ab3dEf6hIj9lMn2pQr5t"
    parts = [("done " + first, 0), ("Hello", 1), (second, 2)]
    body = "".join(
        f'data: {{"output_index":{index},"delta":{json.dumps(one)}}}\n\n' for text, index in parts for one in text
    )
    clean = redacted_body(body.encode()).decode()
    joined = "".join(json.loads(line[6:])["delta"] for line in clean.splitlines() if line)
    assert joined == "done " + "*" * len(first) + "Hello" + "*" * len(second)


def test_a_key_with_an_escape_between_other_texts() -> None:
    """The texts of fields with the same name are not joined to a word."""
    key = "sk" + "-proj-" + "Ab3dEf6hIj9lMn2pQr5t"
    body = json.dumps([{"text": "Hello"}, {"text": key}, {"text": "bye"}]).replace("proj", "pr\\u006fj").encode()
    assert [one["text"] for one in json.loads(redacted_body(body))] == ["Hello", "*" * len(key), "bye"]


def test_a_repeated_text_is_redacted_each_time() -> None:
    """A message that occurs three times is redacted three times."""
    body = json.dumps({"messages": [{"role": "user", "content": "export DB_PASSWORD=abc123XYZ987 ok"}] * 3})
    assert redacted_body(body.encode()).decode() == body.replace("abc123XYZ987", "*" * 12)
