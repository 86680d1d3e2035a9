"""Other versions of mitmproxy, each in its own virtual environment. `scripts/mitmproxies` installs them."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.e2e.harness.mitmdump import mitmdump_path

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[3]
INSTALLING = 300.0
"""The time limit of an installation in seconds."""
_MITMPROXY = re.compile(r"^mitmproxy==(?:.*\\\n)*.*\n", re.MULTILINE)


class Version(NamedTuple):
    """A version of mitmproxy: the version pinned for development, or one of requirements/mitmproxies.in."""

    name: str

    @property
    def folder(self) -> Path:
        """The folder of its environment."""
        return ROOT / ".mitmproxies" / self.name

    @property
    def program(self) -> Path:
        """The path of its mitmdump."""
        return mitmdump_path() if self.name == "pinned" else self.folder / "bin" / "mitmdump"

    @property
    def python(self) -> Path:
        """The path of its Python."""
        return Path(sys.executable) if self.name == "pinned" else self.folder / "bin" / "python"

    @property
    def unavailable(self) -> str | None:
        """Why it cannot be started, or `None`."""
        if self.name == "pinned" or self.is_installed:
            return None
        why = self._why.read_text() if self._why.is_file() else "run scripts/mitmproxies"
        return f"the {self.name} mitmproxy is not installed: {why}"

    @property
    def is_installed(self) -> bool:
        """Whether it was installed with the current pins."""
        return self._stamp.is_file() and self._stamp.read_text() == self._state()

    def make(self) -> str:
        """Install it if necessary and possible. Returns the outcome in a few words."""
        if self.is_installed:
            return "installed already"
        shutil.rmtree(self.folder, ignore_errors=True)
        venv.create(self.folder, with_pip=False)
        failed = self._install(self._pins)
        outcome = "installed"
        if failed:
            outcome = f"installed on top of the pinned packages: some of its own are not available ({failed})"
            failed = self._on_top()
        if failed:
            self._why.write_text(failed)
            return f"left out: {failed}"
        self._stamp.write_text(self._state())
        return outcome

    def _on_top(self) -> str | None:
        """Install mitmproxy alone; its dependencies are the packages pinned for development. Returns the error."""
        paths = sysconfig.get_paths(vars={"base": str(self.folder), "platbase": str(self.folder)})
        (Path(paths["purelib"]) / "pinned.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        alone = _MITMPROXY.search(self._pins.read_text())
        assert alone is not None
        with tempfile.TemporaryDirectory() as folder:
            pins = Path(folder) / "requirements.txt"
            pins.write_text(alone[0])
            return self._install(pins)

    def _install(self, pins: Path) -> str | None:
        """Install the pinned packages and nothing else. Returns the error, or `None`."""
        output = ""
        for command in _installers(self.python):
            try:
                done = subprocess.run(
                    [*command, "--no-deps", "--require-hashes", "-r", str(pins)],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=INSTALLING,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                output = str(error)
                continue
            if not done.returncode:
                return None
            output = done.stdout + done.stderr
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return next((line for line in lines if "error" in line.lower()), "".join(lines[-1:]) or "pip failed")[:300]

    @property
    def _pins(self) -> Path:
        return ROOT / "requirements" / f"mitmproxy-{self.name}.txt"

    @property
    def _stamp(self) -> Path:
        return self.folder / ".built"

    @property
    def _why(self) -> Path:
        return self.folder / "why-not.txt"

    def _state(self) -> str:
        return hashlib.sha256(f"{sys.version}\n{ROOT}\n{self._pins.read_text()}".encode()).hexdigest()


def _installers(python: Path) -> Sequence[Sequence[str]]:
    """Commands that install into the environment of `python`, in the order of preference."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    return ([uv, "pip", "install", "-q", "--python", str(python)], pip) if uv else (pip,)


def _others() -> tuple[Version, ...]:
    lines = (ROOT / "requirements" / "mitmproxies.in").read_text().splitlines()
    return tuple(Version(line.split()[0]) for line in lines if line and not line.startswith("#"))


OTHERS = _others()
VERSIONS = (*OTHERS, Version("pinned"))

if __name__ == "__main__":
    for other in OTHERS:
        print(f"{other.name}: {other.make()}", flush=True)  # noqa: T201 - a program
