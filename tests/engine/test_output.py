"""A pipeline that may rewrite loses no byte and says none twice, wherever a stream ends."""

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
    next(one for one in streams() if one.dialect == dialect)
    for dialect in ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")
]
WANTED = Settings(SAFE - {UNTERMINATED_EVENT.code})


def through(body: bytes, healthy: Healthy, size: int) -> bytes:
    """What goes on of `body`, cut in pieces of `size` bytes."""
    line = Session(healthy.exchange, WANTED)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    out = b"".join(passed for piece in pieces for passed in line.feed(piece))
    out += b"".join(line.end())
    assert line.error is None
    return out


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_stream_that_ends_within_its_first_event_passes_as_it_is(healthy: Healthy, size: int) -> None:
    """Also where that event is what the protocol is told by, and its terminator is what lacks."""
    end = b"\n" if healthy.dialect == "ollama" else b"\n\n"
    first = healthy.body.partition(end)[0]
    for body in (first, first + b"\n", first[:-1], first + end, b": hello\n\n" + first):
        assert through(body, healthy, size) == body


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_what_is_no_answer_on_an_answers_path_passes_as_it_is(healthy: Healthy, size: int) -> None:
    """Its frames have gone on before its end says that the path's protocol is all there is to go by."""
    frame = b'{"x":1}\n' if healthy.dialect == "ollama" else b'data: {"x":1}\n\n'
    for body in (frame, frame + frame, frame + frame.strip(), frame.strip(), b"data:", b"event: x\ndata: "):
        assert through(body, healthy, size) == body


BUGS = {
    "reading": (RecordBuilder, "__call__"),
    "counting": (RecordBuilder, "quiet"),
    "judging": (Chain, "take"),
    "starting": (ChainFactory, "stages"),
    "resolving": (ChatCalls, "take"),
    "framing": (SseFramer, "feed"),
    "ending": (Chain, "end"),
    "going by": (FastPath, "forward_frame"),
    "going by as text": (FastPath, "_pass"),
    "handing on": (FastPath, "hand_on"),
    "learning": (FastPath, "learn"),
    "repairing what went by": (ChatRepair, "on_skipped"),
}
"""Where a bug of ours may show."""
KEEP_ALIVE = b": hello\n\ndata: \n\ndata: : hello\n\n"
TEXT = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"."},"finish_reason":null}]}\n\n'


@pytest.mark.parametrize("size", [0, 1, 100, 5000, 100_000])
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("shapes", [(), ("sequential",)], ids=["nothing held", "much held"])
@pytest.mark.parametrize("name", ["openai-chat, interleaved", "openai-chat, fragments of two"])
def test_a_bug_of_ours_loses_no_frame(
    monkeypatch: pytest.MonkeyPatch, name: str, bug: str, size: int, shapes: tuple[str, ...]
) -> None:
    """Wherever it shows, and whatever is held back just then; at size 0 each event comes by itself."""
    healthy = next(one for one in streams() if str(one) == name)
    body = KEEP_ALIVE + TEXT * 20 + healthy.body
    arrivals = [body[at : at + size] for at in range(0, len(body), size)] if size else events_of(body)
    settings = Settings(WANTED.repairs - {COMMENT_AS_DATA.code, EMPTY_DATA.code}, shapes)
    owner, method = BUGS[bug]
    intended = said(body, healthy)
    for good_calls in range(30):
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, failing(getattr(owner, method), iter([False] * good_calls)))
            line = Session(healthy.exchange, settings)
            passed = b"".join(one for arrival in arrivals for one in line.feed(arrival))
            passed += b"".join(line.end())
        assert passed == body if not shapes else said(passed, healthy) == intended
        if line.error is None:
            return


def events_of(body: bytes) -> list[bytes]:
    """The blocks of an event stream."""
    return [block + b"\n\n" for block in body.split(b"\n\n") if block]


def said(body: bytes, healthy: Healthy) -> tuple[bool, int, bool, list[tuple[str, str, str]]]:
    """What a client reads: the keep-alives, how much text, the end, and the calls."""
    record = read_body([body], healthy.exchange)
    assert record
    calls = [(call.id, call.name, call.arguments) for call in record.calls]
    return body.startswith(KEEP_ALIVE), body.count(TEXT), body.endswith(b"data: [DONE]\n\n"), calls


def failing(real: Callable[..., object], good: Iterator[bool]) -> Callable[..., object]:
    """A function that fails once `good` is empty."""

    def instead(*args: object, **kwargs: object) -> object:
        if next(good, True):
            raise RuntimeError("a bug")
        return real(*args, **kwargs)

    return instead


@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_a_shape_says_what_came_of_a_stream_that_was_cut(healthy: Healthy) -> None:
    """Wherever it was cut: what was held is said, and nothing is said twice.

    What says calls whole or not at all is held to that in `shapes/test_whole_calls.py`.
    """
    frames = healthy.frames
    for length in range(1, len(frames) + 1):
        body = b"".join(frames[:length])
        intended = calls(body, healthy)
        for shape in SHAPES[healthy.dialect].keys() - {"whole-calls", "self-contained-deltas"}:
            line = Session(healthy.exchange, Settings(shapes=(shape,)))
            passed = b"".join([*line.feed(body), *line.end()])
            assert line.error is None
            assert (intended if passed == body else calls(passed, healthy)) == intended, (shape, length)


def calls(body: bytes, healthy: Healthy) -> list[tuple[str, str, str]] | None:
    """What a client reads; nothing where it cannot tell the protocol yet."""
    record = read_body([body], healthy.exchange)
    return [(call.id, call.name, call.arguments) for call in record.calls] if record else None


def test_a_change_that_came_to_nothing_is_not_told() -> None:
    """The first event had gone on when the second showed which protocol it is."""
    healthy = next(one for one in HEALTHY if one.dialect == "openai-chat")
    body = (
        b'data: {"choices":[{"index":0,"finish_reason":null}]}\n\n'
        b'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
    )
    line = Session(replace(healthy.exchange, path=""), Settings(SAFE))
    assert b"".join([*line.feed(body), *line.end()]) == body
    record = line.record()
    assert record is not None
    assert (record.changed, record.changes) == (0, [])
    assert "missing-delta" in {finding.name for finding in record.findings}


def test_a_mark_within_the_body_does_not_come_to_its_start() -> None:
    """Where all before it was kept back: there a client would not see it, and read the line as data."""
    half = chat_event({"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}})
    marked = b"\xef\xbb\xbf" + chat_event({"index": 0, "function": {"arguments": "}"}})
    line = Session(HEALTHY[0].exchange, Settings(SAFE, ("whole-calls",)))
    out = b"".join(passed for piece in (half, marked) for passed in line.feed(piece)) + b"".join(line.end())
    assert out == b"\n" + marked


@pytest.mark.parametrize("size", [1, 1000])
def test_a_mark_stays_at_the_start_where_events_come_before_the_first(size: int) -> None:
    """They were made; behind them it would be a part of the first one's line."""
    body = (
        b'\xef\xbb\xbfdata: {"type":"response.completed","response":{"status":"completed","output":['
        b'{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}","status":"completed"}]}}\n\n'
    )
    out = through(body, HEALTHY[1], size)
    assert out.startswith(b"\xef\xbb\xbfevent: response.output_item.added\n")
    assert out.count(b"\xef\xbb\xbf") == 1


def chat_event(entry: dict[str, object]) -> bytes:
    """A chunk of Chat Completions with one entry."""
    chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}
    return b"data: %s\n\n" % json.dumps(chunk).encode()
