"""What the client knows of the start of a Responses item."""

from __future__ import annotations

import enum
from typing import Final


class Start(enum.StrEnum):
    """What the client knows of an item's start, and what becomes of its events.

    | from     | event                                                             | to       |
    |----------|-------------------------------------------------------------------|----------|
    | NEW      | `output_item.added`, or the whole call is put                     | ADDED    |
    | NEW      | `output_item.added` without a name, `late-name` is repaired       | NAMELESS |
    | NEW      | `output_item.added` of a custom tool's call, which is repaired    | CUSTOM   |
    | NEW      | its closing event differs from the call it seemed to repeat       | DROPPED  |
    | NEW      | another event, `missing-start` is not repaired                    | PASSED   |
    | NEW      | a closing event, or a late start, that repeats an earlier call    | REPEATED |
    | NAMELESS | an event with the name, or the whole call is put                  | ADDED    |
    | CUSTOM   | its closing event                                                 | ADDED    |
    | DROPPED  | its closing event, as for NEW                                     | ADDED    |
    | waiting  | what is kept gets too long, or nothing can be made of it          | PASSED   |
    | PASSED   | `output_item.added`                                               | ADDED, NAMELESS |
    """

    NEW = enum.auto()
    """No event added it. Its events are kept."""
    NAMELESS = enum.auto()
    """It was added without a name. Its events are kept until one has the name."""
    CUSTOM = enum.auto()
    """It is a custom tool's call. Its events are kept until it is closed, and replaced."""
    DROPPED = enum.auto()
    """Its events so far were dropped, because it seemed to repeat an earlier call."""
    REPEATED = enum.auto()
    """It repeats an earlier call."""
    PASSED = enum.auto()
    """The client was not given it. Its events go on as they come."""
    ADDED = enum.auto()
    """The client was given it. Its events are judged and repaired."""


WAITING: Final = frozenset({Start.NEW, Start.NAMELESS, Start.CUSTOM, Start.DROPPED})
"""Where its events do not go on yet."""
