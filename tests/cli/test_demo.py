"""The demo: as a user runs it, and that it can fail."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT
from toolstream_core.cli import demo

pytestmark = pytest.mark.e2e


def test_demo() -> None:
    """Three real clients understand their calls, and what was said is shown."""
    done = subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", "demo"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "addon")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "All 3 clients were seen, and one broken stream was mended." in done.stdout
    assert 'the client runs read_file with {"path": "README.md"}' in done.stdout
    assert re.search(r'id="" +name=absent +index=0', done.stdout)
    assert 'and was told to run get_weather with {"city"' in done.stdout
    assert "error TS205 cumulative-arguments" in done.stdout
    assert "9 events repaired" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_client_that_misunderstands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named, and the demo fails."""
    right = demo._expected

    def other(flow: str) -> list[tuple[str, Any]]:
        return [("something_else", {})] if flow == "anthropic-single" else right(flow)

    monkeypatch.setattr(demo, "_expected", other)
    monkeypatch.setattr(demo, "_acts", lambda scenes: [demo.Act({}, scenes[2:])])
    assert demo.run(argparse.Namespace()) == 1
    assert "failed: anthropic-python, Messages" in capsys.readouterr().out


def test_without_the_sdks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what to install."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    assert demo.run(argparse.Namespace()) == 2
    assert "pip install '.[demo]'" in capsys.readouterr().err
