"""Five reported clients: the capture of each failure becomes a test that only the fixed client passes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tests.conftest import ROOT
from tests.e2e import failing as agents
from tests.pytest_plugin.running import project, run
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

KEEP: Final = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Keep")[2]
TEST: Final = re.findall(r"```python\n(.*?)```", KEEP, re.DOTALL)[0]
"""The test in README.md."""
PROMPT: Final = "read README.md"


class Report(NamedTuple):
    """A report: the stream of the provider, and the client before and after its fix."""

    key: str
    call: str
    """The id, name and arguments of each fragment as JSON; `null` is an absent field."""
    broken: str
    fixed: str
    protocol: str = "openai-chat"
    ends: str = ""
    """The error of the broken client."""


ARGUMENTS: Final = '{"query": "ESP32"}'
NAME: Final = "web_search"
REPORTS: Final = (
    Report(
        "S1",
        '["ID", "web_search", ""], [null, null, ""], [null, null, "{\\"query\\": \\"ESP32\\""], [null, null, "}"]',
        agents.AICHAT,
        agents.AICHAT_FIXED,
        ends="stopped after 6 turns",
    ),
    Report("S2", "", agents.RUBY_LLM, agents.RUBY_LLM_FIXED, "openai-responses", "no tool None"),
    Report(
        "S3",
        '["ID", "web_search", ""], ["", "", "{\\"query\\": "], ["", "", "\\"ESP32\\"}"]',
        agents.OPENCLAW,
        agents.OPENCLAW_FIXED,
        ends="stopped after 6 turns",
    ),
    Report(
        "S4",
        '["ID", "web_search", ""], ["", null, "{\\"query\\": "], ["", null, "\\"ESP32\\"}"]',
        agents.SPRING_AI,
        agents.SPRING_AI_FIXED,
        ends="No value present",
    ),
    Report("S5", "", agents.PI, agents.PI_FIXED),
)
KEYS: Final = [report.key for report in REPORTS]
ONE_IS_ENOUGH: Final = {"S1", "S2", "S3", "S4"}
"""Reports that a single response can reproduce."""
SHRUNK: Final = {"S1", "S2", "S4"}
"""Reports with a shrink test: a loop, a crash in another protocol, and a crash with the ids of S3."""


def chat_chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """An event of a Chat Completions stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'chatcmpl-1', 'model': 'm', 'choices': [choice]})}\n\n".encode()


def fragment(fields: list[str | None], identity: str) -> dict[str, Any]:
    """An entry of `tool_calls`."""
    call_id, name, arguments = fields
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    head = {} if call_id is None else {"id": identity if call_id == "ID" else call_id}
    return {"index": 0, **head, "type": "function", "function": function}


class Model:
    """A model that calls the tool, each time with another id, until a request has a good result; then it sends text."""

    def __init__(self, report: Report) -> None:
        """Start without requests."""
        self.report = report
        self.requests = 0

    def response(self, path: str, request: Any) -> bytes:
        """The response's body."""
        self.requests += 1
        identity = f"call_{self.requests}"
        protocol = named(self.report.protocol)
        conversation = protocol.api.conversation(request)
        good = any(call.arguments == ARGUMENTS for call in conversation.calls)
        calls = () if good and conversation.results else (HealthyCall(NAME, ARGUMENTS),)
        text = "" if calls else "Use the console component."
        response = HealthyResponse(model="m", request=request, calls=calls, text=text, token=identity)
        if request.get("stream") is not True:
            return json.dumps(protocol.healthy_unstreamed(response)).encode()
        if not calls or self.report.protocol != "openai-chat":
            return b"".join(protocol.healthy_stream(response))
        fragments = json.loads(f"[{self.report.call}]")
        deltas: list[dict[str, Any]] = [{"tool_calls": [fragment(fields, identity)]} for fields in fragments]
        deltas = deltas or [{"content": "I will search."}]
        return b"".join([*map(chat_chunk, deltas), chat_chunk({}, "tool_calls"), b"data: [DONE]\n\n"])


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[tuple[Model, str]]:
    """A local provider, and its base URL."""
    provider = Model(request.param)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = provider.response(self.path, received)
            kind = "text/event-stream" if received.get("stream") is True else "application/json"
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield provider, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def toolstream(folder: Path, *words: str, **environment: str) -> tuple[int, str]:
    """The exit code and output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def captured(folder: Path, model: tuple[Model, str]) -> Path:
    """A project with the broken client: its failure is captured and extracted as in README.md."""
    report, url = model[0].report, model[1]
    home = project(folder, agent=report.broken)
    code, output = toolstream(
        home, "run", "--capture", "captures", "--", sys.executable, "agent.py", PROMPT, OPENAI_BASE_URL=url
    )
    assert (code != 0) is bool(report.ends), output
    assert report.ends in output
    code, output = toolstream(home, "extract", "captures", "-o", "flows", "--name", "broken")
    assert code == 0, output
    return home


def outcomes(home: Path, report: Report, *flows: str, test: str = TEST) -> dict[str, bool]:
    """Whether README's test passes, by flow and client, in one run of pytest."""
    for client, text in (("broken", report.broken), ("fixed", report.fixed)):
        (home / f"{client}.py").write_text(text)
        for flow in flows:
            named_test = test.replace("from agent", f"from {client}").replace("flows/broken.flow", f"flows/{flow}.flow")
            (home / f"test_{flow}_with_{client}.py").write_text(named_test)
    shown = run(home, "--toolstream-block-network", "-rA", *(path.name for path in home.glob("test_*_with_*.py")))
    return {
        name: state == "PASSED" for state, name in re.findall(r"^(PASSED|FAILED) test_(\w+)\.py", shown, re.MULTILINE)
    }


