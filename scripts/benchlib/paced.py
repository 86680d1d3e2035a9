"""What many live streams at once cost: mitmdump's own processor time, each event by itself. Knows the rig."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchlib.client import Job
from benchlib.streams import Kind, Load
from benchlib.throughput import REWRITTEN, Scene, Timed
from benchlib.told import check_told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchlib.rig import Rig, Running

LETTERS = ("a", "g")
PACE = 50
"""Events of each stream in a second."""


def measure(rig: Rig, kinds: Iterable[Kind], streams: int, events: int, rounds: int) -> list[Timed]:
    """Bare mitmproxy and toolstream as it is used, side by side, in turns."""
    return [timed for kind in kinds for timed in _scene(rig, Scene(Load(kind, events, PACE), streams), rounds)]


def _scene(rig: Rig, scene: Scene, rounds: int) -> list[Timed]:
    timed = {letter: Timed(scene, letter) for letter in LETTERS}
    with rig.running(LETTERS) as contenders:
        for turn in range(rounds + 1):
            for contender in contenders[:: 1 if turn % 2 else -1]:
                outcome = rig.fetch(_job(scene, contender), contender)
                if turn:  # the first one warms
                    timed[contender.contender.letter].seconds.append(outcome.seconds)
                    timed[contender.contender.letter].processor.append(outcome.processor)
    for contender in contenders:
        check_told(contender, scene.load, scene.streams * (rounds + 1))
    return list(timed.values())


def _job(scene: Scene, contender: Running) -> Job:
    load = scene.load
    changed = load.kind is Kind.BROKEN and contender.contender.repair
    comes = Load(REWRITTEN["e", Kind.BROKEN] if changed else load.kind, load.events)
    return Job(contender.proxy.port, load, scene.streams, contender.pid, mark=load.events + 1, comes=comes)
