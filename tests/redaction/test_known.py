"""The table of known secrets and of texts without one, tested on every surface that redacts."""

from __future__ import annotations

import json
import random
import re
import string
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.grouped import Case, grouped
from toolstream_core.redact import redacted
from toolstream_core.redaction import Redaction, redacted_body, redacted_fields, redacted_path, redacted_text
from toolstream_core.redaction.headers import is_secret_header

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHABETS = {
    "w": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "./",
    "B": string.ascii_letters + string.digits + "/+",
    "U": string.ascii_uppercase + "234567",
}


class Sample(NamedTuple):
    """A text, its secrets, and the rest of the text."""

    kind: str
    surface: str
    """`text`, `header` or `parameter`. The last two are secret because of their name."""
    text: str
    secrets: list[str]
    rest: list[str]

    def __str__(self) -> str:
        """The kind and the beginning of the text, for the name of a test."""
        return f"{self.kind}-{self.text[:24]!a}"


def expanded(text: str, seed: int) -> str:
    """Replaces `{w24}` by 24 random letters and digits, since no file may contain text that looks like a key."""
    source = random.Random(seed)

    def random_value(found: re.Match[str]) -> str:
        if found[1] == "u":
            digits = "".join(source.choices(ALPHABETS["h"], k=32))
            return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        return "".join(source.choices(ALPHABETS[found[1]], k=int(found[2])))

    return re.sub(r"\{([whdbBUu])(\d*)\}", random_value, text)


def samples() -> list[Sample]:
    """All samples of the table. `⟦…⟧` encloses a secret."""
    lines = (Path(__file__).parent / "known.jsonl").read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines):
        entry = json.loads(line)
        text = expanded(entry["text"], number)
        secrets = re.findall("⟦(.*?)⟧", text, re.DOTALL)
        rest = re.split("⟦.*?⟧", text, flags=re.DOTALL)
        found.append(Sample(entry["kind"], entry.get("surface", "text"), re.sub("[⟦⟧]", "", text), secrets, rest))
    return found


ALL = samples()
TEXTS, HEADERS, PARAMETERS = (
    [sample for sample in ALL if sample.surface == one] for one in ("text", "header", "parameter")
)


def body_of(document: Any) -> str:
    """A redacted JSON body."""
    return redacted_body(json.dumps(document, ensure_ascii=False).encode()).decode()


def stream_of(*documents: Any) -> str:
    """Redacted server-sent events."""
    events = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in documents)
    return redacted_body(events.encode()).decode()


def chat(text: str) -> dict[str, Any]:
    """A delta of Chat Completions."""
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


def responses(text: str) -> dict[str, Any]:
    """A delta of Responses."""
    return {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": text}


def anthropic(text: str) -> dict[str, Any]:
    """A delta of Messages."""
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}


def gemini(text: str) -> dict[str, Any]:
    """A chunk of Gemini."""
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}]}


def escaped(text: str) -> str:
    """The text as it is escaped in a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def stream_of_text(delta: Callable[[str], Any], text: str) -> str:
    """A redacted stream with one delta."""
    return stream_of(delta(text))


DELTAS = [chat, responses, anthropic, gemini]
SURFACES: dict[str, Callable[[str], str]] = {
    "log": redacted,
    "log of JSON": lambda text: redacted(json.dumps({"args": text}, ensure_ascii=False)),
    "text": lambda text: redacted_text(text, Redaction()),
    "request": lambda text: body_of({"messages": [{"role": "user", "content": text}]}),
    **{f"stream of {delta.__name__}": partial(stream_of_text, delta) for delta in DELTAS},
}


@grouped(Case(surface, (sample, surface)) for surface in SURFACES for sample in TEXTS)
def test_every_surface_hides_only_the_secrets(sample: Sample, surface: str) -> None:
    """The text around a secret stays."""
    out = SURFACES[surface](sample.text)
    written = (lambda text: text) if surface in {"log", "text"} else escaped
    assert not [secret for secret in sample.secrets if secret in out or escaped(secret) in out]
    assert not [rest for rest in sample.rest if written(rest) not in out]


@grouped(Case(delta.__name__, (sample, delta)) for delta in DELTAS for sample in TEXTS if sample.kind != "none")
def test_a_secret_split_over_deltas_is_hidden(sample: Sample, delta: Callable[[str], dict[str, Any]]) -> None:
    """The joined deltas have no secret, and the text around it stays."""
    size = 5
    parts = [sample.text[at : at + size] for at in range(0, len(sample.text), size)]
    clean = stream_of(*map(delta, parts))
    events = [json.loads(line.removeprefix("data: ")) for line in clean.split("\n\n") if line]
    joined = "".join(_text(event) for event in events)
    assert not [secret for secret in sample.secrets if secret in joined]
    assert not [rest for rest in sample.rest if rest not in joined]


def _text(event: dict[str, Any]) -> str:
    if "choices" in event:
        return str(event["choices"][0]["delta"]["content"])
    if "candidates" in event:
        return str(event["candidates"][0]["content"]["parts"][0]["text"])
    return str(event["delta"] if isinstance(event["delta"], str) else event["delta"]["text"])


@pytest.mark.parametrize("sample", HEADERS, ids=str)
def test_headers_have_one_list_of_names(sample: Sample) -> None:
    """A header is secret with any case of its name."""
    name, _, value = sample.text.partition(": ")
    assert {is_secret_header(one) for one in (name, name.upper(), name.lower())} == {bool(sample.secrets)}
    [(_, kept)] = redacted_fields([(name.encode(), value.encode())], Redaction())
    assert not [secret for secret in sample.secrets if secret.encode() in kept]
    assert (kept == value.encode()) is not bool(sample.secrets)


@pytest.mark.parametrize("sample", PARAMETERS, ids=str)
def test_parameters_have_one_list_of_names(sample: Sample) -> None:
    """A parameter is hidden in the path of a capture and in a URL in the log."""
    path = f"/v1/a?x=1&{sample.text}&y=2"
    for out in (redacted_path(path, Redaction()), redacted(f"https://a.example{path}")):
        assert not [secret for secret in sample.secrets if secret in out]
        assert not [rest for rest in sample.rest if rest not in out]