def only_fixed(*flows: str) -> dict[str, bool]:
    """The expected outcomes: the tests pass only with the fixed client."""
    return {f"{flow}_with_{client}": client == "fixed" for flow in flows for client in ("broken", "fixed")}


@pytest.mark.parametrize("model", REPORTS, ids=KEYS, indirect=True)
def test_a_captured_failure_becomes_a_test(model: tuple[Model, str], tmp_path: Path) -> None:
    """The conversation, a single response and the shrunk reproduction: each test passes only with the fixed client."""
    report = model[0].report
    home = captured(tmp_path, model)
    flows = ["conversation"]
    (home / "flows" / "broken.flow").rename(home / "flows" / "conversation.flow")
    if report.key in ONE_IS_ENOUGH:
        single = max((home / "captures").glob("*.flow"))
        toolstream(home, "extract", str(single), "-o", "flows", "--name", "single")
        assert len(load(home / "flows" / "single.flow")) == 1
        flows.append("single")
    if report.key in SHRUNK:
        shrink(home)
        flows.append("small")
    assert outcomes(home, report, *flows) == only_fixed(*flows)


def shrink(home: Path) -> None:
    """Shrink the conversation. The result keeps the arguments: the fixed client can run the tool."""
    command = ("--", sys.executable, "agent.py", PROMPT)
    source, target = "flows/conversation.flow", "flows/small.flow"
    code, output = toolstream(home, "shrink", "--quiet", source, "-o", target, *command)
    assert code == 0, output
    [small] = load(home / target)
    [call] = small.record.calls
    assert (call.name, json.loads(call.arguments)) == (NAME, json.loads(ARGUMENTS))
    assert small.record.events < load(home / source)[0].record.events


@pytest.mark.parametrize("model", REPORTS[:1], ids=KEYS[:1], indirect=True)
def test_a_saved_conversation_is_shrunk_to_its_verdict(model: tuple[Model, str], tmp_path: Path) -> None:
    """Without a command, `shrink` keeps the misread response and the request that shows the misreading."""
    home = captured(tmp_path, model)
    words = ("flows/broken.flow", "--verdict", "returned-without-arguments", "-o", "small.flow")
    code, output = toolstream(home, "shrink", "--quiet", *words)
    assert code == 0, output
    first, second = load(home / "small.flow")
    assert [call.arguments for call in first.record.calls] == [ARGUMENTS]
    assert second.request["messages"][-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    code, output = toolstream(home, "inspect", "small.flow")
    assert "verdict returned-without-arguments" in output


@pytest.mark.parametrize("model", REPORTS[4:], ids=KEYS[4:], indirect=True)
def test_a_captured_unstreamed_response_is_served(model: tuple[Model, str], tmp_path: Path) -> None:
    """The fixed client requests the response without a stream, which replay serves from the capture."""
    report = model[0].report
    home = captured(tmp_path, (Model(report._replace(broken=report.fixed)), model[1]))
    test = f"{TEST}    [call] = toolstream.calls\n"
    assert outcomes(home, report, "broken", test=test) == only_fixed("broken")
