"""Several fragments of one text merged into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.channels import channels
from toolstream_core.shrinking.numbering import Numbering
from toolstream_core.shrinking.passes.proposal import Proposal
from toolstream_core.shrinking.tree import put

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.shrinking.channels import Channel, Part
    from toolstream_core.shrinking.passes.proposal import Cursor
    from toolstream_core.shrinking.pieces import Piece


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each text in one fragment, in two, in four, … and each pair of neighbours in one."""
    del cursor  # After a merge the texts are looked at anew.
    for at, turn in enumerate(candidate):
        numbering = Numbering(turn)
        for channel in channels(turn):
            for groups in _groupings(channel.parts):
                for new in numbering.variants(_merged(turn, channel, groups)):
                    yield Proposal(with_turn(candidate, at, turn.with_pieces(new)), ())


def _groupings(parts: Sequence[Part]) -> Iterator[list[Sequence[Part]]]:
    size = len(parts)
    while size > 1:
        yield [parts[begin : begin + size] for begin in range(0, len(parts), size)]
        size = (size + 1) // 2
    for at in range(len(parts) - 1):
        yield [parts[at : at + 2]]


def _merged(turn: Turn, channel: Channel, groups: Sequence[Sequence[Part]]) -> list[Piece]:
    """The pieces, with each group merged into its first part, or into its last where the text is cumulative."""
    texts: dict[int, tuple[Part, str]] = {}
    gone: set[int] = set()
    for group in groups:
        keeper, *others = reversed(group) if channel.cumulative else group
        texts[keeper.piece] = (keeper, keeper.text if channel.cumulative else "".join(part.text for part in group))
        gone.update(part.piece for part in others)
    kept: list[Piece] = []
    for number, piece in enumerate(turn.pieces):
        if number in texts:
            part, text = texts[number]
            kept.append(turn.framing.rewritten(piece, put(piece.frame.json, part.path, text)))
        elif number not in gone:
            kept.append(piece)
    return kept
