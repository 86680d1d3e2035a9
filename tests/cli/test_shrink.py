"""`toolstream shrink`: what it writes, what it says, how it goes on, what it refuses."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from mitmproxy.io import FlowReader, FlowWriter

from toolstream_core.cli.main import main
from toolstream_core.saved.expectation import dumps, expect_path, expectation_of
from toolstream_core.saved.flow import UNCAUSED
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http

FLOWS = Path(__file__).resolve().parents[2] / "flows"
FLOW = FLOWS / "deepseek-empty-id.flow"
HEALTHY = FLOWS / "openai-chat-single.flow"
CLIENT_GOT = "shrinking the response that the client received"
PROVIDER_SAID = "shrinking the response of the provider, because only it shows the bug"

CLIENT = """
import http.client, os, sys
body = b'{"model": "deepseek-chat", "stream": true, "messages": [{"role": "user", "content": "hi"}]}'
connection = http.client.HTTPConnection(os.environ["OPENAI_BASE_URL"].split("/")[2])
connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
with open(sys.argv[1], "a") as runs:
    runs.write("x")
raise SystemExit(b'"id":""' in connection.getresponse().read())
"""
"""Fails where a continuation has an empty id."""


def run(*words: str | Path) -> int:
    """The command, with no progress."""
    return main(["shrink", "--quiet", *map(str, words)])


def test_a_finding_is_shrunk_to_a_fixture_with_its_expectation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few events, the finding still there, files for their owner's eyes, and one line that says what was gained."""
    small = tmp_path / "small.flow"
    assert run(FLOW, "--select", "empty-id", "-o", small) == 0
    [fixture] = load(small)
    assert [finding.name for finding in fixture.record.findings] == ["empty-id"]
    assert fixture.record.events == 4
    assert len(fixture.chunks) == 4
    assert expect_path(small).read_text() == dumps(expectation_of([fixture]))
    assert {stat.S_IMODE(path.stat().st_mode) for path in (small, expect_path(small))} == {0o600}
    said = capsys.readouterr().out
    assert said.startswith("17 events, 5.0 KB → 4 events, 7")
    assert " tries, " in said
    assert said.endswith(f": {small}\n")


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """With the state of a whole run nothing is tried again, and with half of it the result is the same."""
    state, first, again = tmp_path / "state", tmp_path / "first.flow", tmp_path / "again.flow"
    assert run(FLOW, "--select", "TS102", "-o", first, "--resume", state) == 0
    lines = state.read_text().splitlines(keepends=True)
    state.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:20])
    assert run(FLOW, "--select", "TS102", "-o", again, "--resume", state) == 0
    assert again.read_bytes() == first.read_bytes()


@pytest.mark.e2e
def test_a_command_that_fails_is_shrunk_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command sees the candidates through the proxy; what was tried is not tried again."""
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
said = connection.getresponse().read()
if b'"id":""' in said:
    raise SystemExit("an empty id")
if said.count(b"data:") < 7:
    raise SystemExit("too short")
"""
"""Fails where a continuation has an empty id, and where an answer is short."""


@pytest.mark.e2e
@pytest.mark.parametrize("words", [[], ["--says", "an empty id"], ["--any", "--any-failure"]], ids=" ".join)
def test_another_failure_is_not_treated_as_the_bug(words: list[str], tmp_path: Path) -> None:
    """The command passes with the original repaired, so it has to with the result: unless any failure will do."""
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
    """As from `run` and `check`: Codex ignores base URLs."""
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
    answer = connection.getresponse()
    said = [json.loads(line[6:]) for line in answer.read().splitlines() if line.startswith(b"data: {")]
    if answer.status != 200:
        raise SystemExit("the provider has enough")
    deltas = [call for one in said for call in one["choices"][0]["delta"].get("tool_calls", ())]
    if not deltas:
        break
    call = {"id": deltas[0]["id"], "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    messages += [{"role": "assistant", "tool_calls": [call]}]
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "no path"}]
"""
"""Runs each call without its arguments, for ever."""


@pytest.mark.e2e
def test_a_loop_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After as many equal requests as are answered: no try waits for the time limit, and the verdict stays."""
    client, alone, small = (tmp_path / name for name in ("client.py", "alone.flow", "small.flow"))
    client.write_text(LOOP)
    with alone.open("wb") as file:
        FlowWriter(file).add(next(iter(FlowReader(io.BytesIO(FLOW.read_bytes())).stream())))
    words = ["--timeout", "3000", "--verdict", "returned-without-arguments", "--provider-repeats", "2"]
    assert run(alone, "-o", small, *words, "--", sys.executable, "-IS", client) == 0
    [call] = [call for fixture in load(small) for call in fixture.record.calls]
    assert call.arguments == '{"path":"README.md"}'
    other: list[str | Path] = ["--verdict", "split-call", "--", sys.executable, "-IS", client]
    assert run(alone, "-o", tmp_path / "none.flow", *other) == 2
    assert "the command did not fail with the verdict split-call" in capsys.readouterr().err


