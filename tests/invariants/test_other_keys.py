"""Unknown keys reach the client once, in their order, unchanged, and in their call."""

from __future__ import annotations

import functools
import hashlib
import os
from typing import TYPE_CHECKING, Final

import pytest

from tests.calls.patterns import patterns
from tests.grouped import Case, grouped
from tests.invariants.driven import injected, run
from tests.invariants.healthy import Healthy, over_all_transports
from tests.invariants.unknown_keys import extended, keys_by_call, miscounted, places
from tests.tables import INJECTORS, SHAPES
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.settings import SAFE, Settings, Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

REPAIRED: Final = Settings(SAFE)
SAMPLE_GROUPS: Final = 8
ALL_PLACES: Final = bool(os.environ.get("TOOLSTREAM_ALL_PLACES"))
"""Whether to test each place of a stream alone, instead of one place that its name selects."""
WITHHELD: Final = {
    "data-after-end": "what follows the end is not sent",
    "doubled-call": "the client already has the call",
    "early-finish": "the last of two finish reasons is sent",
    "foreign-delta": "whitespace inside a call is not sent",
    "missing-head": "a late start is not sent: toolstream added one before",
    "item-per-fragment": "only the first item and the last end are sent",
    "repeated-finish": "a finish is sent once",
    "repeated-start": "a start is sent once",
    "repeated-stop": "a stop is sent once",
    "cut-off-call": "the end of an incomplete response is not sent",
}
"""Why the repair withholds events or entries, and with them their keys, by injected defect."""
_REBUILT: Final = "bare-response early-finish empty-output missing-finish missing-head missing-start unclosed-call"
REBUILT: Final = frozenset({*_REBUILT.split(), "unstreamed-calls"})
"""Defects whose repair adds events that repeat an item or a response of another event with all of its keys."""


def places_to_test(body: bytes, content_type: str, name: str) -> Iterator[str | None]:
    """Yield `None` for keys at all places at once, then single places."""
    found = places(body, content_type)
    chosen = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % max(len(found), 1)
    yield None
    yield from found if ALL_PLACES else found[chosen : chosen + 1]


@functools.cache
def shapes(protocol: str) -> dict[str, Settings]:
    """Return the shapes of a protocol, and each client's options with the safe repairs."""
    clients = {f"for:{one.name}": settings(Words(shape=[f"for:{one.name}"])) for one in CLIENTS}
    return {name: Settings(shapes=(name,)) for name in SHAPES.get(protocol, {})} | clients | {"safe": REPAIRED}


@grouped(Case(f"{name}: {one.protocol}", (one, name)) for one in over_all_transports() for name in shapes(one.protocol))
def test_shapes_keep_unknown_keys(healthy: Healthy, name: str) -> None:
    """A shape keeps unknown keys, even if it joins, splits or reorders fragments."""
    for place in places_to_test(healthy.body, healthy.content_type, f"{healthy} {name}"):
        body, keys = extended(healthy.body, healthy.content_type, place)
        out = run(body, healthy.exchange, shapes(healthy.protocol)[name]).out
        assert miscounted(keys, out, healthy.content_type) == ([], [])
        before, after = (keys_by_call(one, healthy.content_type) for one in (body, out))
        if name == "interleaved":  # events of different calls change places
            before, after = ({call: sorted(found) for call, found in one.items()} for one in (before, after))
        assert after == before


@grouped(
    Case(f"{name}: {one.protocol}", (one, name)) for one in over_all_transports() for name in INJECTORS[one.protocol]
)
def test_repairs_keep_unknown_keys(healthy: Healthy, name: str) -> None:
    """A safe repair keeps all unknown keys, except in events that it withholds."""
    broken = injected(healthy.body, healthy.exchange, name).out
    for place in places_to_test(broken, healthy.content_type, f"{healthy} {name}"):
        body, keys = extended(broken, healthy.content_type, place)
        found = miscounted(keys, run(body, healthy.exchange, REPAIRED).out, healthy.content_type)
        assert name in WITHHELD or found.lost == []
        assert name in REBUILT or found.repeated == []


@pytest.mark.parametrize("at", range(SAMPLE_GROUPS))
def test_repairs_keep_unknown_keys_of_samples(at: int) -> None:
    """Safe repairs keep the unknown keys of the sample streams."""
    for pattern in patterns()[at::SAMPLE_GROUPS]:
        for place in places_to_test(pattern.body, pattern.content_type, pattern.name):
            body, keys = extended(pattern.body, pattern.content_type, place)
            if not keys:
                continue
            outcome = run(body, pattern.exchange, REPAIRED)
            found, names = miscounted(keys, outcome.out, pattern.content_type), set(outcome.finding_names)
            assert found.lost == [] or not names.isdisjoint(WITHHELD), pattern.name
            assert found.repeated == [] or not names.isdisjoint(REBUILT), pattern.name
