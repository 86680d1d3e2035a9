"""The error of a request that cannot be carried out, and its text for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final


class ToolstreamError(ValueError):
    """A request of the user cannot be carried out. The message has what is wrong, and what was expected."""


_LISTED: Final = 12
"""Known names that are still listed in full."""
_LIKE: Final = 0.65
"""The least similarity of a suggested name, from 0 to 1: less would suggest TS409 for TS999."""
LIST: Final = "`toolstream list`"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `word`."""
    names = {name.lower(): name for name in sorted(known)}
    found = get_close_matches(word.lower(), names, 1, _LIKE)
    return names[found[0]] if found else None


def unknown(noun: str, word: str, known: Iterable[str], see: str = LIST) -> str:
    """The error text for an unknown name. `see` is a command that lists the known names, if they are many."""
    names = list(known)
    near = nearest(word, names)
    parts = [f"unknown {noun} {word!r}", *([f"did you mean {near}?"] if near else [])]
    hint = f"Expected one of: {', '.join(names)}" if len(names) <= _LISTED else f"See {see}"
    return f"{'; '.join(parts)}{'' if near else '.'} {hint}"
