"""The invariants of every defect, repair and shape, for all protocols, healthy streams and chunk boundaries."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.grouped import Case, grouped
from tests.invariants import strict
from tests.invariants.driven import run
from tests.invariants.healthy import Healthy, over_all_transports
from tests.tables import INJECTORS, REPAIRED_ONLY, SHAPES
from toolstream_core.defects.defect import LIVE, Safety
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session, read_body
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.report.jsonform import record_object
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.stages import framing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Record
    from toolstream_core.stages.stage import Stage

HEALTHY = over_all_transports()
BY_NAME = {defect.name: defect for defect in DEFECTS}
REPAIRED = Settings(SAFE)

# Why an injected defect has other effects than its definition names, by defect and healthy stream.
CANNOT = {
    ("missing-index", "interleaved"): "without index and id, nothing identifies the call of an interleaved fragment",
    ("reused-index", "interleaved"): "with one index and no id, nothing identifies the call of an interleaved fragment",
    (
        "placeholder-arguments",
        "interleaved",
    ): "a first {} is held until the next event of its own call, not of another call",
    ("merged-calls", "interleaved"): "concatenated fragments of two calls are not JSON",
    ("leaked-json", "fragments of two"): "with text before it, it is not the entire message",
    ("leaked-code", "fragments of two"): "with text before it, it is not the entire message",
    ("item-per-fragment", "interleaved"): "fragments of two calls as separate items have no order",
    ("item-per-fragment", "one delta"): "one fragment is one item",
    ("item-per-fragment", "without arguments"): "one fragment is one item",
    ("prefilled-arguments", "interleaved"): "the held item is added after the events of the other item",
    ("invalid-arguments", "without arguments"): "there is no string in {}",
    ("overlapping-blocks", "fragments"): "a single block cannot overlap",
    ("overlapping-blocks", "one delta"): "a single block cannot overlap",
    ("overlapping-blocks", "without arguments"): "a single block cannot overlap",
    ("prefilled-arguments", "without arguments"): "{} in the start is valid",
    ("early-finish", "two in one event"): "all calls are in the event of the first finish reason",
    ("early-finish", "one chunk"): "the call is in the event of the first finish reason",
}
CHANGES_CALLS = {
    "legacy-function-call": "function_call can contain one call only",
    "invalid-arguments": "the fault inserts a line feed into a value",
    "lost-arguments": "the arguments are gone",
}


class Injected(NamedTuple):
    """A stream with injected faults, and the number of changes of the fault with the fewest."""

    body: bytes
    changes: int


@functools.cache
def injected(healthy: Healthy, *names: str) -> Injected:
    """Inject these defects into the stream."""
    faults = tuple((Fault(name=name), Budget(None)) for name in names)
    body, record = run(healthy.body, healthy.exchange, Settings(faults=faults))
    return Injected(body, min(fault.changes for fault in record.faults))


@functools.cache
def repaired_stream(healthy: Healthy, name: str) -> tuple[bytes, Record]:
    """Inject this defect and return the stream after all safe repairs, with the record."""
    return run(injected(healthy, name).body, healthy.exchange, REPAIRED)


@functools.cache
def intended(healthy: Healthy) -> list[tuple[str, object]]:
    """Return the calls that the strict client reads from a healthy stream."""
    return strict.calls(healthy.protocol, healthy.body, healthy.exchange)


def finding_names(record: Record) -> set[str]:
    """Return the names of the findings."""
    return {finding.name for finding in record.findings}


def calls(record: Record) -> list[tuple[str, object]]:
    """Return name and arguments of each intended call."""
    return [(call.name, json.loads(call.arguments)) for call in record.calls]


def injectable(healthy: Healthy) -> list[str]:
    """Return the defects that can be injected; framing defects need server-sent events."""
    return [
        name for name in INJECTORS.get(healthy.protocol, {}) if not (healthy.over_socket and name in framing.INJECTORS)
    ]


def cases(*, repaired: bool) -> Iterator[Case]:
    """Yield each defect in each healthy stream of its protocol, grouped by defect and protocol."""
    for healthy in HEALTHY:
        for name in injectable(healthy):
            defect = BY_NAME[name]
            if (name, healthy.name) in CANNOT or (
                repaired and (defect.repair is not Safety.SAFE or defect.code in LIVE)
            ):
                continue
            yield Case(f"{name}: {healthy.protocol}", (healthy, name))


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_2_without_options_the_same_bytes_objects_are_forwarded(healthy: Healthy) -> None:
    """Without options, a session forwards the same `bytes` objects."""
    session = Session(healthy.exchange, NOTHING)
    for at in range(0, len(healthy.body), 7):
        chunk = healthy.body[at : at + 7]
        (forwarded,) = session.feed(chunk)
        assert forwarded is chunk


@pytest.mark.parametrize("size", [0, 1, 7, 100])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_3_healthy_streams_pass_repairs_byte_identical(healthy: Healthy, size: int) -> None:
    """Safe repairs forward a healthy stream byte-identical and without findings."""
    out, record = run(healthy.body, healthy.exchange, REPAIRED, size)
    assert out == healthy.body
    assert finding_names(record) == set()
    assert record.changed == 0


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_3_no_byte_is_held_beyond_its_event(healthy: Healthy) -> None:
    """Each event is forwarded before the next event is received."""
    session = Session(healthy.exchange, REPAIRED)
    for frame in healthy.frames:
        assert b"".join(session.feed(frame)) == frame


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_the_strict_client_reads_healthy_streams(healthy: Healthy) -> None:
    """The strict client and toolstream read the same calls from a healthy stream."""
    record = read_body([healthy.body], healthy.exchange)
    assert record is not None
    assert strict.calls(healthy.protocol, healthy.body, healthy.exchange) == calls(record) != []


@grouped(cases(repaired=False))
def test_invariant_4_an_injected_defect_is_reported(healthy: Healthy, name: str) -> None:
    """An injected defect is reported, with no other defects than its definition lists in `also`."""
    broken = injected(healthy, name)
    if not broken.changes:
        assert broken.body == healthy.body
        return
    if name == "lost-arguments" and "without" in healthy.name:
        return
    assert broken.body != healthy.body
    _, record = run(broken.body, healthy.exchange, NOTHING)
    assert name in finding_names(record)
    assert finding_names(record) <= {name, *BY_NAME[name].also}


@grouped(cases(repaired=True))
def test_invariant_5_an_injected_defect_is_repaired(healthy: Healthy, name: str) -> None:
    """After all safe repairs, a stream has no findings, and the strict client reads the intended calls."""
    fixed, record = repaired_stream(healthy, name)
    assert finding_names(run(fixed, healthy.exchange, NOTHING)[1]) == set()
    read = strict.calls(healthy.protocol, fixed, healthy.exchange)
    if name in CHANGES_CALLS:
        assert [one for one, _ in read] == [one for one, _ in intended(healthy)[: len(read)]] != []
    else:
        assert read == intended(healthy)
        if name not in REPAIRED_ONLY:
            assert calls(record) == intended(healthy)


@grouped(cases(repaired=True))
def test_invariant_5_each_repair_works_alone(healthy: Healthy, name: str) -> None:
    """The repair of a defect works without the other repairs."""
    broken = injected(healthy, name)
    fixed, _ = run(broken.body, healthy.exchange, Settings(frozenset({BY_NAME[name].code})))
    assert name not in finding_names(run(fixed, healthy.exchange, NOTHING)[1])


@grouped(cases(repaired=True))
def test_repairs_do_not_depend_on_chunk_boundaries(healthy: Healthy, name: str) -> None:
    """Repairs forward the same bytes for all chunk boundaries."""
    broken = injected(healthy, name)
    expected, _ = repaired_stream(healthy, name)
    for size in (1, 64):
        assert run(broken.body, healthy.exchange, REPAIRED, size)[0] == expected, f"in chunks of {size}"


@grouped(cases(repaired=False))
def test_the_fast_path_changes_nothing(healthy: Healthy, name: str) -> None:
    """The fast path injects and repairs as if every event were parsed, with equal records."""
    broken = injected(healthy, name)
    slow, _ = run(healthy.body, healthy.exchange, Settings(faults=((Fault(name=name), Budget(None)),)), fast=False)
    assert slow == broken.body
    out, record = run(broken.body, healthy.exchange, REPAIRED, fast=False)
    fixed, expected = repaired_stream(healthy, name)
    assert out == fixed
    assert record_object(record) == record_object(expected)


@grouped(
    Case(f"{shape}: {healthy.protocol}", (healthy, shape))
    for healthy in HEALTHY
    for shape in SHAPES.get(healthy.protocol, {})
)
def test_invariant_6_shapes_are_valid(healthy: Healthy, shape: str) -> None:
    """A shape has no findings, and the strict client reads the same calls from it."""
    shaped, _ = run(healthy.body, healthy.exchange, Settings(shapes=(shape,)))
    assert run(healthy.body, healthy.exchange, Settings(shapes=(shape,)), fast=False)[0] == shaped
    _, record = run(shaped, healthy.exchange, NOTHING)
    assert finding_names(record) == set()
    assert strict.calls(healthy.protocol, shaped, healthy.exchange) == intended(healthy) == calls(record)


@pytest.mark.parametrize("at", range(2))
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_7_a_stage_that_raises_loses_no_byte(
    healthy: Healthy, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an internal error of a stage, everything is forwarded unchanged."""
    session = Session(healthy.exchange, REPAIRED)
    list(session.feed(b""))
    session = Session(healthy.exchange, REPAIRED)
    stages = _stages(session, healthy)
    if not stages:
        pytest.skip("this protocol has no repairs")
    take = stages[-1].take
    count = iter(range(10_000))

    def failing(*args: object) -> object:
        if next(count) >= at:
            raise ValueError("a bug")
        return take(*args)  # type: ignore[arg-type] # the arguments of the call

    monkeypatch.setattr(stages[-1], "take", failing)
    rest = healthy.body[len(healthy.frames[0]) :]
    out = b"".join(forwarded for at in range(0, len(rest), 50) for forwarded in session.feed(rest[at : at + 50]))
    assert out + b"".join(session.end()) == rest
    assert isinstance(session.error, ValueError)


