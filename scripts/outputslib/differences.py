"""Shows how two outputs differ, in a few lines. Knows unified diffs."""

from __future__ import annotations

import difflib
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = 24
WIDTH = 180


def shown(before: bytes, after: bytes) -> Iterator[str]:
    """The begin of a unified diff; long lines are shortened around the place where they differ."""
    diff = difflib.unified_diff(_lines(before), _lines(after), "kept", "now", n=1, lineterm="")
    lines = list(itertools.islice(diff, LINES + 1))
    for number, line in enumerate(lines[:LINES]):
        yield _short(line, _common(line, lines[number - 1], lines[number + 1 : number + 2]))
    if len(lines) > LINES:
        yield "…"


def _lines(text: bytes) -> list[str]:
    """Its lines, also those within strings of JSON."""
    return text.decode("utf-8", "backslashreplace").replace("\\n", "\\n\n").split("\n")


def _common(line: str, before: str, after: list[str]) -> int:
    """How far a changed line is that beside it: what has been taken out stands before what came instead."""
    other = before if line.startswith("+") else "".join(after)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(line[1:], other[1:], strict=False))
    return sum(1 for _ in same)


def _short(line: str, same: int) -> str:
    if len(line) <= WIDTH:
        return line
    start = max(0, same - WIDTH // 3)
    cut = line[1:][start : start + WIDTH]
    return f"{line[0]}{'…' if start else ''}{cut}{'…' if start + WIDTH < len(line) - 1 else ''}"
