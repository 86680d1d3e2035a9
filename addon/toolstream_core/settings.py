"""What is to be done to streams that pass, from the words of options and commands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants import PLANTS
from toolstream_core.defects.rows import ROWS, UnknownDefectError, repairs
from toolstream_core.faults.picker import Budget
from toolstream_core.faults.presets import PRESETS
from toolstream_core.faults.spec import Fault, FaultError, parse_fault
from toolstream_core.shapes import SHAPES
from toolstream_core.shapes.clients import CLIENTS
from toolstream_core.transit import TRANSIT, TransitFault, transit_of
from toolstream_core.transit.rows import TransitError, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable

SAFE: Final = frozenset(row.code for row in repairs(["safe"]))
"""The codes of all rows whose repair is safe."""
FOR: Final = "for:"
DESTREAM: Final = "destream"
"""The shape that is made of an answer without a stream."""
PARTS: Final = {preset.name: preset.parts for preset in PRESETS}
SHAPE_NAMES: Final = frozenset(name for shapes in SHAPES.values() for name in shapes)
PLANT_NAMES: Final = frozenset(name for plants in PLANTS.values() for name in plants)

FAULT_NAMES: Final = PLANT_NAMES | PARTS.keys() | SHAPE_NAMES | {row.name for row in TRANSIT}


class SettingsError(ValueError):
    """Words that mean nothing; the message says which do."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is to be done to streams that pass."""

    repairs: frozenset[str] = frozenset()
    """Codes of the rows whose repair is on."""
    shapes: tuple[str, ...] = ()
    """Names of shapes, in the order in which they are applied."""
    faults: tuple[tuple[Fault, Budget], ...] = ()
    """Faults, in the order in which they are applied, each with how often it may still act."""
    transit: tuple[tuple[TransitFault, Fault, Budget], ...] = ()
    """Faults of time and of the connection, in the order in which they are applied."""
    destream: bool = False
    """Whether upstream is asked without a stream, and its answer streamed here."""
    seed: int = 0

    @property
    def rewrites(self) -> bool:
        """Whether any stream may leave otherwise than it came."""
        return bool(self.repairs or self.shapes or self.faults or self.transit or self.destream)


NOTHING: Final = Settings()


@dataclass
class Words:
    """Words as they were given; each may hold several with commas between them, but for faults."""

    repair: Iterable[str] = field(default_factory=tuple)
    shape: Iterable[str] = field(default_factory=tuple)
    fault: Iterable[str] = field(default_factory=tuple)
    seed: int = 0


def settings(words: Words) -> Settings:
    """What `words` ask for. Raises `SettingsError`."""
    asked = list(_split(words.repair))
    shapes: list[str] = []
    for word in _split(words.shape):
        if word.startswith(FOR):
            mine, needs = _client(word.removeprefix(FOR))
            shapes += mine
            asked = [*needs, *asked]
        elif word in SHAPE_NAMES or word == DESTREAM:
            shapes.append(word)
        else:
            raise SettingsError(f"{word!r} names no shape; known are {_shapes()}")
    try:
        codes = frozenset(row.code for row in repairs(asked))
        given = [(one := parse_fault(text, FAULT_NAMES, keys_of), Budget(one.times)) for text in words.fault]
        transit = [(transit_of(fault.name, dict(fault.own)), fault, budget) for fault, budget in given]
    except (UnknownDefectError, FaultError, TransitError) as error:
        raise SettingsError(str(error)) from error
    return Settings(
        codes,
        tuple(name for name in dict.fromkeys(shapes) if name != DESTREAM),
        tuple((fault, budget) for one, fault, budget in transit if one is None),
        tuple((one, fault, budget) for one, fault, budget in transit if one is not None),
        DESTREAM in shapes,
        words.seed,
    )


def _client(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for row in CLIENTS:
        if row.name == name:
            return row.shapes, row.repairs
    raise SettingsError(f"{FOR}{name} names no client; known are {_shapes()}")


def _shapes() -> str:
    return ", ".join([*sorted({*SHAPE_NAMES, DESTREAM}), *(f"{FOR}{row.name}" for row in CLIENTS)])


def _split(words: Iterable[str]) -> Iterable[str]:
    return (word for part in words for piece in part.split(",") if (word := piece.strip()))


def plantable(name: str) -> bool:
    """Whether the defect can be caused in any dialect."""
    return any(row.name == name for row in ROWS) and name in PLANT_NAMES
