"""What a pass is: it proposes smaller candidates, and where to resume after one of them was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.shrinking.candidate import Candidate

type Cursor = tuple[int, ...]
"""A pass's position, in its own terms; `()` is the beginning."""


class Proposal(NamedTuple):
    """A candidate that may be taken instead of the one before."""

    candidate: Candidate
    resume: Cursor
    """Where the pass goes on from `candidate`, if it is taken."""


class Pass(NamedTuple):
    """A way to make candidates smaller."""

    name: str
    proposals: Callable[[Candidate, Cursor], Iterator[Proposal]]
    careful: bool = False
    """Whether a candidate may not gain a note either; for passes that change events instead of removing them."""


class Span(NamedTuple):
    """Neighbours to be removed from a list."""

    begin: int
    end: int
    resume: Cursor


def spans(count: int, cursor: Cursor) -> Iterator[Span]:
    """Spans of `count` items: all, each half, each quarter, … each single one; from the end to the beginning."""
    size, end = cursor or (count, count)
    while size:
        while end > 0:
            begin = max(0, end - size)
            yield Span(begin, end, (size, begin))
            end = begin
        size, end = size // 2, count
