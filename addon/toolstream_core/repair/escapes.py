"""JSON text that is not quite JSON: its escapes set right."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.arguments import INVALID_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.repair.identity import Judge

_HEX_BEGUN = re.compile(r"[0-9a-fA-F]{0,3}")
_ODD: Final = re.compile(r'[\x00-\x1f]|\\[^"\\/bfnrtu]|\\u(?![0-9a-fA-F]{4})')
"""What JSON wants escaped in a string, or escaped otherwise."""
"""Escapes and control characters, valid or not."""
_ESCAPE = 6
"""Characters of the longest escape, `\\uXXXX`."""


class Escapes:
    """Follows strings across fragments, to escape what JSON wants escaped."""

    __slots__ = ("_inside", "_slash")

    def __init__(self) -> None:
        """Outside any string."""
        self._inside = False
        self._slash = False
        """Whether the last fragment ended behind a backslash."""

    def changed(self, text: str, judge: Judge) -> str:
        """The next piece of the text, as JSON wants it; every piece has to come by here."""
        out: list[str] = []
        at = 0
        while at < len(text):
            at += self._step(text, at, out, judge)
        return "".join(out)

    def _step(self, text: str, at: int, out: list[str], judge: Judge) -> int:
        character = text[at]
        if self._slash:
            self._slash = False
            odd = _ODD.match(f"\\{text[at : at + _ESCAPE]}")
            if odd is not None and not _may_go_on(text, at):
                judge(INVALID_ARGUMENTS, f"\\{character} is not a JSON escape")
                out.append("\\")
        elif character == '"':
            self._inside = not self._inside
        elif self._inside and character == "\\":
            odd = _ODD.match(text, at)
            following = text[at + 1 : at + 2]
            if odd is not None and following and not _may_go_on(text, at + 1):
                judge(INVALID_ARGUMENTS, f"\\{following} is not a JSON escape")
                out.append("\\\\")
                return 1
            self._slash = not following
            out.append(character + following)
            return 1 + len(following)
        elif self._inside and character < " ":
            judge(INVALID_ARGUMENTS, "a control character stands unescaped in a string")
            character = json.dumps(character)[1:-1]
        out.append(character)
        return 1


def _may_go_on(text: str, at: int) -> bool:
    r"""Whether an escape `\\uXXXX` whose `u` is at `at` is cut by the text's end."""
    return text[at : at + 1] == "u" and _HEX_BEGUN.fullmatch(text, at + 1) is not None
