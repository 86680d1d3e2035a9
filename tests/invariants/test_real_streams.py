"""Recorded streams of 27 providers, where they are at hand: read as the calls that they carry, however cut."""

from __future__ import annotations

import itertools
import json
import random
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import needs_shared, shared_dir
from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import Kind, StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.report.jsonform import record_object
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.wire.body import NOT_OURS, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from toolstream_core.model import Record
    from toolstream_core.wire.frame import Frame

pytestmark = needs_shared
TYPES = {".sse": "text/event-stream", ".ndjson": "application/x-ndjson", ".jsonarray": "application/json"}
EACH_BYTE = 4000
"""Bytes at both ends of a stream that come one at a time."""
LONG_ENOUGH = 12_000
"""Bytes of a stream after which its events are much alike."""
READ = {
    "openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "ollama", "cohere-v2", "bedrock",
}  # fmt: skip


class Recording(NamedTuple):
    """A stream and what its index says of it."""

    path: Path
    dialect: str
    calls: list[tuple[str, str, object]] | None


@cache
def recordings() -> list[Recording]:
    """All of them, those without calls too."""
    folder = shared_dir()
    if folder is None:
        return []
    rows = (folder / "streams" / "INDEX.jsonl").read_text(encoding="utf-8").splitlines()
    return [_recording(folder, json.loads(row)) for row in rows]


def _recording(folder: Path, row: dict[str, object]) -> Recording:
    calls = row.get("calls")
    expected = None
    if isinstance(calls, list):
        expected = [(call.get("id") or "", call["name"], _value(call["arguments"])) for call in calls]
    return Recording(folder / "streams" / str(row["file"]), _protocol(row), expected)


def _protocol(row: dict[str, object]) -> str:
    """The protocol as it is named here: Bedrock passes on what Anthropic's models say, and has events of its own."""
    dialect = str(row["dialect"]).replace("google-interactions", "gemini-interactions")
    if not dialect.startswith("bedrock-"):
        return dialect
    return "anthropic" if "anthropic" in str(row["file"]) else "bedrock"


def _value(text: str) -> object:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def exchange(recording: Recording) -> StreamFacts:
    """Only the content type is known."""
    return StreamFacts(content_type=TYPES.get(recording.path.suffix, ""))


def read(recording: Recording, pieces: Iterable[bytes]) -> Record | None:
    """What is read of these pieces."""
    return read_body(pieces, exchange(recording))


def calls_of(record: Record) -> list[tuple[str, str, object]]:
    """The calls as the index has them: functions, and Anthropic's server tools."""
    kinds = {Kind.FUNCTION, Kind.SERVER} if record.dialect == "anthropic" else {Kind.FUNCTION}
    return [(call.id, call.name, _value(call.arguments)) for call in record.calls if call.kind in kinds]


def whole(body: bytes, path: Path) -> Iterator[bytes]:
    """In one piece."""
    del path
    yield body


def bytewise(body: bytes, path: Path) -> Iterator[bytes]:
    """One byte at a time; in the middle of a long stream, where its events are much alike, a few at a time."""
    dice = random.Random(path.name)
    at = 0
    while at < len(body):
        length = 1 if at < EACH_BYTE or len(body) - at < EACH_BYTE else dice.randint(1, 20)
        yield body[at : at + length]
        at += length


def as_recorded(body: bytes, path: Path) -> Iterator[bytes]:
    """In the pieces in which it arrived, where these were kept; else line by line."""
    kept = path.with_name(f"{path.name}.chunklens.json")
    if not kept.exists():
        yield from body.splitlines(keepends=True)
        return
    at = 0
    for length in json.loads(kept.read_text(encoding="utf-8")):
        yield body[at : at + length]
        at += length
    yield body[at:]


def at_random(body: bytes, path: Path) -> Iterator[bytes]:
    """In pieces of any size, the same each time."""
    dice = random.Random(path.name)
    at = 0
    while at < len(body):
        length = dice.choice([1, 2, 7, 60, 500, 4096])
        yield body[at : at + length]
        at += length


@pytest.mark.parametrize("cut", [whole, bytewise, as_recorded, at_random])
@pytest.mark.parametrize("dialect", sorted(READ))
def test_calls(dialect: str, cut: object) -> None:
    """Each stream that says its calls resolves to exactly these; each of a protocol that is read, to that protocol."""
    checked = 0
    for recording in recordings():
        if recording.dialect != dialect:
            continue
        record = read(recording, cut(recording.path.read_bytes(), recording.path))  # type: ignore[operator]
        assert record is not None, recording.path.name
        assert record.dialect == dialect, recording.path.name
        if recording.calls is not None:
            assert calls_of(record) == recording.calls, recording.path.name
        checked += 1
    assert checked


