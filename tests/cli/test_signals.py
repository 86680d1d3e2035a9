"""Commands that run a client and are ended by a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.processes import FLOW, environment, toolstream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

CLIENT: Final = """
import os, signal, sys
print(os.getpid(), file=open(sys.argv[2], "w"), flush=True)
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.kill(os.getppid(), getattr(signal, sys.argv[1]))
while True:
    signal.pause()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither signal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("words", [["check"], ["shrink", str(FLOW), "-o", "small.flow"]], ids=["check", "shrink"])
def test_a_signal_ends_the_client(words: list[str], name: str, tmp_path: Path) -> None:
    """SIGTERM and SIGHUP leave neither a client process nor a temporary file, like Ctrl-C."""
    (tmp_path / "tmp").mkdir()
    command = [*words, "--", sys.executable, "-c", CLIENT, name, str(tmp_path / "pid")]
    env = environment(TMPDIR=str(tmp_path / "tmp"))
    result = subprocess.run(toolstream(*command), env=env, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert result.returncode == 128 + signal.SIGINT, result.stderr
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
