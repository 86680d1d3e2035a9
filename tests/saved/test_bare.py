from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.cli.main import main
from toolstream_core.saved import bare
from toolstream_core.saved.exchange import Exchange, timed
from toolstream_core.saved.files import responses

if TYPE_CHECKING:
    from pathlib import Path


CALL = '{"index":0,"id":"c","function":{"name":"ls","arguments":""}}'
BODY = (
    f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{CALL}]}},"finish_reason":"tool_calls"}}]}}\n\n'
    "data: [DONE]\n\n"
).encode()
REQUEST = json.dumps(
    {"model": "m", "messages": [], "stream": True, "tools": [{"type": "function", "function": {"name": "ls"}}]}
).encode()
EXCHANGE = Exchange.of(
    source="x",
    url="https://api.example.com/v1/chat/completions",
    request_headers=(("content-type", "application/json"), ("a", "1"), ("a", "2")),
    request_body=REQUEST,
    status=201,
    reason="Created",
    response_headers=(("content-type", "text/event-stream"),),
    chunks=timed(BODY, [(0, 5), (3, len(BODY) - 5)]),
    began=1.5,
    broken="reset",
)


def write_files(folder: Path, files: dict[str, Any]) -> Path:
    """Write files into a folder and return it."""
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return folder


def test_written_files_are_read_back(tmp_path: Path) -> None:
    """An exchange is read back completely, with both bodies unchanged."""
    files = bare.files_of(EXCHANGE)
    assert (files["request.json"], files["response.sse"]) == (REQUEST, BODY)
    assert json.loads(files["request-headers.json"]) == {"content-type": "application/json", "a": ["1", "2"]}
    response = bare.response_in(write_files(tmp_path, files))
    assert response == tmp_path / "response.sse"
    assert bare.read(response, "x") == EXCHANGE


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("application/x-ndjson", "response.ndjson"),
        ("application/jsonl", "response.ndjson"),
        ("application/json; charset=utf-8", "response.json"),
        ("", "response.json"),
    ],
)
def test_the_response_file_has_the_extension_of_its_content_type(content_type: str, name: str) -> None:
    """The content type decides the file name."""
    headers = (("Content-Type", content_type),)
    assert name in bare.files_of(Exchange.of(source="x", url="", body=b"{}", response_headers=headers))


def test_a_request_and_a_response_are_enough(tmp_path: Path) -> None:
    """Headers and status are optional."""
    folder = write_files(tmp_path, {"request.json": REQUEST, "response.sse": BODY})
    exchange = bare.read(folder / "response.sse", "x")
    assert (exchange.facts.status, exchange.url, exchange.broken, exchange.began) == (200, "", None, 0)
    assert exchange.facts.content_type == "text/event-stream"
    assert exchange.facts.request["model"] == "m"


def test_inspect_reads_the_request_next_to_the_response(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its tools show that empty arguments mean `{}` for a tool without required parameters."""
    write_files(
        tmp_path, {"request.json": REQUEST, "response.sse": BODY, "response-headers.json": {}, "manifest.json": {}}
    )
    assert main(["inspect", "--format", "json", "--exit-zero", str(tmp_path)]) == 0
    [stream] = json.loads(capsys.readouterr().out)["streams"]
    assert stream["source"] == str(tmp_path / "response.sse")
    assert stream["calls"][0]["arguments"] == "{}"


@pytest.mark.parametrize(
    "files", [{"response.sse": BODY}, {"request.json": REQUEST}, {"request.json": {}, "a.sse": BODY}]
)
def test_other_folders_do_not_have_this_layout(tmp_path: Path, files: dict[str, Any]) -> None:
    """The files of such a folder are read one by one."""
    folder = write_files(tmp_path, files)
    assert bare.response_in(folder) is None
    for path in folder.iterdir():
        assert not bare.belongs(path)
        assert not bare.is_response(path)
        assert len(list(responses(str(path)))) == 1


def test_an_invalid_url_is_no_error() -> None:
    """Host and path are empty."""
    exchange = Exchange.of(source="x", url="http://[broken", body=b"")
    assert (exchange.facts.host, exchange.facts.path) == ("", "")
