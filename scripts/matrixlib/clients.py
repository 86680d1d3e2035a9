"""The published clients, in groups that are pinned here and installed outside the repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from matrixlib.toolchains import PYTHON, TOOLCHAINS, InstallError, Toolchain, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

ROOT: Final = Path(__file__).resolve().parents[2]
DRIVERS: Final = ROOT / "tests" / "clients" / "drivers"
LOCKS: Final = ROOT / "tests" / "clients" / "locks"
_STAMP: Final = "installed.txt"
_SECONDS: Final = 60


class Program(NamedTuple):
    """A client that scripts/matrix does not install; its drivers are written in Python."""

    program: str
    variable: str
    """The environment variable with the program's path, if it is not in PATH."""
    release: str
    """The required version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Packages that are installed together in their own environment, or a program."""

    name: str
    toolchain: Toolchain = PYTHON
    wanted: tuple[str, ...] = ()
    """The packages, in the syntax of the toolchain."""
    program: Program | None = None

    @property
    def lock(self) -> Path | None:
        """The lock file; `None` for a program."""
        return None if self.program else LOCKS / self.toolchain.lock.format(self.name)

    @property
    def requires(self) -> str:
        """The requirements in words; empty if only toolstream's Python is required."""
        return f"{self.program.program} {self.program.release}" if self.program else self.toolchain.requires


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixClient:
    """A client of the matrix."""

    name: str
    group: Group
    package: str
    """The package whose version is shown."""
    command: tuple[str, ...]
    """The driver and its arguments after the prompt."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """The reason for a failure with repair, by the name of the fault."""

    @property
    def driver(self) -> bool:
        """Whether it is run by a driver whose tools print their arguments; else it is a program with its own tools."""
        return self.command[0].endswith(self.group.toolchain.suffix)

    @property
    def version(self) -> str | None:
        """The version that is run; `None` without a lock."""
        if self.group.program:
            return self.group.program.release
        lock = self.group.lock
        text = lock.read_text(encoding="utf-8") if lock is not None and lock.exists() else None
        return None if text is None else self.group.toolchain.version(text, self.package)

    def serving(self, folder: Path) -> AbstractContextManager[None]:
        """Make its driver start faster, in the folder of its group."""
        return nullcontext() if self.group.program else self.group.toolchain.serving(self.command[0], folder)


def clients(path: Path = DRIVERS / "clients.toml") -> list[MatrixClient]:
    """All clients, in the order of the file."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    groups = {}
    for name, table in read["groups"].items():
        if "program" in table:
            groups[name] = Group(name=name, program=Program(**table))
        else:
            [(key, wanted)] = table.items()
            groups[name] = Group(name=name, toolchain=TOOLCHAINS[key], wanted=tuple(wanted))
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


def installed(group: Group, cache: Path) -> Path:
    """Install a group, and return the folder of its environment. Raises `InstallError`."""
    folder = cache / "envs" / group.name
    if group.program:
        _find(group.program)
    else:
        _install(group, folder)
    shutil.copytree(DRIVERS / group.toolchain.drivers, folder / "drivers", dirs_exist_ok=True)
    return folder


def _find(wanted: Program) -> None:
    found = os.environ.get(wanted.variable) or shutil.which(wanted.program)
    if found is None:
        raise InstallError(f"{wanted.program} is not installed: set {wanted.variable} to its path")
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS)
    if wanted.release not in done.stdout.split():
        version = done.stdout.strip() or "unknown"
        raise InstallError(f"expected {wanted.program} {wanted.release}, found {version}")


def _install(group: Group, folder: Path) -> None:
    """Install the packages of the lock, unless they are installed."""
    for program in group.toolchain.needs:
        path_of(program)
    if (pinned := group.lock) is None or not pinned.exists():
        raise InstallError("there is no lock file: scripts/matrix --lock writes it")
    stamp = hashlib.sha256(pinned.read_bytes() + sys.version.encode()).hexdigest()
    if (folder / _STAMP).exists() and (folder / _STAMP).read_text() == stamp:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    group.toolchain.install(pinned, folder)
    (folder / _STAMP).write_text(stamp)


def command_of(client: MatrixClient, folder: Path) -> list[str]:
    """The command for `toolstream check`: a driver with the prompt before its arguments, or a program from npm.

    Raises `InstallError` if the driver cannot be compiled.
    """
    driver, *arguments = client.command
    if client.group.program:
        return [sys.executable, str(folder / "drivers" / driver), "{prompt}", *arguments]
    if not client.driver:
        return [str(folder / "node_modules" / ".bin" / driver), *arguments]
    return [*client.group.toolchain.command(driver, folder), "{prompt}", *arguments]


def lock(group: Group) -> None:
    """Write the lock of a group with its newest packages. Raises `InstallError`."""
    if group.lock is None:
        return
    group.lock.parent.mkdir(parents=True, exist_ok=True)
    for program in group.toolchain.needs:
        path_of(program)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / group.name
        folder.mkdir()
        group.toolchain.pin(group.wanted, group.lock, folder)
