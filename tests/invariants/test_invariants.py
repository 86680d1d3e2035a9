"""The invariants of every defect, repair and shape, over all protocols, healthy streams and chunk boundaries."""

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
from tests.invariants.healthy import Healthy, everywhere
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

HEALTHY = everywhere()
BY_NAME = {row.name: row for row in DEFECTS}
REPAIRED = Settings(SAFE)

# Healthy streams on which an injected defect has other effects than its definition names: why, by defect and stream.
CANNOT = {
    ("missing-index", "interleaved"): "without index and id nothing tells whose an interleaved fragment is",
    ("reused-index", "interleaved"): "with one index and no id nothing tells whose an interleaved fragment is",
    ("placeholder-arguments", "interleaved"): "a first {} waits for its own call's next event, not for another call's",
    ("merged-calls", "interleaved"): "pieces of two calls glued piece by piece are just no JSON",
    ("leaked-json", "fragments of two"): "text stands before it, so it is not the whole message",
    ("leaked-code", "fragments of two"): "text stands before it, so it is not the whole message",
    ("item-per-fragment", "interleaved"): "pieces of two calls as items of their own have no order",
    ("item-per-fragment", "one delta"): "one fragment is one item",
    ("item-per-fragment", "without arguments"): "one fragment is one item",
    ("prefilled-arguments", "interleaved"): "the item that waits is added behind the other one's events",
    ("invalid-arguments", "without arguments"): "there is no string in {}",
    ("overlapping-blocks", "fragments"): "one block has nothing to overlap with",
    ("overlapping-blocks", "one delta"): "one block has nothing to overlap with",
    ("overlapping-blocks", "without arguments"): "one block has nothing to overlap with",
    ("prefilled-arguments", "without arguments"): "{} in the start is how it has to be",
    ("early-finish", "two in one event"): "all calls come with the first finish: nothing follows it",
    ("early-finish", "whole"): "the call comes with the first finish: nothing follows it",
}
CHANGES_CALLS = {
    "legacy-function-call": "function_call can say one call only",
    "invalid-arguments": "the fault puts a line feed into a value",
    "lost-arguments": "the arguments are gone",
}


class Injected(NamedTuple):
    """A stream after faults."""

    body: bytes
    changes: int


def run(body: bytes, healthy: Healthy, wanted: Settings, size: int = 0, *, fast: bool = True) -> tuple[bytes, Record]:
    """What goes on of `body`, cut in pieces of `size` bytes, and the record of it."""
    line = Session(healthy.exchange, wanted, fast=fast)
    pieces = [body[at : at + size] for at in range(0, len(body), size)] if size else [body]
    out = b"".join(passed for piece in pieces for passed in line.feed(piece))
    out += b"".join(line.end())
    assert line.error is None
    record = line.record()
    assert record is not None
    return out, record


@functools.cache
def injector(healthy: Healthy, *names: str) -> Injected:
    """The stream with these defects in it."""
    faults = tuple((Fault(name=name), Budget(None)) for name in names)
    body, record = run(healthy.body, healthy, Settings(faults=faults))
    return Injected(body, min(fault.changes for fault in record.faults))


@functools.cache
def changed(healthy: Healthy, name: str) -> tuple[bytes, Record]:
    """The stream with this defect in it after all safe repairs, and its findings."""
    return run(injector(healthy, name).body, healthy, REPAIRED)


@functools.cache
def intended(healthy: Healthy) -> list[tuple[str, object]]:
    """The calls that the strictest client reads from a healthy stream."""
    return strict.calls(healthy.dialect, healthy.body, healthy.exchange)


def reported(record: Record) -> set[str]:
    """The names of what is wrong."""
    return {finding.name for finding in record.findings}


def calls(record: Record) -> list[tuple[str, object]]:
    """What was meant."""
    return [(call.name, json.loads(call.arguments)) for call in record.calls]


def injectable(healthy: Healthy) -> list[str]:
    """The defects that can be injected into a stream; messages have no framing that could be broken."""
    return [
        name for name in INJECTORS.get(healthy.dialect, {}) if not (healthy.over_socket and name in framing.INJECTORS)
    ]


def cases(*, repaired: bool) -> Iterator[Case]:
    """Each defect in each healthy stream of its protocol; those of one defect in one protocol are one test."""
    for healthy in HEALTHY:
        for name in injectable(healthy):
            row = BY_NAME[name]
            if (name, healthy.name) in CANNOT or (repaired and (row.repair is not Safety.SAFE or row.code in LIVE)):
                continue
            yield Case(f"{name}: {healthy.dialect}", (healthy, name))


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_2_nothing_switched_on_the_same_objects_go_on(healthy: Healthy) -> None:
    """Whatever the cut."""
    line = Session(healthy.exchange, NOTHING)
    for at in range(0, len(healthy.body), 7):
        chunk = healthy.body[at : at + 7]
        (passed,) = line.feed(chunk)
        assert passed is chunk


