"""The rule for the fast path, for every protocol: which fragments need not be shown to a stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS
from toolstream_core.repair.reading import HIGH

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row
    from toolstream_core.repair.client_text import ClientText
    from toolstream_core.repair.meaning import Meaning


def is_in_step(meaning: Meaning, text: ClientText, piece: str = "") -> bool:
    """Whether the client has everything before `piece`, and needs `piece` (or the next plain fragment) unchanged."""
    if text.diverged or not meaning.is_inside or piece[-1:] >= HIGH or piece[:1] >= HIGH:
        return False
    source = meaning.source
    return text.is_in_step(source, source.size - len(piece))


def is_withheld(meaning: Meaning, text: ClientText) -> bool:
    """Whether a JSON string is open that may hold the arguments, so that plain fragments of it are withheld."""
    source = meaning.source
    if text.size or text.diverged or not source.quoted or source.in_escape:
        return False
    return meaning.read(over=False).row is DOUBLE_ENCODED_ARGUMENTS


def skip(meaning: Meaning, text: ClientText, passed: str, last: str) -> None:
    """Plain fragments were forwarded unseen, and are in the received text already; `last` is the last of them."""
    source = meaning.source
    in_step = text.is_in_step(source, source.size - (len(passed) if source is meaning.came else 0))
    meaning.skip(passed, last)
    if in_step:
        text.grow(len(passed))


def judge_unseen(meaning: Meaning, text: ClientText, piece: str) -> Row | None:
    """A fragment was forwarded unseen, after the meaning was decided: why it is not what the client needs."""
    meaning.add(piece, meaning.came)
    said = meaning.read(over=False)
    if not text.diverged:
        has = text.text
        if said.text.startswith(has):
            text.add(said.text[len(has) :], meaning.source)
    return said.row
