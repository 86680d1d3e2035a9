"""`toolstream serve` and `toolstream run`, as a user starts them."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx2
import pytest

from tests.conftest import ROOT
from toolstream_core.cli.main import main
from toolstream_core.fixtures import load

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

FLOW = ROOT / "flows" / "openai-chat-single.flow"
AGENT = """
import openai, os, signal, sys
request = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}
with openai.OpenAI(max_retries=0).chat.completions.stream(**request) as events:
    [call] = events.get_final_completion().choices[0].message.tool_calls
print(call.id, call.function.name, os.environ["NO_PROXY"] == "")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
os.kill(os.getppid(), signal.SIGTERM)
signal.pause()
"""


def toolstream(*words: str | Path) -> list[str]:
    """The command line of this Python's toolstream."""
    return [sys.executable, "-m", "toolstream_core.cli.main", *map(str, words)]


def environment(**more: str) -> dict[str, str]:
    """For a process that has to find the package."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "addon"), **more}


def test_serve_answers_until_ctrl_c(tmp_path: Path) -> None:
    """It prints where, answers from the flows, prints what it told, and ends with 0."""
    command = toolstream("serve", FLOW, "--speed", "0", "--fault", "empty-id")
    with (tmp_path / "out").open("w+b") as out:
        served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, env=environment())
        assert served.stdout is not None
        lines = iter(served.stdout.readline, b"Ctrl-C ends.\n")
        head = b"".join(lines).decode()
        found = re.search(r"export OPENAI_BASE_URL=(\S+)", head)
        assert found is not None
        assert re.search(r"anthropic +http://127", head)
        with httpx2.Client(trust_env=False) as client:
            answer = client.post(f"{found[1]}/chat/completions", json=load(FLOW)[0].request)
        assert b"get_weather" in answer.content
        served.send_signal(signal.SIGINT)
        told, _ = served.communicate(timeout=60)
        assert served.returncode == 0
        assert b"call 0 get_weather" in told
        assert b"empty-id" in told
        out.seek(0)
        assert out.read() == b""


def test_run_gives_the_command_its_environment_signals_and_exit_code(tmp_path: Path) -> None:
    """A client finds the flows by its environment alone; the log goes where it was told, for its owner's eyes."""
    log = tmp_path / "run.log"
    command = toolstream("run", FLOW, "--speed", "0", "--log", log, "--", sys.executable, "-c", AGENT)
    done = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    assert done.stdout.decode() == "call_4ksakq2vlkgILn6mEyWUwfiB get_weather True\n"
    assert done.returncode == 9, done.stderr.decode()
    assert "call 0 get_weather" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("words", "code", "right"),
    [
        (["run", str(FLOW)], 2, "behind --"),
        (["serve", "no-such.flow"], 2, "there is no no-such.flow"),
        (["serve", str(FLOW), "--speed", "-1"], 2, "--speed"),
        (["run", str(FLOW), "--log", "/no/such/folder/log", "--", "true"], 2, "/no/such/folder/log cannot be written"),
        (["run", str(FLOW), "--fault", "glm5", "--", "true"], 2, "did you mean glm-5"),
    ],
)
def test_what_is_asked_wrongly(words: list[str], code: int, right: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One clear line that says what would be right."""
    assert main(words) == code
    assert right in capsys.readouterr().err


def test_a_command_that_there_is_not() -> None:
    """Its exit code is a shell's, and without flows the real providers are let through."""
    command = toolstream("run", "--", "no-such-command")
    done = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 127
    assert "there is no command 'no-such-command'" in done.stderr.decode()
