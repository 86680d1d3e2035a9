"""Each form in which people paste streams is read as the bare stream is."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.grouped import Case, grouped
from tests.saved.unwrap import wrappers
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.saved.files import responses
from toolstream_core.saved.flowfile import responses_in

if TYPE_CHECKING:
    from toolstream_core.model import Record

FLOWS = Path(__file__).resolve().parents[3] / "flows"
NAMES = (
    "openai-chat-parallel",
    "openai-chat-text-then-call",
    "deepseek-empty-id",
    "glm-5",
    "anthropic-text-then-call",
    "anthropic-parallel",
    "openai-responses-parallel",
    "gemini-parallel",
    "cohere-v2-single",
    "ollama-parallel",
)
EVENTS = tuple(name for name in NAMES if not name.startswith("ollama"))
ALL = {**wrappers.BOTH, **wrappers.DATA, **wrappers.OBJECTS}


@cache
def bare(name: str) -> bytes:
    """The body of a saved stream."""
    with (FLOWS / f"{name}.flow").open("rb") as stream:
        return next(responses_in(stream, name)).body


def read(path: Path) -> list[Record]:
    """What the file is read as."""
    records = [read_body(one.chunks, one.facts) for one in responses(str(path))]
    return [one for one in records if one is not None]


def said(record: Record | None) -> object:
    """What a reader gets."""
    assert record is not None
    return (
        record.dialect,
        record.finish,
        [(call.name, call.id, json.loads(call.arguments), call.complete) for call in record.calls],
    )


@cache
def expected(name: str) -> object:
    """What the bare stream says."""
    return said(read_body([bare(name)], StreamFacts()))


CASES = [
    *(Case(name, (form, name)) for form in wrappers.BOTH for name in NAMES),
    *(Case(name, (form, name)) for form in wrappers.DATA for name in EVENTS),
    *(Case(name, (form, name)) for form in wrappers.OBJECTS for name in NAMES),
]


@grouped(CASES)
def test_a_pasted_stream_is_read_as_the_bare_one(form: str, name: str, tmp_path: Path) -> None:
    """The same protocol, finish reasons and calls, in one response."""
    path = tmp_path / "pasted"
    path.write_bytes(ALL[form](bare(name)))
    assert [said(one) for one in read(path)] == [expected(name)]
