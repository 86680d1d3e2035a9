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


def read(value: object) -> object:
    """What mitmproxy reads of a packed value."""
    packed = pack(value)
    data = b"".join(packed.chunks())
    assert len(data) == packed.size
    return tnetstring.loads(data)


@given(VALUES, st.lists(st.binary()), st.lists(st.tuples(st.integers(0), st.integers(0))))
def test_streamed_values(plain: object, chunks: list[bytes], pairs: list[tuple[int, int]]) -> None:
    """They stand where plain values would, and the size is known before."""
    cuts = [tnetstring.dumps(pair) for pair in pairs]
    value = {
        "before": plain,
        "body": Streamed(BYTES, sum(map(len, chunks)), lambda: chunks),
        "in": [plain, {"cuts": Streamed(LIST, sum(map(len, cuts)), lambda: cuts)}],
    }
    expected = {"before": plain, "body": b"".join(chunks), "in": [plain, {"cuts": list(map(list, pairs))}]}
    assert read(value) == expected
    assert read(plain) == plain


def test_what_mitmproxy_has_no_form_for() -> None:
    """Beside a streamed value too."""
    with pytest.raises(ValueError, match="unserializable"):
        pack({"body": Streamed(BYTES, 0, list), "x": {1, 2}})


@given(
    st.lists(st.builds(lambda start, count: range(start, start + count), st.integers(0, 10**6), st.integers(0, 9999)))
)
def test_runs_of_numbers(runs: list[range]) -> None:
    """As one list."""
    assert read(numbers(lambda: runs)) == [number for run in runs for number in run]


def test_a_flow() -> None:
    """Its body may come in pieces."""
    flow = tflow.tflow(resp=True)
    state = flow.get_state()
    state["response"]["content"] = Streamed(BYTES, 6, lambda: [b"abc", b"def"])
    [again] = FlowReader(io.BytesIO(b"".join(pack(state).chunks()))).stream()
    assert again.get_state() == {**flow.get_state(), "response": {**flow.get_state()["response"], "content": b"abcdef"}}
