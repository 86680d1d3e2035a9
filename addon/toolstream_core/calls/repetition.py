"""Arguments that are said again behind themselves. Knows JSON only."""

from __future__ import annotations

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import says_nothing, unwrapped, without
from toolstream_core.calls.markup import is_markup


def repeated(whole: str, behind: str) -> tuple[str, bool]:
    """What a whole object and the text behind it mean, and whether that is one JSON value.

    The text may say the object again, in whatever pieces, be markup, or say that there are no arguments.
    """
    first, again = whole.strip(WHITE), behind.strip(WHITE)
    rest, meant = without(first, again), unwrapped(first)
    if (rest[:1] not in {"}", "]"} and is_markup(rest)) or (again and says_nothing(again)):
        return meant, True
    return (whole + behind if rest == again and meant == first else meant + rest), False
