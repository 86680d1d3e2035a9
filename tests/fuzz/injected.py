"""Makes cases with one or two defects injected into healthy streams; their intended calls are known."""

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
from tests.invariants.healthy import TIME, WEATHER, Calls, Healthy, ToolCall, over_all_transports, with_calls
from tests.tables import INJECTORS
from toolstream_core.defects.arguments import ENVELOPED_ARGUMENTS
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import Settings
from toolstream_core.stages import framing

if TYPE_CHECKING:
    from collections.abc import Sequence

DISCONNECT: Final = "disconnect"
"""The body ends at any byte, with a connection error or a clean end."""
LOSING: Final = frozenset({"lost-arguments", "unparsable-data"})
"""Faults that remove arguments, but not the event that ends the call."""
STRIDE: Final = 7919
"""The step in the list of combinations, a prime: consecutive cases use each combination once before repeating."""
VALUES: Final[tuple[Any, ...]] = (
    *("Oslo", "", "lo 😀\nsouth", 'a "b" \\ c', "{}", '{"a": 1}', "}", "naïve 日本語", "null", "x" * 60),
    *([], {}, {"a": {"b": [1, None, True]}}, 0, -1.5e3, False, None, ["Oslo", "Rome"]),
)


class Combination(NamedTuple):
    """A healthy stream and the faults to inject, in this order."""

    healthy: Healthy
    faults: tuple[str, ...]


@cache
def combinations(defects: int, protocols: tuple[str, ...] = ()) -> Sequence[Combination]:
    """Return every fault, or pair of faults, with every healthy stream that it can be injected into."""
    found: list[Combination] = []
    for healthy in over_all_transports():
        if healthy.protocol in READERS and (not protocols or healthy.protocol in protocols):
            faults = [
                one for one in INJECTORS[healthy.protocol] if not (healthy.over_socket and one in framing.INJECTORS)
            ]
            orders = permutations([*faults, DISCONNECT], defects)
            found += [Combination(healthy, one) for one in orders if DISCONNECT not in one[:-1]]
    return found


def case(defects: int, name: str, protocols: Sequence[str] = ()) -> Case | None:
    """Return the case of a name `SEED:WORKER:NUMBER`, or `None` if a fault finds nothing to change in the stream.

    Consecutive numbers give every combination once before any is repeated, with other arguments and fragments.
    """
    known = combinations(defects, tuple(protocols))
    begin, _, number = name.rpartition(":")
    combination = known[(crc32(begin.encode()) + int(number) * STRIDE) % len(known)]
    dice = random.Random(name)
    calls = drawn_calls(dice)
    healthy = with_calls(combination.healthy, calls)
    intended = _intended(healthy, combination.faults)
    body = _injected(healthy, combination.faults, len(intended), dice)
    if body is None:
        return None
    return Case(
        protocol=healthy.protocol,
        body=body,
        content_type=healthy.content_type,
        path=healthy.exchange.path,
        request=healthy.exchange.request,
        broken="the connection was reset" if DISCONNECT in combination.faults and dice.random() < 0.5 else None,
        seed=name,
        origin=f"{healthy}: {', '.join(combination.faults)}",
        intended=intended,
    )


def drawn_calls(dice: random.Random) -> Calls:
    """Draw other arguments for the calls of the healthy streams, in random fragments."""
    return Calls(_drawn(WEATHER, "city", dice), _drawn(TIME, "zone", dice))


def _drawn(call: ToolCall, key: str, dice: random.Random) -> ToolCall:
    arguments = {key: dice.choice(VALUES)} | ({"more": dice.choice(VALUES)} if dice.random() < 0.3 else {})
    separators = dice.choice(((",", ":"), (", ", ": ")))
    text = json.dumps(arguments, ensure_ascii=dice.random() < 0.3, separators=separators)
    cuts = sorted(dice.randint(1, len(text) - 1) for _ in range(dice.choice((0, 1, 2, 3, 6))))
    return call._replace(
        fragments=tuple(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if b > a)
    )


def _injected(healthy: Healthy, faults: Sequence[str], calls: int, dice: random.Random) -> bytes | None:
    """Inject the faults, each into all calls or into one; return `None` if a fault changes nothing."""
    drawn = [Fault(name=name, nth=dice.choice((None, *range(1, calls + 1)))) for name in faults if name != DISCONNECT]
    body = healthy.body
    if drawn:
        settings = Settings(faults=tuple((fault, Budget(None)) for fault in drawn), seed=dice.randrange(1000))
        session = Session(healthy.exchange, settings)
        body = b"".join([*session.feed(body), *session.end()])
        record = session.record()
        if record is None or not all(fault.changes for fault in record.faults) or body == healthy.body:
            return None
    return body[: dice.randint(1, max(1, len(body) - 1))] if DISCONNECT in faults else body


def _intended(healthy: Healthy, faults: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return name and arguments of the healthy stream's calls; arguments that a fault makes of them have no name."""
    calls = [
        (name, canonical(arguments))
        for name, arguments in strict.calls(healthy.protocol, healthy.body, healthy.exchange)
    ]
    if ENVELOPED_ARGUMENTS.name in faults:
        calls += [("", canonical({"name": name, "arguments": json.loads(arguments)})) for name, arguments in calls]
    return (*calls, ("", "{}")) if LOSING & {*faults} else (*calls,)
