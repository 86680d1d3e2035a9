from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.cli.main import main
from toolstream_core.saved import bare
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.files import responses

if TYPE_CHECKING:
    from pathlib import Path


CALL = '{"index":0,"id":"c","function":{"name":"ls","arguments":""}}'
BODY = (
    f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{CALL}]}},"finish_reason":"tool_calls"}}]}}\n\n'
    "data: [DONE]\n\n"
).encode()
ASKED = json.dumps(
    {"model": "m", "messages": [], "stream": True, "tools": [{"type": "function", "function": {"name": "ls"}}]}
).encode()
ONE = Exchange.of(
    source="x",
    url="https://api.example.com/v1/chat/completions",
    request_headers=(("content-type", "application/json"), ("a", "1"), ("a", "2")),
    request_body=ASKED,
    status=201,
    reason="Created",
    response_headers=(("content-type", "text/event-stream"),),
    body=BODY,
    began=1.5,
    table=((0, 5), (3, len(BODY) - 5)),
    broken="reset",
)


def put(folder: Path, files: dict[str, Any]) -> Path:
    """A folder with these files."""
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return folder


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """All that an interaction has, and both bodies to the byte."""
    files = bare.files_of(ONE)
    assert (files["request.json"], files["response.sse"]) == (ASKED, BODY)
    assert json.loads(files["request-headers.json"]) == {"content-type": "application/json", "a": ["1", "2"]}
    response = bare.response_in(put(tmp_path, files))
    assert response == tmp_path / "response.sse"
    assert bare.read(response, "x") == ONE


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("application/x-ndjson", "response.ndjson"),
        ("application/jsonl", "response.ndjson"),
        ("application/json; charset=utf-8", "response.json"),
        ("", "response.json"),
    ],
)
def test_the_answer_is_called_by_its_kind(kind: str, name: str) -> None:
    """As its content type says."""
    headers = (("Content-Type", kind),)
    assert name in bare.files_of(Exchange.of(source="x", url="", body=b"{}", response_headers=headers))


def test_a_request_and_an_answer_are_enough(tmp_path: Path) -> None:
    """As most projects have them."""
    folder = put(tmp_path, {"request.json": ASKED, "response.sse": BODY})
    one = bare.read(folder / "response.sse", "x")
    assert (one.facts.status, one.url, one.broken, one.began) == (200, "", None, 0)
    assert one.facts.content_type == "text/event-stream"
    assert one.facts.request["model"] == "m"


def test_inspect_reads_the_request_beside_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its tools are evidence: empty arguments mean `{}` for one that requires nothing."""
    put(tmp_path, {"request.json": ASKED, "response.sse": BODY, "response-headers.json": {}, "manifest.json": {}})
    assert main(["inspect", "--format", "json", "--exit-zero", str(tmp_path)]) == 0
    [stream] = json.loads(capsys.readouterr().out)["streams"]
    assert stream["source"] == str(tmp_path / "response.sse")
    assert stream["calls"][0]["arguments"] == "{}"


@pytest.mark.parametrize(
    "files", [{"response.sse": BODY}, {"request.json": ASKED}, {"request.json": {}, "a.sse": BODY}]
)
def test_other_folders_are_not_of_this_layout(tmp_path: Path, files: dict[str, Any]) -> None:
    """Their files are read one by one."""
    folder = put(tmp_path, files)
    assert bare.response_in(folder) is None
    for path in folder.iterdir():
        assert not bare.belongs(path)
        assert not bare.is_response(path)
        assert len(list(responses(str(path)))) == 1


def test_an_address_that_is_none_is_no_error() -> None:
    """Foreign text."""
    one = Exchange.of(source="x", url="http://[broken", body=b"")
    assert (one.facts.host, one.facts.path) == ("", "")