def frames(recording: Recording) -> list[Frame]:
    """The frames that carry data."""
    body = recording.path.read_bytes()
    framer = choose(TYPES.get(recording.path.suffix, ""), body, ended=True)
    if framer is None or framer is NOT_OURS:
        return []
    return [frame for frame in (*framer.feed(body), *framer.feed(b"")) if frame.data is not None]


def test_a_stream_is_recognised_by_its_own_protocol_alone() -> None:
    """No frame of it is taken for another's, and none of an unread protocol for any."""
    for recording in recordings():
        taken = {one.name for frame in frames(recording) for one in PROTOCOLS if one.recognise(frame.name, frame.json)}
        assert taken == spoken(recording), recording.path.name


def spoken(recording: Recording) -> set[str]:
    """The protocol of a recording, where it is one that is read."""
    return {recording.dialect} & READ


def test_quiet_is_quiet() -> None:
    """No frame that is passed by unparsed says anything of calls; it is not all of them that are parsed."""
    passed = 0
    for recording in recordings():
        for frame, dialect in itertools.product(frames(recording), PROTOCOLS):
            if dialect.name == recording.dialect and dialect.quiet(frame.raw):
                said = dialect.read(frame)
                assert (said.fragments, said.finishes, said.error, said.end) == ((), (), None, False)
                passed += 1
    assert passed > 1000


@pytest.mark.parametrize("cut", [whole, bytewise, at_random])
def test_others_pass(cut: object) -> None:
    """What is of another protocol is read without an error, as no call that was made up, or is no LLM stream."""
    checked = 0
    for recording in recordings():
        if spoken(recording):
            continue
        record = read(recording, cut(recording.path.read_bytes(), recording.path))  # type: ignore[operator]
        assert record is None or record.calls == [], recording.path.name
        checked += 1
    assert checked


# What is really wrong with some of them: an error within the stream, and answers that were stored one behind the other.
REAL = {"in-band-error", "restarted-stream"}


def test_nothing_else_is_wrong_with_them() -> None:
    """Every error and warning is a real defect."""
    for recording in recordings():
        record = read(recording, whole(recording.path.read_bytes(), recording.path))
        wrong = set() if record is None else {one.name for one in record.findings if one.severity != "note"}
        assert wrong <= REAL, recording.path.name


@pytest.mark.parametrize("cut", [whole, as_recorded])
def test_safe_repairs_leave_them_alone(cut: Callable[[bytes, Path], Iterable[bytes]]) -> None:
    """Where nothing is told, each byte is as it came; where something is, the calls are what they were."""
    changed = 0
    for recording in recordings():
        if not spoken(recording):
            continue
        body = recording.path.read_bytes()
        line = Session(exchange(recording), Settings(SAFE))
        out = b"".join(piece for chunk in cut(body, recording.path) for piece in line.feed(chunk))
        out += b"".join(line.end())
        record = line.record()
        assert record is not None
        assert line.error is None, recording.path.name
        if out != body:
            changed += 1
            assert any(finding.repair == "safe" for finding in record.findings), recording.path.name
            again = read(recording, [out])
            assert again is not None
            assert [call[1:] for call in calls_of(again)] == [call[1:] for call in calls_of(record)], (
                recording.path.name
            )
    assert changed


@pytest.mark.parametrize("wanted", [NOTHING, Settings(SAFE)], ids=["read", "repaired"])
def test_the_fast_path_changes_nothing(wanted: Settings) -> None:
    """What goes on and what is told are the same where every event is parsed."""
    for recording in recordings():
        body = recording.path.read_bytes()[:LONG_ENOUGH]
        quick, slow = (
            run(Session(exchange(recording), wanted, fast=fast), as_recorded(body, recording.path))
            for fast in (True, False)
        )
        assert quick == slow, recording.path.name


def run(line: Session, pieces: Iterable[bytes]) -> tuple[bytes, dict[str, object] | None]:
    """What goes on, and what is told."""
    out = b"".join([*(out for piece in pieces if piece for out in line.feed(piece)), *line.end()])
    record = line.record()
    return out, record_object(record) if record is not None else None
