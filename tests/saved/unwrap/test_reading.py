"""Each form in which people paste streams is read like the bare stream."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import FLOWS
from tests.grouped import Case, grouped
from tests.saved.unwrap import wrappers
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.saved.files import responses
from toolstream_core.saved.flowfile import responses_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model import Record

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
WRAPPERS = {**wrappers.BOTH, **wrappers.DATA, **wrappers.OBJECTS}


@cache
def bare(name: str) -> bytes:
    """Return the body of a saved stream."""
    with (FLOWS / f"{name}.flow").open("rb") as stream:
        return next(responses_in(stream, name)).body


def read(path: Path) -> list[Record]:
    """Return the records of all responses in a file."""
    records = [read_body(response.chunks, response.facts) for response in responses(str(path))]
    return [record for record in records if record is not None]


def comparable(record: Record | None) -> object:
    """Return the protocol, finish reason and calls of a record."""
    assert record is not None
    return (
        record.protocol,
        record.finish,
        [(call.name, call.id, json.loads(call.arguments), call.complete) for call in record.calls],
    )


@cache
def expected(name: str) -> object:
    """Return the comparable values of the bare stream."""
    return comparable(read_body([bare(name)], StreamFacts()))


CASES = [
    *(Case(name, (form, name)) for form in wrappers.BOTH for name in NAMES),
    *(Case(name, (form, name)) for form in wrappers.DATA for name in EVENTS),
    *(Case(name, (form, name)) for form in wrappers.OBJECTS for name in NAMES),
]


@grouped(CASES)
def test_a_pasted_stream_is_read_like_the_bare_stream(form: str, name: str, tmp_path: Path) -> None:
    """The file has one response with the same protocol, finish reason and calls."""
    path = tmp_path / "pasted"
    path.write_bytes(WRAPPERS[form](bare(name)))
    assert [comparable(record) for record in read(path)] == [expected(name)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("name", "calls"),
    [("openai-chat-parallel", 1), ("anthropic-parallel", 1), ("openai-responses-parallel", 1), ("gemini-parallel", 2)],
)
def test_one_event_is_no_complete_response(name: str, calls: int, indent: int | None, tmp_path: Path) -> None:
    """Bug reports show the event that matters, and nothing else."""
    path = tmp_path / "pasted.json"
    events = map(json.dumps, wrappers.payloads(bare(name)))
    first = next(one for one in events if re.search(r"get_time(?!.*parameters)", one))
    path.write_text(json.dumps(json.loads(first), indent=indent))
    (record,) = read(path)
    assert len(record.calls) == calls
    assert record.calls[0].name == "get_time"


@pytest.mark.parametrize(
    "printed", [repr, lambda line: f"line: {line!r}", lambda line: json.dumps({"msg": line.decode()})]
)
def test_event_names_in_strings_of_their_own_are_kept(printed: Callable[[bytes], str], tmp_path: Path) -> None:
    """Lines that Python prints as bytes, or a log as records: the name of an event is one before its data."""
    path = tmp_path / "pasted"
    path.write_text("".join(f"{printed(line)}\n" for line in bare("anthropic-parallel").splitlines() if line))
    (record,) = read(path)
    assert (comparable(record), record.findings) == (expected("anthropic-parallel"), [])
