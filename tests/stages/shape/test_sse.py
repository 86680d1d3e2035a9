"""Shapes of event stream framing."""

from __future__ import annotations

import pytest

from tests.grouped import Case, grouped
from tests.invariants.driven import exchange, inspected, shaped
from tests.invariants.healthy import Healthy, streams
from toolstream_core.stages.framing import SHAPES
from toolstream_core.wire.sse import BOM, SseFramer

SSE = [one for one in streams() if one.exchange.content_type == "text/event-stream"]
CHAT = next(one for one in SSE if str(one) == "openai-chat, fragments")
ENDS = [b"\n", b"\r\n", b"\r"]


def events(body: bytes) -> list[tuple[str, bytes]]:
    """Return name and data of the events that a client dispatches."""
    framer = SseFramer()
    frames = [*framer.feed(body), *framer.feed(b"")]
    return [(frame.name, frame.data) for frame in frames if frame.data is not None and not frame.trailing]


@grouped(Case(f"{shape} {end!r}", (healthy, shape, end)) for shape in SHAPES for end in ENDS for healthy in SSE)
def test_framing_shapes_keep_the_events(healthy: Healthy, shape: str, newline: bytes) -> None:
    """A framing shape keeps the events and causes no findings."""
    body = healthy.body.replace(b"\n", newline)
    out = shaped(body, healthy.exchange, shape)
    unchanged = {("crlf", b"\r\n"), ("plain-lines", b"\n")}
    assert (out != body) == ((shape, newline) not in unchanged)
    assert events(out) == events(body) == events(healthy.body)
    assert inspected(out, healthy.exchange).finding_names == []


@pytest.mark.parametrize("other", SHAPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_compose(shape: str, other: str) -> None:
    """Two framing shapes keep the events, in any order and if applied one after the other."""
    out = shaped(CHAT.body, CHAT.exchange, shape, other)
    assert events(out) == events(CHAT.body)
    assert inspected(out, CHAT.exchange).finding_names == []
    twice = shaped(shaped(CHAT.body, CHAT.exchange, shape), CHAT.exchange, other)
    assert events(twice) == events(CHAT.body)


@pytest.mark.parametrize(
    ("shape", "block", "expected"),
    [
        ("comments", b"data: {}\n\n", b": keep-alive\n\ndata: {}\n\n"),
        ("comments", b"data: {}\r\n\r\n", b": keep-alive\r\n\r\ndata: {}\r\n\r\n"),
        ("comments", b": hm\n\n", b": hm\n\n"),
        ("crlf", b"event: x\ndata: {}\n\n", b"event: x\r\ndata: {}\r\n\r\n"),
        ("crlf", b": hm\r\n\n", b": hm\r\n\r\n"),
        ("no-space", b"event: x\ndata: {}\nid: 1\n\n", b"event:x\ndata:{}\nid:1\n\n"),
        ("no-space", b"data:  {}\n\n", b"data:  {}\n\n"),
        ("no-space", b"data: data: x\n\n", b"data:data: x\n\n"),
        ("bom", b"data: {}\n\n", b"data: {}\n\n"),
        ("event-ids", b": hm\n\n", b": hm\n\n"),
        ("event-ids", b"data: {}\n\n", b"id: 2\ndata: {}\n\n"),
        ("plain-lines", b"event:x\r\nid: 1\r\ndata:{}\r\nretry\r\n\r\n", b"event: x\ndata: {}\n\n"),
        ("plain-lines", b": hm\rdata:{\rdata:}\r\r", b"data: {\ndata: }\n\n"),
        ("plain-lines", b"data:  {}\ndata\ndata:\nnonsense\n\n", b"data:  {}\ndata\ndata:\nnonsense\n\n"),
        ("plain-lines", b": keep-alive\n\n", b""),
    ],
)
def test_a_block_is_reframed(shape: str, block: bytes, expected: bytes) -> None:
    """A framing shape rewrites the second block of a stream as expected."""
    first = CHAT.body[: CHAT.body.index(b"\n\n") + 2]
    out = shaped(first + block, CHAT.exchange, shape)
    assert out == shaped(first, CHAT.exchange, shape) + expected


@pytest.mark.parametrize("shape", SHAPES)
def test_the_byte_order_mark_stays_first(shape: str) -> None:
    """A byte order mark stays at the start, once, or is removed by `plain-lines`."""
    out = shaped(BOM + CHAT.body, CHAT.exchange, shape)
    assert out.startswith(BOM) == (shape != "plain-lines")
    assert out.count(BOM) == out.startswith(BOM)
    assert events(out) == events(CHAT.body)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_truncated_block_is_not_terminated(shape: str) -> None:
    """A framing shape does not terminate a truncated block."""
    for body in (CHAT.body.removesuffix(b"\n"), CHAT.body[:-4]):
        assert events(shaped(body, CHAT.exchange, shape)) == events(CHAT.body)[:-1]


@pytest.mark.parametrize("shape", SHAPES)
def test_json_arrays_are_not_changed(shape: str) -> None:
    """Framing shapes do not change JSON arrays."""
    body = b'[{"candidates": [{"content": {"parts": [{"functionCall": {"name": "ping", "args": {}}}]}}]}\n]'
    assert shaped(body, exchange("gemini"), shape) == body


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "plain-lines"])
@pytest.mark.parametrize("healthy", SSE, ids=str)
def test_plain_lines_undo_the_other_shapes(healthy: Healthy, shape: str) -> None:
    """`plain-lines` gives the same bytes after each of the other framing shapes."""
    plain = shaped(healthy.body, healthy.exchange, "plain-lines")
    assert shaped(healthy.body, healthy.exchange, shape, "plain-lines") == plain
    first = b": keep-alive\n\n" if shape == "comments" else b""  # before the protocol is known
    assert shaped(shaped(healthy.body, healthy.exchange, shape), healthy.exchange, "plain-lines") == first + plain
