"""A streamed JSON array: elements of every kind, chunk boundaries, garbage, the size limit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.wire.splits import all_splits, bodies, read, same_for_all_splits, split_at, split_places
from toolstream_core.wire.json_framings import ArrayFramer

if TYPE_CHECKING:
    from pathlib import Path

TOKENS = (
    b"[", b"]", b"{", b"}", b'"', b"\\", b'\\"', b"\\\\", b",", b":", b" ", b"\n", b"1", b"tru", b'{"a":1}',
    b'"]"', b'"{', b'"a\\"b"', b"[1,[2]]",
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_each_element_is_a_frame_with_the_bytes_before_it() -> None:
    """Brackets in strings and nested arrays do not end an element."""
    body = b'[{"a":"]}"},\r\n{"b":{"c":[]}}\n]\n'
    for chunks in all_splits(body):
        frames = read(ArrayFramer(), chunks)
        assert [(f.raw, f.number, f.data, f.trailing) for f in frames] == [
            (b'[{"a":"]}"}', 0, b'{"a":"]}"}', False),
            (b',\r\n{"b":{"c":[]}}', 1, b'{"b":{"c":[]}}', False),
            (b"\n]\n", 2, None, False),
        ]


def test_an_element_is_a_frame_as_soon_as_it_is_complete() -> None:
    """It does not wait for its comma."""
    framer = ArrayFramer()
    (first,) = framer.feed(b'[{"a":1}')
    assert first.json == {"a": 1}
    assert framer.feed(b"\n,\n") == []
    (second,) = framer.feed(b'{"b":2}')
    assert second.json == {"b": 2}


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1]), st.booleans(), split_places())
def test_elements_of_every_kind(elements: list[Any], indent: int | None, ascii_: bool, places: list[int]) -> None:
    """Numbers, strings, null and arrays too, compact and indented."""
    body = json.dumps(elements, indent=indent, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    *frames, rest = same_for_all_splits(ArrayFramer, body, places)
    assert [json.loads(frame.data or b"") for frame in frames] == elements
    assert (rest.data, rest.trailing, rest.raw.strip()) == (None, False, rest.raw.strip())
    assert rest.raw.endswith(b"]")


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b'[{"a":1},{"b":', [b'{"a":1}', b'{"b":']),
        (b'["a', [b'"a']),
        (b'["a\\', [b'"a\\']),
        (b"[1,23", [b"1", b"23"]),
        (b'[{"a":1},', [b'{"a":1}', None]),
        (b"[", [None]),
        (b" \n", [None]),
    ],
)
def test_a_truncated_array_has_a_trailing_frame(body: bytes, data: list[bytes | None]) -> None:
    """It contains the incomplete element, or has no data."""
    for chunks in all_splits(body):
        frames = read(ArrayFramer(), chunks)
        assert [frame.data for frame in frames] == data
        assert [frame.trailing for frame in frames] == [False] * (len(data) - 1) + [True]


def test_values_without_an_array() -> None:
    """Each of them is a frame."""
    frames = same_for_all_splits(ArrayFramer, b'{"a":1}{"b":2}\n{"c":3}')
    assert [frame.data for frame in frames] == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"<html>no bracket</html>", [None]),
        (b"\xef\xbb\xbf)]}'\n[{}]", [b"{}", None]),
        (b"[{}}},:{}]", [b"{}", b"{}", None]),
        (b"[{}] {} [1]", [b"{}", None]),
        (b"[nonsense{}]", [b"nonsense", b"{}", None]),
        (b'[{"a":1]]', [b'{"a":1]', None]),
    ],
)
def test_garbage_is_part_of_a_frame(body: bytes, data: list[bytes | None]) -> None:
    """Bytes that are no element are forwarded with the next element."""
    assert [frame.data for frame in same_for_all_splits(ArrayFramer, body)] == data


@settings(max_examples=600)
@given(bodies(*TOKENS), split_places())
@example(b'["\\\\"]', [3])
@example(b'["\\"",1]', [3, 4])
def test_chunk_boundaries_do_not_matter(body: bytes, places: list[int]) -> None:
    """For any bytes, with and without the size limit."""
    frames = same_for_all_splits(ArrayFramer, body, places)
    capped = same_for_all_splits(lambda: ArrayFramer(max_frame=5), body, places)
    assert [frame.raw for frame in capped] == [frame.raw for frame in frames]
    assert all(frame.oversize == (len(frame.raw) > 5) for frame in capped)


def test_long_strings_of_escapes() -> None:
    """They need neither recursion nor backtracking."""
    body = b'[{"a":"' + b'\\"' * 200_000 + b'"}]'
    frame, rest = read(ArrayFramer(), split_at(body, range(0, len(body), 30_001)))
    assert (frame.data, rest.raw) == (body[1:-1], b"]")


def test_deep_nesting() -> None:
    """Brackets are counted without recursion."""
    deep = b"[" * 100_000 + b"]" * 100_000
    frame, rest = read(ArrayFramer(), [b"[" + deep + b"]"])
    assert (frame.data, rest.raw) == (deep, b"]")


def test_recorded_arrays(shared: Path) -> None:
    """The frames have all elements, and do not depend on chunk boundaries."""
    files = list((shared / "streams").rglob("*.jsonarray"))
    assert files
    for file in files:
        body = file.read_bytes()
        frames = read(ArrayFramer(), [body])
        assert b"".join(frame.raw for frame in frames) == body
        assert read(ArrayFramer(), split_at(body, range(0, len(body), 7))) == frames
        assert [json.loads(frame.data) for frame in frames if frame.data] == json.loads(body)
