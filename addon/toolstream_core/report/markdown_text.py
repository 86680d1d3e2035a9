"""Foreign text in Markdown: in a sentence, as code, as a block. Nothing of it formats, links or ends anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.report.paint import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_TEXT = 300
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~@]")


def fenced(text: Iterable[str], language: str = "text") -> Iterator[str]:
    """A code block, in a fence that nothing in it can end."""
    inner = list(text)
    longest = max((len(run) for line in inner for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", *inner, f"{fence}\n")


def code(text: str) -> str:
    """Foreign text as code within a line, cut where it is long."""
    shown = printable(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…").replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def escaped(text: str) -> str:
    """Foreign text in a sentence: it formats, links and mentions nothing."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}" if found[0] != "@" else "@\u200b", printable(text))
