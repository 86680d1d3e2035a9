from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.inspected import GLM, ROOT, Inspect, body, flows, run, save
from toolstream_core.cli.main import main
from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from pathlib import Path


def test_one_stream_is_told_chunk_by_chunk() -> None:
    """As the live log tells it, with the times that the flow has."""
    done = run("flows/glm-5.flow", "--chunks")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0] == ("#1 flows/glm-5.flow#0 openrouter.ai/api/v1/chat/completions z-ai/glm-5 openai-chat")
    assert lines[1] == (
        '#1    +0ms event 0    call 0  id="call_95df1cc8…4b959bbbc431"  name="web_search"  index=0  args=""'
    )
    assert re.fullmatch(r"#1 +\+\d+ms event 1    call 0  id=absent +name=absent +index=0  args=.*", lines[2])
    assert any(line.startswith("#1         call 0 web_search ") for line in lines)
    assert "#1         7 events, 1 call, finish tool_calls, model z-ai/glm-5-20260211" in lines
    assert all(len(line) <= 120 for line in lines)


def test_several_streams_are_told_by_their_ends(inspect: Inspect) -> None:
    """And `--no-chunks` does the same to one."""
    lines = inspect(GLM)
    assert not any(" event " in line for line in lines)
    assert lines[-1] == "2 streams, 1 call, 0 errors, 0 warnings, 0 notes"
    assert inspect("--no-chunks", GLM) == lines


def test_the_request_is_evidence(inspect: Inspect, tmp_path: Path) -> None:
    """Nothing as arguments is `{}` from a tool that requires nothing, and is cut off from one that does."""
    data = body()
    nothing = re.sub(rb'"arguments": ?"(?:[^"\\]|\\.)*"', b'"arguments":""', data)
    assert nothing != data
    (tmp_path / "a.sse").write_bytes(nothing)
    for required, code in (([], 0), (["query"], 1)):
        tool = {"name": "web_search", "parameters": {"type": "object", "required": required}}
        request = {"model": "asked", "tools": [{"type": "function", "function": tool}]}
        (tmp_path / "request.json").write_text(json.dumps(request))
        [stream] = inspect.streams("--request", tmp_path / "request.json", tmp_path / "a.sse", code=code)
        assert [call["complete"] for call in stream["calls"]] == [not required]


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_request_that_is_none_is_told_before_anything_is_read(inspect: Inspect, tmp_path: Path, text: str) -> None:
    """With what would be right."""
    (tmp_path / "request.json").write_text(text)
    assert inspect("--request", tmp_path / "request.json", GLM, code=2) == []
    assert "JSON object" in inspect.err
    assert inspect("--request", tmp_path / "missing", GLM, code=2) == []
    assert "No such file" in inspect.err


def test_a_protocol_can_be_forced(inspect: Inspect, tmp_path: Path) -> None:
    """Upon a stream that nobody recognises."""
    (tmp_path / "a.sse").write_bytes(b'data: {"foo": 1}\n\n')
    assert inspect(tmp_path / "a.sse", code=2) == []
    [stream] = inspect.streams("--protocol", "gemini", tmp_path / "a.sse", code=1)
    assert (stream["dialect"], stream["events"], stream["ended"]) == ("gemini", 1, False)
    dialects = {stream["dialect"] for stream in inspect.streams("--protocol", "anthropic", GLM, code=1)}
    assert dialects == {"anthropic"}


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), ["unterminated-event", "truncated-stream", "cut-off-call"]),
        (("--select", "TS301"), ["truncated-stream"]),
        (("--select", "cut-off-call, TS301"), ["truncated-stream", "cut-off-call"]),
        (("--select", "TS301", "--select", "TS302"), ["truncated-stream", "cut-off-call"]),
        (("--select", "framing"), ["unterminated-event"]),
        (("--ignore", "ending"), ["unterminated-event"]),
        (("--ignore", "TS301,cut-off-call"), ["unterminated-event"]),
        (("--select", "ending", "--ignore", "TS302"), ["truncated-stream"]),
        (("--ignore", "all"), []),
        (("--select", "all", "--exit-zero"), ["unterminated-event", "truncated-stream", "cut-off-call"]),
    ],
)
def test_findings_are_chosen(inspect: Inspect, tmp_path: Path, words: tuple[str, ...], names: list[str]) -> None:
    """And only what is chosen counts for the exit code; notes never do."""
    (tmp_path / "a.sse").write_bytes(body()[:480].rstrip())
    counts = {"truncated-stream", "cut-off-call"} & set(names) and "--exit-zero" not in words
    [stream] = inspect.streams(*words, tmp_path / "a.sse", code=1 if counts else 0)
    assert [finding["name"] for finding in stream["findings"]] == names
    text = inspect(*words, tmp_path / "a.sse", code=1 if counts else 0)
    assert [name for line in text for name in names if f" {name} at event" in line] == names


