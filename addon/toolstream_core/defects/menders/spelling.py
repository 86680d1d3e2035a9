"""One call's argument fragments as a client that joins them needs them. Knows JSON, and no protocol."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.book import same_arguments
from toolstream_core.defects.menders.escapes import ODD, Escapes, is_json, is_object, viable
from toolstream_core.defects.menders.told import Told, short
from toolstream_core.defects.wording import (
    CUMULATIVE_ARGUMENTS,
    DOUBLE_ENCODED_ARGUMENTS,
    INVALID_ARGUMENTS,
    MERGED_CALLS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SPLIT_SURROGATE,
    TRAILING_GARBAGE,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.defects.menders.told import Judge
    from toolstream_core.defects.row import Row

# A healthy fragment costs four cheap tests here and goes on as it is. Everything else rests on evidence that the
# joined text alone gives: a fragment is "the arguments so far" only where it begins with all that came *and* the
# joined text could not become JSON; a fragment is a repetition only behind arguments that are whole. Overlaps are
# never dropped (OmniRoute#3762). A fragment that may still turn out to be one thing or the other waits only where
# waiting cannot delay anything: behind whole arguments, or behind a first `{}` of a tool that takes parameters.

MAX_SPELT = 1024 * 1024
"""Characters of one call's arguments above which what comes again is not recognised any more."""
_PLACEHOLDER = re.compile(r"\s*(?:\{\s*\}|null)\s*")
_MARKUP = re.compile(r"(?:\s|[}\]]|</?[^<>]*>|<[|｜][^<>]*|\[/?[A-Z_]+\]|`{3}\w*)+")
"""Special tokens, tags, and brackets too many."""


