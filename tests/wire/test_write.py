"""New and rewritten frames in every framing."""

from __future__ import annotations

import pytest

from toolstream_core.wire.json_framings import ArrayFramer, DocumentFramer, LineFramer
from toolstream_core.wire.sse import SseFramer
from toolstream_core.wire.write import LineWriter, SseWriter, encoded, writer_for


@pytest.mark.parametrize(
    ("raw", "after"),
    [
        (b'data: {"a":1}\n\n', b'data: {"b":2}\n\n'),
        (b'data:{"a":1}\n\n', b'data:{"b":2}\n\n'),
        (b'event: x\r\ndata: {"a":1}\r\n\r\n', b'event: x\r\ndata: {"b":2}\r\n\r\n'),
        (b': hi\nid: 7\ndata: {"a":\ndata: 1}\nretry: 3\n\n', b': hi\nid: 7\ndata: {"b":2}\nretry: 3\n\n'),
        (b'data: {"a":1}\n: {"a":1}\n\n', b'data: {"b":2}\n: {"a":1}\n\n'),
        (b'\xef\xbb\xbfdata: {"a":1}\n\n', b'\xef\xbb\xbfdata: {"b":2}\n\n'),
        (b'error: {"a":1}\n\n', b'error: {"b":2}\n\n'),
        (b'\xef\xbb\xbfdata: {"a":\ndata: 1}\n\n', b'\xef\xbb\xbfdata: {"b":2}\n\n'),
    ],
)
def test_a_block_with_other_data(raw: bytes, after: bytes) -> None:
    """Its other lines stay."""
    [frame] = SseFramer().feed(raw)
    written = SseWriter().rewrite(frame, {"b": 2})
    assert (written.raw, written.data, written.json) == (after, b'{"b":2}', {"b": 2})


def test_a_new_name_and_new_blocks() -> None:
    """They have the line ends of the stream."""
    writer = SseWriter()
    [frame] = SseFramer().feed(b'event: x\r\nid: 1\r\ndata: {"a":1}\r\n\r\n')
    assert writer.rewrite(frame, {}, "y").raw == b"event: y\r\nid: 1\r\ndata: {}\r\n\r\n"
    assert writer.make({"a": 1}, 3, "z").raw == b'event: z\r\ndata: {"a":1}\r\n\r\n'
    assert writer.make(b"[DONE]", 3).raw == b"data: [DONE]\r\n\r\n"


def test_lines_and_arrays() -> None:
    """A new line ends with a line feed, and a new element follows a comma."""
    [line] = LineFramer().feed(b' {"a":1} \n')
    assert LineWriter().rewrite(line, {"b": 2}).raw == b' {"b":2} \n'
    assert LineWriter().make({}, 0).raw == b"{}\n"
    [element] = ArrayFramer().feed(b'[{"a":1}')
    array = writer_for(ArrayFramer())
    assert array is not None
    assert array.rewrite(element, {"b": 2}).raw == b'[{"b":2}'
    assert array.make({}, 0).raw == b",\n{}"


def test_an_unpaired_surrogate_is_escaped() -> None:
    """It has no UTF-8 form. Other characters are not escaped."""
    assert encoded({"a": "ä\ud83d"}) == b'{"a":"\\u00e4\\ud83d"}'
    assert encoded({"a": "ä"}) == '{"a":"ä"}'.encode()


def test_bytes_are_written_unchanged() -> None:
    """`[DONE]` is no JSON."""
    assert encoded(b"[DONE]") == b"[DONE]"


def test_a_document_has_no_writer() -> None:
    """It is a single frame, and not a stream."""
    assert writer_for(DocumentFramer()) is None


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_a_missing_end_of_a_block_is_added(newline: bytes, end: bytes) -> None:
    """Another block can follow, with any line ends."""
    framer = SseFramer()
    [frame] = [*framer.feed(b"event: x" + newline + b"data: 1" + end), *framer.feed(b"")]
    after = SseFramer().feed(SseWriter().ended(frame).raw + b"data: 2\n\n")
    assert [one.data for one in after] == [b"1", b"2"]
