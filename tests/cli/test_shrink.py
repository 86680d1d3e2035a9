"""`toolstream shrink`: results, messages, resumed runs and usage errors."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import toolstream, wait_until
from tests.conftest import FLOWS
from tests.proxy.flows import flow_file, flows_in
from toolstream_core.cli.main import main
from toolstream_core.saved.expectation import dumps, expect_path, expectation_of
from toolstream_core.saved.flow import UNCAUSED
from toolstream_core.saved.read import load

FLOW = FLOWS / "deepseek-empty-id.flow"
HEALTHY = FLOWS / "openai-chat-single.flow"
RECEIVED_IS_SHRUNK = "shrinking the response that the client received"
SENT_IS_SHRUNK = "shrinking the response of the provider, because only it shows the bug"

CLIENT = """
import http.client, os, sys
body = b'{"model": "deepseek-chat", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
connection = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("/")[2])
connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
with open(sys.argv[1], "a") as runs:
    runs.write("x")
raise SystemExit(b'"id":""' in connection.getresponse().read())
"""
"""Fails on a continuation with an empty id."""


def run(*words: str | Path) -> int:
    """Run the command without progress."""
    return main(["shrink", "--quiet", *map(str, words)])


def test_a_finding_is_shrunk_to_a_fixture_with_its_expectation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The private fixture has few events and the finding, and one line reports the gain."""
    small = tmp_path / "small.flow"
    assert run(FLOW, "--select", "empty-id", "-o", small) == 0
    [fixture] = load(small)
    assert [finding.name for finding in fixture.record.findings] == ["empty-id"]
    assert fixture.record.events == 4
    assert len(fixture.chunks) == 4
    assert expect_path(small).read_text() == dumps(expectation_of([fixture]))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (small, expect_path(small))} == {0o600}
    message = capsys.readouterr().out
    assert message.startswith("17 events, 5.0 KB → 4 events, 7")
    assert " tries, " in message
    assert message.endswith(f": {small}\n")


def test_a_stopped_run_is_resumed(tmp_path: Path) -> None:
    """A run that is resumed from an incomplete state file gives the same result."""
    state, first, resumed = tmp_path / "state", tmp_path / "first.flow", tmp_path / "resumed.flow"
    assert run(FLOW, "--select", "TS102", "-o", first, "--resume", state) == 0
    lines = state.read_text().splitlines(keepends=True)
    state.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:20])
    assert run(FLOW, "--select", "TS102", "-o", resumed, "--resume", state) == 0
    assert resumed.read_bytes() == first.read_bytes()


@pytest.mark.e2e
def test_a_failing_command_selects_the_bug(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command receives the candidates through the proxy, and a tried candidate is not tried again."""
    client, runs, state, small = (tmp_path / name for name in ("client.py", "runs", "state", "small.flow"))
    client.write_text(CLIENT)
    command: list[str | Path] = ["--", sys.executable, "-IS", client, runs]
    assert run(FLOW, "-o", small, "--resume", state, "--jobs", "2", *command) == 0
    [fixture] = load(small)
    assert b'"id":""' in fixture.body
    assert fixture.record.events <= 4
    tried = len(runs.read_text())
    assert run(FLOW, "-o", small, "--force", "--resume", state, *command) == 0
    assert len(runs.read_text()) == tried
    capsys.readouterr()
    assert run(FLOWS / "glm-5.flow", "-o", tmp_path / "none.flow", *command) == 2
    assert "did not fail" in capsys.readouterr().err


AGENT = """
import http.client, os, sys
body = b'{"model": "deepseek-chat", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
connection = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("/")[2])
connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
response = connection.getresponse().read()
if b'"id":""' in response:
    raise SystemExit("an empty id")
if response.count(b"data:") < 7:
    raise SystemExit("too short")
"""
"""Fails on a continuation with an empty id and on a short response."""


@pytest.mark.e2e
@pytest.mark.parametrize("words", [[], ["--says", "an empty id"], ["--any", "--any-failure"]], ids=" ".join)
def test_another_failure_is_not_treated_as_the_bug(words: list[str], tmp_path: Path) -> None:
    """The command must pass with the repaired result as with the repaired original, except with `--any-failure`."""
    client, small = tmp_path / "client.py", tmp_path / "small.flow"
    client.write_text(AGENT)
    assert run(FLOW, "-o", small, *words, "--", sys.executable, "-IS", client) == 0
    [fixture] = load(small)
    assert (b'"id":""' in fixture.body) is ("--any-failure" not in words)


CODEX = """#!{python} -IS
import sys
with open({seen!r}, "w") as seen:
    print(*sys.argv[1:], sep="\\n", file=seen)
