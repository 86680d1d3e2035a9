"""`toolstream run` as a user starts it: environment, terminal, signals, summary and cleanup."""

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

from tests.cli.processes import FLOW, environment, toolstream
from tests.conftest import FLOWS, ROOT
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

EMPTY_ID = FLOWS / "deepseek-empty-id.flow"
SDK = """
import openai, os, signal, sys, time
request = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}
with openai.OpenAI(max_retries=0).chat.completions.stream(**request) as events:
    [call] = events.get_final_completion().choices[0].message.tool_calls
print(call.id, call.function.name, os.environ["NO_PROXY"] == "")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
os.kill(os.getppid(), signal.SIGTERM)
while True:
    time.sleep(0.1)  # a signal just before a sleep is handled after it
"""
REQUEST_CODE = """
import json, os, sys, time, urllib.request
def post(body):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return urllib.request.urlopen(request).read()
"""
TERMINAL_AGENT = f"""#!{sys.executable}
{REQUEST_CODE}
print("arguments", sys.argv[1:])
print("terminal", [os.isatty(descriptor) for descriptor in (0, 1, 2)], os.tcgetpgrp(0) == os.getpgrp())
print("received call", b"get_weather" in post({{"model": "m", "stream": True, "messages": []}}), flush=True)
try:
    print("ready", flush=True)
    while True:
        time.sleep(0.1)  # a signal just before a sleep is handled after it
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
{REQUEST_CODE}
print(post({{"model": "m", "messages": []}}).decode())
print(os.environ["SSL_CERT_FILE"], os.environ["HTTPS_PROXY"], flush=True)
sys.stdin.read()
"""


def test_the_command_gets_its_environment_signals_and_exit_code(tmp_path: Path) -> None:
    """The environment leads a client to the flows, and log, captures and report are written to their paths."""
    log, report, kept = tmp_path / "run.log", tmp_path / "report.md", tmp_path / "kept"
    command = toolstream("run", EMPTY_ID, "--speed", "0", "--log", log, "--report", report)
    command += ["--capture", str(kept), "--", sys.executable, "-c", SDK]
    result = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    assert result.stdout.decode() == "call_0_e6b8d871-d756-bb1a-86ce-1718aded1728 read_file True\n"
    assert result.returncode == 9, result.stderr.decode()
    assert "call 0 read_file" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    first, *rest = result.stderr.decode().splitlines()
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
    assert [finding.name for finding in load(report.with_suffix(".flow"))[0].record.findings] == ["empty-id"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://127.0.0.1:9"])
def test_an_unreachable_provider_is_reported(url: str) -> None:
    """Over TLS the proxy sees no request, and the client is not accused."""
    asking = f"import urllib.request; urllib.request.urlopen('{url}/v1/chat/completions', b'{{}}')"
    command = [*toolstream("run"), "--", sys.executable, "-c", asking]
    result = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    counts, reason, ended = [line for line in result.stderr.decode().splitlines() if line.startswith("toolstream: ")][
        1:
    ]
    assert counts.endswith(" 0 responses, 0 calls sent")
    assert reason.startswith("toolstream: could not connect to 127.0.0.1:9: ")
    assert ended == "toolstream: the command exited with code 1"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_a_full_disk_stops_no_traffic() -> None:
    """Neither the log nor the lines can be written, and the client gets its response."""
    command = toolstream("run", FLOW, "--speed", "0", "--log", "/dev/full", "--jsonl", "/dev/full", "--")
    asking = f"{REQUEST_CODE}\nprint(b'get_weather' in post({{'model': 'm', 'stream': True, 'messages': []}}))"
    command += [sys.executable, "-c", asking]
    result = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=False)
    assert (result.returncode, result.stdout) == (0, b"True\n"), result.stderr.decode()
    assert result.stderr.decode().splitlines()[1] == "toolstream: 1 request, 1 response, 1 call sent"


