from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.saved.flows import chat_flow, save_private, text_event
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

KEY = "c3" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a clean flow, a flow with a secret and a hidden file."""
    save_private(tmp_path / "clean.flow", chat_flow(text_event("hello")))
    save_private(
        tmp_path / "open.flow",
        chat_flow(text_event("hello")),
        chat_flow(text_event("hello"), headers={"x-api-key": KEY}),
    )
    (tmp_path / ".env").write_text(f"API_KEY={KEY}")
    return tmp_path


def test_a_secret_fails_the_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report has the file, the flow, the header and the fix, but not the secret."""
    assert main(["doctor", str(folder)]) == 1
    output = capsys.readouterr().out
    assert "open.flow#1: request header x-api-key: secret" in output
    assert "--fix" in output
    assert "2 files, 1 problem" in output
    assert KEY[:8] not in output


@pytest.mark.parametrize("name", ["Sec-WebSocket-Key", "sec-websocket-key", "SEC-WEBSOCKET-KEY"])
def test_the_nonce_of_a_handshake_is_no_secret(tmp_path: Path, name: str) -> None:
    """It is no credential (https://www.rfc-editor.org/rfc/rfc6455#section-4.1)."""
    flow = chat_flow(text_event("hello"))
    flow.request.headers[name] = "dGhlIHNhbXBsZSBub25jZQ=="
    save_private(tmp_path / "socket.flow", flow)
    assert main(["doctor", str(tmp_path / "socket.flow")]) == 0


def test_a_clean_file_passes(folder: Path) -> None:
    assert main(["doctor", str(folder / "clean.flow")]) == 0


def test_fix_redacts_the_flow_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next run finds no secret."""
    assert main(["doctor", "--fix", str(folder)]) == 0
    assert "rewritten without secrets" in capsys.readouterr().out
    assert KEY.encode() not in (folder / "open.flow").read_bytes()
    assert main(["doctor", str(folder)]) == 0


def test_the_json_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The document has the same problems."""
    assert main(["doctor", "--format", "json", str(folder)]) == 1
    document = json.loads(capsys.readouterr().out)
    [problem] = document["problems"]
    assert (document["version"], problem["kind"], problem["flow"]) == (1, "secret", 1)


def test_additional_secrets(folder: Path) -> None:
    """`--secret` takes the name of a header, parameter or field, or a regular expression."""
    path = save_private(folder / "x.flow", chat_flow(text_event("hello Mallory"), headers={"x-flavour": "acme"}))
    assert main(["doctor", str(path)]) == 0
    assert main(["doctor", "--secret", "x-flavour", str(path)]) == 1
    assert main(["doctor", "--secret", "/Mallory/", str(path)]) == 1


@pytest.mark.parametrize("words", [["nowhere.flow"], ["--secret", "/(/", "."]])
def test_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line, and the exit code is 2."""
    assert main(["doctor", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


HAR = {
    "log": {
        "entries": [
            {
                "request": {
                    "method": "POST",
                    "url": "https://x.example/v1/chat/completions",
                    "headers": [{"name": "authorization", "value": f"Bearer sk-proj-{KEY}"}],
                    "postData": {"text": '{"model":"m","stream":true,"messages":[]}'},
                },
                "response": {
                    "status": 200,
                    "content": {"mimeType": "text/event-stream", "text": text_event("hello").decode()},
                },
            }
        ]
    }
}


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [
        ("leak.txt", f"API_KEY=sk-proj-{KEY}", "by hand"),
        ("leak.json", json.dumps({"api_key": f"sk-proj-{KEY}"}), "by hand"),
        ("leak.har", json.dumps(HAR), "toolstream extract"),
    ],
)
def test_only_a_command_that_can_read_the_file_is_advised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, advice: str
) -> None:
    """`--fix` names the files that it cannot rewrite and does not change them."""
    path = tmp_path / name
    path.write_text(text)
    path.chmod(0o600)
    assert main(["doctor", str(path)]) == 1
    output = capsys.readouterr().out
    assert advice in output
    assert ("toolstream extract" in output) == (main(["extract", str(path), "-o", str(tmp_path / "out")]) == 0)
    capsys.readouterr()
    assert main(["doctor", "--fix", str(path)]) == 1
    assert f"{path} was not changed" in capsys.readouterr().err
    assert path.read_text() == text


def test_fix_is_not_advised_for_a_truncated_flow_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The complete flows of the file can be extracted."""
    path = save_private(
        tmp_path / "cut.flow",
        chat_flow(text_event("hello"), headers={"x-api-key": KEY}),
        chat_flow(text_event("hello")),
    )
    path.write_bytes(path.read_bytes()[:-20])
    before = path.read_bytes()
    assert main(["doctor", "--fix", str(path)]) == 1
    output = capsys.readouterr()
    assert "doctor --fix" not in output.out
    assert "toolstream extract" in output.out
    assert "was not changed" in output.err
    assert path.read_bytes() == before
