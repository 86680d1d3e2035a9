"""Events for a bug report: those that matter as they came, the rest folded."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from toolstream_core.report.paint import printable
from toolstream_core.shrinking.candidate import nodes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from toolstream_core.shrinking.candidate import Shape
    from toolstream_core.wire.frame import Frame

_LONGEST = 2000
"""Characters of an event that are shown."""


def folded(frames: Sequence[Frame], shown: Collection[int]) -> Iterator[str]:
    """Lines: the events whose numbers are to be `shown`, and one line for each run of others."""
    before: Frame | None = None
    waiting: list[Frame] = []
    for frame in frames:
        if frame.data is None or frame.number not in shown:
            waiting.append(frame)
            continue
        yield from _fold(waiting, before)
        waiting, before = [], frame
        yield f"# event {frame.number}"
        yield from lines(frame)
    yield from _fold(waiting, before)


def lines(frame: Frame) -> Iterator[str]:
    """An event as it came, with nothing in it that steers a terminal or hides; long ones are cut."""
    text = frame.raw.decode("utf-8", "backslashreplace").strip("\r\n")
    for line in text[:_LONGEST].splitlines():
        yield printable(line)
    if len(text) > _LONGEST:
        yield f"… {len(text) - _LONGEST} more characters of this event"


def _fold(waiting: Sequence[Frame], before: Frame | None) -> Iterator[str]:
    events = [frame for frame in waiting if frame.data is not None]
    alike = list(takewhile(lambda frame: before is not None and _shape(frame) == _shape(before), events))
    for some, told in ((len(alike), " like the previous one"), (len(events) - len(alike), "")):
        if some:
            yield f"… {some} event{'' if some == 1 else 's'}{told} …"


def _shape(frame: Frame) -> frozenset[Shape]:
    """Which fields an event has, whatever is in them."""
    return frozenset(shape for _, shape, _ in nodes(frame.json))