def test_an_empty_capture_is_reported(tmp_path: Path) -> None:
    """Without findings, `--when findings` captures nothing."""
    command = toolstream("run", FLOW, "--speed", "0", "--capture", str(tmp_path / "kept"))
    command += ["--when", "findings", "--", sys.executable, "-c", SDK]
    result = subprocess.run(command, capture_output=True, env=environment(NO_PROXY="*"), timeout=60, check=False)
    lines = [line for line in result.stderr.decode().splitlines() if "captured" in line]
    assert lines == ["toolstream: captured: nothing; see --when, and the log for flows that could not be captured"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_terminal_program_keeps_its_terminal(tmp_path: Path) -> None:
    """All three streams are the terminal, Ctrl-C goes to the command, and the log follows its screen."""
    agent = tmp_path / "codex"
    agent.write_text(TERMINAL_AGENT)
    agent.chmod(0o700)
    command = toolstream("run", FLOW, "--speed", "0", "--", agent, "say hi")
    result = subprocess.run(
        [sys.executable, "-c", IN_TERMINAL, *command], capture_output=True, env=environment(), timeout=60, check=False
    )
    screen = result.stdout.decode().replace("\r", "")
    assert result.returncode == 7, screen
    assert "terminal [True, True, True] True\nreceived call True\n" in screen
    assert "arguments ['-c', 'model_provider=\"toolstream\"', '-c', " in screen
    assert "codex: arguments -c" in screen
    before, interrupted, after = screen.partition("interrupted\n")
    assert interrupted
    assert "call 0 get_weather" not in before
    assert "call 0 get_weather" in after
    assert "call 0 get_weather" in after.partition("toolstream: 1 request, 1 response, 1 call sent\n")[0]
    assert after.endswith("toolstream: verdicts: silent 1\ntoolstream: the command exited with code 7\n")


@contextmanager
def provider() -> Iterator[tuple[str, list[str]]]:
    """Start a server on this machine and yield its base URL and the requested paths."""
    requested: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requested.append(f"{self.headers['host']}{self.path}")
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
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v1", requested
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_base_urls_are_forwarded_and_a_killed_run_cleans_up() -> None:
    """A client without proxy support reaches its provider; client and proxy end with `toolstream run`."""
    with provider() as (url, requested):
        command = toolstream("run", "--base-url", "--quiet", "--level", "off", "--", sys.executable, "-c", FORWARDED)
        own = environment(OPENAI_BASE_URL=url)
        started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=own)
        assert started.stdout is not None
        assert json.loads(started.stdout.readline()) == {"object": "chat.completion", "choices": []}
        bundle, proxy = started.stdout.readline().decode().split()
        assert requested == [url.removeprefix("http://") + "/chat/completions"]
        assert Path(bundle).exists()
        started.send_signal(signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
        assert started.stdout.read() == b"", "the client waits for input and must be terminated"
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
    ("words", "expected"),
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
def test_usage_errors(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line with the expected form."""
    assert main(words) == 2
    assert expected in capsys.readouterr().err


def test_a_missing_command() -> None:
    """The exit code is that of a shell."""
    command = toolstream("run", "--", "no-such-command")
    result = subprocess.run(command, capture_output=True, env=environment(), timeout=60, check=False)
    assert result.returncode == 127
    assert "command not found: 'no-such-command'" in result.stderr.decode()


@pytest.mark.parametrize(
    ("words", "expected"), [([], False), (["--websocket", "read"], True), (["--websocket", "refuse"], False)]
)
def test_websockets_are_read_on_request_only(words: list[str], expected: bool) -> None:
    """Agents that also support HTTP use it otherwise."""
    args = parsed(["run", *words])
    assert wants_sockets(setup_of(args, network="all", log="off")) is expected


@pytest.mark.parametrize("option", FLAGS, ids=lambda option: option.name)
def test_each_option_of_the_addon_is_a_flag(option: AddonOption) -> None:
    """The flag sets the option like `--set`, and the page on the command line lists it."""
    names = {"toolstream_repair": "safe", "toolstream_shape": "whole-calls", "toolstream_fault": "stall"}
    takes = not isinstance(option.default, bool) and not option.const
    value = [names.get(option.name) or (option.choices or "3")[0]] if takes else []
    words = ["run", option.flag, *value]
    setup = setup_of(parsed(words), network="all", log="off")
    assert f"{option.name}={(value or [option.const or 'true'])[0]}" in setup.specs()
    assert f"`{option.flag}" in (ROOT / "docs" / "cli.md").read_text()


def test_the_page_on_options_names_the_flags_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Each flag in the table is one of `run`, or the argument with the option's value."""
    assert main(["run", "--help"]) == 0
    known = capsys.readouterr().out.split()
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    flags = re.findall(r"^\| `toolstream_\w+` \| `(.*?)` \|", page, re.MULTILINE)
    assert len(flags) == len(OPTIONS) - 1  # toolstream_keep_bodies is for interfaces
    assert [flag for flag in flags if flag not in known] == []
