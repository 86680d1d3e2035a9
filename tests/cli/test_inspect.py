from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import flow, http
from mitmproxy.io import FlowReader, FlowWriter

from tests.conftest import needs_shared
from toolstream_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
GLM = ROOT / "flows" / "glm-5.flow"
SCHEMA = json.loads((ROOT / "docs" / "inspect.schema.json").read_text())


def run(*words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """`toolstream inspect` as a user runs it, from the project's root."""
    return subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", "inspect", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "addon", **env},
        input=stdin,
        capture_output=True,
        check=False,
    )


class Inspect:
    """`toolstream inspect` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: object, code: int = 0) -> list[str]:
        """The lines on standard output of a run that ends with `code`."""
        assert main(["inspect", *map(str, words)]) == code
        out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        return out.splitlines()

    def streams(self, *words: object, code: int = 0) -> list[dict[str, Any]]:
        """The streams of the JSON document, which is as the schema says."""
        document = json.loads("".join(self("--format", "json", *words, code=code)))
        jsonschema.validate(document, SCHEMA)
        streams: list[dict[str, Any]] = document["streams"]
        return streams


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Inspect:
    """The command."""
    return Inspect(capsys)


def flows(path: Path) -> list[http.HTTPFlow]:
    """The flows in a file."""
    with path.open("rb") as file:
        return [one for one in FlowReader(file).stream() if isinstance(one, http.HTTPFlow)]


def body(path: Path = GLM) -> bytes:
    """The body of the first answer in a file."""
    response = flows(path)[0].response
    assert response is not None
    assert response.raw_content is not None
    return response.raw_content


def save(path: Path, *several: flow.Flow) -> Path:
    """A flow file."""
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for one in several:
            writer.add(one)
    return path


SAVED = sorted((ROOT / "flows").glob("*.flow"))


@pytest.mark.parametrize("path", SAVED, ids=[path.stem for path in SAVED])
def test_saved_flows_are_read_as_expected(inspect: Inspect, path: Path) -> None:
    """Each flow's calls, dialect, model and finish reasons, as its `.expect.json` has them."""
    streams = inspect.streams(path)
    expected = json.loads(path.with_suffix(".expect.json").read_text())
    assert [stream["source"] for stream in streams] == [f"{path}#{number}" for number in range(len(expected))]
    for stream, wanted in zip(streams, expected, strict=True):
        calls = [
            {key: call[key] for key in calls}
            for call, calls in zip(stream["calls"], wanted["calls"], strict=True)
        ]
        assert {**stream, "calls": calls} == {**stream, **wanted}
        assert stream["findings"] == []


def test_one_stream_is_told_chunk_by_chunk() -> None:
    """As the live log tells it, with the times that the flow has."""
    done = run("flows/glm-5.flow", "--chunks")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    label = "flows/glm-5.flow#0 openrouter.ai z-ai/glm-5-20260211"
    assert lines[0] == (
        f'{label} +0ms event 0  call 0: id="call_95df1cc8dabc4b959bbbc431" name="web_search" index=0 args=""'
    )
    assert re.fullmatch(rf"{label} \+\d+ms event 1  call 0: id=absent name=absent index=0 args=.*", lines[1])
    assert any(line.startswith(f"{label} call 0 web_search ") for line in lines)
    assert any(line == f"{label} openai-chat: 7 events, 1 call, finish tool_calls" for line in lines)


def test_several_streams_are_told_by_their_ends(inspect: Inspect) -> None:
    """And `--no-chunks` does the same to one."""
    lines = inspect(GLM)
    assert not any(" event " in line for line in lines)
    assert lines[-1] == "2 streams, 1 call, 0 errors, 0 warnings, 0 notes"
    assert inspect("--no-chunks", GLM) == lines


@pytest.mark.parametrize("name", ["a.sse", "a.txt", "a.json", "a", "a.sse.gz", "a.har", "a.flow", "a.har.gz"])
def test_the_same_stream_from_anywhere(inspect: Inspect, tmp_path: Path, name: str) -> None:
    """Whatever it was saved as."""
    data = body()
    if ".har" in name:
        answer = {"status": 200, "content": {"mimeType": "text/event-stream", "text": data.decode()}}
        asked = {"method": "POST", "url": "https://openrouter.ai/api/v1/chat/completions"}
        data = json.dumps({"log": {"entries": [{"request": asked, "response": answer}]}}).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    if name.endswith(".flow"):
        save(tmp_path / name, flows(GLM)[0])
    [stream] = inspect.streams(tmp_path / name)
    [wanted, _] = inspect.streams(GLM)
    own = ("source", "host")
    assert {key: stream[key] for key in stream if key not in own} == {
        key: wanted[key] for key in wanted if key not in own
    }
    assert stream["source"] == f"{tmp_path / name}{'#0' if '.har' in name or '.flow' in name else ''}"


def test_standard_input_is_a_body() -> None:
    """A single one, so it is told chunk by chunk."""
    done = run("-", stdin=body())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b'- z-ai/glm-5-20260211 event 0  call 0: id="call_')


