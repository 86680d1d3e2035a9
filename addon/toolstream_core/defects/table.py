"""The table of defects, and how options select them. Knows no stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from toolstream_core.defects import arguments, finish, framing, identity, leak
from toolstream_core.defects.defect import Defect, Safety
from toolstream_core.errors import ToolstreamError, unknown

DEFECTS: Final = tuple(
    one
    for family in (framing, identity, arguments, finish, leak)
    for one in vars(family).values()
    if isinstance(one, Defect)
)
"""All defects, in the order in which the files define them."""
LEAK: Final = tuple(one for one in DEFECTS if one.family == "leak")
"""The defects of calls that are written as text."""

ALL: Final = "all"


def named(words: Iterable[str]) -> frozenset[str]:
    """The codes that `words` mean: codes, names, families, `all`; `-word` takes out. Raises `ToolstreamError`."""
    chosen: set[Defect] = set()
    for word in words:
        bare = word.removeprefix("-")
        intended = {defect for defect in DEFECTS if bare in {defect.code, defect.name, defect.family, ALL}}
        if not intended:
            raise ToolstreamError(unknown("defect", bare, _known()))
        chosen = chosen - intended if word.startswith("-") else chosen | intended
    return frozenset(defect.code for defect in chosen)


def repairs(words: Iterable[str]) -> frozenset[Defect]:
    """The defects whose repair `words` switch on: as `named`, and `safe`. A family and `all` mean their safe ones.

    Raises `ToolstreamError`, also for a defect that has no repair.
    """
    chosen: set[Defect] = set()
    for word in words:
        bare = word.removeprefix("-")
        single = [defect for defect in DEFECTS if bare in {defect.code, defect.name}]
        intended = single or [
            defect
            for defect in DEFECTS
            if defect.repair is Safety.SAFE and bare in {defect.family, ALL, Safety.SAFE.value}
        ]
        if not intended and bare not in _known():
            raise ToolstreamError(unknown("defect", bare, [*_known(), Safety.SAFE.value]))
        if not intended or (single and single[0].repair is None):
            raise ToolstreamError(f"{bare} cannot be repaired. See `toolstream list` for the defects that can")
        if word.startswith("-"):
            chosen.difference_update(intended)
        else:
            chosen.update(intended)
    return frozenset(chosen)


def _known() -> list[str]:
    """The words that are suggested for an unknown one: no codes, since all codes look alike."""
    return [*(defect.name for defect in DEFECTS), *sorted({defect.family for defect in DEFECTS}), ALL]
