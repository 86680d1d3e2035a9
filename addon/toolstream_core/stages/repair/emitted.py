"""What is told of one fragment: to the client, and to whoever looks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row


class Told:
    """What the client is to be told for one fragment; may still change while the event waits."""

    __slots__ = ("stray", "text")

    def __init__(self, text: str) -> None:
        """As decided so far."""
        self.text = text
        self.stray = False
        """Whether it follows whole arguments, and is neither the same again nor garbage that goes."""


class Judge(Protocol):
    """Who is told of what is found in a call's arguments."""

    def __call__(self, row: Row, message: str) -> bool:
        """Tell a defect; whether it is to be mended."""
        ...


def short(text: str) -> str:
    """The begin of an argument text, quoted, for a message."""
    text = text.strip()
    return json.dumps(text if len(text) <= 40 else f"{text[:40]}…", ensure_ascii=False)  # noqa: PLR2004
