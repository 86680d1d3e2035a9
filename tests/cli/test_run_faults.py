"""`toolstream run --fault`: what is said of answers that were broken on purpose, and of faults that broke none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.started import environment, toolstream
from tests.conftest import ROOT
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

FLOW = ROOT / "flows" / "openai-chat-single.flow"
NAIVE = """
import json, os, urllib.error, urllib.request
messages = [{"role": "user", "content": "What is the weather?"}]
def ask():
    body = json.dumps({"model": "gpt-4.1-mini", "stream": True, "messages": messages}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})) as answer:
        lines = [line[6:] for line in answer if line.startswith(b"data: {")]
    deltas = [choice["delta"] for line in lines for choice in json.loads(line)["choices"]]
    return [one for delta in deltas for one in delta.get("tool_calls") or ()]
try:
    calls = []
    for entry in ask():
        if "id" in entry:
            calls.append({"id": entry["id"], "type": "function", "function": {"name": "", "arguments": ""}})
        for key in ("name", "arguments"):
            calls[-1]["function"][key] += entry["function"].get(key) or ""
    messages.append({"role": "assistant", "tool_calls": calls})
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "18"} for call in calls]
    ask()
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


def ran(*options: str | Path, client: str = NAIVE) -> list[str]:
    """What is said while a client, by default one that takes each id for a new call and asks twice, runs."""
    command = [*toolstream("run", FLOW, "--speed", "0", *options), "--", sys.executable, "-c", client]
    done = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode().splitlines()


def test_a_report_on_a_stream_that_a_fault_broke(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the fault and shows how the client interpreted it; so does each command that reads the capture."""
    report, kept = tmp_path / "r.md", tmp_path / "kept"
    ran("--fault", "deepseek:p=1", "--report", report, "--capture", kept, "--quiet")
    text = report.read_text()
    assert text.startswith("# empty-id, injected by fault deepseek: openai-chat from 127.0.0.1\n")
    assert "toolstream injected fault `deepseek` into this stream" in text
    assert "The provider's own response was healthy." in text
    assert "**empty-id** (TS102" in text
    assert "## How the client interpreted it\n\n- split-call: " in text
    assert "toolstream serve r.flow --port 8642 --fault deepseek &" in text
    assert "@pytest.mark.toolstream('r.flow', fault=['deepseek'])" in text
    assert main(["inspect", str(kept)]) == 0
    told = capsys.readouterr().out
    assert "#1         fault deepseek: 10 changes\n" in told
    assert "read here is what the provider sent; what the client got had 14 events, 1 call, empty-id\n" in told
    assert main(["extract", str(kept), "-o", str(tmp_path / "flows")]) == 0
    told = capsys.readouterr().out
    assert "; the client received it with fault deepseek (findings: empty-id), the file has it without: " in told
    assert "replay it with --fault deepseek, in pytest fault='deepseek'\n" in told


def test_a_fault_whose_call_nobody_can_run_is_replayed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A client that rejects the call rightly would get it again and again."""
    kept = tmp_path / "kept"
    ran("--fault", "invalid-arguments", "--capture", kept)
    assert main(["extract", str(kept), "-o", str(tmp_path / "flows")]) == 0
    assert "in pytest fault='invalid-arguments:times=1'\n" in capsys.readouterr().out


def test_an_error_that_a_fault_answered_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its status stands in the head, and the fault with it; nothing else is said to have come from a provider."""
    kept = tmp_path / "kept"
    told = ran("--fault", "http-error:status=429", "--capture", kept)
    assert any(line.startswith("#1 POST ") and " openai-chat HTTP 429  " in line for line in told)
    assert "#1         fault http-error:status=429: 1 change" in told
    assert "toolstream: 1 request, 1 rejected with an HTTP error, 1 response, 0 calls sent" in told
    assert main(["inspect", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert " openai-chat HTTP 429\n" in shown
    assert "#1         fault http-error:status=429: 1 change\n" in shown
    assert "read here" not in shown


def test_a_fault_that_the_protocol_has_no_place_for() -> None:
    """One line says where it can be caused."""
    told = ran("--fault", "missing-event-name")
    assert "#1         fault missing-event-name: not possible in openai-chat, only in " in "\n".join(told)


def test_the_summary_names_the_faults() -> None:
    """Those that broke an answer, and those that found nothing to act on, also where nothing is logged."""
    told = ran("--fault", "deepseek,reused-index", "--level", "off")
    assert "toolstream: injected: deepseek 1" in told
    assert "toolstream: injected nothing (no matching event): reused-index" in told


def test_a_command_that_ends_during_a_response_has_left_it() -> None:
    """The proxy did not stop it, although it notices the end of the command first."""
    told = "\n".join(ran("--fault", "stall:at=event:2,ms=60000", client=LEAVES))
    assert "truncated: Client disconnected." in told
    assert "toolstream: verdicts: aborted 1" in told
    assert "proxy was stopped" not in told
