"""Python: packages by uv, in a virtual environment, pinned with their hashes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from matrixlib.shell import run
from matrixlib.toolchains.locks import LOCKS

if TYPE_CHECKING:
    from collections.abc import Iterator

UV: Final = "uv==0.13.8"
WARM: Final = Path(__file__).resolve().parents[1] / "warm.py"


@dataclass(frozen=True, slots=True)
class Python:
    """The Python that toolstream runs on."""

    wanted: tuple[str, ...]
    """Requirements, as pip reads them."""
    needs: tuple[str, ...] = ()
    requires: str = ""
    drivers: str = "python"
    suffix: str = ".py"

    def lock(self, group: str) -> Path:
        """A file of requirements."""
        return LOCKS / f"{group}.txt"

    def version(self, lock: Path | None, package: str) -> str | None:
        """Of the line that begins with the package."""
        if lock is None or not lock.exists():
            return None
        match = re.search(rf"^{re.escape(package)}==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
        return match and match[1]

    def pin(self, lock: Path, folder: Path, tools: Path) -> None:
        """For every Python that toolstream runs on."""
        wanted = folder / "requirements.in"
        wanted.write_text("\n".join(self.wanted))
        how = ("--custom-compile-command", "scripts/matrix --lock", "--no-annotate")
        silent = ("--quiet", "--no-emit-index-url", "--no-emit-find-links")
        pins = ("--universal", "--python-version", "3.12", "--generate-hashes", "--upgrade")
        run([_uv(tools), "pip", "compile", wanted, *pins, *silent, *how, "--output-file", lock])

    def install(self, lock: Path | None, folder: Path, tools: Path) -> None:
        """In a virtual environment without pip, compiled: no run writes bytecode where the environment forbids it."""
        assert lock is not None
        run([sys.executable, "-m", "venv", "--without-pip", folder])
        python = folder / "bin" / "python"
        how = ("--quiet", "--compile-bytecode", "--require-hashes")
        run([_uv(tools), "pip", "install", *how, "--python", python, "-r", lock])

    def command(self, driver: str, folder: Path) -> list[str]:
        """By the environment's interpreter, warm where it is served."""
        return [*self._warm(folder), str(_socket(folder, driver)), str(folder / "drivers" / driver)]

    @contextmanager
    def serving(self, driver: str, folder: Path) -> Iterator[None]:
        """A process that has imported what the driver imports, and forks."""
        words = [*self._warm(folder), "serve", str(_socket(folder, driver)), str(folder / "drivers" / driver)]
        nothing = subprocess.DEVNULL
        with subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing) as process:
            try:
                yield
            finally:
                process.kill()

    @staticmethod
    def _warm(folder: Path) -> list[str]:
        return [str(folder / "bin" / "python"), str(WARM)]


def _socket(folder: Path, driver: str) -> Path:
    return folder / f"{Path(driver).stem}.socket"


def _uv(tools: Path) -> str:
    """The path of `uv`, installed beside the environments where it is not there."""
    if found := shutil.which("uv"):
        return found
    if not (tools / "bin" / "uv").exists():
        run([sys.executable, "-m", "venv", tools])
        run([tools / "bin" / "python", "-m", "pip", "install", "--quiet", UV])
    return str(tools / "bin" / "uv")
