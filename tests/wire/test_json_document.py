"""A body with one JSON document is a frame at its end, or forwarded in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.splits import all_splits, read, same_for_all_splits, split_places
from toolstream_core.wire.json_framings import DocumentFramer


def test_one_frame_at_the_end() -> None:
    """It is not trailing, because the end of the body ends the document."""
    body = b'{"a":\n 1}\n'
    for chunks in all_splits(body):
        framer = DocumentFramer()
        assert [frame for chunk in chunks for frame in framer.feed(chunk)] == []
        (frame,) = framer.feed(b"")
        assert (frame.raw, frame.number, frame.trailing) == (body, 0, False)
        assert frame.json == {"a": 1}


@pytest.mark.parametrize(
    ("body", "data"), [(b"\xef\xbb\xbf{}", b"{}"), (b" \n", None), (b" 1 ", b"1"), (b"\xef\xbb", b"\xef\xbb")]
)
def test_the_data_is_only_the_document(body: bytes, data: bytes | None) -> None:
    """It has no byte order mark and no white space around it, and blank text is no data."""
    (frame,) = same_for_all_splits(DocumentFramer, body)
    assert frame.data == data


def test_an_empty_body_has_no_frame() -> None:
    """A frame has at least one byte."""
    assert DocumentFramer().feed(b"") == []


def test_a_document_over_the_size_limit_is_forwarded_in_parts() -> None:
    """The parts have no data."""
    framer = DocumentFramer(max_frame=4)
    assert framer.feed(b"1234") == []
    assert [frame.raw for frame in framer.feed(b"5")] == [b"12345"]
    assert [(frame.raw, frame.oversize, frame.data) for frame in framer.feed(b"6")] == [(b"6", True, None)]
    assert framer.feed(b"") == []


@given(st.binary(), split_places())
def test_chunk_boundaries_do_not_matter(body: bytes, places: list[int]) -> None:
    """For any bytes, with and without the size limit."""
    assert len(same_for_all_splits(DocumentFramer, body, places)) == bool(body)
    (*capped,) = same_for_all_splits(lambda: DocumentFramer(max_frame=6), body, places)
    assert [frame.oversize for frame in capped] == ([len(body) > 6] if body else [])
    assert read(DocumentFramer(), [body])[:1] == capped or len(body) > 6
