"""Wherever a stream ends: a safe repair never leaves the client worse off than the bytes that came."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.case import Case
from tests.fuzz.invariants import INVARIANTS, OF_AN_END, Seen
from tests.invariants.healthy import Healthy, everywhere
from tests.tables import INJECTORS
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

RESET = "the connection was reset"
STEP = 197
"""Bytes between two ends within a healthy stream, a prime: the ends fall everywhere in an event."""
HEALTHY = everywhere()
INJECTED = ("fragments of two", "two")


@cache
def complaints(healthy: Healthy, body: bytes, *, clean: bool) -> list[tuple[object, ...]]:
    """What is wrong with what becomes of `body`: the beginnings of most streams are equal up to their defect."""
    known = healthy.exchange
    end = None if clean else RESET
    case = Case(healthy.dialect, body, known.content_type, known.path, known.request, broken=end)
    seen = Seen(case)
    assert seen.on.error is seen.off.error is None
    return [(len(body), invariant, why) for invariant in OF_AN_END for why in INVARIANTS[invariant](seen)]


def prefixes(frames: list[bytes]) -> Iterator[bytes]:
    """The stream up to the end of each event."""
    for count in range(1, len(frames) + 1):
        yield b"".join(frames[:count])


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "broken"])
@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_a_healthy_stream_may_end_anywhere(healthy: Healthy, clean: bool) -> None:
    """After each event, and within each."""
    body = healthy.body
    ends = [*prefixes(healthy.frames), *(body[:at] for at in range(1, len(body), STEP))]
    assert [one for end in ends for one in complaints(healthy, end, clean=clean)] == []


def injected() -> Iterator[object]:
    """Each plant on a stream of its protocol."""
    for healthy in HEALTHY:
        if healthy.name in INJECTED:
            for name in INJECTORS.get(healthy.dialect, {}):
                yield pytest.param(healthy, name, id=f"{name}: {healthy}")


@pytest.mark.parametrize(("healthy", "name"), list(injected()))
def test_a_broken_stream_may_end_anywhere(healthy: Healthy, name: str) -> None:
    """After each event, cleanly and not, and within some."""
    line = Session(healthy.exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    body = b"".join([*line.feed(healthy.body), *line.end()])
    frames = healthy._replace(body=body).frames
    ends = [*prefixes(frames), *(body[:at] for at in range(len(name) * 7, len(body), 3 * STEP))]
    found = [one for at, end in enumerate(ends) for one in complaints(healthy, end, clean=at % 2 == 0)]
    assert found == []
