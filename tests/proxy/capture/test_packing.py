from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.io import FlowReader, tnetstring
from mitmproxy.test import tflow

from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, numbers, pack, pack_number, packed_cuts

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def read(value: object) -> object:
    """What mitmproxy reads of a packed value."""
    packed = pack(value)
    data = b"".join(packed.pieces())
    assert len(data) == packed.size
    return tnetstring.loads(data)


@given(VALUES)
def test_mitmproxy_reads_what_is_packed(value: object) -> None:
    """All that is in it, and as many bytes as were foretold."""
    assert read(value) == value


@given(st.lists(st.binary()), st.lists(st.tuples(st.integers(0), st.lists(st.integers(0)))))
def test_streamed_values(pieces: list[bytes], reads: list[tuple[int, list[int]]]) -> None:
    """They stand where plain values would."""
    cuts = [packed_cuts([when], [len(sizes)], sizes) for when, sizes in reads]
    flat = [size for _, sizes in reads for size in sizes]
    assert packed_cuts([when for when, _ in reads], [len(sizes) for _, sizes in reads], flat) == b"".join(cuts)
    pairs = [[when, size] for when, sizes in reads for size in sizes]
    value = {
        "before": 1,
        "body": Streamed(BYTES, sum(map(len, pieces)), lambda: pieces),
        "in": [{"cuts": Streamed(LIST, sum(map(len, cuts)), lambda: cuts)}],
    }
    assert read(value) == {"before": 1, "body": b"".join(pieces), "in": [{"cuts": pairs}]}


@given(st.lists(st.integers()))
def test_numbers(values: list[int]) -> None:
    """One by one."""
    assert all(tnetstring.loads(pack_number(value)) == value for value in values)


@given(
    st.lists(st.builds(lambda start, count: range(start, start + count), st.integers(0, 10**6), st.integers(0, 9999)))
)
def test_runs_of_numbers(runs: list[range]) -> None:
    """As one list, whether they have equally many digits or not."""
    assert read(numbers(lambda: runs)) == [number for run in runs for number in run]


def test_a_flow() -> None:
    """Its body may come in pieces."""
    flow = tflow.tflow(resp=True)
    state = flow.get_state()
    state["response"]["content"] = Streamed(BYTES, 6, lambda: [b"abc", b"def"])
    [again] = FlowReader(io.BytesIO(b"".join(pack(state).pieces()))).stream()
    assert again.get_state() == {**flow.get_state(), "response": {**flow.get_state()["response"], "content": b"abcdef"}}