def test_standard_input_is_told_as_it_comes() -> None:
    """`curl --no-buffer … | toolstream inspect -`: the first event is told before the second is sent."""
    first, *others = re.split(rb"(?<=\n\n)", body())
    with subprocess.Popen(
        [sys.executable, "-m", "toolstream_core.cli.main", "inspect", "-"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "addon"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first)
        process.stdin.flush()
        assert b"event 0" in process.stdout.readline()
        process.stdin.write(b"".join(others))
        process.stdin.close()
        assert b"event 1" in process.stdout.readline()
        process.stdout.read()
    assert process.returncode == 0


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
def test_a_request_that_is_none_is_told_before_anything_is_read(
    inspect: Inspect, tmp_path: Path, text: str
) -> None:
    """With what would be right."""
    (tmp_path / "request.json").write_text(text)
    assert inspect("--request", tmp_path / "request.json", GLM, code=2) == []
    assert "JSON object" in inspect.err
    assert inspect("--request", tmp_path / "missing", GLM, code=2) == []
    assert "No such file" in inspect.err


def test_a_protocol_can_be_forced(inspect: Inspect, tmp_path: Path) -> None:
    """Upon a stream that nobody recognises."""
    (tmp_path / "a.sse").write_bytes(b'data: {"foo": 1}\n\n')
    assert inspect(tmp_path / "a.sse") == []
    [stream] = inspect.streams("--dialect", "gemini", tmp_path / "a.sse", code=1)
    assert (stream["dialect"], stream["events"], stream["ended"]) == ("gemini", 1, False)
    dialects = {stream["dialect"] for stream in inspect.streams("--dialect", "anthropic", GLM, code=1)}
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
def test_findings_are_chosen(
    inspect: Inspect, tmp_path: Path, words: tuple[str, ...], names: list[str]
) -> None:
    """And only what is chosen counts for the exit code; notes never do."""
    (tmp_path / "a.sse").write_bytes(body()[:480].rstrip())
    counts = {"truncated-stream", "cut-off-call"} & set(names) and "--exit-zero" not in words
    [stream] = inspect.streams(*words, tmp_path / "a.sse", code=1 if counts else 0)
    assert [finding["name"] for finding in stream["findings"]] == names
    text = inspect(*words, tmp_path / "a.sse", code=1 if counts else 0)
    assert [name for line in text for name in names if f" {name} at event" in line] == names


def test_what_cannot_be_read_hides_nothing_else(inspect: Inspect, tmp_path: Path) -> None:
    """Each is told in its place, the others are printed, and the code is 2."""
    save(tmp_path / "cut.flow", *flows(GLM))
    whole = (tmp_path / "cut.flow").read_bytes()
    (tmp_path / "cut.flow").write_bytes(whole[:-20])
    streams = inspect.streams(tmp_path / "missing.sse", tmp_path / "cut.flow", GLM, code=2)
    assert [stream["source"] for stream in streams] == [f"{tmp_path}/cut.flow#0", f"{GLM}#0", f"{GLM}#1"]
    missing, cut = inspect.err.splitlines()
    assert missing == f"toolstream: {tmp_path}/missing.sse cannot be read: No such file or directory"
    assert cut.startswith(f"toolstream: {tmp_path}/cut.flow is no whole mitmproxy flow file, after flow 0")


def test_a_body_that_was_not_saved_is_told_with_the_remedy(inspect: Inspect, tmp_path: Path) -> None:
    """It is neither clean nor silent."""
    one = flows(GLM)[0]
    assert one.response is not None
    one.response.raw_content = None
    path = save(tmp_path / "a.flow", one)
    assert inspect(path, code=2) == []
    assert inspect.err == (
        f"toolstream: {path}#0 cannot be read: its body was not saved; "
        "record streams with --set store_streamed_bodies=true\n"
    )


def test_a_broken_connection_is_told(inspect: Inspect, tmp_path: Path) -> None:
    """In the record, and as a finding where the answer was not whole."""
    one = flows(GLM)[0]
    assert one.response is not None
    assert one.response.raw_content is not None
    one.response.raw_content = one.response.raw_content[:400]
    one.error = flow.Error("server closed connection")
    [stream] = inspect.streams(save(tmp_path / "a.flow", one), code=1)
    assert stream["broken"] == "server closed connection"
    assert "truncated-stream" in [finding["name"] for finding in stream["findings"]]


def test_no_secret_is_printed(inspect: Inspect, tmp_path: Path) -> None:
    """Neither what the request carried nor what looks like one, wherever the answer says it."""
    key, shaped = "own-key-of-the-request", "sk-abcdefghijklmnopqrstuvwxyz"
    one = flows(GLM)[0]
    assert one.response is not None
    one.request.headers["authorization"] = f"Bearer {key}"
    one.response.raw_content = re.sub(
        rb"web_search|ESP32|tool_calls(?=\")", f"{key} {shaped}".encode(), body()
    )
    one.response.raw_content = one.response.raw_content.replace(b"call_95df", f"{key}{shaped}".encode())
    path = save(tmp_path / "a.flow", one)
    for words in (("--chunks",), ("--no-chunks",), ("--format", "json")):
        printed = "".join(inspect(*words, path, code=main(["inspect", "--format", "json", str(path)])))
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


@given(st.binary(max_size=300), st.sampled_from(["a.sse", "a.json", "a.ndjson", "a.har", "a.flow", "a"]))
def test_foreign_bytes_never_make_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    """Whatever the file is called."""
    path = tmp_path_factory.mktemp("foreign") / name
    path.write_bytes(data)
    told = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", told)
        assert main(["inspect", str(path)]) in {0, 1, 2}
    assert "bug of toolstream" not in told.getvalue()


@needs_shared
def test_recorded_streams_are_read_without_complaint(inspect: Inspect, shared: Path) -> None:
    """As a folder and file by file: the same streams, none of them broken, as the schema says."""
    folder = shared / "streams"
    streams = inspect.streams(folder)
    named = sorted(path for path in folder.rglob("*") if path.is_file())
    assert inspect.streams(*named) == streams
    assert len(streams) > 300
    told = re.findall(r"no LLM stream in (.*)", inspect.err)
    assert {stream["source"] for stream in streams} | set(told) == {str(path) for path in named}
