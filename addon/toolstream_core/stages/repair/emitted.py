"""What goes on for one fragment, and who reports what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row


class Emitted:
    """What the client is to get for one fragment; may still change while the event waits."""

    __slots__ = ("stray", "text")

    def __init__(self, text: str, *, stray: bool = False) -> None:
        """As decided so far."""
        self.text = text
        self.stray = stray
        """Whether it follows whole arguments, and is neither the same again nor garbage that goes.

        Also where it is whole itself, follows half arguments, and is no part of them; or cannot begin arguments.
        """


class Judge(Protocol):
    """Takes the defects that are found in a call's arguments."""

    def __call__(self, row: Row, message: str) -> bool:
        """Report a defect; whether it is to be repaired."""
        ...


def short(text: str) -> str:
    """The begin of an argument text, quoted, for a message."""
    text = text.strip()
    return json.dumps(text if len(text) <= 40 else f"{text[:40]}…", ensure_ascii=False)  # noqa: PLR2004