def _stages(session: Session, healthy: Healthy) -> Sequence[Stage]:
    """Feed the first event and return the stages."""
    session.feed(healthy.body[: len(healthy.frames[0])])
    chain = session._stages.stages
    return chain._stages if chain else ()


@settings(max_examples=300)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=80)),
    protocol=st.sampled_from([protocol.name for protocol in PROTOCOLS]),
)
def test_invariant_8_arbitrary_bytes_raise_nothing(chunks: list[bytes], protocol: str) -> None:
    """Arbitrary bytes raise nothing; only empty events and comments are changed, and no empty chunk is sent."""
    healthy = next(one for one in HEALTHY if one.protocol == protocol)
    session = Session(healthy.exchange, REPAIRED)
    out = [forwarded for chunk in chunks for forwarded in session.feed(chunk)] + session.end()
    assert session.error is None
    assert all(out)
    record = session.record()
    changes = set(record.changes) if record else set()
    assert changes <= {"empty-data", "comment-as-data"}
    assert changes or b"".join(out) == b"".join(chunks)


@pytest.mark.parametrize("chunk", [b"data\n\n", b"data:\r\n\r\n", b"data: : ping\n\n"])
def test_invariant_8_framing_defects_need_no_protocol(chunk: bytes) -> None:
    """An empty event, and a comment sent as data, are repaired before the protocol is known."""
    session = Session(HEALTHY[0].exchange, REPAIRED)
    out = b"".join([*session.feed(chunk), *session.end()])
    record = session.record()
    assert record is not None
    assert record.changes
    assert out.startswith(b":")


