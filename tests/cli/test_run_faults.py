"""`toolstream run --fault`: reports on faulted responses and on faults that changed nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.processes import environment, toolstream
from tests.conftest import FLOWS
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

FLOW = FLOWS / "openai-chat-single.flow"
NAIVE = """
import json, os, urllib.error, urllib.request
messages = [{"role": "user", "content": "What is the weather?"}]
def post():
    body = json.dumps({"model": "gpt-4.1-mini", "stream": True, "messages": messages}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})) as response:
        lines = [line[6:] for line in response if line.startswith(b"data: {")]
    deltas = [choice["delta"] for line in lines for choice in json.loads(line)["choices"]]
    return [entry for delta in deltas for entry in delta.get("tool_calls") or ()]
try:
    calls = []
    for entry in post():
        if "id" in entry:
            calls.append({"id": entry["id"], "type": "function", "function": {"name": "", "arguments": ""}})
        for key in ("name", "arguments"):
            calls[-1]["function"][key] += entry["function"].get(key) or ""
    messages.append({"role": "assistant", "tool_calls": calls})
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "18"} for call in calls]
    post()
except urllib.error.HTTPError:
    pass
"""


LEAVES = """
import os, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
body = b'{"model": "gpt-4.1-mini", "stream": true, "messages": []}'
urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})).readline()
os._exit(0)
"""


def stderr_of_run(*options: str | Path, client: str = NAIVE) -> list[str]:
    """Return the lines on standard error while a client runs; the default client treats each id as a new call."""
    command = [*toolstream("run", FLOW, "--speed", "0", *options), "--", sys.executable, "-c", client]
    done = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode().splitlines()


def test_a_report_on_a_faulted_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report and all commands that read the capture name the fault and the client's interpretation."""
    report, kept = tmp_path / "r.md", tmp_path / "kept"
    stderr_of_run("--fault", "deepseek:p=1", "--report", report, "--capture", kept, "--quiet")
    text = report.read_text()
    assert text.startswith("# empty-id, injected by fault deepseek: openai-chat from 127.0.0.1\n")
    assert "toolstream injected fault `deepseek` into this stream" in text
    assert "The provider's own response was healthy." in text
    assert "**empty-id** (TS102" in text
    assert "## How the client interpreted it\n\n- split-call: " in text
    assert "toolstream serve r.flow --port 8642 --fault deepseek &" in text
    assert "@pytest.mark.toolstream('r.flow', fault=['deepseek'])" in text
    assert main(["inspect", str(kept)]) == 0
    output = capsys.readouterr().out
    assert "#1         fault deepseek: 10 changes\n" in output
    assert "read here is what the provider sent; what the client got had 14 events, 1 call, empty-id\n" in output
    assert main(["extract", str(kept), "-o", str(tmp_path / "flows")]) == 0
    output = capsys.readouterr().out
    assert "; the client received it with fault deepseek (findings: empty-id), the file has it without: " in output
    assert "replay it with --fault deepseek, in pytest fault='deepseek'\n" in output


def test_a_fault_with_an_invalid_call_is_replayed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A client that rejects the call would get it again and again."""
    kept = tmp_path / "kept"
    stderr_of_run("--fault", "invalid-arguments", "--capture", kept)
    assert main(["extract", str(kept), "-o", str(tmp_path / "flows")]) == 0
    assert "in pytest fault='invalid-arguments:times=1'\n" in capsys.readouterr().out


def test_an_http_error_from_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line has its status and fault, and no response of the provider is mentioned."""
    kept = tmp_path / "kept"
    lines = stderr_of_run("--fault", "http-error:status=429", "--capture", kept)
    assert any(line.startswith("#1 POST ") and " openai-chat HTTP 429  " in line for line in lines)
    assert "#1         fault http-error:status=429: 1 change" in lines
    assert "toolstream: 1 request, 1 rejected with an HTTP error, 1 response, 0 calls sent" in lines
    assert main(["inspect", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert " openai-chat HTTP 429\n" in shown
    assert "#1         fault http-error:status=429: 1 change\n" in shown
    assert "read here" not in shown


def test_a_fault_that_is_not_possible_in_the_protocol() -> None:
    """One line lists the protocols in which it is possible."""
    lines = stderr_of_run("--fault", "missing-event-name")
    assert "#1         fault missing-event-name: not possible in openai-chat, only in " in "\n".join(lines)


def test_the_summary_names_the_faults() -> None:
    """It lists injected faults and faults without a matching event, also without a log."""
    lines = stderr_of_run("--fault", "deepseek,reused-index", "--level", "off")
    assert "toolstream: injected: deepseek 1" in lines
    assert "toolstream: injected nothing (no matching event): reused-index" in lines


def test_a_command_that_ends_during_a_response() -> None:
    """The client's disconnect is reported, although the proxy notices the end of the command first."""
    output = "\n".join(stderr_of_run("--fault", "stall:at=event:2,ms=60000", client=LEAVES))
    assert "truncated: Client disconnected." in output
    assert "toolstream: verdicts: aborted 1" in output
    assert "proxy was stopped" not in output
