"""Installs groups of clients outside the repository, each in an environment of its own, and pins them."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matrixlib.clients import DRIVERS
from matrixlib.shell import InstallError, path_of

if TYPE_CHECKING:
    from matrixlib.clients import Group, MatrixClient

_STAMP: Final = "installed.txt"


def cache_folder() -> Path:
    """Where everything goes that is installed and measured."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "toolstream" / "clients"


def installed(group: Group, cache: Path) -> Path:
    """The folder of a group's environment. Raises `InstallError`."""
    folder = cache / "envs" / group.name
    for program in group.toolchain.needs:
        path_of(program)
    if group.lock is None:
        group.toolchain.install(None, folder, cache / "tools")
    else:
        _install(group, group.lock, folder, cache)
    shutil.copytree(DRIVERS / group.toolchain.drivers, folder / "drivers", dirs_exist_ok=True)
    return folder


def _install(group: Group, lock: Path, folder: Path, cache: Path) -> None:
    """Install what the lock pins, unless it is there."""
    if not lock.exists():
        raise InstallError("nothing pins it: scripts/matrix --lock does")
    stamp = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    if (folder / _STAMP).exists() and (folder / _STAMP).read_text() == stamp:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    group.toolchain.install(lock, folder, cache / "tools")
    (folder / _STAMP).write_text(stamp)


def command_of(client: MatrixClient, folder: Path) -> list[str]:
    """What `toolstream check` runs: a driver with the prompt in front of its arguments, or a program of npm's group.

    Raises `InstallError` where the driver cannot be compiled.
    """
    driver, *arguments = client.command
    if not client.driver:
        return [str(folder / "node_modules" / ".bin" / driver), *arguments]
    return [*client.group.toolchain.command(driver, folder), "{prompt}", *arguments]


def lock(group: Group, cache: Path) -> None:
    """Pin the newest of a group anew. Raises `InstallError`."""
    if group.lock is None:
        return
    group.lock.parent.mkdir(parents=True, exist_ok=True)
    for program in group.toolchain.needs:
        path_of(program)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / group.name
        folder.mkdir()
        group.toolchain.pin(group.lock, folder, cache / "tools")
