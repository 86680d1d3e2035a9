"""`toolstream run`, as a user starts it: its environment, terminal, signals, summary and what it leaves behind."""

from __future__ import annotations

import http.server
import json
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.started import FLOW, environment, toolstream
from tests.conftest import ROOT
from toolstream_core.cli.commands import FLAGS
from toolstream_core.cli.main import main, parsed
from toolstream_core.cli.run import wants_sockets
from toolstream_core.cli.serve import setup_of
from toolstream_core.proxy.option_table import OPTIONS
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.proxy.option_table import AddonOption

pytestmark = pytest.mark.e2e

EMPTY_ID = ROOT / "flows" / "deepseek-empty-id.flow"
SDK = """
import openai, os, signal, sys, time
request = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}
with openai.OpenAI(max_retries=0).chat.completions.stream(**request) as events:
    [call] = events.get_final_completion().choices[0].message.tool_calls
print(call.id, call.function.name, os.environ["NO_PROXY"] == "")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
os.kill(os.getppid(), signal.SIGTERM)
while True:
    time.sleep(0.1)  # one that came just before a sleep is handled after it
"""
ASKING = """
import json, os, sys, time, urllib.request
def ask(body):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return urllib.request.urlopen(request).read()
"""
TERMINAL_AGENT = f"""#!{sys.executable}
{ASKING}
print("arguments", sys.argv[1:])
print("terminal", [os.isatty(one) for one in (0, 1, 2)], os.tcgetpgrp(0) == os.getpgrp())
print("answered", b"get_weather" in ask({{"model": "m", "stream": True, "messages": []}}), flush=True)
try:
    print("ready", flush=True)
    while True:
        time.sleep(0.1)  # a signal that came just before a sleep is handled after it
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""
IN_TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
try:
    while got := os.read(terminal, 65536):
        if b"ready" in shown + got and b"ready" not in shown:
            os.write(terminal, b"\\x03")
        shown += got
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
FORWARDED = f"""
{ASKING}
print(ask({{"model": "m", "messages": []}}).decode())
print(os.environ["SSL_CERT_FILE"], os.environ["HTTPS_PROXY"], flush=True)
sys.stdin.read()
"""


def test_the_command_gets_its_environment_signals_and_exit_code(tmp_path: Path) -> None:
    """A client finds the flows by its environment alone; log, captures and report go where they were wanted."""
    log, report, kept = tmp_path / "run.log", tmp_path / "report.md", tmp_path / "kept"
    command = toolstream("run", EMPTY_ID, "--speed", "0", "--log", log, "--report", report)
    command += ["--capture", str(kept), "--", sys.executable, "-c", SDK]
    done = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    assert done.stdout.decode() == "call_0_e6b8d871-d756-bb1a-86ce-1718aded1728 read_file True\n"
    assert done.returncode == 9, done.stderr.decode()
    assert "call 0 read_file" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    first, *rest = done.stderr.decode().splitlines()
    assert "set HTTPS_PROXY, SSL_CERT_FILE, OPENAI_BASE_URL, OPENAI_API_KEY and " in first
    assert rest == [
        "toolstream: 1 request, 1 response, 1 call sent",
        "toolstream: findings: empty-id 1",
        "toolstream: verdicts: silent 1",
        f"toolstream: captured: 1 flow in {kept}",
        f"toolstream: report: {report}, with {report.with_suffix('.flow')}",
        "toolstream: the command exited with code 9",
    ]
    assert report.read_text().startswith("# empty-id: openai-chat from 127.0.0.1\n")
    assert [one.name for one in load(report.with_suffix(".flow"))[0].record.findings] == ["empty-id"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://127.0.0.1:9"])
def test_a_provider_that_is_not_there_is_named(url: str) -> None:
    """Over TLS no request is seen either: the client is not at fault."""
    asking = f"import urllib.request; urllib.request.urlopen('{url}/v1/chat/completions', b'{{}}')"
    command = [*toolstream("run"), "--", sys.executable, "-c", asking]
    done = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    counts, reason, ended = [line for line in done.stderr.decode().splitlines() if line.startswith("toolstream: ")][1:]
    assert counts.endswith(" 0 responses, 0 calls sent")
    assert reason.startswith("toolstream: could not connect to 127.0.0.1:9: ")
    assert ended == "toolstream: the command exited with code 1"


def test_that_nothing_was_captured_is_told(tmp_path: Path) -> None:
    """Nothing was wrong with the answer, and only flows with findings were asked for."""
    command = toolstream("run", FLOW, "--speed", "0", "--capture", str(tmp_path / "kept"))
    command += ["--when", "findings", "--", sys.executable, "-c", SDK]
    done = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    told = [line for line in done.stderr.decode().splitlines() if "captured" in line]
    assert told == ["toolstream: captured: nothing; see --when, and the log for flows that could not be captured"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_terminal_program_keeps_its_terminal(tmp_path: Path) -> None:
    """All three streams are the terminal, Ctrl-C is the command's, and the log comes behind its picture."""
    agent = tmp_path / "codex"
    agent.write_text(TERMINAL_AGENT)
    agent.chmod(0o700)
    command = toolstream("run", FLOW, "--speed", "0", "--", agent, "say hi")
    done = subprocess.run(
        [sys.executable, "-c", IN_TERMINAL, *command], capture_output=True, env=environment(), timeout=60, check=False
    )
    shown = done.stdout.decode().replace("\r", "")
    assert done.returncode == 7, shown
    assert "terminal [True, True, True] True\nanswered True\n" in shown
    assert "arguments ['-c', 'model_provider=\"toolstream\"', '-c', " in shown
    assert "codex: arguments -c" in shown
    before, interrupted, behind = shown.partition("interrupted\n")
    assert interrupted
    assert "call 0 get_weather" not in before
    assert "call 0 get_weather" in behind
    assert "call 0 get_weather" in behind.partition("toolstream: 1 request, 1 response, 1 call sent\n")[0]
    assert behind.endswith("toolstream: verdicts: silent 1\ntoolstream: the command exited with code 7\n")


