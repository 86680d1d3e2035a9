from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import flow

from tests.cli.inspected import GLM, Inspect, body, run, save
from tests.cli.processes import environment, toolstream
from tests.conftest import FLOWS, ROOT, needs_shared
from tests.proxy.flows import flows_in
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SAVED = sorted(FLOWS.glob("*.flow"))


FINDINGS = {
    "deepseek-empty-id": [["empty-id"], []],
    "openclaw-empty-ids": [["empty-id", "empty-name"], []],
    "openrouter-no-deltas": [["missing-calls"], [], []],
}
"""The findings of the responses in flows with defects."""


@pytest.mark.parametrize("path", SAVED, ids=[path.stem for path in SAVED])
def test_saved_flows_are_read_as_expected(inspect: Inspect, path: Path) -> None:
    """Each flow has the values of its `.expect.json`."""
    streams = inspect.streams(path, "--exit-zero")
    expected = json.loads(path.with_suffix(".expect.json").read_text())["answers"]
    assert [stream["source"] for stream in streams] == [f"{path}#{number}" for number in range(len(expected))]
    for at, (stream, response) in enumerate(zip(streams, expected, strict=True)):
        calls = [
            {key: call[key] for key in calls} for call, calls in zip(stream["calls"], response["calls"], strict=True)
        ]
        findings = [
            {key: finding[key] for key in fields}
            for finding, fields in zip(stream["findings"], response["findings"], strict=True)
        ]
        assert {**stream, "calls": calls, "findings": findings} == {**stream, **response}
        assert [finding["name"] for finding in stream["findings"]] == FINDINGS.get(path.stem, [[], []])[at]


@pytest.mark.parametrize("name", ["a.sse", "a.txt", "a.json", "a", "a.sse.gz", "a.har", "a.flow", "a.har.gz"])
def test_each_file_format_gives_the_same_stream(inspect: Inspect, tmp_path: Path, name: str) -> None:
    """The content decides the format."""
    data = body()
    if ".har" in name:
        response = {"status": 200, "content": {"mimeType": "text/event-stream", "text": data.decode()}}
        request = {"method": "POST", "url": "https://openrouter.ai/api/v1/chat/completions"}
        data = json.dumps({"log": {"entries": [{"request": request, "response": response}]}}).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    if name.endswith(".flow"):
        save(tmp_path / name, flows_in(GLM)[0])
    [stream] = inspect.streams(tmp_path / name)
    [expected, _] = inspect.streams(GLM)
    varying = ("source", "host", "verdict")  # a bare body has no next request
    assert {key: stream[key] for key in stream if key not in varying} == {
        key: expected[key] for key in expected if key not in varying
    }
    assert stream["source"] == f"{tmp_path / name}{'#0' if '.har' in name or '.flow' in name else ''}"


def test_standard_input_is_a_body() -> None:
    """A single body is printed chunk by chunk."""
    done = run("-", stdin=body())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"#1 - z-ai/glm-5-20260211 openai-chat\n#1         event 0    call 0  id=")


def test_standard_input_is_printed_live() -> None:
    """With `curl --no-buffer … | toolstream inspect -`, an event is printed before the next is sent."""
    first, *others = re.split(rb"(?<=\n\n)", body())
    with subprocess.Popen(
        toolstream("inspect", "-"), cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first)
        process.stdin.flush()
        assert process.stdout.readline() == b"#1 - z-ai/glm-5-20260211 openai-chat\n"
        assert b"event 0" in process.stdout.readline()
        process.stdin.write(b"".join(others))
        process.stdin.close()
        assert b"event 1" in process.stdout.readline()
        process.stdout.read()
    assert process.returncode == 0