@settings(max_examples=150)
@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
@given(data=st.data())
def test_invariant_8_mutated_streams_raise_nothing(protocol: str, data: st.DataObject) -> None:
    """Healthy streams with changed, dropped and repeated bytes raise nothing with any shapes and all repairs."""
    healthy = data.draw(st.sampled_from([one for one in HEALTHY if one.protocol == protocol]))
    body = bytearray(healthy.body)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    shapes = tuple(data.draw(st.lists(st.sampled_from([*SHAPES.get(protocol, {}), "whole-calls"]), max_size=2)))
    run(bytes(body), healthy.exchange, Settings(frozenset(defect.code for defect in DEFECTS if defect.repair), shapes))


@settings(max_examples=150)
@pytest.mark.parametrize("protocol", [protocol.name for protocol in PROTOCOLS])
@given(data=st.data())
def test_invariant_8_shuffled_events_raise_nothing(protocol: str, data: st.DataObject) -> None:
    """Dropped, repeated and reordered events raise nothing."""
    healthy = data.draw(st.sampled_from([one for one in HEALTHY if one.protocol == protocol]))
    frames = healthy.frames
    others = data.draw(st.lists(st.sampled_from(frames), max_size=12))
    run(b"".join([frames[0], *others]), healthy.exchange, REPAIRED)


