"""What may help a client in a case that it failed. `runner.py` runs the case under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.checking.case import Kind
from toolstream_core.clients.advice import Advice
from toolstream_core.defects.row import Safety
from toolstream_core.defects.table import ROWS
from toolstream_core.faults.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolstream_core.checking.case import Case
    from toolstream_core.testing.exchanges import Exchange

SAFE: Final = frozenset(row.name for row in ROWS if row.repair is Safety.SAFE)
"""The defects that have a safe repair."""
_PARTS: Final[Mapping[str, Sequence[str]]] = {preset.name: preset.parts for preset in PRESETS}


def injected(kind: str, name: str) -> Sequence[str]:
    """The faults that a case injects, by the case's kind and name: a preset has several."""
    return {Kind.FAULT: (name,), Kind.PRESET: _PARTS.get(name, ())}.get(Kind(kind), ())


def candidates(case: Case, exchanges: Sequence[Exchange], *, upstream: bool = False) -> list[str]:
    """Options of mitmdump to run a failed case under: its verdicts' advice, then the repairs of what was injected.

    A client that crashed or gave up sent no request that could be explained, so its verdicts advise nothing. With the
    client's own provider (`upstream`) nothing is tried: each run sends billable requests.
    """
    if upstream:
        return []
    verdicts = [one.verdict for one in exchanges if one.verdict is not None]
    advised = next((one.advice[0] for one in verdicts if one.advice), "")
    repairs = Advice(repair=",".join(name for name in injected(case.kind, case.name) if name in SAFE)).options
    return list(dict.fromkeys(filter(None, [advised, repairs])))
