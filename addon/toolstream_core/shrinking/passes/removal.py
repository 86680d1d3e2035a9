"""Whole answers and events removed: many at once, then fewer, down to single ones (delta debugging).

Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.numbering import Numbering
from toolstream_core.shrinking.passes.proposal import Proposal, spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.passes.proposal import Cursor


def answers(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Without some answers."""
    for span in spans(len(candidate), cursor):
        yield Proposal(candidate[: span.begin] + candidate[span.end :], span.resume)


def pieces(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Without some events of one answer: first with the others renumbered, then with their own numbers."""
    last = cursor[0] if cursor else len(candidate) - 1
    for at in range(last, -1, -1):
        turn = candidate[at]
        numbering = Numbering(turn)
        removable = [number for number, piece in enumerate(turn.pieces) if not turn.framing.is_required(piece)]
        for span in spans(len(removable), cursor[1:] if at == last else ()):
            gone = set(removable[span.begin : span.end])
            kept = [piece for number, piece in enumerate(turn.pieces) if number not in gone]
            if any(piece.counts for piece in kept):
                for new in numbering.variants(kept):
                    yield Proposal(with_turn(candidate, at, turn.with_pieces(new)), (at, *span.resume))
