"""How a proxy's memory grows over one very long stream. Knows the rig."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchlib.client import Job
from benchlib.rig import CONTENDERS
from benchlib.streams import HEALTHY, Load
from benchlib.told import check_told

if TYPE_CHECKING:
    from benchlib.rig import Rig
    from benchlib.usage import Growth

LETTERS = ("a", "c", "i")


@dataclass(frozen=True, slots=True)
class Endured:
    """One contender's memory over one stream, a mitmdump of its own."""

    load: Load
    letter: str
    growth: Growth
    seconds: float


def measure(rig: Rig, events: int) -> list[Endured]:
    """Growth counts from the twentieth part of the stream on, when everything has been loaded."""
    loads = [Load(kind, events) for kind in HEALTHY]
    return [_endure(rig, load, letter) for load in loads for letter in LETTERS]


def _endure(rig: Rig, load: Load, letter: str) -> Endured:
    with rig.proxy(CONTENDERS[letter]) as running:
        job = Job(running.proxy.port, load, 1, running.pid, mark=load.events // 20)
        outcome = rig.fetch(job, running)
    check_told(running, load, 1)
    return Endured(load, letter, outcome.growth, outcome.seconds)