@contextmanager
def provider() -> Iterator[tuple[str, list[str]]]:
    """A server of this machine that says what it was asked; its base URL, and the paths."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(f"{self.headers['host']}{self.path}")
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps({"object": "chat.completion", "choices": []}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v1", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_base_urls_are_forwarded_and_a_killed_run_leaves_nothing() -> None:
    """A client that knows no proxy reaches the user's own provider; with `toolstream run`, client and proxy go."""
    with provider() as (url, asked):
        command = toolstream("run", "--base-url", "--quiet", "--level", "off", "--", sys.executable, "-c", FORWARDED)
        own = environment(OPENAI_BASE_URL=url)
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own)
        assert started.stdout is not None
        assert json.loads(started.stdout.readline()) == {"object": "chat.completion", "choices": []}
        bundle, proxy = started.stdout.readline().decode().split()
        assert asked == [url.removeprefix("http://") + "/chat/completions"]
        assert Path(bundle).exists()
        started.send_signal(signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        assert started.stdout.read() == b"", "the client, which waits for its input, is ended"
    port = int(proxy.rpartition(":")[2])
    end = time.monotonic() + 20
    while (Path(bundle).parent.exists() or _listens(port)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not Path(bundle).parent.exists()
    assert not _listens(port)
    started.communicate()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (["run", str(FLOW)], "missing command after `--`"),
        (["run", str(FLOW), "--log", "/no/such/folder/log", "--", "true"], "--log: there is no folder"),
        (["run", str(FLOW), "--fault", "glm5", "--", "true"], "did you mean glm-5"),
        (["run", str(FLOW), "--base-url", "https://a.example", "--", "true"], "needs a real provider"),
        (["run", "--base-url", str(FLOW), "--", "true"], "Put flows before --base-url"),
        (["run", "--base-url", "127.0.0.1:8000/v1", "--", "true"], "Expected http://127.0.0.1:8000/v1"),
        (["run", "--base-url", "ftp://a.example", "--", "true"], "--base-url is not an http or https URL"),
        (["run", "--report", "/no/such/folder/a.md", "--", "true"], "there is no folder"),
        (["run", "--report", "a.flow", "--", "true"], "Expected a Markdown file"),
    ],
)
def test_what_is_asked_wrongly(words: list[str], right: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One clear line that says what would be right."""
    assert main(words) == 2
    assert right in capsys.readouterr().err


def test_a_command_that_there_is_not() -> None:
    """Its exit code is a shell's, and without flows the real providers are let through."""
    command = toolstream("run", "--", "no-such-command")
    done = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=False)
    assert done.returncode == 127
    assert "command not found: 'no-such-command'" in done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [([], False), (["--websocket", "read"], True), (["--websocket", "refuse"], False)],
)
def test_sockets_are_for_who_names_them(words: list[str], wanted: bool) -> None:
    """Agents that can ask over HTTP as well do so otherwise."""
    args = parsed(["run", *words])
    assert wants_sockets(setup_of(args, network="all", log="off")) is wanted


@pytest.mark.parametrize("option", FLAGS, ids=lambda option: option.name)
def test_each_option_of_the_addon_is_a_flag(option: AddonOption) -> None:
    """It is set as `--set` would set it, and the page on the command line has it."""
    names = {"toolstream_repair": "safe", "toolstream_shape": "whole-calls", "toolstream_fault": "stall"}
    takes = not isinstance(option.default, bool) and not option.const
    value = [names.get(option.name) or (option.choices or "3")[0]] if takes else []
    words = ["run", option.flag, *value]
    setup = setup_of(parsed(words), network="all", log="off")
    assert f"{option.name}={(value or [option.const or 'true'])[0]}" in setup.specs()
    assert f"`{option.flag}" in (ROOT / "docs" / "cli.md").read_text()


def test_the_page_on_options_names_the_flags_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Each flag in its table is one, or the argument that takes the option's value."""
    assert main(["run", "--help"]) == 0
    known = capsys.readouterr().out.split()
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    flags = re.findall(r"^\| `toolstream_\w+` \| `(.*?)` \|", page, re.MULTILINE)
    assert len(flags) == len(OPTIONS) - 1  # toolstream_keep_bodies is for interfaces
    assert [flag for flag in flags if flag not in known] == []