@pytest.mark.parametrize("size", [0, 1, 7, 100])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_3_healthy_streams_pass_repairs_byte_identical(healthy: Healthy, size: int) -> None:
    """And have no findings."""
    out, record = run(healthy.body, healthy, REPAIRED, size)
    assert out == healthy.body
    assert reported(record) == set()
    assert record.changed == 0


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_3_no_byte_waits_beyond_its_frame(healthy: Healthy) -> None:
    """Each frame is out before the next one comes."""
    line = Session(healthy.exchange, REPAIRED)
    for frame in healthy.frames:
        assert b"".join(line.feed(frame)) == frame


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_healthy_streams_are_understood_by_the_strictest(healthy: Healthy) -> None:
    """Or the comparison below would be with nothing."""
    record = read_body([healthy.body], healthy.exchange)
    assert record is not None
    assert strict.calls(healthy.dialect, healthy.body, healthy.exchange) == calls(record) != []


@grouped(cases(repaired=False))
def test_invariant_4_an_injected_defect_is_reported(healthy: Healthy, name: str) -> None:
    """And only it and the defects that its definition lists in `also`. A fault without a target changes nothing."""
    broken = injector(healthy, name)
    if not broken.changes:
        assert broken.body == healthy.body
        return
    if name == "lost-arguments" and "without" in healthy.name:
        return
    assert broken.body != healthy.body
    _, record = run(broken.body, healthy, NOTHING)
    assert name in reported(record)
    assert reported(record) <= {name, *BY_NAME[name].also}


@grouped(cases(repaired=True))
def test_invariant_5_an_injected_defect_is_repaired(healthy: Healthy, name: str) -> None:
    """By all safe repairs: the result has no findings, and the strictest client reads the intended calls."""
    fixed, record = changed(healthy, name)
    assert reported(run(fixed, healthy, NOTHING)[1]) == set()
    found = strict.calls(healthy.dialect, fixed, healthy.exchange)
    if name in CHANGES_CALLS:
        assert [one for one, _ in found] == [one for one, _ in intended(healthy)[: len(found)]] != []
    else:
        assert found == intended(healthy)
        if name not in REPAIRED_ONLY:
            assert calls(record) == intended(healthy)


@grouped(cases(repaired=True))
def test_invariant_5_each_repair_works_alone(healthy: Healthy, name: str) -> None:
    """A defect needs no other repair."""
    broken = injector(healthy, name)
    fixed, _ = run(broken.body, healthy, Settings(frozenset({BY_NAME[name].code})))
    assert name not in reported(run(fixed, healthy, NOTHING)[1])


@grouped(cases(repaired=True))
def test_repairs_do_not_depend_on_cuts(healthy: Healthy, name: str) -> None:
    """The same bytes leave, however those that come are cut."""
    broken = injector(healthy, name)
    whole, _ = changed(healthy, name)
    for size in (1, 64):
        assert run(broken.body, healthy, REPAIRED, size)[0] == whole, f"in pieces of {size}"


@grouped(cases(repaired=False))
def test_the_fast_path_changes_nothing(healthy: Healthy, name: str) -> None:
    """A stream breaks and is repaired in the same way where every event is parsed; the records are equal."""
    broken = injector(healthy, name)
    slow, _ = run(healthy.body, healthy, Settings(faults=((Fault(name=name), Budget(None)),)), fast=False)
    assert slow == broken.body
    out, record = run(broken.body, healthy, REPAIRED, fast=False)
    fixed, expected = changed(healthy, name)
    assert out == fixed
    assert record_object(record) == record_object(expected)


@grouped(
    Case(f"{shape}: {healthy.dialect}", (healthy, shape))
    for healthy in HEALTHY
    for shape in SHAPES.get(healthy.dialect, {})
)
def test_invariant_6_shapes_are_valid(healthy: Healthy, shape: str) -> None:
    """They have no findings, and the strictest client reads the same calls."""
    shaped, _ = run(healthy.body, healthy, Settings(shapes=(shape,)))
    assert run(healthy.body, healthy, Settings(shapes=(shape,)), fast=False)[0] == shaped
    _, record = run(shaped, healthy, NOTHING)
    assert reported(record) == set()
    assert strict.calls(healthy.dialect, shaped, healthy.exchange) == intended(healthy) == calls(record)


