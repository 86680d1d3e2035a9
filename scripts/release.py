"""Builds the package twice, compares and checks it, and runs README's commands in an empty environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
FOUND: Final = 1
"""The exit code of `check` with failures and of a failing test."""
DISCOVERED: Final = "toolstream_repair"
"""An option of the addon in the output of `mitmdump --options`."""


class ReleaseError(Exception):
    """A check of the package failed."""


def main() -> int:
    """Build, check and test the package. Returns 1 if a check fails."""
    with tempfile.TemporaryDirectory(prefix="toolstream-release-") as folder:
        try:
            files = same(built(Path(folder, "first")), built(Path(folder, "second")))
            try_package(files, Environment(Path(folder, "environment"), Path(folder, "empty")))
        except ReleaseError as error:
            print(f"release: {error}", file=sys.stderr)
            return 1
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(files[0].parent, ROOT / "dist")
    print("release: all checks passed; dist/ has " + ", ".join(path.name for path in files))
    return 0


def same(first: list[Path], second: list[Path]) -> list[Path]:
    """The files of two builds, which must be equal."""
    if [(one.name, one.read_bytes()) for one in first] != [(one.name, one.read_bytes()) for one in second]:
        raise ReleaseError(f"two builds differ: {first[0].parent} and {second[0].parent}")
    return first


def try_package(files: list[Path], environment: Environment) -> None:
    """Test the package with its requirements only, then with pytest and mitmproxy-addon-launcher."""
    [wheel] = [path for path in files if path.suffix == ".whl"]
    environment.install("run.txt")
    environment.run("pip", "install", "--quiet", "--no-deps", str(wheel))
    environment.run("pip", "check")
    try_readme(environment)
    try_addon(environment)
    environment.install("release.txt")
    environment.run("twine", "check", "--strict", *map(str, files))
    try_plugin(environment)
    try_launcher(environment)


def built(folder: Path) -> list[Path]:
    """Build the sdist of the last commit, and the wheel from that sdist. Both have the time of the commit."""
    source, dist = folder / "source", folder / "dist"
    source.mkdir(parents=True)
    archive = folder / "source.tar"
    _run("git", "archive", "--output", str(archive), "HEAD", cwd=ROOT)
    _extract(archive, source)
    epoch = _run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    _hatch("sdist", source, dist, epoch)
    [sdist] = dist.glob("*.tar.gz")
    _extract(sdist, folder)
    _hatch("wheel", folder / sdist.name.removesuffix(".tar.gz"), dist, epoch)
    return sorted(dist.iterdir())


def _hatch(kind: str, source: Path, dist: Path, epoch: str) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch}
    _run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(dist), cwd=source, env=environment)


def _extract(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")


class Environment:
    """A new virtual environment, and an empty working folder for its programs."""

    def __init__(self, venv: Path, folder: Path) -> None:
        """Create both."""
        _run(sys.executable, "-m", "venv", str(venv), cwd=venv.parent)
        folder.mkdir()
        self.folder = folder
        path = os.pathsep.join([str(venv / "bin"), os.environ["PATH"]])
        self._installing = {**os.environ, "PATH": path, "VIRTUAL_ENV": str(venv)}
        kept = {one: value for one, value in self._installing.items() if not one.startswith(("PYTEST_", "TOOLSTREAM_"))}
        # Commands run without the user's mitmproxy settings and certificates. pip may need the user's settings.
        self._running = {**kept, "HOME": str(folder), "COLUMNS": "120"}

    def install(self, pins: str) -> None:
        """Install a file of pins, without bytecode: the commands import only a small part."""
        how = ("--quiet", "--no-deps", "--require-hashes", "--no-compile")
        command = ("pip", "install", *how, "-r", str(ROOT / "requirements" / pins))
        _run(*command, cwd=self.folder, env=self._installing)

    def run(self, *command: str, code: int = 0) -> str:
        """Run a command and return its output."""
        print(f"release: $ {shlex.join(command)}", file=sys.stderr, flush=True)
        return _run(*command, cwd=self.folder, env=self._running, code=code)


def try_readme(environment: Environment) -> None:
    """Run each command of README.md in a folder that contains only its agent."""
    agent = _block("python", "# agent.py")
    (environment.folder / "agent.py").write_text(agent, encoding="utf-8")
    for command, shown in re.findall(r"^\$ (toolstream [^\n]+)\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        printed = environment.run(*shlex.split(command), code=FOUND if command.startswith("toolstream check") else 0)
        wanted = [line for line in shown.splitlines() if re.match(r"agent: |#1 +verdict \S+", line)]
        missing = [line for line in wanted if line not in printed]
        if missing:
            raise ReleaseError(f"{command} does not print {missing[0]!r}:\n{printed}")
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL):
        for command in re.findall(r"^toolstream [^\n#]+", block, re.MULTILINE):
            environment.run(*shlex.split(command))


def try_addon(environment: Environment) -> None:
    """Test the packaged flows, the demo, and mitmdump with the addon."""
    environment.run("toolstream", "inspect", "demo:", "--exit-zero")
    environment.run("toolstream", "demo")
    path = environment.run("toolstream", "addon-path").strip()
    _discovered(environment.run("mitmdump", "-s", path, "--options"))


def try_plugin(environment: Environment) -> None:
    """Test README's test: it fails with the agent's bug, and passes with README's fix."""
    (environment.folder / "test_agent.py").write_text(_block("python", "# test_agent.py"), encoding="utf-8")
    if "returned-without-arguments" not in (printed := environment.run("pytest", "-q", code=FOUND)):
        raise ReleaseError(f"the README's test fails without a verdict:\n{printed}")
    agent = environment.folder / "agent.py"
    agent.write_text(fixed(agent.read_text(encoding="utf-8")), encoding="utf-8")
    environment.run("pytest", "-q")


def fixed(agent: str) -> str:
    """The README's agent with the README's fix, a diff in which each removed line is followed by its replacement."""
    [fix] = re.findall(r"```diff\n(.*?)```", README, re.DOTALL)
    changes = re.findall(r"^-(.*)\n\+(.*)$", fix, re.MULTILINE)
    if len(changes) * 2 != len(fix.splitlines()):
        raise ReleaseError(f"README's fix has a line without a replacement:\n{fix}")
    for old, new in changes:
        if agent.count(old) != 1:
            raise ReleaseError(f"README's agent does not contain once what its fix replaces: {old}")
        agent = agent.replace(old, new)
    return agent


def try_launcher(environment: Environment) -> None:
    """Test that mitmproxy-addon-launcher finds the addon by its entry point."""
    _discovered(environment.run("mitmdump-addon-launcher", "--options"))


def _discovered(options: str) -> None:
    if DISCOVERED not in options:
        raise ReleaseError(f"mitmdump has no option {DISCOVERED}: the addon was not loaded")


def _block(language: str, first_line: str) -> str:
    """The code block of README.md that starts with this line."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(block for block in blocks if block.startswith(first_line))


def _run(*command: str, cwd: Path, env: dict[str, str] | None = None, code: int = 0) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    printed = done.stdout.decode(errors="replace")
    if done.returncode != code:
        raise ReleaseError(f"{shlex.join(command)} ended with {done.returncode} instead of {code}:\n{printed}")
    return printed


if __name__ == "__main__":
    sys.exit(main())
