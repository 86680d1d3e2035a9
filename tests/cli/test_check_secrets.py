"""Credentials in a client's requests do not appear in the output of `toolstream check` and the pytest plugin."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.pytest_plugin.running import project, run
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

AGENT = ROOT / "tests" / "checking" / "leaky_agent.py"
SECRET = "plain-words-that-are-a-secret-4711"
TESTS = f"""
import subprocess, sys
import pytest

pytestmark = pytest.mark.toolstream("calls:get_weather {{}}")

@pytest.mark.parametrize("way", ["by-id", "models"])
def test_understood(toolstream, way):
    toolstream.fault("empty-id:turn=0")
    subprocess.run([sys.executable, {str(AGENT)!r}, way], env=toolstream.env, stdout=subprocess.DEVNULL)
    toolstream.assert_understood()

def test_complete(toolstream):
    toolstream.fault("cut-off-call:turn=0")
    subprocess.run([sys.executable, {str(AGENT)!r}, "incomplete"], env=toolstream.env, stdout=subprocess.DEVNULL)
    toolstream.assert_no_incomplete_call()

def test_requests(toolstream):
    subprocess.run([sys.executable, {str(AGENT)!r}, "right"], env=toolstream.env, stdout=subprocess.DEVNULL)
    assert toolstream.exchanges == []
"""


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No report, state file or printed text has a credential, whether or not the client uses an LLM."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    printed: list[str] = []
    for way in ("by-id", "models"):
        files = {name: str(tmp_path / f"{way}.{name}") for name in ("junit", "html", "resume")}
        words = [word for name, file in files.items() for word in (f"--{name}", file)]
        words += ["--format", "json", "-o", str(tmp_path / f"{way}.json")]
        client = [sys.executable, str(AGENT), way]
        assert main(["check", "--case", "empty-id,cut-off-call", *words, "--github", "--", *client]) == 1
        printed += capsys.readouterr()
    assert "returned without arguments" in "".join(printed)
    assert "key=[redacted]" in "".join(printed)
    [client] = json.loads((tmp_path / "by-id.json").read_text())["clients"]
    texts = [result["text"] for case in client["cases"] for turn in case["turns"] for result in _results(turn)]
    assert texts
    kept = [file.read_text() for file in tmp_path.iterdir()]
    assert len(kept) >= 8
    assert not [text for text in (*printed, *kept) if SECRET in text or "are-a-secret" in text]


def _results(turn: dict[str, dict[str, list[dict[str, str]]]]) -> list[dict[str, str]]:
    return turn["request"]["results"] if turn["request"] else []


def test_the_pytest_plugin(tmp_path: Path) -> None:
    """Failures name the returned calls and the requested URL, and a request's `repr` has no header or body."""
    output = run(project(tmp_path, test_leaky=TESTS), "-rA", "test_leaky.py", "-vv")
    assert "4 failed" in output, output
    assert "phantom-call" in output
    assert "returned-incomplete-call" in output
    assert "key=[redacted]" in output
    assert SECRET not in output
