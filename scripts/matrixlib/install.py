"""Installs groups of clients outside the repository, each in an environment of its own, and pins them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matrixlib.clients import DRIVERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matrixlib.clients import Group, MatrixClient

UV: Final = "uv==0.13.8"
_STAMP: Final = "installed.txt"
_PACKAGE: Final = {"private": True, "type": "module"}
_SECONDS: Final = 900
_NPM: Final = ("--ignore-scripts=false", "--no-audit", "--no-fund", "--loglevel=error")


class InstallError(Exception):
    """A group that cannot be installed here; the message says why."""


def cache_folder() -> Path:
    """Where everything goes that is installed and measured."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "toolstream" / "clients"


def installed(group: Group, cache: Path) -> Path:
    """The folder of a group's environment. Raises `InstallError`."""
    if group.program:
        _here(group)
        shutil.copytree(DRIVERS / "python", cache / "envs" / group.name / "drivers", dirs_exist_ok=True)
        return cache / "envs" / group.name
    if not group.lock.exists():
        raise InstallError("nothing pins it: scripts/matrix --lock does")
    folder = cache / "envs" / group.name
    stamp = hashlib.sha256(group.lock.read_bytes() + sys.version.encode()).hexdigest()
    if not (folder / _STAMP).exists() or (folder / _STAMP).read_text() != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (_with_npm if group.npm else _with_pip)(group, folder, cache)
        (folder / _STAMP).write_text(stamp)
    shutil.copytree(DRIVERS / ("javascript" if group.npm else "python"), folder / "drivers", dirs_exist_ok=True)
    return folder


def command_of(client: MatrixClient, folder: Path) -> list[str]:
    """What `toolstream check` runs: a driver with the prompt in front of its arguments, or a program of the group."""
    driver, *arguments = client.command
    if not driver.endswith((".py", ".mjs")):
        return [str(folder / "node_modules" / ".bin" / driver), *arguments]
    python = sys.executable if client.group.program else str(folder / "bin" / "python")
    interpreter = "node" if client.group.npm else python
    return [interpreter, str(folder / "drivers" / driver), "{prompt}", *arguments]


def _here(group: Group) -> None:
    """Make sure that a group's program is here, in the version that is asked for."""
    found = os.environ.get(group.variable) or shutil.which(group.program)
    if found is None:
        raise InstallError(f"there is no {group.program} here: {group.variable} names one")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS).stdout
    if group.release not in told.split():
        raise InstallError(f"{group.program} is {told.strip() or 'of no version'} here, not {group.release}")


def _with_pip(group: Group, folder: Path, cache: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = str(folder / "bin" / "python")
    _run([_uv(cache), "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", str(group.lock)])


def _with_npm(group: Group, folder: Path, cache: Path) -> None:
    del cache
    for name in ("package.json", "package-lock.json"):
        shutil.copy(group.lock.with_name(name), folder)
    _run([_program("npm"), "ci", *_NPM], folder)


def lock(group: Group, cache: Path) -> None:
    """Pin the newest of a group anew. Raises `InstallError`."""
    group.lock.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (_lock_npm if group.npm else _lock_python)(group, folder, cache)


def _lock_npm(group: Group, folder: Path, cache: Path) -> None:
    del cache
    (folder / "package.json").write_text(json.dumps(_PACKAGE))
    only = ("--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved=true")
    _run([_program("npm"), "install", *only, *_NPM, *group.npm], folder)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(folder / name, group.lock.parent)


def _lock_python(group: Group, folder: Path, cache: Path) -> None:
    wanted = folder / "requirements.in"
    wanted.write_text("\n".join(group.python))
    told = ("--custom-compile-command", "scripts/matrix --lock", "--no-annotate")
    silent = ("--quiet", "--no-emit-index-url", "--no-emit-find-links")
    pins = ("--universal", "--python-version", "3.12", "--generate-hashes", "--upgrade")
    _run([_uv(cache), "pip", "compile", str(wanted), *pins, *silent, *told, "--output-file", str(group.lock)])


def _uv(cache: Path) -> str:
    """The path of `uv`, installed beside the environments where it is not there."""
    if found := shutil.which("uv"):
        return found
    tools = cache / "tools"
    if not (tools / "bin" / "uv").exists():
        _run([sys.executable, "-m", "venv", str(tools)])
        _run([str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", UV])
    return str(tools / "bin" / "uv")


def _program(name: str) -> str:
    if found := shutil.which(name):
        return found
    raise InstallError(f"there is no {name} here")


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{Path(command[0]).name} did not end within {_SECONDS} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"it ended with {done.returncode}"]
        raise InstallError(f"{Path(command[0]).name}: {lines[-1]}")
