"""Arguments that are repeated after themselves. Knows JSON only."""

from __future__ import annotations

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import says_nothing, unwrapped, without
from toolstream_core.calls.markup import is_markup


def repeated(whole: str, behind: str) -> tuple[str, bool]:
    """The intended arguments of a complete object and the text after it, and whether they are one JSON value.

    The text may repeat the object, in any fragments, be markup, or stand for no arguments.
    """
    first, again = whole.strip(WHITE), behind.strip(WHITE)
    rest, meant = without(first, again), unwrapped(first)
    if (rest[:1] not in {"}", "]"} and is_markup(rest)) or (again and says_nothing(again)):
        return meant, True
    return (whole + behind if rest == again and meant == first else meant + rest), False
