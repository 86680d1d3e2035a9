"""The table of known secrets and of texts without one, held to every surface that redacts."""

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
from toolstream_core.redact import is_secret_header, redacted
from toolstream_core.redaction import Redaction, redacted_body, redacted_fields, redacted_path, redacted_text

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


class Defect(NamedTuple):
    """A text, its secrets, and what stands around them."""

    kind: str
    surface: str
    """`text` is any text; a `header` or a `parameter` is secret by its name."""
    text: str
    secrets: list[str]
    rest: list[str]

    def __str__(self) -> str:
        """The kind and the beginning, as a test's name."""
        return f"{self.kind}-{self.text[:24]!a}"


def expanded(text: str, seed: int) -> str:
    """`{w24}` becomes 24 random letters and digits: no file holds anything that looks like a key."""
    source = random.Random(seed)

    def drawn(found: re.Match[str]) -> str:
        if found[1] == "u":
            digits = "".join(source.choices(ALPHABETS["h"], k=32))
            return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
        return "".join(source.choices(ALPHABETS[found[1]], k=int(found[2])))

    return re.sub(r"\{([whdbBUu])(\d*)\}", drawn, text)


def rows() -> list[Defect]:
    """All rows; `⟦…⟧` encloses a secret."""
    lines = (Path(__file__).parent / "known.jsonl").read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines):
        entry = json.loads(line)
        text = expanded(entry["text"], number)
        secrets = re.findall("⟦(.*?)⟧", text, re.DOTALL)
        rest = re.split("⟦.*?⟧", text, flags=re.DOTALL)
        found.append(Defect(entry["kind"], entry.get("surface", "text"), re.sub("[⟦⟧]", "", text), secrets, rest))
    return found


ALL = rows()
DEFECTS, HEADERS, PARAMETERS = ([row for row in ALL if row.surface == one] for one in ("text", "header", "parameter"))


def body_of(document: Any) -> str:
    """As a client or provider sends it, redacted."""
    return redacted_body(json.dumps(document, ensure_ascii=False).encode()).decode()


def stream_of(*documents: Any) -> str:
    """Server-sent events, redacted."""
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


def quoted(text: str) -> str:
    """As it stands in a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def said(delta: Callable[[str], Any], text: str) -> str:
    """A stream of one delta, redacted."""
    return stream_of(delta(text))


DELTAS = [chat, responses, anthropic, gemini]
SURFACES: dict[str, Callable[[str], str]] = {
    "log": redacted,
    "log of JSON": lambda text: redacted(json.dumps({"args": text}, ensure_ascii=False)),
    "text": lambda text: redacted_text(text, Redaction()),
    "request": lambda text: body_of({"messages": [{"role": "user", "content": text}]}),
    **{f"stream of {delta.__name__}": partial(said, delta) for delta in DELTAS},
}


@grouped(Case(surface, (row, surface)) for surface in SURFACES for row in DEFECTS)
def test_every_surface_hides_the_secrets_alone(row: Defect, surface: str) -> None:
    """What is secret is gone; what stands around it stays."""
    out = SURFACES[surface](row.text)
    written = (lambda text: text) if surface in {"log", "text"} else quoted
    assert not [secret for secret in row.secrets if secret in out or quoted(secret) in out]
    assert not [rest for rest in row.rest if written(rest) not in out]


@grouped(Case(delta.__name__, (row, delta)) for delta in DELTAS for row in DEFECTS if row.kind != "none")
def test_a_secret_cut_into_deltas_is_hidden(row: Defect, delta: Callable[[str], dict[str, Any]]) -> None:
    """Joined, the deltas hold no secret, and what stands around it stays."""
    size = 5
    parts = [row.text[at : at + size] for at in range(0, len(row.text), size)]
    clean = stream_of(*map(delta, parts))
    events = [json.loads(line.removeprefix("data: ")) for line in clean.split("\n\n") if line]
    joined = "".join(_text(event) for event in events)
    assert not [secret for secret in row.secrets if secret in joined]
    assert not [rest for rest in row.rest if rest not in joined]


def _text(event: dict[str, Any]) -> str:
    if "choices" in event:
        return str(event["choices"][0]["delta"]["content"])
    if "candidates" in event:
        return str(event["candidates"][0]["content"]["parts"][0]["text"])
    return str(event["delta"] if isinstance(event["delta"], str) else event["delta"]["text"])


@pytest.mark.parametrize("row", HEADERS, ids=str)
def test_headers_have_one_list_of_names(row: Defect) -> None:
    """Whatever the case is."""
    name, _, value = row.text.partition(": ")
    assert {is_secret_header(one) for one in (name, name.upper(), name.lower())} == {bool(row.secrets)}
    [(_, kept)] = redacted_fields([(name.encode(), value.encode())], Redaction())
    assert not [secret for secret in row.secrets if secret.encode() in kept]
    assert (kept == value.encode()) is not bool(row.secrets)


@pytest.mark.parametrize("row", PARAMETERS, ids=str)
def test_parameters_have_one_list_of_names(row: Defect) -> None:
    """In the path of a capture, and where the log says a URL."""
    path = f"/v1/a?x=1&{row.text}&y=2"
    for out in (redacted_path(path, Redaction()), redacted(f"https://a.example{path}")):
        assert not [secret for secret in row.secrets if secret in out]
        assert not [rest for rest in row.rest if rest not in out]
