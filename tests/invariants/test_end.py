"""At every end of a stream, a safe repair never makes the stream worse for the client."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.case import Case
from tests.fuzz.invariants import END_INVARIANTS, INVARIANTS, ClientOutcome
from tests.invariants.healthy import Healthy, over_all_transports
from tests.tables import INJECTORS
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

RESET = "the connection was reset"
STEP = 197
"""Bytes between two tested ends, a prime: the ends are at different places of the events."""
HEALTHY = over_all_transports()
INJECTED = ("fragments of two", "two")


@cache
def violations(healthy: Healthy, body: bytes, *, clean: bool) -> list[tuple[object, ...]]:
    """Return the violations of a body. Cached: most injected streams have equal beginnings."""
    facts = healthy.exchange
    end = None if clean else RESET
    case = Case(healthy.protocol, body, facts.content_type, facts.path, facts.request, broken=end)
    outcome = ClientOutcome(case)
    assert outcome.on.error is outcome.off.error is None
    return [(len(body), invariant, why) for invariant in END_INVARIANTS for why in INVARIANTS[invariant](outcome)]


def prefixes(frames: list[bytes]) -> Iterator[bytes]:
    """Yield the stream up to the end of each event."""
    for count in range(1, len(frames) + 1):
        yield b"".join(frames[:count])


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "broken"])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_healthy_stream_may_end_anywhere(healthy: Healthy, clean: bool) -> None:
    """A healthy stream that ends after or inside an event violates no invariant of ends."""
    body = healthy.body
    ends = [*prefixes(healthy.frames), *(body[:at] for at in range(1, len(body), STEP))]
    assert [one for end in ends for one in violations(healthy, end, clean=clean)] == []


def injected() -> Iterator[object]:
    """Yield each injectable defect with the streams of its protocol."""
    for healthy in HEALTHY:
        if healthy.name in INJECTED:
            for name in INJECTORS.get(healthy.protocol, {}):
                yield pytest.param(healthy, name, id=f"{name}: {healthy}")


@pytest.mark.parametrize(("healthy", "name"), list(injected()))
def test_a_broken_stream_may_end_anywhere(healthy: Healthy, name: str) -> None:
    """A stream with an injected defect that ends after or inside an event violates no invariant of ends."""
    session = Session(healthy.exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    body = b"".join([*session.feed(healthy.body), *session.end()])
    frames = healthy._replace(body=body).frames
    ends = [*prefixes(frames), *(body[:at] for at in range(len(name) * 7, len(body), 3 * STEP))]
    found = [one for at, end in enumerate(ends) for one in violations(healthy, end, clean=at % 2 == 0)]
    assert found == []
