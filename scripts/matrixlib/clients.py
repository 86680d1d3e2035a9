"""The clients that are run, and the groups in which they are installed."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matrixlib.toolchains.cargo import Cargo
from matrixlib.toolchains.maven import Maven
from matrixlib.toolchains.npm import Npm
from matrixlib.toolchains.program import Program
from matrixlib.toolchains.python import Python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matrixlib.toolchains.toolchain import Toolchain

ROOT: Final = Path(__file__).resolve().parents[2]
DRIVERS: Final = ROOT / "tests" / "clients" / "drivers"
_TOOLCHAINS: Final[dict[str, Callable[[tuple[str, ...]], Toolchain]]] = {
    "python": Python,
    "npm": Npm,
    "maven": Maven,
    "cargo": Cargo,
}
"""By the key under which a group says what it wants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is installed together, in an environment of its own."""

    name: str
    toolchain: Toolchain

    @property
    def lock(self) -> Path | None:
        """The file that pins it; `None` for a program that is not installed here."""
        return self.toolchain.lock(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixClient:
    """One row of the matrix."""

    name: str
    group: Group
    package: str
    """The package whose version is told."""
    command: tuple[str, ...]
    """The driver and its arguments behind the prompt."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Why it is not right with repair, by the name of the fault."""

    @property
    def driver(self) -> bool:
        """Whether it is run by a driver, whose tools say what they get; else it is a program with tools of its own."""
        return self.command[0].endswith(self.group.toolchain.suffix)

    @property
    def version(self) -> str | None:
        """The version that is run; `None` where nothing pins it."""
        return self.group.toolchain.version(self.group.lock, self.package)


def clients(path: Path = DRIVERS / "clients.toml") -> list[MatrixClient]:
    """All clients, in their order."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    groups = {name: Group(name=name, toolchain=_toolchain(table)) for name, table in read["groups"].items()}
    return [
        MatrixClient(
            name=name,
            group=groups[table["group"]],
            package=table["package"],
            command=tuple(table["command"]),
            notes=table.get("notes", {}),
        )
        for name, table in read["clients"].items()
    ]


def _toolchain(table: dict[str, Any]) -> Toolchain:
    if "program" in table:
        return Program(table["program"], table["variable"], table["release"])
    [(key, wanted)] = table.items()
    return _TOOLCHAINS[key](tuple(wanted))
