"""A body that is one document: there at the end, or over the cap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.cuts import every_cut, places, read, same_however_cut
from toolstream_core.wire.json_framings import DocumentFramer


def test_one_frame_at_the_end() -> None:
    """Not trailing: the end of the body is its terminator."""
    body = b'{"a":\n 1}\n'
    for chunks in every_cut(body):
        framer = DocumentFramer()
        assert [frame for chunk in chunks for frame in framer.feed(chunk)] == []
        (frame,) = framer.feed(b"")
        assert (frame.raw, frame.number, frame.trailing) == (body, 0, False)
        assert frame.json == {"a": 1}


@pytest.mark.parametrize(
    ("body", "data"), [(b"\xef\xbb\xbf{}", b"{}"), (b" \n", None), (b" 1 ", b"1"), (b"\xef\xbb", b"\xef\xbb")]
)
def test_the_data_is_the_document_alone(body: bytes, data: bytes | None) -> None:
    """Without byte order mark and white space around it; blank is no data."""
    (frame,) = same_however_cut(DocumentFramer, body)
    assert frame.data == data


def test_an_empty_body_has_no_frame() -> None:
    """There are no bytes that it could have."""
    assert DocumentFramer().feed(b"") == []


def test_above_the_cap_it_goes_through_in_pieces() -> None:
    """All of it, unread."""
    framer = DocumentFramer(max_frame=4)
    assert framer.feed(b"1234") == []
    assert [frame.raw for frame in framer.feed(b"5")] == [b"12345"]
    assert [(frame.raw, frame.oversize, frame.data) for frame in framer.feed(b"6")] == [(b"6", True, None)]
    assert framer.feed(b"") == []


@given(st.binary(), places())
def test_the_same_frames_however_cut(body: bytes, where: list[int]) -> None:
    """The first invariant, on anything, with and without the cap."""
    assert len(same_however_cut(DocumentFramer, body, where)) == bool(body)
    (*capped,) = same_however_cut(lambda: DocumentFramer(max_frame=6), body, where)
    assert [frame.oversize for frame in capped] == ([len(body) > 6] if body else [])
    assert read(DocumentFramer(), [body])[:1] == capped or len(body) > 6
