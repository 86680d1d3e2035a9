"""`toolstream demo` as a user runs it, and its failure."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from toolstream_core.cli import demo

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

NO_SDK = "import sys; sys.modules.update(dict.fromkeys(['anthropic', 'httpx', 'openai', 'requests']))"


def test_demo(tmp_path: Path) -> None:
    """The clients use the standard library only, and the logs of all acts are printed."""
    start = f"{NO_SDK}; from toolstream_core.cli.main import main; sys.exit(main(['demo']))"
    result = subprocess.run(
        [sys.executable, "-c", start],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "addon")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stderr) == (0, "")
    acts = result.stdout.split("$ toolstream serve ")[1:]
    assert [act.count("the client runs ") for act in acts] == [3, 1, 1, 1, 1]
    assert [act.count("but the provider sent ") for act in acts] == [0, 1, 0, 1, 0]
    assert re.search(r'id="" +name=absent +index=0', acts[0])
    assert "verdict returned-without-arguments" in acts[1]
    assert "whole-calls" in acts[1].partition("verdict")[2]
    assert "verdict ok" in acts[2]
    assert "error TS205 cumulative-arguments" in acts[3]
    assert "9 events repaired" in acts[4]
    assert "All clients did what was expected." in result.stdout
    assert "\x1b" not in result.stdout


def test_a_failing_client(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo names the client and exits with 1."""
    scene = demo.Scene("By id", demo.EMPTY_ID, demo.BY_ID)
    monkeypatch.setattr(demo, "ACTS", [demo.Act("demo:", [scene])])
    assert demo.run(argparse.Namespace()) == 1
    assert "failed: By id" in capsys.readouterr().out
