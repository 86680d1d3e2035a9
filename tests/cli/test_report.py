"""`toolstream report`: its content, and that its commands work."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.conftest import FLOWS
from tests.proxy.flows import flow_file
from tests.saved.unwrap import wrappers
from tests.saved.unwrap.test_reading import bare
from toolstream_core.cli.main import main
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.flow import flow_of

FLOW = FLOWS / "deepseek-empty-id.flow"


def block(report: str, language: str) -> str:
    """Return the code block in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", report, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_a_report_is_reproducible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output and a private file get the same text, and `--select` narrows it."""
    assert main(["report", str(FLOW)]) == 0
    report = capsys.readouterr().out
    assert main(["report", str(FLOW), "--select", "TS102", "-o", str(tmp_path / "r.md")]) == 0
    assert (tmp_path / "r.md").read_text() == report
    assert (tmp_path / "r.md").stat().st_mode & 0o777 == 0o600
    assert str(tmp_path) not in report
    assert main(["report", str(FLOW), "--select", "missing-id"]) == 2
    assert "no missing-id in " in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.flow")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["report", __file__]) == 2
    assert "LLM" in capsys.readouterr().err


def test_unknown_facts_of_a_bare_body(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Provider, status and time of a bare body are unknown."""
    body = tmp_path / "pasted.sse"
    body.write_bytes(bare("openai-chat-parallel"))
    assert main(["report", str(body)]) == 0
    head = capsys.readouterr().out.partition("## What is wrong")[0]
    assert "| provider | `(unknown)` |" in head
    assert "| recorded | (unknown); " in head
    assert "HTTP" not in head
    assert "api.openai.com" not in head
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out.partition("## What is wrong")[0] == head


def test_a_report_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is that of `toolstream view`, narrowed by `--select`."""
    page = tmp_path / "page.html"
    assert main(["report", str(FLOW), "--format", "html", "-o", str(page), "--select", "TS102"]) == 0
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    (response,) = json.loads(found[1])["responses"]
    assert {finding["code"] for finding in response["findings"]} == {"TS102"}
    assert main(["report", str(FLOW), "--format", "html", "-o", str(tmp_path / "none"), "--select", "missing-id"]) == 2
    assert "no missing-id in " in capsys.readouterr().err
    assert main(["report", str(FLOW), "--format", "html"]) == 2
    assert "missing -o FILE. Expected, for example: toolstream report " in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_a_report_on_pasted_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The input may be pasted text."""
    path = tmp_path / "paste.md"
    path.write_bytes(wrappers.BOTH["fence"](bare("glm-5")))
    assert main(["report", str(path)]) == 0
    assert "web_search" in capsys.readouterr().out


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_a_report_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The server responds and the test passes in an empty folder with the flow."""
    shutil.copy(FLOW, tmp_path)
    assert main(["report", str(FLOW)]) == 0
    report = capsys.readouterr().out
    path_with_python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = block(report, "sh").replace("8642", str(free_port())) + "\nkill %1\n"
    result = subprocess.run(
        ["bash", "-m", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": path_with_python, "no_proxy": "*"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b'"id":""' in result.stdout, result.stderr
    (tmp_path / "test_it.py").write_text(block(report, "python"))
    installed = bool(entry_points(group="pytest11", name="toolstream"))
    plugin = [] if installed else ["-p", "toolstream_core.pytest_plugin"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"1 passed" in result.stdout, result.stdout.decode()


def test_no_secret_is_in_a_report_or_a_shrunk_flow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Secrets in headers, query and request are redacted, also across two deltas of the response."""
    key, token = "sk-proj-" + "Zq3v" * 10, "planted-cookie-7781239"
    first, second = f'{{"cmd":"curl -H Authorization:{key[:20]}', f'{key[20:]}"}}'
    deltas = [
        {"index": 0, "id": "call_1", "type": "function", "function": {"name": "run", "arguments": first}},
        {"index": 0, "id": "", "function": {"arguments": second}},
    ]
    choices = [{"index": 0, "delta": {"tool_calls": [delta]}} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    events = [json.dumps({"object": "chat.completion.chunk", "choices": [choice]}) for choice in choices]
    request = {"model": "m", "stream": True, "messages": [{"role": "user", "content": f"my key is {key}"}]}
    flow = flow_of(
        Exchange.of(
            source="x",
            url=f"https://api.example.com/v1/chat/completions?api_key={token}",
            request_headers=(("authorization", f"Bearer {key}"), ("cookie", f"session={token}")),
            request_body=json.dumps(request).encode(),
            response_headers=(("content-type", "text/event-stream"),),
            body="".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode(),
        )
    )
    raw = tmp_path / "raw.flow"
    raw.write_bytes(flow_file(flow))
    small = tmp_path / "small.flow"
    assert main(["shrink", str(raw), "--select", "empty-id", "-o", str(small), "--quiet"]) == 0
    for path in (raw, small):
        assert main(["report", str(path), "-o", str(path.with_suffix(".md"))]) == 0
    written = [path.read_bytes() for path in tmp_path.iterdir() if path != raw]
    written.append("".join(capsys.readouterr()).encode())
    assert len(written) == 5
    for secret in (key, key[:20], key[20:], token):
        assert not any(secret.encode() in data for data in written)
