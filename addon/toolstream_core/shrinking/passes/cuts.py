"""Each event as a chunk of its own, at once: how the network cut the body seldom matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.passes.proposal import Proposal
from toolstream_core.shrinking.pieces import own_chunk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.passes.proposal import Cursor


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each answer that is cut otherwise."""
    for at in range(cursor[0] if cursor else 0, len(candidate)):
        turn = candidate[at]
        plain = tuple(map(own_chunk, turn.pieces))
        if plain != turn.pieces:
            yield Proposal(with_turn(candidate, at, turn.keeping(plain)), (at + 1,))
