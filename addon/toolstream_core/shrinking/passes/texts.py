"""Arguments and texts made shorter: in their fragments, and where other events have them whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT
from toolstream_core.shrinking.candidate import with_turn
from toolstream_core.shrinking.channels import channels
from toolstream_core.shrinking.passes.proposal import Proposal, spans
from toolstream_core.shrinking.tree import mapped, nodes, put, without
from toolstream_core.wire import numbers
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json
    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.shrinking.channels import Channel
    from toolstream_core.shrinking.passes.proposal import Cursor

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 4096
"""Characters beyond which a text is cut by its halves only, not by its words."""


def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each text with something less in it."""
    del cursor  # After a change the texts are looked at anew.
    for at, turn in enumerate(candidate):
        for channel in channels(turn):
            for text in smaller(channel.text):
                yield Proposal(with_turn(candidate, at, _with_text(turn, channel, text)), ())


def smaller(text: str) -> Iterator[str]:
    """Shorter texts: with parts of its JSON value removed, or with fewer words."""
    value = parse(text.encode("utf-8", "replace"))
    texts = _smaller_json(value) if isinstance(value, dict | list) else _fewer_words(text)
    yield from (one for one in texts if len(one) < len(text))


def _smaller_json(value: Json) -> Iterator[str]:
    yield "{}" if isinstance(value, dict) else "[]"
    found = sorted(nodes(value), key=lambda node: len(node[0]))
    for path, _, one in found:
        if path:
            yield numbers.dumps(without(value, path))
        for simple in _simpler(one):
            yield numbers.dumps(put(value, path, simple))


def _simpler(value: Json) -> Iterator[Json]:
    if isinstance(value, str) and len(value) > 1:
        half = len(value) // 2
        yield from ("", value[0], value[:half], value[half:])
    elif isinstance(value, dict | list) and value:
        yield type(value)()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield 0


def _fewer_words(text: str) -> Iterator[str]:
    words = _WORD.findall(text) if len(text) <= _LONGEST else re.findall(r"(?s).{1,256}", text)
    for span in spans(len(words), ()):
        yield "".join(words[: span.begin] + words[span.end :])


def _with_text(turn: Turn, channel: Channel, text: str) -> Turn:
    """The answer with another text, spread over the parts in proportion to the old one."""
    old = channel.text
    pieces = list(turn.pieces)
    for number, piece in enumerate(pieces):
        payload = piece.frame.json
        new = mapped(payload, lambda one: text if one == old and old else one) if payload is not ABSENT else payload
        if new is not payload:
            pieces[number] = turn.framing.rewritten(piece, new)
    begin = 0
    for part in channel.parts:
        end = len(part.text) if channel.cumulative else begin + len(part.text)
        share = text[_scaled(begin, old, text) : _scaled(end, old, text)]
        piece = pieces[part.piece]
        pieces[part.piece] = turn.framing.rewritten(piece, put(piece.frame.json, part.path, share))
        begin = 0 if channel.cumulative else end
    return turn.with_pieces(pieces)


def _scaled(place: int, old: str, new: str) -> int:
    return -(-place * len(new) // len(old))
