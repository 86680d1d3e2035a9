"""Each event as a chunk of its own, without delays: the network's chunks seldom matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.passes.proposal import Proposal
from toolstream_core.shrinking.pieces import in_own_chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.passes.proposal import Cursor


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each answer whose chunks differ from that."""
    for at in range(cursor[0] if cursor else 0, len(candidate)):
        turn = candidate[at]
        plain = tuple(map(in_own_chunk, turn.pieces))
        if plain != turn.pieces:
            yield Proposal(with_turn(candidate, at, turn.with_pieces(plain)), (at + 1,))
