"""Stages lose no byte and send no byte twice, at every end of a stream and after an internal error."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.invariants.healthy import Healthy, streams
from tests.tables import SHAPES
from toolstream_core.defects.framing import COMMENT_AS_DATA, EMPTY_DATA, UNTERMINATED_EVENT
from toolstream_core.engine.build import ChainFactory
from toolstream_core.engine.chain import Chain
from toolstream_core.engine.fast_path import FastPath
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.engine.session import Session, read_body
from toolstream_core.protocols.chat.repair.stage import ChatRepair
from toolstream_core.protocols.chat.resolver import ChatCalls
from toolstream_core.settings import SAFE, Settings
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEALTHY = [
    next(one for one in streams() if one.protocol == protocol)
    for protocol in ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")
]
REPAIRS = Settings(SAFE - {UNTERMINATED_EVENT.code})


def output_of(body: bytes, healthy: Healthy, size: int) -> bytes:
    """Return the forwarded bytes of `body`, fed in chunks of `size` bytes."""
    session = Session(healthy.exchange, REPAIRS)
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    out = b"".join(forwarded for chunk in chunks for forwarded in session.feed(chunk))
    out += b"".join(session.end())
    assert session.error is None
    return out


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_stream_that_ends_inside_its_first_event_is_forwarded_unchanged(healthy: Healthy, size: int) -> None:
    """A stream that ends inside or right after its first event is forwarded unchanged."""
    end = b"\n" if healthy.protocol == "ollama" else b"\n\n"
    first = healthy.body.partition(end)[0]
    for body in (first, first + b"\n", first[:-1], first + end, b": hello\n\n" + first):
        assert output_of(body, healthy, size) == body


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_other_events_on_a_known_path_are_forwarded_unchanged(healthy: Healthy, size: int) -> None:
    """Unknown events on the path of an API are forwarded unchanged."""
    frame = b'{"x":1}\n' if healthy.protocol == "ollama" else b'data: {"x":1}\n\n'
    for body in (frame, frame + frame, frame + frame.strip(), frame.strip(), b"data:", b"event: x\ndata: "):
        assert output_of(body, healthy, size) == body


BUGS = {
    "reading": (RecordBuilder, "__call__"),
    "counting": (RecordBuilder, "quiet"),
    "judging": (Chain, "take"),
    "starting": (ChainFactory, "stages"),
    "resolving": (ChatCalls, "take"),
    "framing": (SseFramer, "feed"),
    "ending": (Chain, "end"),
    "skipping events": (FastPath, "forward_frame"),
    "skipping text": (FastPath, "_skip_next"),
    "forwarding": (FastPath, "report_skipped"),
    "learning": (FastPath, "learn"),
    "repairing skipped events": (ChatRepair, "on_skipped"),
}
"""Methods that may raise."""
KEEP_ALIVE = b": hello\n\ndata: \n\ndata: : hello\n\n"
TEXT = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"."},"finish_reason":null}]}\n\n'


@pytest.mark.parametrize("size", [0, 1, 100, 5000, 100_000])
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("shapes", [(), ("sequential",)], ids=["no events held", "many events held"])
@pytest.mark.parametrize("name", ["openai-chat, interleaved", "openai-chat, fragments of two"])
def test_an_internal_error_loses_no_event(
    monkeypatch: pytest.MonkeyPatch, name: str, bug: str, size: int, shapes: tuple[str, ...]
) -> None:
    """An internal error at any call of a method loses no event. With size 0, each event is a chunk."""
    healthy = next(one for one in streams() if str(one) == name)
    body = KEEP_ALIVE + TEXT * 20 + healthy.body
    chunks = [body[at : at + size] for at in range(0, len(body), size)] if size else events_of(body)
    settings = Settings(REPAIRS.repairs - {COMMENT_AS_DATA.code, EMPTY_DATA.code}, shapes)
    owner, method = BUGS[bug]
    intended = read(body, healthy)
    for good_calls in range(30):
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, failing(getattr(owner, method), iter([False] * good_calls)))
            session = Session(healthy.exchange, settings)
            forwarded = b"".join(one for chunk in chunks for one in session.feed(chunk))
            forwarded += b"".join(session.end())
        assert forwarded == body if not shapes else read(forwarded, healthy) == intended
        if session.error is None:
            return


def events_of(body: bytes) -> list[bytes]:
    """Return the blocks of an event stream."""
    return [block + b"\n\n" for block in body.split(b"\n\n") if block]


def read(body: bytes, healthy: Healthy) -> tuple[bool, int, bool, list[tuple[str, str, str]]]:
    """Return keep-alives, number of text events, end and calls that a client reads."""
    record = read_body([body], healthy.exchange)
    assert record
    calls = [(call.id, call.name, call.arguments) for call in record.calls]
    return body.startswith(KEEP_ALIVE), body.count(TEXT), body.endswith(b"data: [DONE]\n\n"), calls


def failing(real: Callable[..., object], good: Iterator[bool]) -> Callable[..., object]:
    """Return a function that raises once `good` is exhausted."""

    def replacement(*args: object, **kwargs: object) -> object:
        if next(good, True):
            raise RuntimeError("a bug")
        return real(*args, **kwargs)

    return replacement


@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_a_shape_sends_the_calls_of_a_truncated_stream(healthy: Healthy) -> None:
    """A shape sends the received part of a truncated stream once, for every truncation after an event.

    `stages/shape/test_whole_calls.py` tests the shapes that send only complete calls.
    """
    frames = healthy.frames
    for length in range(1, len(frames) + 1):
        body = b"".join(frames[:length])
        intended = calls(body, healthy)
        for shape in SHAPES[healthy.protocol].keys() - {"whole-calls", "self-contained-deltas"}:
            session = Session(healthy.exchange, Settings(shapes=(shape,)))
            forwarded = b"".join([*session.feed(body), *session.end()])
            assert session.error is None
            assert (intended if forwarded == body else calls(forwarded, healthy)) == intended, (shape, length)


def calls(body: bytes, healthy: Healthy) -> list[tuple[str, str, str]] | None:
    """Return the calls that a client reads, or `None` if the protocol is not recognised yet."""
    record = read_body([body], healthy.exchange)
    return [(call.id, call.name, call.arguments) for call in record.calls] if record else None


def test_an_impossible_change_is_not_recorded() -> None:
    """An event that was forwarded before the protocol was recognised is not recorded as changed."""
    healthy = next(one for one in HEALTHY if one.protocol == "openai-chat")
    body = (
        b'data: {"choices":[{"index":0,"finish_reason":null}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
    )
    session = Session(replace(healthy.exchange, path=""), Settings(SAFE))
    assert b"".join([*session.feed(body), *session.end()]) == body
    record = session.record()
    assert record is not None
    assert (record.changed, record.changes) == (0, [])
    assert "missing-delta" in {finding.name for finding in record.findings}


def test_a_byte_order_mark_inside_the_body_does_not_become_its_start() -> None:
    """A byte order mark after held events stays after a line feed: at the start, a client would ignore it."""
    incomplete = chat_event({"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}})
    marked = b"\xef\xbb\xbf" + chat_event({"index": 0, "function": {"arguments": "}"}})
    session = Session(HEALTHY[0].exchange, Settings(SAFE, ("whole-calls",)))
    out = b"".join(forwarded for chunk in (incomplete, marked) for forwarded in session.feed(chunk)) + b"".join(
        session.end()
    )
    assert out == b"\n" + marked


@pytest.mark.parametrize("size", [1, 1000])
def test_a_byte_order_mark_stays_before_added_events(size: int) -> None:
    """A byte order mark stays at the start if a repair adds events before the first event."""
    body = (
        b'\xef\xbb\xbfdata: {"type":"response.completed","response":{"status":"completed","output":['
        b'{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}","status":"completed"}]}}\n\n'
    )
    out = output_of(body, HEALTHY[1], size)
    assert out.startswith(b"\xef\xbb\xbfevent: response.output_item.added\n")
    assert out.count(b"\xef\xbb\xbf") == 1


def chat_event(entry: dict[str, object]) -> bytes:
    """Return a chunk of Chat Completions with one entry."""
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}
    return b"data: %s\n\n" % json.dumps(chunk).encode()
