"""scripts/setup, without a package index: which Python it takes, and when there is something to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What setup reads, in a folder of its own that has a blank in its name."""
    folder = tmp_path / "a clone"
    for name in NEEDED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


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
    """A shim that finds nothing (127) and a Python that is too old are passed over, for one that runs."""
    stand_in(tmp_path / "bin", "python3.13", "exit 127")
    stand_in(tmp_path / "bin", "python3.14", "exit 1")
    stand_in(tmp_path / "bin", "python3.12", f"exec '{sys.executable}' \"$@\"")
    # The last thing it does here is to say with which Python; nothing in this folder can be installed.
    (clone / "requirements/dev.txt").write_text("nothing-of-this-name @ file:///dev/null/nothing\n")
    alone = ALONE | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TOOLSTREAM_PYTHON": ""}
    ran = run(clone / "scripts/setup", tmp_path, **alone)
    assert ran.returncode == 1
    assert f"making .venv with Python {'.'.join(map(str, sys.version_info[:3]))} " in ran.stderr
    assert "could not install requirements/dev.txt" in ran.stderr
    assert not (clone / ".venv/.toolstream-setup").exists()


@pytest.fixture
def bare(clone: Path) -> Path:
    """A clone that needs nothing, so that it can be installed without an index."""
    (clone / "backend.py").write_text(BACKEND)
    (clone / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]'
    )
    (clone / "requirements/dev.txt").write_text("# none\n")
    return clone


def test_a_second_run_does_nothing_until_the_pins_or_the_place_change(bare: Path, tmp_path: Path) -> None:
    """New pins are installed into what is there; what was made at another path is made anew."""
    (tmp_path / "link").symlink_to(bare / "scripts/setup")
    first = run(tmp_path / "link", tmp_path, **ALONE)
    assert (first.returncode, (bare / ".venv/bin/toolstream").exists()) == (0, True), first.stderr
    assert "making .venv" in first.stderr

    again = run(tmp_path / "link", tmp_path, **ALONE)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")

    (bare / "requirements/dev.txt").write_text("# none, still\n")
    pinned = run(bare / "scripts/setup", tmp_path, **ALONE)
    assert (pinned.returncode, "making .venv" in pinned.stderr, "installing" in pinned.stderr) == (
        0,
        False,
        True,
    )

    moved = bare.rename(tmp_path / "moved")
    there = run(moved / "scripts/setup", tmp_path, **ALONE)
    assert (there.returncode, "making .venv" in there.stderr) == (0, True)
    assert str(moved) in (moved / ".venv/bin/activate").read_text()


def test_two_at_once_make_one_environment(bare: Path, tmp_path: Path) -> None:
    """The second waits for the first, and finds nothing left to do."""
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: run(bare / "scripts/setup", tmp_path, **ALONE), range(2)))
    assert [ran.returncode for ran in both] == [0, 0], [ran.stderr for ran in both]
    assert sorted(ran.stderr.count("making .venv") for ran in both) == [0, 1]


def test_an_environment_that_no_longer_runs_is_made_anew(bare: Path, tmp_path: Path) -> None:
    """As after the Python it was made with has been removed."""
    broken = bare / ".venv/bin/python"
    broken.parent.mkdir(parents=True)
    broken.symlink_to(tmp_path / "gone")
    ran = run(bare / "scripts/setup", tmp_path, **ALONE)
    assert (ran.returncode, "making .venv" in ran.stderr) == (0, True), ran.stderr
    assert subprocess.run([str(broken), "-c", ""], check=False).returncode == 0