def captured(path: Path, said: Path, got: Path) -> Path:
    """A capture of an answer of which a fault made another one."""
    flows = [next(iter(FlowReader(io.BytesIO(one.read_bytes())).stream())) for one in (said, got)]
    provider, client = (cast("http.HTTPFlow", one) for one in flows)
    assert provider.response is not None
    assert client.response is not None
    sent = {"body": client.response.content, "chunks": [[0, len(client.response.content or b"")]]}
    fault = {"spec": "deepseek", "drawn": 1, "changes": 10}
    provider.response.headers.pop("content-encoding", None)
    provider.metadata["toolstream"] = {"version": 1, "sent": sent, "record": {"faults": [fault], "findings": []}}
    with path.open("wb") as file:
        FlowWriter(file).add(provider)
    return path


@pytest.mark.parametrize(("said", "got", "told"), [(HEALTHY, FLOW, CLIENT_GOT), (FLOW, HEALTHY, PROVIDER_SAID)])
def test_of_an_answer_that_a_fault_changed_what_shows_the_bug_is_shrunk(
    said: Path, got: Path, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the client got, unless only the provider's own stream shows it; that is told, and no fault is left in it."""
    kept, small = captured(tmp_path / "kept.flow", said, got), tmp_path / "small.flow"
    assert run(kept, "--select", "empty-id", "-o", small) == 0
    assert f"kept.flow#0: changed by fault deepseek; {told}" in capsys.readouterr().err
    [fixture] = load(small)
    assert [finding.name for finding in fixture.record.findings] == ["empty-id"]
    assert fixture.caused == UNCAUSED


def test_what_the_client_got_is_said_where_nothing_shows_the_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the one nor the other."""
    kept = captured(tmp_path / "kept.flow", HEALTHY, FLOW)
    assert run(kept, "--select", "empty-name", "-o", tmp_path / "small.flow") == 2
    said = capsys.readouterr().err
    assert CLIENT_GOT in said
    assert "no empty-name in" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([FLOW], "no bug to keep. Expected --select DEFECT"),
        ([FLOW, "--select", "empty-id", "--", "true"], "exclude each other"),
        (
            [FLOW, "--verdict", "split-call"],
            "Its verdicts on misread responses: none",
        ),
        ([FLOW, "--verdict", "nonsense"], "unknown verdict 'nonsense'. See `toolstream list`"),
        ([FLOW, "--provider-repeats", "-1", "--", "true"], "is not a number of requests"),
        ([FLOW, "--select", "empty-name"], "no empty-name in"),
        ([FLOW, "--select", "nonsense"], "unknown defect 'nonsense'"),
        ([FLOW, "--select", "empty-id", "--jobs", "0"], "is not a count. Expected a whole number from 1 on"),
        (["none.flow", "--select", "empty-id"], "cannot be read"),
        ([Path(__file__), "--select", "empty-id"], "contains no LLM stream. Expected a file"),
    ],
)
def test_what_cannot_be_done_is_told(
    words: list[str | Path], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2, and nothing is written."""
    assert run("-o", tmp_path / "out.flow", *words) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Unless it is forced; the state of another run is refused."""
    there = tmp_path / "there.flow"
    there.write_text("mine")
    assert run(FLOW, "--select", "empty-id", "-o", there) == 2
    assert "exists already" in capsys.readouterr().err
    assert there.read_text() == "mine"
    assert run(FLOW, "--select", "empty-id", "-o", tmp_path / "new.flow", "--resume", there) == 2
    assert "is not a state file of" in capsys.readouterr().err


@pytest.mark.e2e
def test_an_interrupted_run_kills_its_command_and_goes_on(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a try: exit code 130 at once, the command ended, no false result remembered."""
    client, pids, state = (tmp_path / name for name in ("client.sh", "pids", "state"))
    client.write_text(f"[ -e {pids} ] || {{ echo $$ > {pids}; exit 1; }}\necho $$ >> {pids}\nsleep 100\n")
    words = ["shrink", FLOW, "-o", tmp_path / "o.flow", "--resume", state, "--jobs", "2", "--", "sh", client]
    with subprocess.Popen(
        [sys.executable, "-m", "toolstream_core.cli.main", *map(str, words)], stderr=subprocess.PIPE
    ) as process:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) >= 2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"run the same command to continue" in said
    assert [line.partition(" ")[2] for line in state.read_text().splitlines()[1:]] == ["1"]
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def wait_until(true: Callable[[], bool]) -> None:
    """For at most a minute."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
