"""Runs the programs of package managers and compilers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS: Final = 1800
_LINES: Final = 2
"""Lines that say why a program failed."""


class InstallError(Exception):
    """A group that cannot be installed here; the message says why."""


def path_of(program: str) -> str:
    """Where a program is. Raises `InstallError` where it is not."""
    if found := shutil.which(program):
        return found
    raise InstallError(f"there is no {program} here")


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """What a program printed. Raises `InstallError` where it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{Path(words[0]).name} did not end within {_SECONDS} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"it ended with {done.returncode}"]
        why = [line.strip() for line in lines if "error" in line.lower()][:_LINES] or lines[-1:]
        raise InstallError(f"{Path(words[0]).name}: {'; '.join(why)}")
    return done.stdout
