"""One call's argument fragments as a client that joins them needs them. Knows JSON, and no protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE, WS
from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.arguments import (
    CUMULATIVE_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
)
from toolstream_core.stages.repair.after_whole import Behind
from toolstream_core.stages.repair.argument_state import ArgumentState
from toolstream_core.stages.repair.emitted import Emitted
from toolstream_core.stages.repair.quoted import Quoted, begins_object
from toolstream_core.stages.repair.surrogates import HALF_BEGINS

if TYPE_CHECKING:
    from toolstream_core.stages.repair.emitted import Judge

# A healthy fragment costs a few cheap tests here and goes on as it is. Everything else rests on evidence that the
# joined text alone gives: a fragment is "the arguments so far" only where it begins with all that came *and* the
# joined text could not become JSON; a fragment is a repetition, or garbage, only behind a whole object. Overlaps are
# never dropped (OmniRoute#3762). A fragment that may still turn out to be one thing or the other waits only where
# waiting cannot delay anything: behind whole arguments, behind a first `{}` of a tool that takes parameters, or within
# a string that may hold an object. What waits is given by `rest` at the end, whatever that end is.

_PLACEHOLDER = re.compile(rf"{WS}(?:\{{{WS}\}}|null){WS}")

_BEFORE_ARGUMENTS = re.compile(rf'{WS}(?:\{{{WS}\}}|null){WS}(?=\{{{WS}")')


class ArgumentRepair(ArgumentState):
    """Takes the fragments of one call in order."""

    __slots__ = ()

    def take(self, piece: str, judge: Judge, *, may_wait: bool = True) -> Emitted:
        """What goes on for `piece`.

        `may_wait`: whether a first `{}` may be a placeholder: not for a tool that is known to take no parameters.
        """
        self._size += len(piece)
        growing = self._behind is None and self._cumulative is None and self._quoted is None and not self._free
        if growing:
            self._text.add(piece)
        if not piece or (not piece.strip(WHITE) and not self._within):
            return Emitted(piece)
        if not self._head:
            return self._first(piece, judge, may_wait=may_wait)
        if self._waiting is not None:
            return self._after_placeholder(piece, self._waiting, judge, may_wait=may_wait)
        if self._suspect is not None:
            self._decide(piece, *self._suspect, judge)
        elif growing and not (self._text.scanner.ended or piece.startswith(self._head)):
            plain = self._escapes is None and not self._halves.kept and piece[-1] < HALF_BEGINS
            emitted = Emitted(piece if plain else self._finished(piece, judge))
            emitted.stray = piece[-1] == "}" and self._is_apart(piece)
            return emitted
        emitted = Emitted("")
        behind = self._behind
        emitted.text = self._finished(self._next(piece, emitted, judge, may_wait=may_wait), judge)
        half = self._behind is None and self._cumulative is None
        apart = half and piece[-1] == "}" and self._is_apart(piece)
        emitted.stray = apart or (behind is not None and behind.spoilt)
        return emitted

    def on_skipped(self, text: str, last: str) -> str:
        """Take fragments without brackets, joined; `last` is the last of them. What went on, had it to be mended."""
        self._size += len(text)
        if self._behind is not None:
            return self._behind.on_skipped(text)
        if self._quoted is not None:
            return self._quoted.on_skipped(text, last)
        if not self._free:
            self._text.add_plain(text, last)
        return text

    def presume(self, judge: Judge) -> None:
        """A first `{}` that waits is a placeholder: so it was in another call of the same answer."""
        if self._waiting is not None and judge(PLACEHOLDER_ARGUMENTS, f"{self._head.strip()} stands for the arguments"):
            self._presumed, self._waiting.text = self._waiting.text, ""
            self._begin()
            self.replaced = True

    def settle(self, judge: Judge | None = None) -> None:
        """Nothing more comes that could change what waits."""
        self._waiting = None
        if self._suspect is not None and judge is not None:
            before, piece, emitted = self._suspect
            if not self._text.ended and is_object(piece):
                emitted.text = self._grown(piece, before, judge)
        self._suspect = None

    def rest(self) -> str:
        """What was kept back goes on as it came, at every end."""
        rest = ""
        if "{" in self._presumed and self.owes:
            rest, self.replaced = self._presumed, False
        if self._quoted is not None:
            rest, self._quoted, self._free = self._quoted.let_go(), None, True
        if self._behind is not None:
            rest += self._behind.rest()
        return rest + self._halves.let_go() if self._halves.kept else rest

    def _first(self, piece: str, judge: Judge, *, may_wait: bool) -> Emitted:
        if self.replaced and "{" in self._presumed and not begins_object(piece):
            return self._given_back(piece, judge)
        if self._text.truncated:
            self._head, self._free = piece.lstrip(WHITE)[:1], True
            return Emitted(self._finished(piece, judge))
        before = _BEFORE_ARGUMENTS.match(piece)
        if before is not None:
            return self._from_placeholder(piece[: before.end()], piece[before.end() :], judge)
        self._head = piece
        if piece.lstrip(WHITE).startswith('"'):
            self._quoted = Quoted(self._room)
            emitted = Emitted("")
            emitted.text = self._finished(self._decoded(self._quoted, piece, emitted, judge, may_wait=may_wait), judge)
            return emitted
        emitted = Emitted(piece)
        if _PLACEHOLDER.fullmatch(piece):
            self._behind = Behind(piece) if "{" in piece else None
            if may_wait:
                self._waiting = emitted
            return emitted
        text = self._ended_inside(piece, judge) if self._text.scanner.ended else piece
        emitted.text = self._finished(text, judge)
        return emitted

    def _is_apart(self, piece: str) -> bool:
        """Whether a fragment is a whole object, and not the next part of what came."""
        return not self._text.viable and is_object(piece)

    def _given_back(self, piece: str, judge: Judge) -> Emitted:
        """What only garbage follows was no placeholder."""
        self._head, self.replaced = self._presumed, False
        self._behind = Behind(self._head)
        return Emitted(self._head + self._finished(self._behind.take(piece, judge), judge))

    def _after_placeholder(self, piece: str, waiting: Emitted, judge: Judge, *, may_wait: bool) -> Emitted:
        """What follows a first `{}`: the same again, the real arguments, or garbage."""
        if piece.strip(WHITE) == self._head.strip(WHITE):
            return Emitted("" if judge(REPLAYED_ARGUMENTS, "the complete arguments came again") else piece)
        self._waiting = None
        if not begins_object(piece):
            emitted = Emitted(self._finished(self._next(piece, Emitted(""), judge, may_wait=False), judge))
            emitted.stray = self._behind is not None and self._behind.spoilt
            return emitted
        repair = judge(PLACEHOLDER_ARGUMENTS, f"{self._head.strip()} came before the arguments")
        if repair:
            waiting.text = ""
        self._begin_with(piece, replaced=repair)
        return self._first(piece, judge, may_wait=may_wait)

    def _from_placeholder(self, placeholder: str, piece: str, judge: Judge) -> Emitted:
        """A `{}` and, in the same fragment, the arguments that it stood for."""
        repair = judge(PLACEHOLDER_ARGUMENTS, f"{placeholder.strip()} came before the arguments")
        self._begin_with(piece, replaced=repair)
        emitted = self._first(piece, judge, may_wait=False)
        emitted.text = emitted.text if repair else placeholder + emitted.text
        return emitted

    def _begin_with(self, piece: str, *, replaced: bool) -> None:
        """What came was a placeholder; `piece` is the first that counts."""
        self._begin()
        self.replaced = self.replaced or replaced
        self._text.add(piece)
        self._size = len(piece)

    def _next(self, piece: str, emitted: Emitted, judge: Judge, *, may_wait: bool) -> str:
        if self._free:
            return piece
        if self._quoted is not None:
            return self._decoded(self._quoted, piece, emitted, judge, may_wait=may_wait)
        if self._behind is not None:
            return self._behind.take(piece, judge)
        if self._cumulative is not None:
            return self._grown(piece, self._cumulative, judge)
        if piece.startswith(self._head) and len(piece) + len(piece) >= self._size:
            before = self._text.text()[: -len(piece)]
            more = len(piece) > len(before) or before != self._head
            if piece.startswith(before) and more and not self._text.viable:
                return self._grown(piece, before, judge)
            if may_wait and piece.startswith(before) and len(before) > 1 and not self._text.ended:
                self._suspect = (before, piece, emitted)
        return self._ended_inside(piece, judge) if self._text.scanner.ended else piece

    def _decide(self, piece: str, before: str, suspect: str, emitted: Emitted, judge: Judge) -> None:
        """The fragment after one that may have been all so far: if it carries that again, it was."""
        self._suspect = None
        if (piece.startswith(suspect) and len(piece) > len(suspect)) or (not self._text.viable and is_object(suspect)):
            emitted.text = self._grown(suspect, before, judge)

    def _grown(self, piece: str, before: str, judge: Judge) -> str:
        """The fragment carries all so far; the client has `before`."""
        repair = judge(CUMULATIVE_ARGUMENTS, "a delta carries all arguments so far instead of the next ones")
        if piece.startswith(before):
            self._cumulative, self._stale = piece, ""
            self._room.left -= len(piece) - len(before)
            if self._room.left < 0:
                self._cumulative, self._free = "", True
            if piece.endswith("}") and is_object(piece):
                self._behind = Behind(piece)
            return piece[len(before) :] if repair else piece
        if before.startswith(piece) or not piece.strip(WHITE):
            self._stale += piece
            return "" if repair else piece
        stale, self._stale = self._stale, ""
        self._cumulative = before + stale + piece if repair else before
        return stale + piece if repair else piece

    def _ended_inside(self, piece: str, judge: Judge) -> str:
        """A fragment in which the arguments end: goes on up to there."""
        whole = self._text.ended_object()
        if whole is None:
            self._free = True
            return piece
        self._behind = Behind(whole)
        end = len(piece) - (self._text.size - len(whole))
        return piece[:end] + self._behind.take(piece[end:], judge)

    def _decoded(self, quoted: Quoted, piece: str, emitted: Emitted, judge: Judge, *, may_wait: bool) -> str:
        """The next fragment of a string, and what follows it where it held an object."""
        gone = quoted.take(piece, judge)
        if isinstance(gone, str):
            if quoted.over:
                self._quoted, self._free = None, True
            return gone
        self._quoted, self._behind = None, Behind(gone.raw)
        if may_wait and gone.repair and not gone.tail and _PLACEHOLDER.fullmatch(gone.value):
            self._head, self._waiting = gone.raw, emitted
        behind = self._behind.take(gone.tail, judge) if gone.tail else ""
        return gone.value + behind if gone.repair else piece[: len(piece) - len(gone.tail)] + behind

    def _finished(self, text: str, judge: Judge) -> str:
        """Last touches on the text itself: no half characters, and, where asked for, valid escapes."""
        if self._escapes is not None:
            text = self._escapes.changed(text, judge)
        if not (self._halves.kept or text[-1:] >= HALF_BEGINS):
            return text
        return self._halves.changed(text, judge, inside_value=self._behind is None)