raise SystemExit(1)
"""


@pytest.mark.e2e
def test_an_agent_gets_the_arguments_that_it_needs(tmp_path: Path) -> None:
    """Codex ignores base URLs and gets arguments as from `run` and `check`."""
    codex, seen = tmp_path / "codex", tmp_path / "seen"
    codex.write_text(CODEX.format(python=sys.executable, seen=str(seen)))
    codex.chmod(0o755)
    assert run(FLOW, "-o", tmp_path / "small.flow", "--", codex, "exec", "hi") == 0
    given = seen.read_text().splitlines()
    assert given[:2] == ["-c", 'model_provider="toolstream"']
    assert given[-2:] == ["exec", "hi"]


LOOP = """
import http.client, json, os
messages = [{"role": "user", "content": "hi"}]
while True:
    body = json.dumps({"model": "deepseek-chat", "stream": True, "messages": messages})
    connection = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("/")[2])
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    response = connection.getresponse()
    payloads = [json.loads(line[6:]) for line in response.read().splitlines() if line.startswith(b"data: {")]
    if response.status != 200:
        raise SystemExit("the provider rejected the request")
    deltas = [call for payload in payloads for call in payload["choices"][0]["delta"].get("tool_calls", ())]
    if not deltas:
        break
    call = {"id": deltas[0]["id"], "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    messages += [{"role": "assistant", "tool_calls": [call]}]
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "no path"}]
"""
"""Runs each call without its arguments in an endless loop."""


@pytest.mark.e2e
def test_a_loop_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The limit of equal requests ends a try before its timeout, and the verdict is kept."""
    client, single, small = (tmp_path / name for name in ("client.py", "single.flow", "small.flow"))
    client.write_text(LOOP)
    single.write_bytes(flow_file(flows_in(FLOW)[0]))
    words = ["--timeout", "3000", "--verdict", "returned-without-arguments", "--provider-repeats", "2"]
    assert run(single, "-o", small, *words, "--", sys.executable, "-IS", client) == 0
    [call] = [call for fixture in load(small) for call in fixture.record.calls]
    assert call.arguments == '{"path":"README.md"}'
    other: list[str | Path] = ["--verdict", "split-call", "--", sys.executable, "-IS", client]
    assert run(single, "-o", tmp_path / "none.flow", *other) == 2
    assert "the command did not fail with the verdict split-call" in capsys.readouterr().err


def capture(path: Path, sent: Path, received: Path) -> Path:
    """Write a capture of a response that a fault changed."""
    provider, client = flows_in(sent)[0], flows_in(received)[0]
    assert provider.response is not None
    assert client.response is not None
    to_client = {"body": client.response.content, "chunks": [[0, len(client.response.content or b"")]]}
    fault = {"spec": "deepseek", "drawn": 1, "changes": 10}
    provider.response.headers.pop("content-encoding", None)
    provider.metadata["toolstream"] = {"version": 1, "sent": to_client, "record": {"faults": [fault], "findings": []}}
    path.write_bytes(flow_file(provider))
    return path


@pytest.mark.parametrize(
    ("sent", "received", "message"), [(HEALTHY, FLOW, RECEIVED_IS_SHRUNK), (FLOW, HEALTHY, SENT_IS_SHRUNK)]
)
def test_the_response_with_the_bug_is_shrunk(
    sent: Path, received: Path, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The response that the client received is shrunk, unless only the provider's response has the bug."""
    kept, small = capture(tmp_path / "kept.flow", sent, received), tmp_path / "small.flow"
    assert run(kept, "--select", "empty-id", "-o", small) == 0
    assert f"kept.flow#0: changed by fault deepseek; {message}" in capsys.readouterr().err
    [fixture] = load(small)
    assert [finding.name for finding in fixture.record.findings] == ["empty-id"]
    assert fixture.caused == UNCAUSED


def test_neither_response_has_the_bug(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says that the received response was shrunk."""
    kept = capture(tmp_path / "kept.flow", HEALTHY, FLOW)
    assert run(kept, "--select", "empty-name", "-o", tmp_path / "small.flow") == 2
    message = capsys.readouterr().err
    assert RECEIVED_IS_SHRUNK in message
    assert "no empty-name in" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([FLOW], "no bug to keep. Expected --select DEFECT"),
        ([FLOW, "--select", "empty-id", "--", "true"], "exclude each other"),
        ([FLOW, "--verdict", "split-call"], "Its verdicts on misread responses: none"),
        ([FLOW, "--verdict", "nonsense"], "unknown verdict 'nonsense'. See `toolstream list`"),
        ([FLOW, "--provider-repeats", "-1", "--", "true"], "is not a number of requests"),
        ([FLOW, "--select", "empty-name"], "no empty-name in"),
        ([FLOW, "--select", "nonsense"], "unknown defect 'nonsense'"),
        ([FLOW, "--select", "empty-id", "--jobs", "0"], "is not a count. Expected a whole number from 1 on"),
        (["none.flow", "--select", "empty-id"], "cannot be read"),
        ([Path(__file__), "--select", "empty-id"], "with its body: it contains no LLM stream. Expected"),
    ],
)
def test_usage_errors(
    words: list[str | Path], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command exits with 2, and nothing is written."""
    assert run("-o", tmp_path / "out.flow", *words) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--force` overwrites it; the state file of another run is rejected."""
    existing = tmp_path / "there.flow"
    existing.write_text("mine")
    assert run(FLOW, "--select", "empty-id", "-o", existing) == 2
    assert "exists already" in capsys.readouterr().err
    assert existing.read_text() == "mine"
    assert run(FLOW, "--select", "empty-id", "-o", tmp_path / "new.flow", "--resume", existing) == 2
    assert "is not a state file of" in capsys.readouterr().err


@pytest.mark.e2e
def test_an_interrupted_run_is_resumable(tmp_path: Path) -> None:
    """Ctrl-C ends the command at once with exit code 130, and the state has no wrong result."""
    client, pids, state = (tmp_path / name for name in ("client.sh", "pids", "state"))
    client.write_text(f"[ -e {pids} ] || {{ echo $$ > {pids}; exit 1; }}\necho $$ >> {pids}\nsleep 100\n")
    words = toolstream("shrink", FLOW, "-o", tmp_path / "o.flow", "--resume", state, "--jobs", "2", "--", "sh", client)
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) >= 2)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"run the same command to continue" in message
    assert [line.partition(" ")[2] for line in state.read_text().splitlines()[1:]] == ["1"]
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
