"""`toolstream report`: what it writes can be run as it stands."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from toolstream_core.cli.main import main

FLOWS = Path(__file__).resolve().parents[2] / "flows"
FLOW = FLOWS / "deepseek-empty-id.flow"


def block(report: str, language: str) -> str:
    """The code block in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", report, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_a_report_is_the_same_each_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard output or in a file for its owner's eyes; narrowed to what was asked for."""
    assert main(["report", str(FLOW)]) == 0
    told = capsys.readouterr().out
    assert main(["report", str(FLOW), "--finding", "TS102", "-o", str(tmp_path / "r.md")]) == 0
    assert (tmp_path / "r.md").read_text() == told
    assert (tmp_path / "r.md").stat().st_mode & 0o777 == 0o600
    assert str(tmp_path) not in told
    assert main(["report", str(FLOW), "--finding", "missing-id"]) == 2
    assert "does not show missing-id" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.flow")]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_server_line_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In an empty folder with the flow in it."""
    shutil.copy(FLOW, tmp_path)
    assert main(["report", str(FLOW)]) == 0
    report = capsys.readouterr().out
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = block(report, "sh").replace("8642", str(free_port())) + "\nkill %1\n"
    ran = subprocess.run(
        ["bash", "-m", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": here, "no_proxy": "*"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b'"id":""' in ran.stdout, ran.stderr
