from __future__ import annotations

import gzip
import json
import os
import stat
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.io import FlowReader
from mitmproxy.test import tflow

from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.flow import chunks_of
from toolstream_core.saved.read import load
from toolstream_core.saved.redact import redact, save

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
OTHER = "0123456789abcdef0123456789abcdef"
PIECES = [b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', b"data: [DONE]\n\n"]


def flow_with(*pieces: bytes, headers: dict[str, str] | None = None, query: str = "") -> http.HTTPFlow:
    """An LLM's flow that was recorded in these pieces."""
    flow = tflow.tflow(resp=True)
    assert flow.response
    body = json.dumps({"model": "m", "messages": [], "stream": True})
    url = f"https://llm.example.com/v1/chat/completions{query}"
    flow.request = http.Request.make("POST", url, body)
    flow.request.headers.update(headers or {})
    flow.response.headers = http.Headers(content_type="text/event-stream")
    flow.response.raw_content = b"".join(pieces)
    sizes = [[10 * at, len(piece)] for at, piece in enumerate(pieces)]
    flow.metadata["toolstream"] = {"version": 1, "chunks": sizes}
    return flow


def bytes_of(flow: http.HTTPFlow, path: Path) -> bytes:
    """What is written for a flow."""
    save([flow], path / "x.flow")
    return (path / "x.flow").read_bytes()


@pytest.mark.parametrize(
    "header",
    [
        "Authorization",
        "X-Api-Key",
        "api-key",
        "x-goog-api-key",
        "Cookie",
        "proxy-authorization",
        "x-functions-key",
        "x-amz-security-token",
        "my-secret",
    ],
)
def test_secret_headers_keep_their_name_alone(header: str, tmp_path: Path) -> None:
    """And their value is gone wherever else it was said, in whatever form."""
    flow = flow_with(*PIECES, headers={header: f"Bearer {OTHER}"})
    flow.comment = f"used {OTHER}"
    flow.error = Error(f"refused {OTHER}")
    flow.request.headers["referer"] = f"https://x.example/?k={OTHER}"
    clean = redact(flow)
    assert clean.request.headers[header].removeprefix("Bearer ").strip("*") == ""
    assert len(clean.request.headers[header]) == len(f"Bearer {OTHER}")
    assert OTHER.encode() not in bytes_of(flow, tmp_path)


def test_secret_answers_headers_go_too(tmp_path: Path) -> None:
    """Trailers as well."""
    flow = flow_with(*PIECES)
    assert flow.response
    flow.response.headers["set-cookie"] = f"session={OTHER}"
    flow.response.trailers = http.Headers(x_token=OTHER)
    assert OTHER.encode() not in bytes_of(flow, tmp_path)


def test_secret_parameters_keep_their_name_alone() -> None:
    """The rest of the address stays as it was, byte for byte."""
    clean = redact(flow_with(*PIECES, query=f"?alt=sse&key={OTHER}&api_key=ab&q=a%20b&access_token=cd"))
    query = clean.request.path.partition("?")[2]
    assert query == f"alt=sse&key={'*' * len(OTHER)}&api_key=**&q=a%20b&access_token=**"


def test_what_looks_like_a_key_is_gone_from_bodies(tmp_path: Path) -> None:
    """Of requests and of answers."""
    flow = flow_with(b"data: " + SECRET.encode() + b"\n\n", PIECES[1])
    flow.request.text = json.dumps({"model": "m", "messages": [{"role": "user", "content": SECRET}]})
    written = bytes_of(flow, tmp_path)
    assert SECRET.encode() not in written
    assert b"*" * len(SECRET) in written


def test_the_table_of_chunks_fits_the_clean_body() -> None:
    """What was hidden is as long as it was; times stay."""
    flow = flow_with(PIECES[0], b"data: " + SECRET.encode() + b"\n\n", PIECES[1])
    clean = redact(flow)
    assert [tuple(chunk) for chunk in chunks_of(clean)] == [
        (0, PIECES[0]),
        (10, b"data: " + b"*" * len(SECRET) + b"\n\n"),
        (20, PIECES[1]),
    ]


def test_a_secret_across_a_cut_is_gone_too() -> None:
    """And the cut stays."""
    secret = SECRET.encode()
    clean = redact(flow_with(b"data: " + secret[:9], secret[9:] + b"\n\n", PIECES[1]))
    assert [tuple(chunk) for chunk in chunks_of(clean)] == [
        (0, b"data: " + b"*" * 9),
        (10, b"*" * (len(secret) - 9) + b"\n\n"),
        (20, PIECES[1]),
    ]


def test_a_coded_body_is_looked_through() -> None:
    """It is saved without its coding where something had to go, and as it came where nothing had."""
    coded = gzip.compress(b"data: " + SECRET.encode() + b"\n\n")
    flow = flow_with(coded[:20], coded[20:])
    assert flow.response
    flow.response.headers["content-encoding"] = "gzip"
    clean = redact(flow)
    assert clean.response
    assert clean.response.raw_content == b"data: " + b"*" * len(SECRET) + b"\n\n"
    assert "content-encoding" not in clean.response.headers
    flow.response.raw_content = harmless = gzip.compress(PIECES[1])
    kept = redact(flow)
    assert kept.response
    assert kept.response.raw_content == harmless
    assert kept.response.headers["content-encoding"] == "gzip"


def test_what_cannot_be_looked_through_is_emptied() -> None:
    """A broken coding may hide anything."""
    flow = flow_with(b"not gzip " + OTHER.encode())
    assert flow.response
    flow.response.headers["content-encoding"] = "gzip"
    flow.request.headers["content-encoding"] = "gzip"
    flow.request.raw_content = b"not gzip either " + OTHER.encode()
    clean = redact(flow)
    assert clean.response
    assert (clean.response.raw_content, clean.request.raw_content) == (b"", b"")


def test_what_mitmproxy_keeps_aside_is_left_out(tmp_path: Path) -> None:
    """The flow before it was edited, WebSocket messages, the proxy's own password."""
    flow = flow_with(*PIECES)
    flow.backup()
    flow.request.text = "edited"
    flow.metadata["proxyauth"] = ("user", OTHER)
    assert OTHER.encode() not in bytes_of(flow, tmp_path)
    flow = flow_with(*PIECES, headers={"x-note": "old"})
    flow.request.headers["x-note"] = SECRET
    flow.backup()
    flow.request.headers["x-note"] = "new"
    assert SECRET.encode() not in bytes_of(flow, tmp_path)
    talking = tflow.twebsocketflow()
    assert talking.websocket
    talking.websocket.messages[0].content = SECRET.encode()
    assert SECRET.encode() not in bytes_of(talking, tmp_path)


def test_a_flow_without_secrets_is_saved_as_it_is(tmp_path: Path) -> None:
    """Same id, request, answer, chunks; and the flow at hand is not touched."""
    flow = flow_with(*PIECES)
    before = flow.get_state()
    save([flow], tmp_path / "x.flow")
    assert flow.get_state() == before
    with (tmp_path / "x.flow").open("rb") as file:
        [read] = FlowReader(file).stream()
    assert isinstance(read, http.HTTPFlow)
    for part in ("id", "request", "response", "metadata"):
        assert read.get_state()[part] == before[part]
    [fixture] = load(tmp_path / "x.flow")
    assert [chunk.data for chunk in fixture.chunks] == PIECES


@pytest.mark.skipif(os.name != "posix", reason="modes are a thing of POSIX")
def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Also where one was there before."""
    path = tmp_path / "x.flow"
    path.write_text("before")
    path.chmod(0o644)
    save([flow_with(*PIECES)], path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    save([], path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A pipe stays one, and its reader gets all; a file is replaced only on demand."""
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, b"whole")
        assert os.read(reader, 100) == b"whole"
    finally:
        os.close(reader)
    file.write_bytes(b"before")
    with pytest.raises(FileExistsError):
        write_atomic(file, b"whole")
    assert (file.read_bytes(), {*tmp_path.iterdir()}) == (b"before", {pipe, file})
    write_atomic(file, b"whole", replace=True)
    assert file.read_bytes() == b"whole"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
