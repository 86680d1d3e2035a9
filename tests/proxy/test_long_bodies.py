"""A long request or response does not block the event loop."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.test import taddons, tflow, tutils

from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.wire.long_json import LONG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy import http

JSON = ((b"content-type", b"application/json"),)
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
LONG_REQUESTS = {
    "one string": [{"role": "user", "content": 'a "quoted" line\n' * 1_000_000}],
    "many messages": [{"role": "user", "content": "words " * 100} for _ in range(30_000)],
    "many results": [
        message
        for _ in range(20_000)
        for message in (
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "result " * 50},
        )
    ],
}


@pytest.fixture
def addon() -> Iterator[ToolstreamAddon]:
    """Yield the addon with its default options."""
    toolstream = ToolstreamAddon()
    with taddons.context(Proxyserver(), toolstream):
        yield toolstream
        toolstream.done()


def chat_request(messages: list[Any]) -> http.HTTPFlow:
    """Return a request of Chat Completions."""
    flow = tflow.tflow()
    flow.request.method, flow.request.path = "POST", "/v1/chat/completions"
    flow.request.headers["content-type"] = "application/json"
    flow.request.content = json.dumps({"model": "m", "stream": True, "messages": messages}).encode()
    return flow


@pytest.mark.parametrize("messages", LONG_REQUESTS.values(), ids=LONG_REQUESTS.keys())
def test_a_long_request_does_not_block_the_loop(addon: ToolstreamAddon, messages: list[Any]) -> None:
    """The event loop runs several turns while a long request is read."""
    addon.running()
    flow = chat_request(messages)
    body = flow.request.raw_content
    assert len(body or b"") > LONG

    async def read() -> int:
        waiting = addon.request(flow)
        assert inspect.isawaitable(waiting)
        task = asyncio.ensure_future(waiting)
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        await task
        return turns

    assert asyncio.run(read()) > len(messages) // 30_000 + 3
    assert flow.request.raw_content is body
    assert addon._responses.request_of(flow) == json.loads(body or b"")


def test_a_short_request_is_read_at_once(addon: ToolstreamAddon) -> None:
    """Nothing has to be awaited."""
    assert addon.request(chat_request([{"role": "user", "content": "hi"}])) is None


def test_a_long_request_to_another_api_is_not_read(addon: ToolstreamAddon) -> None:
    """A long request to another API is forwarded unread."""
    addon.running()
    flow = chat_request([])
    flow.request.path, flow.request.content = "/ingest", json.dumps({"rows": [1] * LONG}).encode()
    waiting = addon.request(flow)
    assert waiting is not None
    asyncio.run(waiting)
    assert not isinstance(addon._responses.request_of(flow), dict)


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_long_response_is_read_in_a_thread(
    addon: ToolstreamAddon, capsys: pytest.CaptureFixture[str], coding: str
) -> None:
    """The calls of a long unstreamed response are logged, and its bytes do not change."""
    addon.running()
    flow = chat_request([{"role": "user", "content": "hi"}])
    arguments = json.dumps({"text": random.Random(1).randbytes(LONG).hex()})
    call = {"id": "c", "type": "function", "function": {"name": "save", "arguments": arguments}}
    choice = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    completion = {"id": "r", "object": "chat.completion", "model": "m", "choices": [choice]}
    flow.response = tutils.tresp(headers=JSON)
    flow.response.headers["content-encoding"] = coding
    flow.response.content = json.dumps(completion).encode()
    body = flow.response.raw_content
    assert addon.request(flow) is None
    addon.responseheaders(flow)
    waiting = addon.response(flow)
    assert waiting is not None
    asyncio.run(waiting)
    assert flow.response.raw_content is body
    assert "call 0 save" in capsys.readouterr().out
