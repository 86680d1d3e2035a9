from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import FlowReader, tnetstring
from mitmproxy.test import tflow

from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, numbers, pack

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def unpacked(value: object) -> object:
    """Return a packed value as mitmproxy reads it."""
    packed = pack(value)
    data = b"".join(packed.chunks())
    assert len(data) == packed.size
    return tnetstring.loads(data)


@given(VALUES, st.lists(st.binary()), st.lists(st.tuples(st.integers(0), st.integers(0))))
def test_streamed_values(plain: object, chunks: list[bytes], pairs: list[tuple[int, int]]) -> None:
    """Streamed values are read like plain values, and their size is known before they are written."""
    cuts = [tnetstring.dumps(pair) for pair in pairs]
    value = {
        "before": plain,
        "body": Streamed(BYTES, sum(map(len, chunks)), lambda: chunks),
        "in": [plain, {"cuts": Streamed(LIST, sum(map(len, cuts)), lambda: cuts)}],
    }
    expected = {"before": plain, "body": b"".join(chunks), "in": [plain, {"cuts": list(map(list, pairs))}]}
    assert unpacked(value) == expected
    assert unpacked(plain) == plain


def test_an_unserializable_value_is_rejected() -> None:
    """A value that mitmproxy cannot serialize raises, also next to a streamed value."""
    with pytest.raises(ValueError, match="unserializable"):
        pack({"body": Streamed(BYTES, 0, list), "x": {1, 2}})


@given(
    st.lists(st.builds(lambda start, count: range(start, start + count), st.integers(0, 10**6), st.integers(0, 9999)))
)
def test_ranges_of_numbers(ranges: list[range]) -> None:
    """Ranges are packed as one list of numbers."""
    assert unpacked(numbers(lambda: ranges)) == [number for numbers_range in ranges for number in numbers_range]


def test_a_flow_with_a_streamed_body() -> None:
    """The body of a flow may be streamed in several chunks."""
    flow = tflow.tflow(resp=True)
    state = flow.get_state()
    state["response"]["content"] = Streamed(BYTES, 6, lambda: [b"abc", b"def"])
    [read_flow] = FlowReader(io.BytesIO(b"".join(pack(state).chunks()))).stream()
    assert read_flow.get_state() == {
        **flow.get_state(),
        "response": {**flow.get_state()["response"], "content": b"abcdef"},
    }
