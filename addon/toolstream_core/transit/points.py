"""Points in a stream as a fault names them: `event:3`, `byte:200`, `call:0`, `in-arguments`, `before-done`."""

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
    """All count from 0, as the log does."""

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.kind}:{self.number}" if self.kind in {"event", "byte", "call"} else self.kind

    def split(self, send: Send, hits: Callable[[str], bool]) -> int | None:
        """How many bytes of `send` come before the point, where it lies in them; `hits` says which tools count."""
        place = send.place
        tools = not place.tools or any(hits(tool) for tool in place.tools)
        match self.kind:
            case "byte":
                return max(0, self.number - place.start) if self.number < place.start + len(send.raw) else None
            case "event":
                reached = place.counts and place.number >= self.number
            case "call":
                reached = self.number in place.opens and tools
            case "in-arguments":
                if place.inside and tools:
                    return len(send.raw) // 2
                reached = place.inside_value and tools
            case _:
                reached = place.ends
        return 0 if reached else None


def point(text: str) -> Point | None:
    """The point that `text` names, `None` where it names none."""
    if text in {"in-arguments", "before-done"}:
        return Point(text)
    found = _NUMBERED.fullmatch(text)
    return Point(found[1], int(found[2])) if found else None
