"""The settings of a session, read from the values of options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from toolstream_core.defects.table import repairs
from toolstream_core.errors import ToolstreamError, unknown
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.faults.spec import Budget, Fault, parse_fault
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.transit.definitions import TRANSIT, TransitFault, keys_of, transit_of

SAFE: Final = frozenset(definition.code for definition in repairs(["safe"]))
"""The codes of all defects whose repair is safe."""
FOR: Final = "for:"
DESTREAM: Final = "destream"
"""The shape that streams a non-streaming response."""
PARTS: Final = {preset.name: preset.parts for preset in PRESETS}


@cache
def shape_names() -> frozenset[str]:
    """The names of the shapes of all protocols, which are loaded for it."""
    return frozenset(name for one in PROTOCOLS for name in one.shapes)


def known_shapes() -> list[str]:
    """All values of `toolstream_shape`."""
    return [*sorted({*shape_names(), DESTREAM}), *(f"{FOR}{definition.name}" for definition in CLIENTS)]


@cache
def injectable_names() -> frozenset[str]:
    """The names of the defects that can be injected in any protocol. Loads all protocols."""
    return frozenset(name for one in PROTOCOLS for name in one.injectors)


@cache
def fault_names() -> frozenset[str]:
    """The names of all faults and presets."""
    return frozenset({*injectable_names(), *PARTS, *shape_names(), *(definition.name for definition in TRANSIT)})


def protocols_of(fault: str) -> tuple[str, ...]:
    """The protocols in which any part of a fault can be injected. Loads all protocols.

    Timing and connection faults can be injected in all.
    """
    parts = PARTS.get(fault, (fault,))
    transit = any(definition.name == fault for definition in TRANSIT)
    return tuple(
        one.name
        for one in PROTOCOLS
        if not one.read_only and (transit or any(part in one.injectors or part in one.shapes for part in parts))
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The changes to streams in flight."""

    repairs: frozenset[str] = frozenset()
    """Codes of the defects whose repair is on."""
    shapes: tuple[str, ...] = ()
    """Names of shapes, in the order in which they are applied."""
    faults: tuple[tuple[Fault, Budget], ...] = ()
    """Faults, in the order in which they are applied, each with how often it may still act."""
    transit: tuple[tuple[TransitFault, Fault, Budget], ...] = ()
    """Timing and connection faults, in the order in which they are applied."""
    destream: bool = False
    """Whether upstream gets the request without a stream, and its response is streamed here."""
    seed: int = 0

    @property
    def rewrites(self) -> bool:
        """Whether any stream may be changed."""
        return bool(self.repairs or self.shapes or self.faults or self.transit or self.destream)


NOTHING: Final = Settings()


@dataclass
class Words:
    """The values of options. Each may have several names, separated by commas."""

    repair: Iterable[str] = field(default_factory=tuple)
    shape: Iterable[str] = field(default_factory=tuple)
    fault: Iterable[str] = field(default_factory=tuple)
    seed: int = 0


def settings(words: Words) -> Settings:
    """The settings of these options. Raises `ToolstreamError`."""
    names = list(_split(words.repair))
    shapes: list[str] = []
    for word in _split(words.shape):
        if word.startswith(FOR):
            mine, needs = _client(word.removeprefix(FOR))
            shapes += mine
            names = [*needs, *names]
        elif word in shape_names() or word == DESTREAM:
            shapes.append(word)
        else:
            raise ToolstreamError(unknown("shape", word, known_shapes()))
    codes = frozenset(definition.code for definition in repairs(names))
    transit = [_fault(text) for text in faults_of(words.fault)]
    return Settings(
        codes,
        tuple(name for name in dict.fromkeys(shapes) if name != DESTREAM),
        tuple((fault, budget) for one, fault, budget in transit if one is None),
        tuple((one, fault, budget) for one, fault, budget in transit if one is not None),
        DESTREAM in shapes,
        words.seed,
    )


def faults_of(texts: Iterable[str]) -> Iterable[str]:
    """The specifications in texts that may hold several: after a comma comes another fault, or a pair of this one.

    What has an equals sign before any colon is a pair; all else is a fault. Raises `ToolstreamError`.
    """
    for text in texts:
        specs: list[str] = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            if not specs or "=" not in part.partition(":")[0]:
                specs.append(part)
            elif ":" in specs[-1]:
                specs[-1] += f",{part}"
            else:
                raise ToolstreamError(f"{text!r}: put {part!r} after a colon, as in {specs[-1]}:{part}")
        yield from specs


def _fault(text: str) -> tuple[TransitFault | None, Fault, Budget]:
    fault = parse_fault(text, fault_names(), keys_of)
    return transit_of(fault.name, dict(fault.own)), fault, Budget(fault.times)


def _client(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for definition in CLIENTS:
        if definition.name == name:
            return definition.shapes, definition.repairs
    raise ToolstreamError(unknown("client", f"{FOR}{name}", [f"{FOR}{definition.name}" for definition in CLIENTS]))


def _split(words: Iterable[str]) -> Iterable[str]:
    return (word for part in words for name in part.split(",") if (word := name.strip()))
