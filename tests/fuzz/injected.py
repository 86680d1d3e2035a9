"""Makes cases with exactly one defect or two, injected into healthy streams: the intended calls are known."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from zlib import crc32

from tests.fuzz.case import Case
from tests.fuzz.evidence import canonical
from tests.fuzz.readers import READERS
from tests.invariants import strict
from tests.invariants.healthy import TIME, WEATHER, Calls, Healthy, Wanted, everywhere, with_calls
from tests.tables import INJECTORS
from toolstream_core.defects.arguments import ENVELOPED_ARGUMENTS
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import Settings
from toolstream_core.stages import framing

if TYPE_CHECKING:
    from collections.abc import Sequence

DISCONNECT: Final = "disconnect"
"""The body ends at any byte, with an error of the connection or as if it were complete."""
LOSING: Final = frozenset({"lost-arguments", "unparsable-data"})
"""Faults that take arguments away, and not the event by which the call ends."""
STRIDE: Final = 7919
"""A prime: one step in the list of combinations, so that each is reached once a round."""
VALUES: Final[tuple[Any, ...]] = (
    *("Oslo", "", "lo 😀\nsouth", 'a "b" \\ c', "{}", '{"a": 1}', "}", "naïve 日本語", "null", "x" * 60),
    *([], {}, {"a": {"b": [1, None, True]}}, 0, -1.5e3, False, None, ["Oslo", "Rome"]),
)


class Combination(NamedTuple):
    """Which faults, in this order, in which healthy stream."""

    healthy: Healthy
    faults: tuple[str, ...]


@cache
def combinations(defects: int, dialects: tuple[str, ...] = ()) -> Sequence[Combination]:
    """Every fault, or pair of two, in every healthy stream that it can be injected into."""
    found: list[Combination] = []
    for healthy in everywhere():
        if healthy.dialect in READERS and (not dialects or healthy.dialect in dialects):
            faults = [
                one for one in INJECTORS[healthy.dialect] if not (healthy.over_socket and one in framing.INJECTORS)
            ]
            orders = permutations([*faults, DISCONNECT], defects)
            found += [Combination(healthy, one) for one in orders if DISCONNECT not in one[:-1]]
    return found


def case(defects: int, name: str, dialects: Sequence[str] = ()) -> Case | None:
    """The case of this name, `SEED:WORKER:NUMBER`; `None` if a fault finds nothing to change in the stream.

    Consecutive numbers give every combination once before any is repeated, with other arguments and fragments.
    """
    known = combinations(defects, tuple(dialects))
    begin, _, number = name.rpartition(":")
    made = known[(crc32(begin.encode()) + int(number) * STRIDE) % len(known)]
    dice = random.Random(name)
    calls = drawn_calls(dice)
    healthy = with_calls(made.healthy, calls)
    intended = _intended(healthy, made.faults)
    body = _injected(healthy, made.faults, len(intended), dice)
    if body is None:
        return None
    return Case(
        dialect=healthy.dialect,
        body=body,
        content_type=healthy.content_type,
        path=healthy.exchange.path,
        request=healthy.exchange.request,
        broken="the connection was reset" if DISCONNECT in made.faults and dice.random() < 0.5 else None,
        seed=name,
        origin=f"{healthy}: {', '.join(made.faults)}",
        intended=intended,
    )


def drawn_calls(dice: random.Random) -> Calls:
    """The calls of the healthy streams with other arguments, cut into fragments at random."""
    return Calls(_drawn(WEATHER, "city", dice), _drawn(TIME, "zone", dice))


def _drawn(call: Wanted, key: str, dice: random.Random) -> Wanted:
    arguments = {key: dice.choice(VALUES)} | ({"more": dice.choice(VALUES)} if dice.random() < 0.3 else {})
    separators = dice.choice(((",", ":"), (", ", ": ")))
    text = json.dumps(arguments, ensure_ascii=dice.random() < 0.3, separators=separators)
    cuts = sorted(dice.randint(1, len(text) - 1) for _ in range(dice.choice((0, 1, 2, 3, 6))))
    return call._replace(pieces=tuple(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if b > a))


def _injected(healthy: Healthy, faults: Sequence[str], calls: int, dice: random.Random) -> bytes | None:
    """The body with the faults; of those that act on single calls, each acts on all calls or on one."""
    wanted = [Fault(name=name, nth=dice.choice((None, *range(1, calls + 1)))) for name in faults if name != DISCONNECT]
    body = healthy.body
    if wanted:
        settings = Settings(faults=tuple((fault, Budget(None)) for fault in wanted), seed=dice.randrange(1000))
        session = Session(healthy.exchange, settings)
        body = b"".join([*session.feed(body), *session.end()])
        record = session.record()
        if record is None or not all(fault.changes for fault in record.faults) or body == healthy.body:
            return None
    return body[: dice.randint(1, max(1, len(body) - 1))] if DISCONNECT in faults else body


def _intended(healthy: Healthy, faults: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Name and arguments of the calls that the healthy stream has; of no name what faults make of the arguments."""
    calls = [
        (name, canonical(arguments))
        for name, arguments in strict.calls(healthy.dialect, healthy.body, healthy.exchange)
    ]
    if ENVELOPED_ARGUMENTS.name in faults:
        calls += [("", canonical({"name": name, "arguments": json.loads(arguments)})) for name, arguments in calls]
    return (*calls, ("", "{}")) if LOSING & {*faults} else (*calls,)
