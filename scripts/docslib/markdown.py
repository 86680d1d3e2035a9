"""Markdown that pages share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield from (f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def code(word: str) -> str:
    """A word as code."""
    return f"`{word}`"


def codes(words: Iterable[str]) -> str:
    """Words as code."""
    return ", ".join(map(code, words))
