"""scripts/setup, without a package index: which Python it takes, and when there is something to do."""

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

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("pyproject.toml", "requirements/dev.txt", "scripts/setup")
BASH = shutil.which("bash") or "bash"

# Builds an editable wheel out of nothing, where the real project needs hatchling from an index.
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
ALONE = {
    "PATH": os.environ["PATH"],
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "TOOLSTREAM_PYTHON": sys.executable,
}


def copied(folder: Path) -> Path:
    """What setup reads, in a folder of its own."""
    for name in NEEDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What setup reads, where the folder's name has a blank in it."""
    return copied(tmp_path / "a clone")


def run(script: Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run setup from `cwd` with the environment of a bare account."""
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)} | env
    return subprocess.run([BASH, str(script)], cwd=cwd, env=bare, capture_output=True, text=True, check=False)


def stand_in(folder: Path, name: str, does: str) -> Path:
    """A program that is found under `name`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return program


def test_a_python_that_was_named_and_does_not_run_is_told(clone: Path, tmp_path: Path) -> None:
    """No other is taken in its place: exit 2, as for any wrong setting."""
    ran = run(clone / "scripts/setup", tmp_path, TOOLSTREAM_PYTHON="python-of-nowhere")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "TOOLSTREAM_PYTHON=python-of-nowhere" in ran.stderr
    assert not (clone / ".venv").exists()


def test_each_python_is_run_before_it_is_taken(clone: Path, tmp_path: Path) -> None:
    """A shim that finds nothing (127) and a Python that is too old are passed over, for one that runs.

    That one is Debian's, which cannot make a virtual environment: what to install is told, and nothing is left.
    """
    programs = tmp_path / "bin"
    stand_in(programs, "python3.13", "exit 127")
    stand_in(programs, "python3.14", "exit 1")
    stand_in(programs, "python3.12", 'case $1 in -I) printf "3.12.0 /usr\n%s\n" "$0" ;; *) exit 1 ;; esac')
    for maker in ("uv", "virtualenv"):
        stand_in(programs, maker, "exit 1")
    ran = run(clone / "scripts/setup", tmp_path, PATH=f"{programs}:/usr/bin:/bin")
    assert ran.returncode == 1
    assert f"making .venv with Python 3.12.0 ({programs / 'python3.12'})" in ran.stderr
    assert "apt install python3.12-venv" in ran.stderr
    assert not (clone / ".venv").exists()


class Made(NamedTuple):
    """A clone that is set up, and what the two setups said that were started at once."""

    clone: Path
    ran: list[subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A clone that needs nothing, so that no index is asked, over a .venv whose Python is gone."""
    folder = copied(tmp_path_factory.mktemp("made") / "a clone")
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "requirements/dev.txt").write_text("# none\n")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to(folder / "gone")
    with ThreadPoolExecutor(2) as pool:
        return Made(folder, list(pool.map(lambda _: run(folder / "scripts/setup", folder.parent, **ALONE), range(2))))


def test_two_at_once_make_one_environment_in_place_of_a_broken_one(made: Made) -> None:
    """The second waits for the first, and finds nothing left to do."""
    assert [ran.returncode for ran in made.ran] == [0, 0], [ran.stderr for ran in made.ran]
    assert sorted(ran.stderr.count("making .venv") for ran in made.ran) == [0, 1]
    assert (made.clone / ".venv/bin/toolstream").exists()


def test_nothing_to_do_is_done_without_a_word(made: Made, tmp_path: Path) -> None:
    """From any directory, and by a link."""
    (tmp_path / "link").symlink_to(made.clone / "scripts/setup")
    ran = run(tmp_path / "link", tmp_path, **ALONE)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_new_pins_are_installed_into_what_is_there(made: Made, tmp_path: Path) -> None:
    """The environment itself stays."""
    (made.clone / "requirements/dev.txt").write_text("# none, still\n")
    ran = run(made.clone / "scripts/setup", tmp_path, **ALONE)
    assert (ran.returncode, "making .venv" in ran.stderr, "installing" in ran.stderr) == (0, False, True)


def test_an_environment_that_was_made_elsewhere_is_made_anew(made: Made, tmp_path: Path) -> None:
    """Its programs would start the other place's Python."""
    moved = tmp_path / "moved"
    shutil.copytree(made.clone, moved, symlinks=True)
    ran = run(moved / "scripts/setup", tmp_path, **ALONE)
    assert (ran.returncode, "making .venv" in ran.stderr) == (0, True)
    assert str(moved) in (moved / ".venv/bin/activate").read_text()


def test_only_pins_are_installed(made: Made, tmp_path: Path) -> None:
    """The pins are complete, so no requirement of a package is resolved: older versions of pip do that wrongly."""
    wheel = tmp_path / "pinned-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        info = "pinned-1.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: pinned\nVersion: 1\nRequires-Dist: absent[extra]"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (made.clone / "requirements/dev.txt").write_text(f"pinned==1 --hash=sha256:{digest}\n")
    links = {"PIP_FIND_LINKS": str(tmp_path), "UV_FIND_LINKS": str(tmp_path)}
    ran = run(made.clone / "scripts/setup", tmp_path, **ALONE, **links)
    assert ran.returncode == 0, ran.stderr
    assert list(made.clone.glob(".venv/lib/*/site-packages/pinned-1.dist-info"))
