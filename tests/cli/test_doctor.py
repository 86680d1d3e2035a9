from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.test_examination import event, flow_of, write
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

KEY = "c3" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clean flow, one with a secret, and a hidden file nobody looks at."""
    write(tmp_path / "clean.flow", flow_of(event("hello")))
    write(tmp_path / "open.flow", flow_of(event("hello")), flow_of(event("hello"), x_api_key=KEY))
    (tmp_path / ".env").write_text(f"API_KEY={KEY}")
    return tmp_path


def test_a_secret_fails_the_check_and_is_not_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, flow, header, what to do."""
    assert main(["doctor", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "open.flow#1: request header x-api-key: secret" in told
    assert "--fix" in told
    assert "2 files, 1 problem" in told
    assert KEY[:8] not in told


@pytest.mark.parametrize("name", ["Sec-WebSocket-Key", "sec-websocket-key", "SEC-WEBSOCKET-KEY"])
def test_the_nonce_of_a_handshake_is_no_secret(tmp_path: Path, name: str) -> None:
    """https://www.rfc-editor.org/rfc/rfc6455#section-4.1; nobody can revoke it."""
    flow = flow_of(event("hello"))
    flow.request.headers[name] = "dGhlIHNhbXBsZSBub25jZQ=="
    write(tmp_path / "socket.flow", flow)
    assert main(["doctor", str(tmp_path / "socket.flow")]) == 0


def test_what_is_clean_passes(folder: Path) -> None:
    """Nothing found."""
    assert main(["doctor", str(folder / "clean.flow")]) == 0


def test_fix_redacts_the_flow_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The next run finds nothing."""
    assert main(["doctor", "--fix", str(folder)]) == 0
    assert "written again" in capsys.readouterr().out
    assert KEY.encode() not in (folder / "open.flow").read_bytes()
    assert main(["doctor", str(folder)]) == 0


def test_json_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For scripts."""
    assert main(["doctor", "--format", "json", str(folder)]) == 1
    document = json.loads(capsys.readouterr().out)
    [problem] = document["problems"]
    assert (document["version"], problem["kind"], problem["flow"]) == (1, "secret", 1)


def test_further_secrets_have_names_and_patterns(folder: Path) -> None:
    """Of headers, parameters, fields; or expressions."""
    path = write(folder / "x.flow", flow_of(event("hello Mallory"), x_flavour="acme"))
    assert main(["doctor", str(path)]) == 0
    assert main(["doctor", "--secret", "x-flavour", str(path)]) == 1
    assert main(["doctor", "--secret", "/Mallory/", str(path)]) == 1


@pytest.mark.parametrize("words", [["nowhere.flow"], ["--secret", "/(/", "."]])
def test_a_wrong_question_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2."""
    assert main(["doctor", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
