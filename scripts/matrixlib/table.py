"""Tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a table."""
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(_text(value) for value in row) + " |"


def _text(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
