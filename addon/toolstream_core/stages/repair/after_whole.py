"""What follows arguments that are whole: the same again, another call's, or garbage. Knows JSON, and no protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.markup import is_markup
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import MERGED_CALLS, REPLAYED_ARGUMENTS, TRAILING_GARBAGE
from toolstream_core.stages.repair.emitted import short

if TYPE_CHECKING:
    from toolstream_core.stages.repair.emitted import Judge

# It may come in any number of fragments, so it is kept until it is known: a repetition until it is whole or differs,
# markup until the end. What turns out to be neither goes on as it came.

_SPACE = re.compile(rf"[{WHITE}]+")


class Behind:
    """Takes the fragments that follow the whole arguments of one call."""

    __slots__ = ("_at", "_begun", "_free", "_kept", "_mark", "_seen", "_squeezed", "_whole", "spoilt")

    def __init__(self, whole: str) -> None:
        """`whole`: the arguments as they came, an object or a string that holds one."""
        self._whole = whole
        self._mark = whole.lstrip(WHITE)[:1]
        self._squeezed: str | None = None
        """`whole` without white space; made when it is needed."""
        self._at = 0
        """How much of that has come again."""
        self._seen: list[str] = []
        """What follows, as far as it is not decided on."""
        self._kept: list[str] = []
        """What of it the client was not given."""
        self._begun = ""
        """The first character of it."""
        self._free = False
        """Whether it is known to be neither, so that everything goes on."""
        self.spoilt = False
        """Whether something of that went on: whoever joins it to the arguments has no JSON."""

    @property
    def keeps(self) -> bool:
        """Whether something was kept back."""
        return bool(self._kept)

    @property
    def steady(self) -> bool:
        """Whether text without brackets is told nothing new: garbage has been."""
        return self._free or (bool(self._begun) and self._begun not in {"{", self._mark})

    def on_skipped(self, text: str) -> str:
        """Take such text, which came in several fragments; what went on of it, had it to be mended."""
        return self.take(text, lambda row, message: bool(self._kept))  # noqa: ARG005

    def take(self, piece: str, judge: Judge) -> str:
        """What goes on for the next fragment."""
        if self._free:
            if "{" in piece:
                judge(MERGED_CALLS, f"{short(piece)} follows the arguments")
            self.spoilt = self.spoilt or piece.strip(WHITE) != ""
            return piece
        self._begun = self._begun or piece.lstrip(WHITE)[:1]
        if not self._begun:
            return piece
        self._seen.append(piece)
        return self._again(piece, judge) if self._begun in {"{", self._mark} else self._garbage(piece, judge)

    def rest(self) -> str:
        """What was kept back, at the end: half a repetition goes on as it came, markup does not."""
        rest = "".join(self._kept) if self._begun in {"{", self._mark} else ""
        self._kept.clear()
        self._free = self._free or bool(self._seen)
        self.spoilt = self.spoilt or bool(rest)
        return rest

    def _again(self, piece: str, judge: Judge) -> str:
        """An object: the same arguments again, as far as can be seen, or another call's."""
        if self._squeezed is None:
            self._squeezed = _SPACE.sub("", self._whole)
        squeezed = _SPACE.sub("", piece)
        alike = self._squeezed.startswith(squeezed, self._at)
        self._at += len(squeezed)
        whole = not alike or self._at == len(self._squeezed)
        if whole and not (self._is_same("".join(self._seen)) or self._is_same(piece)):
            judge(MERGED_CALLS, "arguments of another call follow complete ones")
            return self._let_go(piece)
        gone = judge(REPLAYED_ARGUMENTS, "the complete arguments came again")
        if gone:
            self._kept.append(piece)
        if whole:
            self._kept.clear()
            self._seen.clear()
            self._begun, self._at = "", 0
        return "" if gone else piece

    def _is_same(self, text: str) -> bool:
        return text == self._whole or (is_object(text) and same_arguments(text, self._whole))

    def _garbage(self, piece: str, judge: Judge) -> str:
        """No JSON: markup and stray brackets can go, the next call's name cannot."""
        text = "".join(self._seen)
        if "{" in text:
            judge(MERGED_CALLS, f"{short(text)} follows the arguments")
            return self._let_go(piece)
        gone = judge(TRAILING_GARBAGE, f"{short(text)} follows the arguments")
        if not is_markup(text):
            return self._let_go(piece)
        if gone:
            self._kept.append(piece)
        return "" if gone else piece

    def _let_go(self, piece: str) -> str:
        kept = "".join(self._kept) + piece
        self._kept.clear()
        self._seen.clear()
        self._free = self.spoilt = True
        return kept