class Spelling:
    """Takes the fragments of one call in order."""

    __slots__ = (
        "_carry",
        "_cumulative",
        "_encoded",
        "_escapes",
        "_head",
        "_on",
        "_size",
        "_spill",
        "_suspect",
        "_text",
        "_waiting",
        "_whole",
        "replaced",
    )

    def __init__(self, on: Callable[[Row], bool]) -> None:
        """`on` says whether a row's repair is switched on."""
        self._on = on
        self._head = ""
        self._size = 0
        self._text = ArgumentText(MAX_SPELT)
        """The fragments joined, from behind a placeholder on."""
        self._whole: str | None = None
        """The arguments, once they are whole."""
        self._spill = ""
        """What followed the whole arguments and is not decided on."""
        self._cumulative: str | None = None
        """What the client has, where each fragment carries all so far."""
        self._encoded: str | None = None
        """JSON text in a JSON string, as far as it came."""
        self._waiting: Told | None = None
        """A first `{}` that may be a placeholder."""
        self._suspect: tuple[str, str, Told] | None = None
        """What came before a fragment that may be all so far or the next one, and that fragment."""
        self._carry = ""
        """Half a surrogate pair, kept for the next fragment."""
        self._escapes = Escapes()
        self.replaced = False
        """Whether a first `{}` was nothing but a placeholder, and is not told."""

    @property
    def waiting(self) -> bool:
        """Whether a fragment that was taken may still change."""
        return self._waiting is not None or self._suspect is not None

    @property
    def whole(self) -> bool:
        """Whether an object is whole, whatever followed it."""
        return self._whole is not None and self._whole.lstrip().startswith("{")

    def take(self, piece: str, judge: Judge, *, may_wait: bool = True) -> Told:
        """What goes on for `piece`.

        `may_wait`: whether a first `{}` may be a placeholder: not for a tool that is known to take no parameters.
        """
        self._size += len(piece)
        self._text.add(piece)
        if not piece or (piece.isspace() and self._encoded is None):
            return Told(piece)
        if not self._head:
            return self._first(piece, judge, may_wait=may_wait)
        if self._waiting is not None:
            return self._after_placeholder(piece, self._waiting, judge, may_wait=may_wait)
        if self._suspect is not None:
            self._decide(piece, *self._suspect, judge)
        told = Told("")
        told.text = self._finished(self._next(piece, told, judge, may_wait=may_wait), judge)
        return told

    @property
    def amid(self) -> bool:
        """Whether an object is open of which nothing is special, so that plain text goes on as it is."""
        special = (self._waiting, self._suspect, self._whole, self._cumulative, self._encoded)
        return (
            special == (None,) * 5
            and self._head.lstrip().startswith("{")
            and not (self._text.ended or self._spill or self._carry or self._escapes.open)
            and not self._on(INVALID_ARGUMENTS)
        )

    def went_by(self, text: str, last: str) -> None:
        """Take fragments without brackets, joined, that went on as they are; `last` is the last of them."""
        self._size += len(text)
        self._text.add_plain(text, last)

    @property
    def placeholder(self) -> bool:
        """Whether what came is a first `{}` that may be a placeholder."""
        return self._waiting is not None

    @property
    def owes(self) -> bool:
        """Whether a `{}` was taken for a placeholder, and nothing has come in its place."""
        return self.replaced and not self._head

    def presume(self, judge: Judge) -> None:
        """A first `{}` that waits is a placeholder: so it was in another call of the same answer."""
        if self._waiting is not None and judge(PLACEHOLDER_ARGUMENTS, f"{self._head.strip()} stands for the arguments"):
            self._waiting.text = ""
            self._restart()

    def _restart(self) -> None:
        self._waiting, self._whole, self._head, self._size = None, None, "", 0
        self._text = ArgumentText(MAX_SPELT)
        self.replaced = True

    def settle(self, judge: Judge | None = None) -> None:
        """Nothing more comes that could change what waits."""
        self._waiting = None
        if self._suspect is not None and judge is not None:
            before, piece, told = self._suspect
            if not self._text.ended and is_json(piece):
                told.text = self._grown(piece, before, judge)
        self._suspect = None

    def rest(self) -> str:
        """What was kept back and never found its other half: goes on as it came."""
        rest, self._encoded, self._spill = (self._encoded or "") + self._spill, None, ""
        carry, self._carry = self._carry, ""
        return rest + carry

    def _first(self, piece: str, judge: Judge, *, may_wait: bool) -> Told:
        self._head = piece
        if piece.lstrip().startswith('"'):
            self._encoded = ""
            return Told(self._decoded(piece, judge))
        told = Told(piece)
        if may_wait and _PLACEHOLDER.fullmatch(piece):
            self._waiting = told
            self._whole = piece
            return told
        told.text = self._finished(self._ended_inside(piece, judge), judge)
        return told

    def _after_placeholder(self, piece: str, waiting: Told, judge: Judge, *, may_wait: bool) -> Told:
        """What follows a first `{}`: the same again, the real arguments, or garbage."""
        if piece.strip() == self._head.strip():
            return Told("" if judge(REPLAYED_ARGUMENTS, "the whole arguments came again") else piece)
        self._waiting = None
        if not piece.lstrip().startswith(("{", '"')):
            return Told(self._finished(self._spilled(piece, judge), judge))
        self._whole = None
        if not judge(PLACEHOLDER_ARGUMENTS, f"{self._head.strip()} came before the arguments"):
            return Told(piece)
        waiting.text = ""
        self._restart()
        self._text.add(piece)
        self._size = len(piece)
        return self._first(piece, judge, may_wait=may_wait)

    def _next(self, piece: str, told: Told, judge: Judge, *, may_wait: bool) -> str:
        if self._encoded is not None:
            return self._decoded(piece, judge)
        if self._cumulative is not None:
            return self._grown(piece, self._cumulative, judge)
        if self._whole is not None:
            return self._spilled(piece, judge)
        if piece.startswith(self._head) and len(piece) + len(piece) >= self._size:
            joined = self._text.text()
            before = joined[: len(joined) - len(piece)]
            if piece.startswith(before) and not viable(joined):
                return self._grown(piece, before, judge)
            if may_wait and piece.startswith(before) and len(before) > 1 and not self._text.ended:
                self._suspect = (before, piece, told)
        return self._ended_inside(piece, judge)

    def _decide(self, piece: str, before: str, suspect: str, told: Told, judge: Judge) -> None:
        """The fragment after one that may have been all so far: if it carries that again, it was."""
        self._suspect = None
        if piece.startswith(suspect) and len(piece) > len(suspect):
            told.text = self._grown(suspect, before, judge)
        elif not viable(self._text.text()) and is_json(suspect):
            told.text = self._grown(suspect, before, judge)
            self._whole = suspect

    def _grown(self, piece: str, before: str, judge: Judge) -> str:
        """The fragment carries all so far; the client has `before`."""
        mend = judge(CUMULATIVE_ARGUMENTS, "a delta carries all arguments so far instead of the next ones")
        if piece.startswith(before):
            self._cumulative = piece
            return piece[len(before) :] if mend else piece
        self._cumulative = before
        return "" if mend and before.startswith(piece) else piece

    def _ended_inside(self, piece: str, judge: Judge) -> str:
        """The usual fragment: goes on, up to where the arguments end."""
        if not self._text.ended:
            return piece
        joined = self._text.text()
        self._whole = joined
        if not self._text.spilled:
            return piece
        try:
            end = json.JSONDecoder().raw_decode(joined.lstrip())[1] + len(joined) - len(joined.lstrip())
        except (ValueError, RecursionError):
            return piece
        self._whole, tail = joined[:end], joined[end:]
        if len(tail) > len(piece):
            return piece
        return piece[: len(piece) - len(tail)] + self._spilled(tail, judge)

    def _spilled(self, piece: str, judge: Judge) -> str:
        """Something follows whole arguments: the same again, another call's, or garbage."""
        whole = self._whole or ""
        spill, self._spill = self._spill + piece, ""
        if not spill.lstrip().startswith(("{", "[")):
            return self._garbage(spill, judge)
        if viable(spill) and not is_json(spill):
            if self._on(REPLAYED_ARGUMENTS):
                self._spill = spill
                return ""
            judge(REPLAYED_ARGUMENTS, "arguments begin again behind whole ones")
            return piece
        if same_arguments(spill.strip(), whole.strip()):
            return "" if judge(REPLAYED_ARGUMENTS, "the whole arguments came again") else spill
        judge(MERGED_CALLS, "arguments of another call follow whole ones")
        return spill

    def _garbage(self, spill: str, judge: Judge) -> str:
        """What follows and is no JSON: markup and stray brackets can go, the next call's name cannot."""
        if "{" in spill:
            judge(MERGED_CALLS, f"{short(spill)} follows the arguments")
            return spill
        gone = judge(TRAILING_GARBAGE, f"{short(spill)} follows the arguments")
        return "" if gone and _MARKUP.fullmatch(spill) else spill

    def _decoded(self, piece: str, judge: Judge) -> str:
        """Arguments that begin with a quote: an object within a string, or no arguments of anybody's."""
        text = (self._encoded or "") + piece
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            if self._on(DOUBLE_ENCODED_ARGUMENTS) and viable(text):
                self._encoded = text
                return ""
            self._encoded = None if not viable(text) else ""
            return text
        if not isinstance(value, str) or not is_object(value):
            self._encoded = None
            return text
        self._encoded, self._whole = None, value
        return value if judge(DOUBLE_ENCODED_ARGUMENTS, "the arguments are JSON within a JSON string") else text

    def _finished(self, text: str, judge: Judge) -> str:
        """Last touches on the text itself: no half characters, and, where asked for, valid escapes."""
        if ODD.search(text) or self._escapes.open or self._on(INVALID_ARGUMENTS):
            text = self._escapes.mended(text, judge, mend=self._on(INVALID_ARGUMENTS))
        if self._carry:
            text, self._carry = self._carry + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            message = "a delta ends with half of a surrogate pair"
            if judge(SPLIT_SURROGATE, message):
                text, self._carry = text[:-1], text[-1]
        return text
