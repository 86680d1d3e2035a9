"""scripts/setup without a package index: the selected Python, and when it has something to do."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

COPIED = ("pyproject.toml", "requirements/dev.txt", "scripts/setup")
BASH = shutil.which("bash") or "bash"

# Builds an empty editable wheel, as hatchling would have to come from an index.
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(f"{folder}/toolstream-0-py3-none-any.whl", "w") as wheel:
        info = "toolstream-0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: toolstream\\nVersion: 0")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\ntoolstream = this:main")
        wheel.writestr(f"{info}/RECORD", "")
    return "toolstream-0-py3-none-any.whl"
"""
OFFLINE = {"PATH": os.environ["PATH"], "PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "TOOLSTREAM_PYTHON": sys.executable}


def copy_project(folder: Path) -> Path:
    """Copy the files that setup reads into a folder."""
    for name in COPIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of these files in a folder with a space in its name."""
    return copy_project(tmp_path / "a clone")


def run(script: Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run setup from `cwd` with the environment of a new account."""
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)} | env
    return subprocess.run([BASH, str(script)], cwd=cwd, env=bare, capture_output=True, text=True, check=False)


def fake_program(folder: Path, name: str, command: str) -> Path:
    """Write a program that runs a shell command."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    return program


def test_a_named_python_that_does_not_run_is_an_error(clone: Path, tmp_path: Path) -> None:
    """The exit code is 2, and no other Python is used."""
    result = run(clone / "scripts/setup", tmp_path, TOOLSTREAM_PYTHON="python-of-nowhere")
    assert (result.returncode, result.stdout) == (2, "")
    assert "TOOLSTREAM_PYTHON=python-of-nowhere" in result.stderr
    assert not (clone / ".venv").exists()


def test_a_python_is_used_only_if_it_runs(clone: Path, tmp_path: Path) -> None:
    """A shim without a Python and a Python that is too old are skipped.

    Debian's Python cannot create a virtual environment; the error names the package, and nothing is left.
    """
    programs = tmp_path / "bin"
    fake_program(programs, "python3.13", "exit 127")
    fake_program(programs, "python3.14", "exit 1")
    fake_program(programs, "python3.12", 'case $1 in -I) printf "3.12.0 /usr\n%s\n" "$0" ;; *) exit 1 ;; esac')
    for maker in ("uv", "virtualenv"):
        fake_program(programs, maker, "exit 1")
    result = run(clone / "scripts/setup", tmp_path, PATH=f"{programs}:/usr/bin:/bin")
    assert result.returncode == 1
    assert f"making .venv with Python 3.12.0 ({programs / 'python3.12'})" in result.stderr
    assert "apt install python3.12-venv" in result.stderr
    assert not (clone / ".venv").exists()


class SetUp(NamedTuple):
    """A clone after two simultaneous setups, and their results."""

    clone: Path
    results: list[subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> SetUp:
    """Set up a clone without dependencies, over a .venv whose Python is missing."""
    folder = copy_project(tmp_path_factory.mktemp("made") / "a clone")
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "requirements/dev.txt").write_text("# none\n")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to(folder / "gone")
    with ThreadPoolExecutor(2) as pool:
        return SetUp(
            folder, list(pool.map(lambda _: run(folder / "scripts/setup", folder.parent, **OFFLINE), range(2)))
        )


def test_two_simultaneous_setups_replace_a_broken_environment(set_up: SetUp) -> None:
    """The second setup waits for the first and has nothing to do."""
    assert [result.returncode for result in set_up.results] == [0, 0], [result.stderr for result in set_up.results]
    assert sorted(result.stderr.count("making .venv") for result in set_up.results) == [0, 1]
    assert (set_up.clone / ".venv/bin/toolstream").exists()


def test_a_finished_setup_prints_nothing(set_up: SetUp, tmp_path: Path) -> None:
    """The directory does not matter, and the script may be a link."""
    (tmp_path / "link").symlink_to(set_up.clone / "scripts/setup")
    result = run(tmp_path / "link", tmp_path, **OFFLINE)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_new_pins_are_installed_into_the_environment(set_up: SetUp, tmp_path: Path) -> None:
    """The environment is not created again."""
    (set_up.clone / "requirements/dev.txt").write_text("# none, still\n")
    result = run(set_up.clone / "scripts/setup", tmp_path, **OFFLINE)
    assert (result.returncode, "making .venv" in result.stderr, "installing" in result.stderr) == (0, False, True)


def test_a_moved_environment_is_created_again(set_up: SetUp, tmp_path: Path) -> None:
    """Its programs would start the Python of the old path."""
    moved = tmp_path / "moved"
    shutil.copytree(set_up.clone, moved, symlinks=True)
    result = run(moved / "scripts/setup", tmp_path, **OFFLINE)
    assert (result.returncode, "making .venv" in result.stderr) == (0, True)
    assert str(moved) in (moved / ".venv/bin/activate").read_text()


def test_only_pins_are_installed(set_up: SetUp, tmp_path: Path) -> None:
    """The pins are complete; older versions of pip resolve requirements of extras wrongly."""
    wheel = tmp_path / "pinned-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        info = "pinned-1.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: pinned\nVersion: 1\nRequires-Dist: absent[extra]"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (set_up.clone / "requirements/dev.txt").write_text(f"pinned==1 --hash=sha256:{digest}\n")
    links = {"PIP_FIND_LINKS": str(tmp_path), "UV_FIND_LINKS": str(tmp_path)}
    result = run(set_up.clone / "scripts/setup", tmp_path, **OFFLINE, **links)
    assert result.returncode == 0, result.stderr
    assert list(set_up.clone.glob(".venv/lib/*/site-packages/pinned-1.dist-info"))