def test_unreadable_files_do_not_affect_others(inspect: Inspect, tmp_path: Path) -> None:
    """Each error is printed in its place, and the exit code is 2."""
    save(tmp_path / "cut.flow", *flows_in(GLM))
    complete = (tmp_path / "cut.flow").read_bytes()
    (tmp_path / "cut.flow").write_bytes(complete[:-20])
    streams = inspect.streams(tmp_path / "missing.sse", tmp_path / "cut.flow", GLM, code=2)
    assert [stream["source"] for stream in streams] == [f"{tmp_path}/cut.flow#0", f"{GLM}#0", f"{GLM}#1"]
    missing, truncated = inspect.err.splitlines()
    assert missing == f"toolstream: {tmp_path}/missing.sse cannot be read: No such file or directory"
    assert truncated.startswith(
        f"toolstream: {tmp_path}/cut.flow is a damaged or truncated mitmproxy flow file: unreadable after flow 0"
    )


@pytest.mark.parametrize("name", ["a.flow", "a.har", "a.mitm"])
def test_an_empty_file_is_an_error(inspect: Inspect, tmp_path: Path, name: str) -> None:
    """Its content was lost."""
    (tmp_path / name).touch()
    assert inspect(tmp_path / name, code=2) == []
    assert inspect.err == f"toolstream: {tmp_path / name} is empty\n"


def test_an_unsaved_body_is_an_error(inspect: Inspect, tmp_path: Path) -> None:
    """The error names the option that saves bodies."""
    response_flow = flows_in(GLM)[0]
    assert response_flow.response is not None
    response_flow.response.raw_content = None
    path = save(tmp_path / "a.flow", response_flow)
    assert inspect(path, code=2) == []
    assert inspect.err == (
        f"toolstream: {path}#0 cannot be read: its body was not saved; "
        "record streams with --set store_streamed_bodies=true\n"
    )


def test_a_disconnect_is_reported(inspect: Inspect, tmp_path: Path) -> None:
    """It is in the record, and a truncated response has a finding."""
    response_flow = flows_in(GLM)[0]
    assert response_flow.response is not None
    assert response_flow.response.raw_content is not None
    response_flow.response.raw_content = response_flow.response.raw_content[:400]
    response_flow.error = flow.Error("server closed connection")
    [stream] = inspect.streams(save(tmp_path / "a.flow", response_flow), code=1)
    assert stream["broken"] == "server closed connection"
    assert "truncated-stream" in [finding["name"] for finding in stream["findings"]]


@given(st.binary(max_size=300), st.sampled_from(["a.sse", "a.json", "a.ndjson", "a.har", "a.flow", "a"]))
def test_any_bytes_give_no_traceback(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    """The file may have any name."""
    path = tmp_path_factory.mktemp("foreign") / name
    path.write_bytes(data)
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", errors)
        assert main(["inspect", str(path)]) in {0, 1, 2}
    assert "bug of toolstream" not in errors.getvalue()


def test_a_stream_with_quotes_is_not_yaml(inspect: Inspect, tmp_path: Path) -> None:
    """Events of an unknown API with a text that begins with a quote, as Replicate sends them."""
    path = tmp_path / "replicate.sse"
    path.write_text("event: output\nid: 1:0\ndata: 'Tis\n\nevent: output\nid: 1:1\ndata: \n\n", encoding="utf-8")
    assert inspect.streams(path, code=2) == []
    assert f"{path} is a stream of Replicate" in inspect.err


@needs_shared
def test_recorded_streams_are_read(inspect: Inspect, shared: Path) -> None:
    """A folder and its single files give the same valid streams."""
    folder = shared / "streams"
    streams = inspect.streams(folder, "--exit-zero")
    named = sorted(path for path in folder.rglob("*") if path.is_file())
    assert inspect.streams(*named, "--exit-zero", code=2) == streams
    assert len(streams) > 300
    errors = re.findall(r"toolstream: (.*?) (?:contains no LLM response|is a stream of \S)", inspect.err)
    sources = {stream["source"].partition("#")[0] for stream in streams}
    assert sources | set(errors) == {str(path) for path in named}
