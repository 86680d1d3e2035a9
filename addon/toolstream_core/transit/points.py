"""Points in a stream, as faults are given them: `event:3`, `byte:200`, `call:0`, `in-arguments`, `before-done`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.transit.actions import Send

_NUMBERED = re.compile(r"(event|byte|call):(\d{1,12})")
FORMS = "event:N, byte:N, call:N, in-arguments, before-done"


@dataclass(frozen=True, slots=True)
class Point:
    """A point in a stream."""

    kind: str
    """`event`, `byte`, `call`, `in-arguments` or `before-done`."""
    number: int = 0
    """Counted from 0, as in the log."""

    def __str__(self) -> str:
        """As it is given in a specification."""
        return f"{self.kind}:{self.number}" if self.kind in {"event", "byte", "call"} else self.kind

    def split(self, send: Send, hits: Callable[[str], bool]) -> int | None:
        """How many bytes of `send` are before the point; `None` where it is not in them. `hits` filters by tool."""
        place = send.place
        tools = not place.tools or any(hits(tool) for tool in place.tools)
        match self.kind:
            case "byte":
                return max(0, self.number - place.start) if self.number < place.start + len(send.raw) else None
            case "event":
                reached = place.has_data and place.number >= self.number
            case "call":
                reached = self.number in place.opened_calls and tools
            case "in-arguments":
                if place.has_whole_arguments and tools:
                    return len(send.raw) // 2
                reached = place.in_arguments and tools
            case _:
                reached = place.is_terminal
        return 0 if reached else None


def point(text: str) -> Point | None:
    """The point that `text` names; `None` where it names none."""
    if text in {"in-arguments", "before-done"}:
        return Point(text)
    match = _NUMBERED.fullmatch(text)
    return Point(match[1], int(match[2])) if match else None
