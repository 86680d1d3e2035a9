"""Unknown keys reach the client once, in their order, as they were written, on the call that they belong to."""

from __future__ import annotations

import functools
import hashlib
import os
from typing import TYPE_CHECKING, Final

import pytest

from tests.calls.patterns import patterns
from tests.grouped import Case, grouped
from tests.invariants.driven import injected, run
from tests.invariants.healthy import Healthy, everywhere
from tests.invariants.planted import miscounted, owners, places, planted
from tests.tables import INJECTORS, SHAPES
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.settings import SAFE, Settings, Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

REPAIRED: Final = Settings(SAFE)
SAMPLE_GROUPS: Final = 8
ALL_PLACES: Final = bool(os.environ.get("TOOLSTREAM_ALL_PLACES"))
"""Whether each stream is tried with keys at each place alone, instead of one place that its name selects."""
WITHDRAWN: Final = {
    "data-after-end": "what follows the end is not sent",
    "doubled-call": "the client has the call already",
    "early-finish": "of two finish reasons the last one is sent",
    "foreign-delta": "white space inside a call is not sent",
    "missing-head": "a start that comes late is not sent, as one was made",
    "item-per-fragment": "only the first of the items is sent, and only the last of their ends",
    "repeated-finish": "a finish is sent once",
    "repeated-start": "a start is sent once",
    "repeated-stop": "a stop is sent once",
    "cut-off-call": "the end of an incomplete response is not sent",
}
"""By injected defect: why the repair withholds events or entries, whose keys go with them."""
_REBUILT: Final = "bare-response early-finish empty-output missing-finish missing-head missing-start unclosed-call"
REBUILT: Final = frozenset({*_REBUILT.split(), "unstreamed-calls"})
"""Defects whose repair makes events that repeat an item or a response of another event, with all of its keys."""


def tried(body: bytes, content_type: str, name: str) -> Iterator[str | None]:
    """The places at which keys are planted: all at once, and one alone, because what is alone may be overlooked."""
    found = places(body, content_type)
    chosen = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % max(len(found), 1)
    yield None
    yield from found if ALL_PLACES else found[chosen : chosen + 1]


@functools.cache
def shapes(dialect: str) -> dict[str, Settings]:
    """The shapes of a protocol, and the client sets; each client set has the safe repairs, too."""
    clients = {f"for:{one.name}": settings(Words(shape=[f"for:{one.name}"])) for one in CLIENTS}
    return {name: Settings(shapes=(name,)) for name in SHAPES.get(dialect, {})} | clients | {"safe": REPAIRED}


@grouped(Case(f"{name}: {one.dialect}", (one, name)) for one in everywhere() for name in shapes(one.dialect))
def test_shapes_keep_unknown_keys(healthy: Healthy, name: str) -> None:
    """Also where fragments are joined, split, or sent in another order."""
    for place in tried(healthy.body, healthy.content_type, f"{healthy} {name}"):
        body, plants = planted(healthy.body, healthy.content_type, place)
        out = run(body, healthy.exchange, shapes(healthy.dialect)[name]).out
        assert miscounted(plants, out, healthy.content_type) == ([], [])
        assert owners(out, healthy.content_type) == owners(body, healthy.content_type)


@grouped(Case(f"{name}: {one.dialect}", (one, name)) for one in everywhere() for name in INJECTORS[one.dialect])
def test_repairs_keep_unknown_keys(healthy: Healthy, name: str) -> None:
    """All of them but those of events that the client must not get."""
    broken = injected(healthy.body, healthy.exchange, name).out
    for place in tried(broken, healthy.content_type, f"{healthy} {name}"):
        body, plants = planted(broken, healthy.content_type, place)
        found = miscounted(plants, run(body, healthy.exchange, REPAIRED).out, healthy.content_type)
        assert name in WITHDRAWN or found.lost == []
        assert name in REBUILT or found.repeated == []


@pytest.mark.parametrize("at", range(SAMPLE_GROUPS))
def test_repairs_keep_unknown_keys_of_samples(at: int) -> None:
    """Of streams as they were seen."""
    for pattern in patterns()[at::SAMPLE_GROUPS]:
        for place in tried(pattern.body, pattern.content_type, pattern.name):
            body, plants = planted(pattern.body, pattern.content_type, place)
            if not plants:
                continue
            went = run(body, pattern.exchange, REPAIRED)
            found, names = miscounted(plants, went.out, pattern.content_type), set(went.finding_names)
            assert found.lost == [] or not names.isdisjoint(WITHDRAWN), pattern.name
            assert found.repeated == [] or not names.isdisjoint(REBUILT), pattern.name