PAIRED_STREAM = "fragments of two"
# Why nothing identifies the calls after these pairs of faults.
_LIKE_A_NEW_CALL = "the next event looks like the next call of that index"
_NO_KEY = "nothing identifies the call of a changed index"
_TEXT = "the second fault changes the text that the first fault changed"
INCOMPATIBLE = {
    ("lost-beginning", "short-deltas"): "no event has the complete arguments",
    ("enveloped-arguments", "repeated-stop"): "the second event equals the first only in meaning",
    ("changing-index", "trailing-garbage"): "text after complete arguments, at its own index, belongs to no call",
    ("missing-id", "doubled-call"): "two equal calls without ids are two calls",
    ("missing-id", "replayed-arguments"): _LIKE_A_NEW_CALL,
    ("empty-id", "replayed-arguments"): _LIKE_A_NEW_CALL,
    ("null-identity", "replayed-arguments"): _LIKE_A_NEW_CALL,
    ("changing-id", "replayed-arguments"): _LIKE_A_NEW_CALL,
    ("decorated-name", "replayed-arguments"): _LIKE_A_NEW_CALL,
    ("changing-id", "late-name"): _LIKE_A_NEW_CALL,
    ("changing-id", "repeated-name"): _LIKE_A_NEW_CALL,
    ("changing-id", "placeholder-arguments"): _LIKE_A_NEW_CALL,
    ("late-name", "placeholder-arguments"): _LIKE_A_NEW_CALL,
    ("split-name", "placeholder-arguments"): _LIKE_A_NEW_CALL,
    ("repeated-name", "placeholder-arguments"): _LIKE_A_NEW_CALL,
    ("changing-index", "missing-id"): _NO_KEY,
    ("changing-index", "empty-id"): _NO_KEY,
    ("changing-index", "null-identity"): _NO_KEY,
    ("changing-index", "changing-id"): _NO_KEY,
    ("changing-index", "late-id"): _NO_KEY,
    ("changing-index", "late-name"): _NO_KEY,
    ("changing-index", "repeated-name"): _NO_KEY,
    ("changing-index", "placeholder-arguments"): _NO_KEY,
    ("changing-index", "split-surrogate"): _NO_KEY,
    ("duplicate-id", "unstreamed-calls"): "calls of one id in one message are one call",
    ("placeholder-arguments", "doubled-call"): _TEXT,
    ("trailing-garbage", "doubled-call"): _TEXT,
    ("missing-id", "changing-call-id"): "only positions identify the items of the response",
    ("duplicate-id", "changing-call-id"): "only positions identify the items of the response",
    ("double-encoded-arguments", "changing-call-id"): "neither id nor text identifies the items of the response",
    ("duplicate-id", "missing-start"): "two items of one id without `added` events are one",
    ("doubled-call", "missing-start"): "an item without an `added` event is not recognised as a copy",
    ("doubled-call", "rotating-item-id"): "only the item id identifies the copy's events",
    ("changing-index", "rotating-item-id"): _NO_KEY,
    ("changing-index", "missing-start"): "the first delta decides on the place of an item without an `added` event",
    ("unstreamed-calls", "empty-output"): "no event contains a call",
    ("short-deltas", "split-surrogate"): _TEXT,
    ("missing-id", "repeated-start"): "a start without id is not recognised as a repetition",
    ("foreign-delta", "reused-index"): "the foreign fragment keeps the index of another block",
    ("foreign-delta", "offset-index"): "the foreign fragment keeps the index of another block",
    ("foreign-delta", "prefilled-arguments"): "the held start is sent after the foreign fragment",
    ("doubled-call", "unknown-block"): "two blocks have deltas of unknown index",
    ("doubled-call", "unclosed-call"): "only the copy shows that the first block was not closed",
    ("doubled-call", "prefilled-arguments"): _TEXT,
    ("unclosed-call", "prefilled-arguments"): "the start is held until a stop that is missing",
    ("prefilled-arguments", "missing-input"): "the input is removed",
    ("unterminated-event", "data-after-end"): "data after the end is dropped, terminated or not",
    ("missing-deltas", "short-closing"): "no event before the response contains the arguments",
    ("short-closing", "missing-deltas"): "no event before the response contains the arguments",
    ("short-deltas", "short-closing"): "no event before the response has the complete arguments",
    ("short-closing", "short-deltas"): "no event before the response has the complete arguments",
    ("short-closing", "trailing-garbage"): "the event with the complete arguments contains only garbage",
    ("prefilled-arguments", "null-arguments"): _TEXT,
    ("late-id", "doubled-call"): "two equal calls without ids are two calls",
    ("late-id", "repeated-start"): "a start without id is not recognised as a repetition",
    ("late-name", "object-arguments"): "the delta with the name is left out",
    ("late-name", "prefilled-arguments"): "the delta with the name is left out",
    ("late-name", "missing-deltas"): "the delta with the name is left out",
    ("late-name", "doubled-call"): "the copy has no name",
    ("missing-id", "repeated-id"): "there is no id to repeat",
    ("unclosed-call", "missing-deltas"): "the end that has the arguments is left out",
    ("overlapping-blocks", "missing-deltas"): "the arguments follow the start of another call",
    ("item-per-fragment", "missing-deltas"): "only the events that close the fragments have them",
    ("missing-finish", "unstreamed-calls"): "the message is in the event of a finish reason, and there is none",
}
SAME_TEXT = frozenset(
    {
        "cumulative-arguments",
        "replayed-arguments",
        "placeholder-arguments",
        "double-encoded-arguments",
        "object-arguments",
        "misnamed-arguments",
        "trailing-garbage",
        "split-surrogate",
        "prefilled-arguments",
        "lost-beginning",
        "enveloped-arguments",
    }
)
"""Faults that change the argument text: after the first, the text is not JSON."""


