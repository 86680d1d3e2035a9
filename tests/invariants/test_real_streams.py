"""Recorded streams of 27 providers resolve to the expected calls for all chunk boundaries."""

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
BYTEWISE = 4000
"""Bytes at both ends of a stream that are fed one at a time."""
PREFIX = 12_000
"""Bytes of a stream after which its events are similar."""
SUPPORTED = {
    "openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "ollama", "cohere-v2", "bedrock",
}  # fmt: skip


class Recording(NamedTuple):
    """A stream and its entry in the index."""

    path: Path
    protocol: str
    calls: list[tuple[str, str, object]] | None


@cache
def recordings() -> list[Recording]:
    """Return all recordings, with and without calls."""
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
    """Return the protocol's name in toolstream. Bedrock sends events of Anthropic's models, or its own."""
    protocol = str(row["dialect"]).replace("google-interactions", "gemini-interactions")
    if not protocol.startswith("bedrock-"):
        return protocol
    return "anthropic" if "anthropic" in str(row["file"]) else "bedrock"


def _value(text: str) -> object:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text


def exchange(recording: Recording) -> StreamFacts:
    """Return facts with only the content type."""
    return StreamFacts(content_type=TYPES.get(recording.path.suffix, ""))


def read(recording: Recording, chunks: Iterable[bytes]) -> Record | None:
    """Return the record of these chunks."""
    return read_body(chunks, exchange(recording))


def calls_of(record: Record) -> list[tuple[str, str, object]]:
    """Return the calls that the index lists: functions, and Anthropic's server tools."""
    kinds = {Kind.FUNCTION, Kind.SERVER} if record.protocol == "anthropic" else {Kind.FUNCTION}
    return [(call.id, call.name, _value(call.arguments)) for call in record.calls if call.kind in kinds]


def one_chunk(body: bytes, path: Path) -> Iterator[bytes]:
    """Yield one chunk."""
    del path
    yield body


def bytewise(body: bytes, path: Path) -> Iterator[bytes]:
    """Yield single bytes, and a few bytes at a time in the middle of a long stream."""
    dice = random.Random(path.name)
    at = 0
    while at < len(body):
        length = 1 if at < BYTEWISE or len(body) - at < BYTEWISE else dice.randint(1, 20)
        yield body[at : at + length]
        at += length


def as_recorded(body: bytes, path: Path) -> Iterator[bytes]:
    """Yield the recorded chunks, or lines if the chunk lengths were not recorded."""
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
    """Yield chunks of various sizes, always the same for a file."""
    dice = random.Random(path.name)
    at = 0
    while at < len(body):
        length = dice.choice([1, 2, 7, 60, 500, 4096])
        yield body[at : at + length]
        at += length


@pytest.mark.parametrize("cut", [one_chunk, bytewise, as_recorded, at_random])
@pytest.mark.parametrize("protocol", sorted(SUPPORTED))
def test_recordings_resolve_to_their_calls(protocol: str, cut: object) -> None:
    """A recorded stream of a supported protocol resolves to that protocol and to the calls in the index."""
    checked = 0
    for recording in recordings():
        if recording.protocol != protocol:
            continue
        record = read(recording, cut(recording.path.read_bytes(), recording.path))  # type: ignore[operator]
        assert record is not None, recording.path.name
        assert record.protocol == protocol, recording.path.name
        if recording.calls is not None:
            assert calls_of(record) == recording.calls, recording.path.name
        checked += 1
    assert checked


def frames(recording: Recording) -> list[Frame]:
    """Return the frames with data."""
    body = recording.path.read_bytes()
    framer = choose(TYPES.get(recording.path.suffix, ""), body, ended=True)
    if framer is None or framer is NOT_OURS:
        return []
    return [frame for frame in (*framer.feed(body), *framer.feed(b"")) if frame.data is not None]


def test_a_stream_is_recognised_by_its_own_protocol_alone() -> None:
    """No frame is recognised by another protocol, and no frame of an unsupported protocol by any."""
    for recording in recordings():
        recognised = {
            one.name for frame in frames(recording) for one in PROTOCOLS if one.recognise(frame.name, frame.json)
        }
        assert recognised == supported(recording), recording.path.name


def supported(recording: Recording) -> set[str]:
    """Return the protocol of a recording if it is supported."""
    return {recording.protocol} & SUPPORTED


def test_quiet_frames_contain_no_calls() -> None:
    """A frame that `quiet` skips has no fragments, finish reason, error or end, and `quiet` skips many frames."""
    skipped = 0
    for recording in recordings():
        for frame, protocol in itertools.product(frames(recording), PROTOCOLS):
            if protocol.name == recording.protocol and protocol.quiet(frame.raw):
                event = protocol.read(frame)
                assert (event.fragments, event.finishes, event.error, event.end) == ((), (), None, False)
                skipped += 1
    assert skipped > 1000


@pytest.mark.parametrize("cut", [one_chunk, bytewise, at_random])
def test_unsupported_protocols_have_no_calls(cut: object) -> None:
    """A stream of an unsupported protocol has no calls, or is not recognised as an LLM stream."""
    checked = 0
    for recording in recordings():
        if supported(recording):
            continue
        record = read(recording, cut(recording.path.read_bytes(), recording.path))  # type: ignore[operator]
        assert record is None or record.calls == [], recording.path.name
        checked += 1
    assert checked


# Real defects of some recordings: an error event, and concatenated responses.
REAL = {"in-band-error", "restarted-stream"}


def test_recordings_have_no_false_findings() -> None:
    """Every error and warning of a recorded stream is a real defect."""
    for recording in recordings():
        record = read(recording, one_chunk(recording.path.read_bytes(), recording.path))
        names = set() if record is None else {one.name for one in record.findings if one.severity != "note"}
        assert names <= REAL, recording.path.name


@pytest.mark.parametrize("cut", [one_chunk, as_recorded])
def test_safe_repairs_keep_the_calls(cut: Callable[[bytes, Path], Iterable[bytes]]) -> None:
    """Safe repairs change only streams with a repairable finding, and keep the calls of all streams."""
    changed = 0
    for recording in recordings():
        if not supported(recording):
            continue
        body = recording.path.read_bytes()
        session = Session(exchange(recording), Settings(SAFE))
        out = b"".join(out_chunk for chunk in cut(body, recording.path) for out_chunk in session.feed(chunk))
        out += b"".join(session.end())
        record = session.record()
        assert record is not None
        assert session.error is None, recording.path.name
        if out != body:
            changed += 1
            assert any(finding.repair == "safe" for finding in record.findings), recording.path.name
            again = read(recording, [out])
            assert again is not None
            assert [call[1:] for call in calls_of(again)] == [call[1:] for call in calls_of(record)], (
                recording.path.name
            )
    assert changed


@pytest.mark.parametrize("options", [NOTHING, Settings(SAFE)], ids=["read", "repaired"])
def test_the_fast_path_changes_nothing(options: Settings) -> None:
    """The fast path forwards the same bytes and yields the same record as parsing every event."""
    for recording in recordings():
        body = recording.path.read_bytes()[:PREFIX]
        fast_run, slow_run = (
            run(Session(exchange(recording), options, fast=fast), as_recorded(body, recording.path))
            for fast in (True, False)
        )
        assert fast_run == slow_run, recording.path.name


def run(session: Session, chunks: Iterable[bytes]) -> tuple[bytes, dict[str, object] | None]:
    """Return the forwarded bytes, and the record as JSON."""
    out = b"".join([*(out for chunk in chunks if chunk for out in session.feed(chunk)), *session.end()])
    record = session.record()
    return out, record_object(record) if record is not None else None
