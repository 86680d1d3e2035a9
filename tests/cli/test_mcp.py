"""`toolstream mcp` with the official SDK's client on standard input and output."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.browser.sessions import loop
from tests.cli.inspected import save
from tests.conftest import ROOT
from tests.e2e.live_client import viewed
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from mcp.types import CallToolResult

pytest.importorskip(
    "mcp.server", reason="the official MCP SDK is not installed: it is locked for Python 3.13 and newer"
)
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

SPLIT: Final = str(ROOT / "flows/openclaw-empty-ids.flow")
GLM: Final = str(ROOT / "flows/glm-5.flow")
"""A stream that was saved with its next request."""
AGENT: Final = """
import json, os, sys, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
tool = {"type": "function", "function": {"name": "read_file", "parameters": {
    "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}
body = {"model": "m", "stream": True, "tools": [tool], "messages": [{"role": "user", "content": "read"}]}
request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
urllib.request.urlopen(request).read()
"""
LEAVING: Final = """\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},\
"clientInfo":{"name":"leaves","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"verdicts","arguments":{}}}
"""


def _server(*words: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "toolstream_core.cli.main", "mcp", *words])


def _requested(server: StdioServerParameters, tool: str, **arguments: Any) -> CallToolResult:
    async def call() -> CallToolResult:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(call())


def _text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def _tools(*words: str) -> list[str]:
    async def call() -> list[str]:
        async with Client(_server(*words)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    return asyncio.run(call())


def test_tools() -> None:
    """`check` exists only with a command, and no tool takes a path or a program."""
    assert _tools(GLM) == ["verdicts", "inspect", "view", "explain"]
    assert _tools(GLM, "--", "my-agent") == ["verdicts", "inspect", "view", "explain", "check"]
    assert _tools("--view", "http://127.0.0.1:1/#token=none") == ["view", "explain"]


def test_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    """The document is that of the command, and `source` selects a response."""
    main(["inspect", "--format", "json", "--exit-zero", GLM, SPLIT])
    printed = json.loads(capsys.readouterr().out)
    assert json.loads(_text(_requested(_server(GLM, SPLIT), "inspect"))) == printed
    selected = json.loads(_text(_requested(_server(GLM, SPLIT), "inspect", source=f"{SPLIT}#0")))
    assert [stream["source"] for stream in selected["streams"]] == [f"{SPLIT}#0"]
    unknown = _requested(_server(GLM), "inspect", source="other")
    assert unknown.is_error
    assert f"unknown source 'other'. Expected one of: {GLM}#0" in _text(unknown)


def test_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    """Each response has the client's verdict, or null without a next request."""
    main(["inspect", "--format", "json", "--exit-zero", GLM])
    streams = json.loads(capsys.readouterr().out)["streams"]
    verdicts = json.loads(_text(_requested(_server(GLM), "verdicts")))
    assert [{key: verdict[key] for key in ("source", "verdict")} for verdict in verdicts] == [
        {"source": stream["source"], "verdict": stream["verdict"]} for stream in streams
    ]
    assert verdicts[0]["verdict"]["verdict"] == "ok"
    assert verdicts[-1]["verdict"] is None


def test_verdicts_in_words(tmp_path: Path) -> None:
    """The texts are those of the view; without a verdict, only the headline is present."""
    verdicts = json.loads(_text(_requested(_server(str(save(tmp_path / "loop.flow", *loop()))), "verdicts")))
    assert verdicts[0]["headline"].startswith("The client returned call 0 read_file and call 1 list_issues without")
    assert verdicts[0]["reason"].startswith("At event ")
    assert verdicts[0]["cause"].startswith("The client starts a new call")
    assert verdicts[0]["fix"].startswith("fix the client: ")
    assert verdicts[-1]["headline"].startswith("Text only")
    assert "fix" not in verdicts[-1]


def test_view(capsys: pytest.CaptureFixture[str]) -> None:
    """The view is narrowed to one response, and its events have their full text."""
    main(["view", "--format", "json", GLM])
    document = json.loads(capsys.readouterr().out)
    selected = json.loads(_text(_requested(_server(GLM), "view", source=f"{GLM}#1", first=1, last=2)))
    (response,) = selected["responses"]
    assert response["source"] == f"{GLM}#1"
    assert [event["number"] for event in response["events"]] == [1, 2]
    assert all(event["raw"].startswith("data: {") for event in response["events"])
    assert {key: response[key] for key in response if key != "events"} == {
        key: value for key, value in document["responses"][1].items() if key != "events"
    }
    unknown = _requested(_server(GLM), "view", source="other")
    assert unknown.is_error
    assert f"Expected one of: {GLM}#0, {GLM}#1" in _text(unknown)


def test_live_view(tmp_path: Path) -> None:
    """The view has the misread response at the misread event."""
    with viewed(tmp_path) as address:
        (response,) = json.loads(_text(_requested(_server("--view", address), "view")))["responses"]
    assert response["verdict"]["verdict"] == "split-call"
    assert response["verdict"]["event"] in [event["number"] for event in response["events"]]
    gone = _requested(_server("--view", address), "view")
    assert gone.is_error
    assert "cannot be read" in _text(gone)
    assert "Is the proxy still running?" in _text(gone)


def test_explain() -> None:
    """An unknown name is an error."""
    assert _text(_requested(_server(GLM), "explain", name="TS102")).startswith("# TS102 empty-id")
    unknown = _requested(_server(GLM), "explain", name="emptyid")
    assert unknown.is_error
    assert "unknown name 'emptyid'" in _text(unknown)


def test_check(tmp_path: Path) -> None:
    """The command of the start is run for the given cases."""
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    result = _requested(_server(GLM, "--", sys.executable, str(agent)), "check", cases="empty-id")
    (client,) = json.loads(_text(result))["clients"]
    assert [case["id"] for case in client["cases"]] == ["openai-chat/healthy", "openai-chat/fault/empty-id"]
    unknown = _requested(_server(GLM, "--", sys.executable, str(agent)), "check", cases="emtpy-id")
    assert unknown.is_error
    assert "'emtpy-id'" in _text(unknown)


def test_unreadable(tmp_path: Path) -> None:
    """A file that becomes unreadable while the server runs is an error of the tool."""
    file = tmp_path / "notes.txt"
    file.write_text("nothing of interest")
    result = _requested(_server(str(file)), "verdicts")
    assert result.is_error
    assert "contains no LLM response" in _text(result)


@pytest.mark.parametrize("both", [False, True], ids=["input", "input and output"])
def test_an_agent_that_disconnects(both: bool) -> None:
    """The server ends without a traceback if the agent disconnects during a call."""
    words = (sys.executable, "-m", "toolstream_core.cli.main", "mcp", GLM)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        assert served.stderr is not None
        served.stdin.write(LEAVING.encode())
        served.stdin.flush()
        served.stdout.readline()
        if both:
            served.stdout.close()
        served.stdin.close()
        assert served.stderr.read() == b""
    assert served.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-"], "standard input carries the protocol"),
        ([], "nothing to report on. Expected files, or --view ADDRESS"),
        (["--view", "http://example.com/"], "is not the address of a live view. Expected the address"),
        (["nothing-here.flow"], "no such file or directory: nothing-here.flow. Expected flow files"),
    ],
)
def test_usage_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is printed before the server starts."""
    assert main(["mcp", *words]) == 2
    assert message in capsys.readouterr().err


def test_without_sdk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has a command that installs the package."""
    monkeypatch.setitem(sys.modules, "toolstream_core.cli.mcp_tools", None)
    assert main(["mcp", GLM]) == 2
    assert f"Install it: {sys.executable} -m pip install 'mcp>=2'" in capsys.readouterr().err