BY_ITEM = SAME_TEXT | {"missing-id", "duplicate-id", "rotating-item-id", "doubled-call", "missing-start"}
"""Faults after which nothing identifies the items of one call."""


def compatible(one: str, other: str) -> bool:
    """Return whether the calls of a stream with both defects can be identified."""
    if {one, other} <= SAME_TEXT or ("item-per-fragment" in {one, other} and {one, other} & BY_ITEM):
        return False
    return (one, other) not in INCOMPATIBLE and (other, one) not in INCOMPATIBLE


PARTNERS = 4
"""The minimum number of other faults that each fault is paired with."""
ALL_PAIRS = bool(os.environ.get("TOOLSTREAM_ALL_PAIRS"))
"""Whether each fault is paired with every other fault: five times as many pairs."""


def chosen(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of these faults in one order: always the same few of each fault, or all."""
    possible = [pair for pair in combinations(names, 2) if compatible(*pair)]
    if ALL_PAIRS:
        yield from possible
        return
    rank = {pair: hashlib.sha256(" ".join(pair).encode()).digest() for pair in possible}
    selected = {
        pair
        for name in names
        for pair in sorted((pair for pair in possible if name in pair), key=rank.__getitem__)[:PARTNERS]
    }
    yield from (pair for pair in possible if pair in selected)


def pairs() -> Iterator[Case]:
    """Yield pairs of repairable faults, in both orders, in a stream of each protocol."""
    for healthy in HEALTHY:
        if healthy.name != PAIRED_STREAM and not (healthy.protocol in {"gemini", "ollama"} and healthy.name == "two"):
            continue
        names = [
            name
            for name in sorted(injectable(healthy))
            if BY_NAME[name].repair is Safety.SAFE and BY_NAME[name].code not in LIVE and name not in CHANGES_CALLS
        ]
        for one, other in chosen(names):
            for pair in ((one, other), (other, one)):
                yield Case(f"{pair[0]} first: {healthy.protocol}", (healthy, pair))


def test_invariant_9_has_enough_pairs() -> None:
    """Each fault is in at least `PARTNERS` pairs, if it has that many partners."""
    names = list(INJECTORS["anthropic"])
    selected, possible = list(chosen(names)), [pair for pair in combinations(names, 2) if compatible(*pair)]
    for name in names:
        count, most = (sum(name in pair for pair in among) for among in (selected, possible))
        assert min(PARTNERS, most) <= count <= most


@grouped(pairs())
def test_invariant_9_pairs_of_faults_are_repaired(healthy: Healthy, pair: Sequence[str]) -> None:
    """After all safe repairs of two injected faults, the strict client reads the intended calls."""
    broken = injected(healthy, *pair)
    fixed, _ = run(broken.body, healthy.exchange, REPAIRED)
    assert strict.calls(healthy.protocol, fixed, healthy.exchange) == intended(healthy)
