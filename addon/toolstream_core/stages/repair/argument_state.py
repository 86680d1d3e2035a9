"""What one call's argument fragments have come to so far, for their repair. Knows JSON, and no protocol."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.arguments import ENDLESS, ArgumentText, Room
from toolstream_core.calls.json_grammar import STRING, WHITE
from toolstream_core.calls.json_text import meaning
from toolstream_core.defects.arguments import INVALID_ARGUMENTS
from toolstream_core.stages.repair.escapes import Escapes, without_escapes
from toolstream_core.stages.repair.surrogates import Surrogates

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.defects.row import Row
    from toolstream_core.stages.repair.after_whole import Behind
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.stages.repair.quoted import Quoted

MAX_SPELT: Final = 1024 * 1024
"""Characters of one call's arguments above which what comes again is not recognised any more."""


class ArgumentState:
    """What one call's fragments have come to so far."""

    __slots__ = (
        "_behind", "_cumulative", "_escapes", "_free", "_halves", "_head", "_quoted", "_room", "_size",
        "_stale", "_suspect", "_text", "_waiting", "replaced",
    )  # fmt: skip

    def __init__(self, on: Callable[[Row], bool], room: Room = ENDLESS) -> None:
        """`on` says whether a row's repair is switched on; what is kept takes `room`."""
        self._room = room
        self._halves = Surrogates()
        self._escapes = Escapes() if on(INVALID_ARGUMENTS) else None
        """Follows the text where its escapes are to be repaired."""
        self.replaced = False
        """Whether a first `{}` was nothing but a placeholder, and is not sent."""
        self._begin()

    def _begin(self) -> None:
        """Nothing has come but a placeholder."""
        self._head = ""
        self._size = 0
        self._text = ArgumentText(MAX_SPELT, self._room)
        """The fragments joined, from behind a placeholder on, up to where they are whole."""
        self._behind: Behind | None = None
        """What follows the arguments, once they are a whole object."""
        self._free = False
        """Whether nothing can be said of them any more, so that everything goes on."""
        self._cumulative: str | None = None
        """What the client has, where each fragment carries all so far."""
        self._stale = ""
        """What the client was not given since, because it came before: parts of their own, where such follow."""
        self._quoted: Quoted | None = None
        """A JSON string that may hold an object."""
        self._waiting: Emitted | None = None
        """A first `{}` that may be a placeholder."""
        self._suspect: tuple[str, str, Emitted] | None = None
        """What came before a fragment that may be all so far or the next one, and that fragment."""

    @property
    def waiting(self) -> bool:
        """Whether a fragment that was taken may still change."""
        return self._waiting is not None or self._suspect is not None

    @property
    def whole(self) -> bool:
        """Whether an object is whole, whatever followed it; also one that is closed and no valid JSON."""
        text = self._text
        if self._behind is not None or not text.scanner.ended:
            return self._behind is not None
        return self._head.lstrip(WHITE)[:1] == "{" and not text.spilled

    @property
    def begun(self) -> bool:
        """Whether anything has come."""
        return bool(self._head)

    @property
    def half(self) -> bool:
        """Whether an object is open: what comes next is a part of it."""
        return self._behind is None and self._text.half

    def mean(self, means: str) -> bool:
        """Whether the object that came first is whole, and means this."""
        return self.whole and meaning(self._text.text()) == means

    def restarted_by(self, piece: str) -> bool:
        """Whether `piece` begins anew behind a start that came again.

        It begins as the object that is open began, or is an object's begin that cannot go on with that one.
        """
        if self._free or not self.half:
            return False
        text, again = self._text.text(), piece.strip(WHITE)
        alike = len(again) > 1 and text.lstrip(WHITE).startswith(again)
        return alike or self._text.restarted_by(piece)

    def is_broken_by(self, piece: str) -> bool:
        """Whether an object is open, and `piece` cannot be the next part of it, or is all of it so far.

        Escapes that are none of JSON's, and control characters, break nothing: models write them.
        """
        if self._free or not self.half or (self._text.in_string and STRING.fullmatch(piece)):
            return False
        if piece.startswith(self._head) or self._text.restarted_by(piece):
            return True
        scanner = copy.deepcopy(self._text.scanner)
        if not scanner.viable:
            return False
        follows = piece[scanner.feed(without_escapes(piece)) :].strip(WHITE)
        return bool(follows) or not scanner.viable

    @property
    def spoilt(self) -> bool:
        """Whether what went on is no JSON for a client that joins it, whatever was meant."""
        if self._behind is not None:
            return self._behind.spoilt
        return bool(self._head) and not self._text.is_json

    @property
    def _within(self) -> bool:
        """Whether white space belongs to what came before it."""
        behind = self._behind
        if behind is None and self._cumulative is not None:
            return True
        return bool(self._halves.kept or self._text.in_string or self._quoted is not None) or (
            behind is not None and behind.keeps
        )

    @property
    def inside_value(self) -> bool:
        """Whether plain text goes on as the one before it: an object is open, or the rest was reported already."""
        if self._waiting is not None or self._suspect is not None or self._halves.kept or self._escapes is not None:
            return False
        odd = self._behind or self._quoted
        if odd is not None or self._free:
            return odd is None or odd.steady
        return self._cumulative is None and not self._text.scanner.ended and self._head.lstrip(WHITE).startswith("{")

    @property
    def decided(self) -> bool:
        """Whether no fragment waits any more, whatever comes."""
        return not self.waiting and (self._behind is not None or self._cumulative is not None or self._free)
