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

from tests.saved.flows import chat_flow
from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.flow import chunks_of
from toolstream_core.saved.read import load
from toolstream_core.saved.redact import redact, save

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
OTHER = "0123456789abcdef0123456789abcdef"
CHUNKS = [b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', b"data: [DONE]\n\n"]


def flow_with(*chunks: bytes, headers: dict[str, str] | None = None, query: str = "") -> http.HTTPFlow:
    """Return an LLM flow that was recorded in these chunks."""
    flow = chat_flow(b"".join(chunks), path=f"/v1/chat/completions{query}", headers=headers)
    sizes = [[10 * at, len(chunk)] for at, chunk in enumerate(chunks)]
    flow.metadata["toolstream"] = {"version": 1, "chunks": sizes}
    return flow


def saved_bytes(flow: http.HTTPFlow, path: Path) -> bytes:
    """Save a flow and return the bytes of the file."""
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
def test_a_secret_header_is_redacted_everywhere(header: str, tmp_path: Path) -> None:
    """The value of the header is redacted in all other places of the flow, too."""
    flow = flow_with(*CHUNKS, headers={header: f"Bearer {OTHER}"})
    flow.comment = f"used {OTHER}"
    flow.error = Error(f"refused {OTHER}")
    flow.request.headers["referer"] = f"https://x.example/?k={OTHER}"
    clean = redact(flow)
    assert clean.request.headers[header].removeprefix("Bearer ").strip("*") == ""
    assert len(clean.request.headers[header]) == len(f"Bearer {OTHER}")
    assert OTHER.encode() not in saved_bytes(flow, tmp_path)


def test_secret_response_headers_are_redacted(tmp_path: Path) -> None:
    """Trailers are redacted, too."""
    flow = flow_with(*CHUNKS)
    assert flow.response
    flow.response.headers["set-cookie"] = f"session={OTHER}"
    flow.response.trailers = http.Headers(x_token=OTHER)
    assert OTHER.encode() not in saved_bytes(flow, tmp_path)


def test_secret_query_parameters_are_redacted() -> None:
    """The rest of the URL does not change."""
    clean = redact(flow_with(*CHUNKS, query=f"?alt=sse&key={OTHER}&api_key=ab&q=a%20b&access_token=cd"))
    query = clean.request.path.partition("?")[2]
    assert query == f"alt=sse&key={'*' * len(OTHER)}&api_key=**&q=a%20b&access_token=**"


def test_keys_in_bodies_are_redacted(tmp_path: Path) -> None:
    """Request and response bodies are redacted."""
    flow = flow_with(b"data: " + SECRET.encode() + b"\n\n", CHUNKS[1])
    flow.request.text = json.dumps({"model": "m", "messages": [{"role": "user", "content": SECRET}]})
    written = saved_bytes(flow, tmp_path)
    assert SECRET.encode() not in written
    assert b"*" * len(SECRET) in written


def test_redaction_keeps_the_chunks() -> None:
    """Redacted text has the same length, and times do not change."""
    flow = flow_with(CHUNKS[0], b"data: " + SECRET.encode() + b"\n\n", CHUNKS[1])
    clean = redact(flow)
    assert [tuple(chunk) for chunk in chunks_of(clean)] == [
        (0, CHUNKS[0]),
        (10, b"data: " + b"*" * len(SECRET) + b"\n\n"),
        (20, CHUNKS[1]),
    ]


def test_a_secret_across_two_chunks_is_redacted() -> None:
    """The chunks keep their lengths."""
    secret = SECRET.encode()
    clean = redact(flow_with(b"data: " + secret[:9], secret[9:] + b"\n\n", CHUNKS[1]))
    assert [tuple(chunk) for chunk in chunks_of(clean)] == [
        (0, b"data: " + b"*" * 9),
        (10, b"*" * (len(secret) - 9) + b"\n\n"),
        (20, CHUNKS[1]),
    ]


def test_a_compressed_body_is_redacted() -> None:
    """A redacted body is saved decompressed; a body without secrets stays compressed."""
    coded = gzip.compress(b"data: " + SECRET.encode() + b"\n\n")
    flow = flow_with(coded[:20], coded[20:])
    assert flow.response
    flow.response.headers["content-encoding"] = "gzip"
    clean = redact(flow)
    assert clean.response
    assert clean.response.raw_content == b"data: " + b"*" * len(SECRET) + b"\n\n"
    assert "content-encoding" not in clean.response.headers
    flow.response.raw_content = harmless = gzip.compress(CHUNKS[1])
    kept = redact(flow)
    assert kept.response
    assert kept.response.raw_content == harmless
    assert kept.response.headers["content-encoding"] == "gzip"


def test_an_undecodable_body_is_removed() -> None:
    """It may contain a secret."""
    flow = flow_with(b"not gzip " + OTHER.encode())
    assert flow.response
    flow.response.headers["content-encoding"] = "gzip"
    flow.request.headers["content-encoding"] = "gzip"
    flow.request.raw_content = b"not gzip either " + OTHER.encode()
    clean = redact(flow)
    assert clean.response
    assert (clean.response.raw_content, clean.request.raw_content) == (b"", b"")


def test_other_data_of_mitmproxy_is_removed(tmp_path: Path) -> None:
    """The flow before an edit, WebSocket messages and the proxy's password are not saved."""
    flow = flow_with(*CHUNKS)
    flow.backup()
    flow.request.text = "edited"
    flow.metadata["proxyauth"] = ("user", OTHER)
    assert OTHER.encode() not in saved_bytes(flow, tmp_path)
    flow = flow_with(*CHUNKS, headers={"x-note": "old"})
    flow.request.headers["x-note"] = SECRET
    flow.backup()
    flow.request.headers["x-note"] = "new"
    assert SECRET.encode() not in saved_bytes(flow, tmp_path)
    socket = tflow.twebsocketflow()
    assert socket.websocket
    socket.websocket.messages[0].content = SECRET.encode()
    assert SECRET.encode() not in saved_bytes(socket, tmp_path)


def test_a_flow_without_secrets_is_saved_unchanged(tmp_path: Path) -> None:
    """Id, request, response and chunks are equal, and the flow in memory does not change."""
    flow = flow_with(*CHUNKS)
    before = flow.get_state()
    save([flow], tmp_path / "x.flow")
    assert flow.get_state() == before
    with (tmp_path / "x.flow").open("rb") as file:
        [read] = FlowReader(file).stream()
    assert isinstance(read, http.HTTPFlow)
    for part in ("id", "request", "response", "metadata"):
        assert read.get_state()[part] == before[part]
    [fixture] = load(tmp_path / "x.flow")
    assert [chunk.data for chunk in fixture.chunks] == CHUNKS


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has these modes")
def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """The mode of an existing file is changed, too."""
    path = tmp_path / "x.flow"
    path.write_text("before")
    path.chmod(0o644)
    save([flow_with(*CHUNKS)], path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    save([], path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """The reader of a pipe gets all bytes; an existing file is replaced only on demand."""
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


def test_an_error_of_a_write_names_the_file(tmp_path: Path) -> None:
    """Not its temporary name, and not nothing."""
    path = tmp_path / "no" / "such.json"
    with pytest.raises(FileNotFoundError) as raised:
        write_atomic(path, b"")
    assert raised.value.filename == str(path)