def test_no_secret_is_printed(inspect: Inspect, tmp_path: Path) -> None:
    """Neither what the request carried nor what looks like one, wherever the answer says it."""
    key, shaped = "own-key-of-the-request", "sk-abcdefghijklmnopqrstuvwxyz"
    one = flows(GLM)[0]
    assert one.response is not None
    one.request.headers["authorization"] = f"Bearer {key}"
    one.response.raw_content = re.sub(rb"web_search|ESP32|tool_calls(?=\")", f"{key} {shaped}".encode(), body())
    one.response.raw_content = one.response.raw_content.replace(b"call_95df", f"{key}{shaped}".encode())
    path = save(tmp_path / "a.flow", one)
    for words in (("--chunks",), ("--no-chunks",), ("--format", "json")):
        printed = "".join(inspect(*words, path))
        assert "[redacted]" in printed
        assert key not in printed
        assert shaped not in printed


@pytest.mark.parametrize(
    ("env", "terminal", "coloured"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False), ({}, False, False)],
)
def test_colour_is_for_terminals_that_want_it(
    inspect: Inspect, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], terminal: bool, coloured: bool
) -> None:
    """https://no-color.org."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert any("\x1b[" in line for line in inspect(GLM)) == coloured


PAGE = (ROOT / "docs" / "cli.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ (toolstream inspect .*?|head .*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_examples_of_the_page_are_what_is_printed(command: str, printed: str) -> None:
    """Word for word; `head` and `jq` are played."""
    head = re.match(r"head -c (\d+) glm-5.sse \| ", command)
    words = command[head.end() if head else 0 :].partition(" | ")[0].split()
    done = run(*words[2:], stdin=body()[: int(head[1])] if head else b"")
    told = done.stdout.decode()
    if "jq '.streams[0]'" in command:
        told = json.dumps(json.loads(told)["streams"][0], indent=2, ensure_ascii=False) + "\n"
    assert words[:2] == ["toolstream", "inspect"]
    assert told == printed


def test_the_page_has_every_option(inspect: Inspect) -> None:
    """In its table; `--help` says them too."""
    options = set(re.findall(r"--[a-z-]+", "".join(inspect("--help")))) - {"--help"}
    section = PAGE.partition("## `toolstream repair`")[0]
    assert options == set(re.findall(r"--[a-z-]+", "".join(re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE))))


def test_the_page_names_every_protocol() -> None:
    """That a file can be read as."""
    section = PAGE.partition("## `toolstream repair`")[0]
    [row] = re.findall(r"^\| `--protocol NAME` .*$", section, re.MULTILINE)
    assert [one.name for one in PROTOCOLS if f"`{one.name}`" not in row] == []


def test_ignored_findings_are_printed_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither where they show nor at the end."""
    flow = str(ROOT / "flows" / "openclaw-empty-ids.flow")
    assert main(["inspect", "--chunks", "--ignore", "empty-id", flow]) == 0
    printed = capsys.readouterr().out
    assert "TS102" not in printed
    assert "TS112" in printed


def test_objects_in_a_file_have_no_missing_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the text too."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    path = tmp_path / "log.txt"
    path.write_text("".join(f"chunk {json.dumps(one)}\n" for one in (chunk, last)))
    assert main(["inspect", "--chunks", str(path)]) == 0
    assert "missing-done" not in capsys.readouterr().out
