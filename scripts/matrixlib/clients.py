"""The clients that are run, and the groups in which they are installed."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
DRIVERS: Final = ROOT / "tests" / "clients" / "drivers"
LOCKS: Final = ROOT / "requirements" / "clients"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is installed together, in an environment of its own."""

    name: str
    python: tuple[str, ...] = ()
    """Requirements, as pip reads them."""
    npm: tuple[str, ...] = ()
    """Packages, as npm reads them."""
    program: str = ""
    """A program that has to be here already: named by `variable`, or in PATH."""
    variable: str = ""
    release: str = ""
    """The version of the program that is run, and no other."""

    @property
    def lock(self) -> Path:
        """The file that pins it."""
        return LOCKS / self.name / "package-lock.json" if self.npm else LOCKS / f"{self.name}.txt"

    def version_of(self, package: str) -> str | None:
        """The version that the lock has of a package, or the program's."""
        if self.program:
            return self.release
        if not self.lock.exists():
            return None
        text = self.lock.read_text(encoding="utf-8")
        if self.npm:
            found = json.loads(text)["packages"].get(f"node_modules/{package}", {})
            return str(found["version"]) if "version" in found else None
        match = re.search(rf"^{re.escape(package)}==(\S+)", text, re.MULTILINE)
        return match and match[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixClient:
    """One row of the matrix."""

    name: str
    group: Group
    package: str
    """The package whose version is told."""
    command: tuple[str, ...]
    """The driver and its arguments behind the prompt."""

    @property
    def version(self) -> str | None:
        """The version that is run; `None` where nothing pins it."""
        return self.group.version_of(self.package)


def clients(path: Path = DRIVERS / "clients.toml") -> list[MatrixClient]:
    """All clients, in their order."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    groups = {name: _group(name, table) for name, table in read["groups"].items()}
    return [
        MatrixClient(name=name, group=groups[table["group"]], package=table["package"], command=tuple(table["command"]))
        for name, table in read["clients"].items()
    ]


def _group(name: str, table: dict[str, Any]) -> Group:
    return Group(
        name=name,
        python=tuple(table.get("python", ())),
        npm=tuple(table.get("npm", ())),
        program=table.get("program", ""),
        variable=table.get("variable", ""),
        release=table.get("release", ""),
    )
