"""Commands that run a client, and are ended by a signal."""

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
def test_a_signal_ends_the_client_too(words: list[str], name: str, tmp_path: Path) -> None:
    """As Ctrl-C does: no client and no temporary file is left."""
    (tmp_path / "tmp").mkdir()
    command = [*words, "--", sys.executable, "-c", CLIENT, name, str(tmp_path / "pid")]
    at = environment(TMPDIR=str(tmp_path / "tmp"))
    ended = subprocess.run(toolstream(*command), env=at, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 128 + signal.SIGINT, ended.stderr
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
