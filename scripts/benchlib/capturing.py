"""What captures cost: mitmdump's own processor time until they are written, with and without. Knows the rig."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from benchlib.client import Job
from benchlib.throughput import Scene, Timed
from benchlib.told import check_told
from benchlib.usage import all_processor_seconds, wait_until_idle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchlib.rig import Rig, Running

OFF, ON = "h", "i"
LETTERS = (OFF, ON)
_PATIENCE = 60
_SHORT = 6
"""How many times as often a single stream, which is over in a second, has its turn."""
TOGETHER = 3
"""Turns after which all is started anew: a process is some hundredths slower or faster for as long as it lives."""


def measure(rig: Rig, scenes: Iterable[Scene], rounds: int) -> list[Timed]:
    """Toolstream as it is by default, and the same with captures, in turns.

    A turn is over when its mitmdump has nothing more to do. What is compared, `benchlib.estimate` says: it was chosen
    by how far it is from 1 where both are the same thing. Of 39 turns of one process against another, drawn 21 at a
    time, two standard deviations were 0.06 for the lesser half and for the least of all, 0.07 for the median of the
    ratios within a round, 0.08 for the means, 0.10 for the medians; of 40 turns 0.05, 0.05, 0.05, 0.06 and 0.08. Where
    all turns of one measurement had the same three processes, it found 1.01, 0.96 and 0.95, and sets of 14 turns found
    0.87 to 1.04: so processes are drawn, not turns. With fourteen, one measurement found 1.01 +- 0.05, on a machine
    with ten others to run on its two processors. Of live streams there are so few turns that their spread says little.
    """
    return [one for scene in scenes for one in _scene(rig, scene, rounds if scene.streams > 1 else _SHORT * rounds)]


def _scene(rig: Rig, scene: Scene, turns: int) -> list[Timed]:
    timed = {letter: Timed(scene, letter) for letter in LETTERS}
    for number in range(math.ceil(turns / TOGETHER)):
        with rig.running(LETTERS) as contenders:
            for turn in range(min(TOGETHER, turns) + 1):
                for contender in contenders[:: 1 if (number + turn) % 2 else -1]:
                    seconds, processor = _turn(rig, scene, contender, turn + 1)
                    if turn:  # the first one warms
                        one = timed[contender.contender.letter]
                        one.seconds.append(seconds)
                        one.processor.append(processor)
        for contender in contenders:
            check_told(contender, scene.load, scene.streams * (turn + 1))
    return list(timed.values())


def _turn(rig: Rig, scene: Scene, contender: Running, number: int) -> tuple[float, float]:
    """Seconds until the client had it all, and those of the processor until mitmdump is idle."""
    before = all_processor_seconds(contender.pid)
    job = Job(contender.proxy.port, scene.load, scene.streams, contender.pid, mark=scene.load.events + 1)
    outcome = rig.fetch(job, contender)
    if contender.contender.capture:
        _wait_for_captures(contender, scene.streams * number)
    wait_until_idle(contender.pid)
    return outcome.seconds, all_processor_seconds(contender.pid) - before


def _wait_for_captures(contender: Running, count: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while (there := len(list(contender.captures.glob("*.flow")))) < count:
        assert time.monotonic() < deadline, f"{there} of {count} captures"
        time.sleep(0.01)
