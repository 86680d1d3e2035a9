"""How long streams take through each contender, in rounds that take turns. Knows the rig."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchlib.client import Job
from benchlib.streams import Kind, Load
from benchlib.told import check_told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchlib.rig import Rig, Running

LETTERS = {
    Kind.CONTENT: ("a", "b", "c", "d", "e"),
    Kind.TOOL: ("a", "b", "c", "d", "e", "f"),
    Kind.BROKEN: ("a", "e"),
}
REWRITTEN = {("e", Kind.BROKEN): Kind.TOOL, ("f", Kind.TOOL): Kind.BROKEN}
"""What another kind of stream becomes: the repair undoes what the fault does, byte by byte."""
DIRECT = "-"
"""No proxy at all: how fast upstream and client are by themselves."""


@dataclass(frozen=True, slots=True)
class Scene:
    """So many streams of one load at once."""

    load: Load
    streams: int

    @property
    def name(self) -> str:
        """As the tables say it."""
        return f"{self.load.kind}, {self.streams} x {self.load.events}"

    @property
    def events(self) -> int:
        """Of all streams."""
        return self.streams * self.load.events


@dataclass(slots=True)
class Timed:
    """What one contender took in one scene, a value a round."""

    scene: Scene
    letter: str
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """Of these, those that the proxy itself ran: what is left of the noise when others use the machine."""
    peak: float = 0.0
    """MiB."""


def measure(rig: Rig, scenes: Iterable[Scene], rounds: int) -> list[Timed]:
    """Each scene with mitmdumps of its own, which one stream has warmed."""
    return [timed for scene in scenes for timed in _scene(rig, scene, rounds)]


def _scene(rig: Rig, scene: Scene, rounds: int) -> list[Timed]:
    letters = LETTERS[scene.load.kind]
    timed = {letter: Timed(scene, letter) for letter in (*letters, DIRECT)}
    with rig.running(letters) as contenders:
        for contender in contenders:
            rig.fetch(_job(scene, contender), contender)
        for turn in range(rounds):
            at = turn % len(contenders)
            timed[DIRECT].seconds.append(rig.fetch(_direct(rig, scene)).seconds)
            for contender in (*contenders[at:], *contenders[:at]):
                outcome = rig.fetch(_job(scene, contender), contender)
                one = timed[contender.contender.letter]
                one.seconds.append(outcome.seconds)
                one.processor.append(outcome.processor)
                one.peak = outcome.growth.peak
    for contender in contenders:
        check_told(contender, scene.load, scene.streams * (rounds + 1))
    return list(timed.values())


def _job(scene: Scene, contender: Running) -> Job:
    load = scene.load
    kind = REWRITTEN.get((contender.contender.letter, load.kind), load.kind)
    comes = Load(kind, load.events)
    return Job(contender.proxy.port, load, scene.streams, contender.pid, mark=load.events + 1, comes=comes)


def _direct(rig: Rig, scene: Scene) -> Job:
    return Job(rig.port, scene.load, scene.streams, os.getpid(), mark=scene.load.events + 1)
