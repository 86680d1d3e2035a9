"""A program that is here already, in one release; its drivers are Python's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from matrixlib.shell import InstallError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Program:
    """A client that is not installed here."""

    name: str
    variable: str
    """Names the program, where it is not in PATH."""
    release: str
    """The version that is run, and no other."""
    drivers: str = "python"
    suffix: str = ".py"

    @property
    def needs(self) -> tuple[str, ...]:
        """Looked for when it is installed: it need not be in PATH."""
        return ()

    @property
    def requires(self) -> str:
        """The program in its release."""
        return f"{self.name} {self.release}"

    def lock(self, group: str) -> None:
        """Its release is in the table of clients."""
        del group

    def version(self, lock: Path | None, package: str) -> str:
        """Its release."""
        del lock, package
        return self.release

    def pin(self, lock: Path, folder: Path, tools: Path) -> None:
        """Nothing can be pinned."""

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """Make sure that it is here, in its release."""
        del lock, folder, tools
        found = os.environ.get(self.variable) or shutil.which(self.name)
        if found is None:
            raise InstallError(f"there is no {self.name} here: {self.variable} names one")
        done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False, timeout=_SECONDS)
        if self.release not in done.stdout.split():
            raise InstallError(f"{self.name} is {done.stdout.strip() or 'of no version'} here, not {self.release}")

    def serving(self, driver: str, folder: Path) -> AbstractContextManager[None]:
        """It starts as it stands."""
        del driver, folder
        return nullcontext()

    def command(self, driver: str, folder: Path) -> list[str]:
        """By the Python that toolstream runs on."""
        return [sys.executable, str(folder / "drivers" / driver)]
