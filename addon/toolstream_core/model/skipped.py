"""Events that went by without being parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class SkippedRun(NamedTuple):
    """Events that went by unparsed: each brought some text of one call's arguments, and said nothing else."""

    first: int
    """Number of the first one; the others follow it."""
    events: int
    size: int
    """Bytes."""
    text: str
    """Their texts, joined, where they are plain."""
    last: str
    """The text of the last one."""
    changed: bool
    """Whether they were rewritten."""
    counter: int | None
    """The number that the last one gives itself, where they do."""
    pieces: Sequence[str] = ()
    """Their texts one by one, where they are not plain."""
