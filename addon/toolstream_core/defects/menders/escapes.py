"""JSON text that is not whole yet, or not quite JSON: what can still become of it, and escapes set right."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.wording import INVALID_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.defects.menders.told import Judge

_LITERALS = ("true", "false", "null")
_HEX_BEGUN = re.compile(r"[0-9a-fA-F]{0,3}")
_NUMBER_BEGUN = re.compile(r"-|\.\d*|-?\d+\.?\d*[eE]?[+-]?\d*|[eE][+-]?")
ODD: Final = re.compile(r'[\x00-\x1f]|\\[^"\\/bfnrtu]|\\u(?![0-9a-fA-F]{4})')
"""What JSON wants escaped in a string, or escaped otherwise."""
_ESCAPE = 6
"""Characters of the longest escape, `\\uXXXX`."""


class Escapes:
    """Follows strings across fragments, to escape what JSON wants escaped."""

    __slots__ = ("_inside", "_slash", "open")

    def __init__(self) -> None:
        """Outside any string."""
        self._inside = False
        self._slash = False
        """Whether the last fragment ended behind a backslash."""
        self.open = False
        """Whether the text so far was followed; from the first oddity on it has to be."""

    def mended(self, text: str, judge: Judge, *, mend: bool) -> str:
        """The next piece of the text, as JSON wants it; every piece from the first odd one on has to come by here."""
        if not mend:
            return text
        self.open = True
        out: list[str] = []
        at = 0
        while at < len(text):
            at += self._step(text, at, out, judge)
        return "".join(out)

    def _step(self, text: str, at: int, out: list[str], judge: Judge) -> int:
        character = text[at]
        if self._slash:
            self._slash = False
            odd = ODD.match(f"\\{text[at : at + _ESCAPE]}")
            if odd is not None and not _may_go_on(text, at):
                judge(INVALID_ARGUMENTS, f"\\{character} is no escape of JSON")
                out.append("\\")
        elif character == '"':
            self._inside = not self._inside
        elif self._inside and character == "\\":
            odd = ODD.match(text, at)
            following = text[at + 1 : at + 2]
            if odd is not None and following and not _may_go_on(text, at + 1):
                judge(INVALID_ARGUMENTS, f"\\{following} is no escape of JSON")
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


def viable(text: str) -> bool:
    """Whether `text` can be the beginning of JSON, or is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        if not rest or error.msg.startswith("Unterminated string"):
            return True
        if "escape" in error.msg:
            return len(text) - error.pos <= _ESCAPE
        return any(word.startswith(rest) for word in _LITERALS) or _NUMBER_BEGUN.fullmatch(rest) is not None
    except RecursionError:
        return False
    return True


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_object(text: str) -> bool:
    """Whether the text is a JSON object or list."""
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False
