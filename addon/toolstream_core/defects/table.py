"""The table of defects, and the words that name them. Knows no stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.arguments import ARGUMENTS
from toolstream_core.defects.finish import ENDING
from toolstream_core.defects.framing import FRAMING
from toolstream_core.defects.identity import IDENTITY
from toolstream_core.defects.leak import LEAK
from toolstream_core.defects.row import Row, Safety
from toolstream_core.errors import ToolstreamError
from toolstream_core.suggest import unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

ROWS: Final[tuple[Row, ...]] = (*FRAMING, *IDENTITY, *ARGUMENTS, *ENDING, *LEAK)

ALL: Final = "all"


def named(words: Iterable[str]) -> frozenset[str]:
    """The codes that `words` mean: codes, names, families, `all`; `-word` takes out. Raises `ToolstreamError`."""
    return frozenset(row.code for row in _named(words, ROWS))


def repairs(words: Iterable[str]) -> frozenset[Row]:
    """The rows whose repair `words` switch on: as `named`, and `safe`. A family and `all` mean the safe ones in them.

    Raises `ToolstreamError`, also for a row that has no repair.
    """
    chosen: set[Row] = set()
    for word in words:
        bare = word.removeprefix("-")
        single = [row for row in ROWS if bare in {row.code, row.name}]
        meant = single or [
            row for row in ROWS if row.repair is Safety.SAFE and bare in {row.family, ALL, Safety.SAFE.value}
        ]
        if not meant and bare not in _known():
            raise ToolstreamError(unknown("defect", bare, [*_known(), Safety.SAFE.value]))
        if not meant or (single and single[0].repair is None):
            raise ToolstreamError(f"{bare} cannot be repaired. See `toolstream list` for the defects that can")
        if word.startswith("-"):
            chosen.difference_update(meant)
        else:
            chosen.update(meant)
    return frozenset(chosen)


def _named(words: Iterable[str], rows: Iterable[Row]) -> set[Row]:
    chosen: set[Row] = set()
    for word in words:
        bare = word.removeprefix("-")
        meant = {row for row in rows if bare in {row.code, row.name, row.family, ALL}}
        if not meant:
            raise ToolstreamError(unknown("defect", bare, _known()))
        chosen = chosen - meant if word.startswith("-") else chosen | meant
    return chosen


def _known() -> list[str]:
    """What an unknown word may have meant: a code never, since all codes look alike."""
    return [*(row.name for row in ROWS), *sorted({row.family for row in ROWS}), ALL]
