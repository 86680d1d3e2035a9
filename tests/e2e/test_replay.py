"""Replay of saved responses: the recorded chunks, disconnects and error responses."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING

import pytest
from mitmproxy import flow as flows
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from tests.e2e.harness import samples
from tests.e2e.harness.client import BrokenOffError, Route
from tests.e2e.harness.proxies import Proxies, client
from toolstream_core.proxy.provider import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.e2e.harness.client import Reply
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.samples import Sample

pytestmark = pytest.mark.e2e

VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])
CHAT = samples.openai_chat("call_1", "Bern")
LIMITED = samples.anthropic("call_1", "Bern")
"""A sample of another protocol: an error is replayed only if no other response matches."""
CHUNKS = (CHAT.chunks[0][:30], CHAT.chunks[0][30:] + CHAT.chunks[1], *CHAT.chunks[2:])
BROKE = "peer closed connection without sending complete message body"
LIMIT = json.dumps({"error": {"message": "slow down", "type": "rate_limit_error"}}).encode()


def saved(
    model: str, chunks: Sequence[bytes], sample: Sample = CHAT, *, broken: str | None = None, **headers: str
) -> http.HTTPFlow:
    """A captured flow, with 30 ms between chunks."""
    flow = tflow.tflow()
    body = json.dumps({**sample.request, "model": model}).encode()
    flow.request = http.Request.make("POST", f"https://llm.invalid{sample.path}", body)
    fields = {name.replace("_", "-"): value for name, value in {"content_type": "text/event-stream", **headers}.items()}
    flow.response = http.Response.make(200 if sample is CHAT else 429, b"".join(chunks), fields)
    del flow.response.headers["content-length"]
    table = [[30 * number, len(chunk)] for number, chunk in enumerate(chunks)]
    flow.metadata["toolstream"] = {"version": 1, "chunks": table, **({"broken": broken} if broken else {})}
    flow.error = flows.Error(broken) if broken else None
    return flow


SAVED = (
    saved("complete", CHUNKS),
    saved("truncated", CHUNKS[:3], broken=BROKE),
    saved("empty", (), broken=BROKE),
    saved("limited", (LIMIT,), LIMITED, content_type="application/json", retry_after="7"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The saved flows."""
    path = tmp_path_factory.mktemp("saved") / "all.flow"
    with path.open("wb") as file:
        for flow in SAVED:
            FlowWriter(file).add(flow)
    return path


@pytest.fixture(scope="module")
def at_once(proxies: Proxies, folder: Path) -> Mitmdump:
    """A proxy that replays the flows without delay."""
    return proxies.get(toolstream_provider=str(folder), toolstream_speed="0", **OPTIONS)


@contextlib.contextmanager
def replayed(proxy: Mitmdump, version: str, model: str, sample: Sample = CHAT, **more: object) -> Iterator[Reply]:
    """The response to a request with this model."""
    body = json.dumps({**sample.request, "model": model, **more}).encode()
    with client(version, Route(443, proxy.port, proxy.ca, tls=True)) as peer:
        yield peer.request(sample.path, body, {"content-type": "application/json"})


@VERSIONS
def test_the_recorded_chunks_are_replayed(at_once: Mitmdump, version: str) -> None:
    """Each recorded chunk is sent as an HTTP chunk or DATA frame, also without delay."""
    with replayed(at_once, version, "complete") as reply:
        assert tuple(iter(reply.next_chunk, b"")) == CHUNKS


@VERSIONS
@pytest.mark.parametrize("chunks", [CHUNKS[:3], ()], ids=["truncated", "empty"])
def test_a_recorded_disconnect_is_replayed(at_once: Mitmdump, version: str, chunks: tuple[bytes, ...]) -> None:
    """A truncated response is replayed with its chunks, followed by a disconnect."""
    with replayed(at_once, version, "truncated" if chunks else "empty") as reply:
        assert tuple(reply.next_chunk() for _ in chunks) == chunks
        with pytest.raises(BrokenOffError):
            reply.next_chunk()


@VERSIONS
def test_a_truncated_response_is_not_replayed_without_a_stream(at_once: Mitmdump, version: str) -> None:
    """A request without a stream gets a disconnect instead of a truncated response."""
    with replayed(at_once, version, "truncated", stream=False) as reply, pytest.raises(BrokenOffError):
        reply.next_chunk()


@VERSIONS
@pytest.mark.parametrize("stream", [True, False])
def test_a_recorded_error_is_replayed(at_once: Mitmdump, version: str, stream: bool) -> None:
    """An error response is replayed with its status, headers and body."""
    with replayed(at_once, version, "limited", LIMITED, stream=stream) as reply:
        assert (reply.status, reply.headers["retry-after"], reply.rest()) == (429, "7", LIMIT)
        assert reply.headers["content-type"] == "application/json"


def test_a_recorded_disconnect_is_replayed_in_time(proxies: Proxies, folder: Path) -> None:
    """A truncated response is replayed with its timing, and repairs do not end it normally."""
    proxy = proxies.get(toolstream_provider=str(folder), toolstream_repair="safe", **OPTIONS)
    start = time.monotonic()
    with replayed(proxy, "h1", "truncated") as reply, pytest.raises(BrokenOffError):
        reply.rest()
    assert 0.06 <= time.monotonic() - start < 2
