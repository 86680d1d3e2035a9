"""What captures cost: mitmdump's own processor time until they are written, with and without. Knows the rig."""

from __future__ import annotations

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
_SHORT = 3
"""How many times as often a single stream, which is over in a second, has its turn."""


def measure(rig: Rig, scenes: Iterable[Scene], rounds: int) -> list[Timed]:
    """Toolstream as it is by default, and the same with captures, in turns.

    A turn is over when its mitmdump has nothing more to do. Of a stream that comes as fast as it is taken, the least of
    all turns is compared: processor time is as much as the work takes at least, and more while others wear out the
    caches, which comes and goes within a turn, so that two turns in a row have it as little in common as any other two.
    Drawn from 30 turns on a busy machine, the median of 7 turns' ratios was 1.07 +- 0.12, and the ratio of the least of
    21 turns 1.10 +- 0.04 (two standard deviations). Live streams are less work where the machine is so busy that their
    events are read late, and together, so of them the median of the ratios within each round is taken.
    """
    return [one for scene in scenes for one in _scene(rig, scene, rounds if scene.streams > 1 else _SHORT * rounds)]


def _scene(rig: Rig, scene: Scene, rounds: int) -> list[Timed]:
    timed = {letter: Timed(scene, letter) for letter in LETTERS}
    with rig.running(LETTERS) as contenders:
        for turn in range(rounds + 1):
            for contender in contenders[:: 1 if turn % 2 else -1]:
                before = all_processor_seconds(contender.pid)
                job = Job(contender.proxy.port, scene.load, scene.streams, contender.pid, mark=scene.load.events + 1)
                outcome = rig.fetch(job, contender)
                if contender.contender.capture:
                    _wait_for_captures(contender, scene.streams * (turn + 1))
                wait_until_idle(contender.pid)
                if turn:  # the first one warms
                    one = timed[contender.contender.letter]
                    one.seconds.append(outcome.seconds)
                    one.processor.append(all_processor_seconds(contender.pid) - before)
    for contender in contenders:
        check_told(contender, scene.load, scene.streams * (rounds + 1))
    return list(timed.values())


def _wait_for_captures(contender: Running, count: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while (there := len(list(contender.captures.glob("*.flow")))) < count:
        assert time.monotonic() < deadline, f"{there} of {count} captures"
        time.sleep(0.01)