@pytest.mark.parametrize("at", range(2))
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_invariant_7_a_stage_that_raises_loses_no_byte(
    healthy: Healthy, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From there on everything passes as it comes."""
    line = Session(healthy.exchange, REPAIRED)
    list(line.feed(b""))
    line = Session(healthy.exchange, REPAIRED)
    stages = _stages(line, healthy)
    if not stages:
        pytest.skip("this protocol has no repairs")
    take = stages[-1].take
    count = iter(range(10_000))

    def failing(*args: object) -> object:
        if next(count) >= at:
            raise ValueError("a bug")
        return take(*args)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr(stages[-1], "take", failing)
    rest = healthy.body[len(healthy.frames[0]) :]
    out = b"".join(passed for at in range(0, len(rest), 50) for passed in line.feed(rest[at : at + 50]))
    assert out + b"".join(line.end()) == rest
    assert isinstance(line.error, ValueError)


def _stages(line: Session, healthy: Healthy) -> Sequence[Stage]:
    """The stages of a stream whose first frame has come."""
    line.feed(healthy.body[: len(healthy.frames[0])])
    chain = line._stages.stages
    return chain._stages if chain else ()


@settings(max_examples=300)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=80)),
    dialect=st.sampled_from([dialect.name for dialect in PROTOCOLS]),
)
def test_invariant_8_arbitrary_bytes(chunks: list[bytes], dialect: str) -> None:
    """Nothing raises, nothing empty goes on; only empty events and comments change."""
    healthy = next(one for one in HEALTHY if one.dialect == dialect)
    line = Session(healthy.exchange, REPAIRED)
    out = [passed for chunk in chunks for passed in line.feed(chunk)] + line.end()
    assert line.error is None
    assert all(out)
    record = line.record()
    changes = set(record.changes) if record else set()
    assert changes <= {"empty-data", "comment-as-data"}
    assert changes or b"".join(out) == b"".join(chunks)


@pytest.mark.parametrize("chunk", [b"data\n\n", b"data:\r\n\r\n", b"data: : ping\n\n"])
def test_invariant_8_framing_defects_need_no_protocol(chunk: bytes) -> None:
    """An empty event, and a comment sent as one, are repaired before the protocol is known."""
    line = Session(HEALTHY[0].exchange, REPAIRED)
    out = b"".join([*line.feed(chunk), *line.end()])
    record = line.record()
    assert record is not None
    assert record.changes
    assert out.startswith(b":")


@settings(max_examples=150)
@pytest.mark.parametrize("dialect", [dialect.name for dialect in PROTOCOLS])
@given(data=st.data())
def test_invariant_8_mutated_streams(dialect: str, data: st.DataObject) -> None:
    """Healthy streams with bytes changed, dropped and doubled raise nothing, whatever is switched on."""
    healthy = data.draw(st.sampled_from([one for one in HEALTHY if one.dialect == dialect]))
    body = bytearray(healthy.body)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    shapes = tuple(data.draw(st.lists(st.sampled_from([*SHAPES.get(dialect, {}), "whole-calls"]), max_size=2)))
    run(bytes(body), healthy, Settings(frozenset(row.code for row in DEFECTS if row.repair), shapes))


@settings(max_examples=150)
@pytest.mark.parametrize("dialect", [dialect.name for dialect in PROTOCOLS])
@given(data=st.data())
def test_invariant_8_shuffled_events(dialect: str, data: st.DataObject) -> None:
    """Events dropped, doubled and in another order raise nothing either."""
    healthy = data.draw(st.sampled_from([one for one in HEALTHY if one.dialect == dialect]))
    frames = healthy.frames
    drawn = data.draw(st.lists(st.sampled_from(frames), max_size=12))
    run(b"".join([frames[0], *drawn]), healthy, REPAIRED)


PAIRED = ("fragments of two", "whole, two", "two", "fragments")
# Pairs of faults after which nothing identifies the calls, and why.
_LIKE_A_NEW_CALL = "what comes then is how the next call of that index looks"
_NO_KEY = "nothing is left by which a moved index could be known for the same call"
_TEXT = "the second fault changes text that the first has changed"
NOT_TOGETHER = {
    ("lost-beginning", "short-deltas"): "no event has the complete arguments",
    ("enveloped-arguments", "repeated-stop"): "the second event is equal to the first only in its meaning",
    ("changing-index", "trailing-garbage"): "what follows whole arguments at an index of its own is nobody's",
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
    ("missing-id", "changing-call-id"): "nothing but places tells which item of the response is which",
    ("duplicate-id", "changing-call-id"): "nothing but places tells which item of the response is which",
    ("double-encoded-arguments", "changing-call-id"): "neither id nor text tells which item of the response is which",
    ("duplicate-id", "missing-start"): "two items of one id that were never added are one",
    ("doubled-call", "missing-start"): "an item that was never added is known for no copy",
    ("doubled-call", "rotating-item-id"): "the copy's events are known by their item id alone",
    ("unstreamed-calls", "empty-output"): "nothing says a call any more",
    ("short-deltas", "split-surrogate"): _TEXT,
    ("missing-id", "repeated-start"): "a start without id is known for no other's repetition",
    ("foreign-delta", "reused-index"): "the stray text keeps the index of another block",
    ("foreign-delta", "offset-index"): "the stray text keeps the index of another block",
    ("foreign-delta", "prefilled-arguments"): "the start that waits comes behind the stray text",
    ("doubled-call", "unknown-block"): "two blocks have deltas of unknown index",
    ("doubled-call", "unclosed-call"): "the copy is what tells that the first block was not closed",
    ("doubled-call", "prefilled-arguments"): _TEXT,
    ("unclosed-call", "prefilled-arguments"): "the start waits for a stop that does not come",
    ("prefilled-arguments", "missing-input"): "the input is what is taken out",
    ("unterminated-event", "data-after-end"): "what comes behind the end is dropped, terminated or not",
    ("missing-deltas", "short-closing"): "no event before the response says the arguments",
    ("short-closing", "missing-deltas"): "no event before the response says the arguments",
    ("short-deltas", "short-closing"): "no event before the response says the arguments whole",
    ("short-closing", "short-deltas"): "no event before the response says the arguments whole",
    ("short-closing", "trailing-garbage"): "what says the arguments whole is nothing but garbage",
    ("prefilled-arguments", "null-arguments"): _TEXT,
    ("late-id", "doubled-call"): "two equal calls without ids are two calls",
    ("late-id", "repeated-start"): "a start without id is known for no other's repetition",
    ("late-name", "object-arguments"): "the delta with the name is left out",
    ("late-name", "prefilled-arguments"): "the delta with the name is left out",
    ("late-name", "missing-deltas"): "the delta with the name is left out",
    ("late-name", "doubled-call"): "the copy has no name",
    ("missing-id", "repeated-id"): "there is no id to repeat",
    ("unclosed-call", "missing-deltas"): "the end that has the arguments is left out",
    ("overlapping-blocks", "missing-deltas"): "the arguments come when another call has begun",
    ("item-per-fragment", "missing-deltas"): "only the events that close the pieces have them",
    ("missing-finish", "unstreamed-calls"): "the message comes beside a finish reason, and there is none",
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
"""Faults that change the argument text: the second of two finds text that is not JSON."""


BY_ITEM = SAME_TEXT | {"missing-id", "duplicate-id", "rotating-item-id", "doubled-call", "missing-start"}
"""Faults after which nothing identifies the items of one call."""


def together(one: str, other: str) -> bool:
    """Whether a stream with both defects still says its calls."""
    if {one, other} <= SAME_TEXT or ("item-per-fragment" in {one, other} and {one, other} & BY_ITEM):
        return False
    return (one, other) not in NOT_TOGETHER and (other, one) not in NOT_TOGETHER


PARTNERS = 4
"""How many others each fault is paired with, at least."""
ALL_PAIRS = bool(os.environ.get("TOOLSTREAM_ALL_PAIRS"))
"""Whether each fault is paired with every other one: five times as many."""


def chosen(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs of these faults to try, in one order: always the same few of each fault, or all."""
    possible = [pair for pair in combinations(names, 2) if together(*pair)]
    if ALL_PAIRS:
        yield from possible
        return
    rank = {pair: hashlib.sha256(" ".join(pair).encode()).digest() for pair in possible}
    taken = {
        pair
        for name in names
        for pair in sorted((pair for pair in possible if name in pair), key=rank.__getitem__)[:PARTNERS]
    }
    yield from (pair for pair in possible if pair in taken)


def pairs() -> Iterator[Case]:
    """Pairs of faults that can be repaired, in both orders, in a stream of each protocol."""
    for healthy in HEALTHY:
        if healthy.name != PAIRED[0] and not (healthy.dialect in {"gemini", "ollama"} and healthy.name == "two"):
            continue
        names = [
            name
            for name in sorted(injectable(healthy))
            if BY_NAME[name].repair is Safety.SAFE and BY_NAME[name].code not in LIVE and name not in CHANGES_CALLS
        ]
        for one, other in chosen(names):
            for pair in ((one, other), (other, one)):
                yield Case(f"{pair[0]} first: {healthy.dialect}", (healthy, pair))


def test_invariant_9_has_enough_pairs() -> None:
    """Of each fault that has so many partners."""
    names = list(INJECTORS["anthropic"])
    tried, possible = list(chosen(names)), [pair for pair in combinations(names, 2) if together(*pair)]
    for name in names:
        count, most = (sum(name in pair for pair in among) for among in (tried, possible))
        assert min(PARTNERS, most) <= count <= most


@grouped(pairs())
def test_invariant_9_pairs_of_faults_are_repaired(healthy: Healthy, pair: Sequence[str]) -> None:
    """Repairs compose."""
    broken = injector(healthy, *pair)
    fixed, _ = run(broken.body, healthy, REPAIRED)
    assert strict.calls(healthy.dialect, fixed, healthy.exchange) == intended(healthy)
