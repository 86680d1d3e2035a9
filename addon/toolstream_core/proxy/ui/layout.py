"""The text of content views: lines that mitmweb and the console show as they are."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WIDTH: Final = 80
"""Columns of a line. mitmweb does not wrap lines."""
_HANGING: Final = "    "
"""Begins the further lines of a long one."""


def wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Lines of at most 80 columns."""
    return (part for line in lines for part in _parts(line))


def _parts(line: str) -> Sequence[str]:
    if len(line) <= WIDTH:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + _HANGING
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False, tabsize=1
    )


def numbers(ranges: Iterable[range]) -> str:
    """Numbers as `57-62` or `3, 5-9`."""
    return ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in ranges)
