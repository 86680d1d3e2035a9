"""A streamed JSON array: elements of every kind at every cut, garbage, the cap, each byte once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.wire.cuts import bodies, cut_at, every_cut, places, read, same_however_cut
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


def test_each_element_is_a_frame_with_what_is_before_it() -> None:
    """Brackets in strings and deeper arrays end nothing."""
    body = b'[{"a":"]}"},\r\n{"b":{"c":[]}}\n]\n'
    for chunks in every_cut(body):
        frames = read(ArrayFramer(), chunks)
        assert [(f.raw, f.number, f.data, f.trailing) for f in frames] == [
            (b'[{"a":"]}"}', 0, b'{"a":"]}"}', False),
            (b',\r\n{"b":{"c":[]}}', 1, b'{"b":{"c":[]}}', False),
            (b"\n]\n", 2, None, False),
        ]


def test_an_element_is_out_as_soon_as_it_is_whole() -> None:
    """It does not wait for its comma."""
    framer = ArrayFramer()
    (first,) = framer.feed(b'[{"a":1}')
    assert first.json == {"a": 1}
    assert framer.feed(b"\n,\n") == []
    (second,) = framer.feed(b'{"b":2}')
    assert second.json == {"b": 2}


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1]), st.booleans(), places())
def test_elements_of_every_kind(elements: list[Any], indent: int | None, ascii_: bool, where: list[int]) -> None:
    """Also numbers, strings, null and arrays, plain and indented."""
    body = json.dumps(elements, indent=indent, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    *frames, rest = same_however_cut(ArrayFramer, body, where)
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
def test_what_is_cut_short_is_trailing(body: bytes, data: list[bytes | None]) -> None:
    """With what there is of the element, or without data between two."""
    for chunks in every_cut(body):
        frames = read(ArrayFramer(), chunks)
        assert [frame.data for frame in frames] == data
        assert [frame.trailing for frame in frames] == [False] * (len(data) - 1) + [True]


def test_values_that_merely_follow_one_another() -> None:
    """No array at all, and no reason to lose them."""
    frames = same_however_cut(ArrayFramer, b'{"a":1}{"b":2}\n{"c":3}')
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
def test_garbage_passes(body: bytes, data: list[bytes | None]) -> None:
    """Whatever is no element goes with the bytes around it."""
    assert [frame.data for frame in same_however_cut(ArrayFramer, body)] == data


@settings(max_examples=600)
@given(bodies(*TOKENS), places())
@example(b'["\\\\"]', [3])
@example(b'["\\"",1]', [3, 4])
def test_the_same_frames_however_cut(body: bytes, where: list[int]) -> None:
    """The first invariant, on anything, with and without the cap."""
    frames = same_however_cut(ArrayFramer, body, where)
    capped = same_however_cut(lambda: ArrayFramer(max_frame=5), body, where)
    assert [frame.raw for frame in capped] == [frame.raw for frame in frames]
    assert all(frame.oversize == (len(frame.raw) > 5) for frame in capped)


def test_long_strings_of_escapes() -> None:
    """No recursion and no backtracking over them."""
    body = b'[{"a":"' + b'\\"' * 200_000 + b'"}]'
    frame, rest = read(ArrayFramer(), cut_at(body, range(0, len(body), 30_001)))
    assert (frame.data, rest.raw) == (body[1:-1], b"]")


def test_deep_nesting() -> None:
    """Counted, not recursed into."""
    deep = b"[" * 100_000 + b"]" * 100_000
    frame, rest = read(ArrayFramer(), [b"[" + deep + b"]"])
    assert (frame.data, rest.raw) == (deep, b"]")


def test_recorded_array_is_read_whole(shared: Path) -> None:
    """What a provider really sent, element for element."""
    files = list((shared / "streams").rglob("*.jsonarray"))
    assert files
    for file in files:
        body = file.read_bytes()
        whole = read(ArrayFramer(), [body])
        assert b"".join(frame.raw for frame in whole) == body
        assert read(ArrayFramer(), cut_at(body, range(0, len(body), 7))) == whole
        assert [json.loads(frame.data) for frame in whole if frame.data] == json.loads(body)
