"""The steps of scripts/test and of CI; fake programs note their calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

NOTES = """#!/bin/sh
case $1 in -c) echo 3 ;; *) echo "$(basename "$0") $*" >>"$NOTES" ;; esac
"""
FAILS = """#!/bin/sh
exit 1
"""
ALWAYS = {
    "mypy --no-error-summary",
    "python -m pytest --collect-only -qqq -p no:cacheprovider",
    "python scripts/docs.py --check",
    "python scripts/make_pictures.py --check",
}
SUITE = "python -m pytest -n 3 --dist worksteal --durations 40 --durations-min 3"
IN_CI = {
    "clients ",
    "browser ",
    "mitmproxies ",
    "release ",
    "python -m pytest -q --no-header -p no:cacheprovider tests/bench_runs.py",
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Create a clone in which only scripts/test and .ci/run are real."""
    folder = tmp_path / "a clone"
    for name in ("scripts/test", ".ci/run"):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, folder / name)
    for name in ("setup", "clients", "mitmproxies", "browser", "release"):
        (folder / "scripts" / name).write_text(NOTES)
    programs = folder / ".venv/bin"
    programs.mkdir(parents=True)
    for name in ("python", "mypy", "ruff"):
        (programs / name).write_text(NOTES)
        (programs / name).chmod(0o755)
    return folder


def run(clone: Path, *command: str) -> tuple[int, list[str]]:
    """Return the exit code and the calls."""
    notes = clone / "notes"
    env = os.environ | {"NOTES": str(notes), "TOOLSTREAM_COVERAGE": ""}
    result = subprocess.run(["bash", *command], cwd=clone, env=env, check=False)
    return result.returncode, notes.read_text().splitlines()


def test_the_steps_of_scripts_test(clone: Path) -> None:
    """Setup runs first and the suite last."""
    code, called = run(clone, "scripts/test")
    assert (code, called[0], called[-1].strip()) == (0, "setup ", SUITE)
    assert set(called) > ALWAYS
    assert not IN_CI & set(called)


def test_ci_runs_additional_steps(clone: Path) -> None:
    """They run before the suite."""
    code, called = run(clone, ".ci/run")
    assert (code, called[0], called[-1].strip()) == (0, "setup ", f"{SUITE} --cov --cov-report term")
    assert set(called) > ALWAYS | IN_CI


def test_arguments_are_passed_to_pytest(clone: Path) -> None:
    """No other step runs."""
    assert run(clone, "scripts/test", "tests/wire", "-k", "sse")[1] == ["setup ", "python -m pytest tests/wire -k sse"]


def test_a_failed_step_does_not_stop_the_suite(clone: Path) -> None:
    """The exit code is 1."""
    (clone / ".venv/bin/mypy").write_text(FAILS)
    code, called = run(clone, "scripts/test")
    assert (code, called[-1].strip()) == (1, SUITE)
