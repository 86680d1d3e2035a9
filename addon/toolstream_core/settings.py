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

if TYPE_CHECKING:
    from collections.abc import Iterable

SAFE: Final = frozenset(row.code for row in repairs(["safe"]))
"""The codes of all rows whose repair is safe."""
FOR: Final = "for:"
PARTS: Final = {preset.name: preset.parts for preset in PRESETS}
SHAPE_NAMES: Final = frozenset(name for shapes in SHAPES.values() for name in shapes)
PLANT_NAMES: Final = frozenset(name for plants in PLANTS.values() for name in plants)


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
    seed: int = 0

    @property
    def rewrites(self) -> bool:
        """Whether any stream may leave otherwise than it came."""
        return bool(self.repairs or self.shapes or self.faults)


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
        elif word in SHAPE_NAMES:
            shapes.append(word)
        else:
            raise SettingsError(f"{word!r} names no shape; known are {_shapes()}")
    try:
        codes = frozenset(row.code for row in repairs(asked))
        faults = tuple(parse_fault(text, PLANT_NAMES | PARTS.keys() | SHAPE_NAMES) for text in words.fault)
    except (UnknownDefectError, FaultError) as error:
        raise SettingsError(str(error)) from error
    unique = tuple(dict.fromkeys(shapes))
    return Settings(codes, unique, tuple((fault, Budget(fault.times)) for fault in faults), words.seed)


def _client(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for row in CLIENTS:
        if row.name == name:
            return row.shapes, row.repairs
    raise SettingsError(f"{FOR}{name} names no client; known are {_shapes()}")


def _shapes() -> str:
    return ", ".join([*sorted(SHAPE_NAMES), *(f"{FOR}{row.name}" for row in CLIENTS)])


def _split(words: Iterable[str]) -> Iterable[str]:
    return (word for part in words for piece in part.split(",") if (word := piece.strip()))


def plantable(name: str) -> bool:
    """Whether the defect can be caused in any dialect."""
    return any(row.name == name for row in ROWS) and name in PLANT_NAMES
