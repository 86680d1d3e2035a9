"""Gemini Live over a WebSocket through a mitmdump, with the official client."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import TYPE_CHECKING, Any

import pytest
from google import genai
from websockets.sync.client import connect

from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust
from toolstream_core.synthetic.responses import DONE
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies

pytestmark = pytest.mark.e2e

MODEL = "gemini-2.5-flash-native-audio"
KEY = "AIzaSyD-the-key-of-this-test-000000000000"
SOUND = {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "UklGRg" * 4000}}]}}
CALLS: list[dict[str, Any]] = [
    {"id": "function-call-1", "name": "get_weather", "args": {"city": "Oslo 😀"}},
    {"id": "function-call-2", "name": "get_time", "args": {}},
]
RESPONSES: Sequence[Sequence[Any]] = (
    [{"setupComplete": {}}],
    [{"serverContent": SOUND}, {"toolCall": {"functionCalls": CALLS}, "usageMetadata": {"totalTokenCount": 9}}],
    [],
    [
        {"serverContent": {"outputTranscription": {"text": "It is mild."}}},
        {"serverContent": SOUND},
        {"serverContent": {"generationComplete": True}},
        {"serverContent": {"turnComplete": True}, "usageMetadata": {"totalTokenCount": 12}},
        {"sessionResumptionUpdate": {"newHandle": "h", "resumable": True}},
    ],
)
"""The responses to the setup, a turn, audio, and the tools' results."""
MESSAGES = [[json.dumps(one, indent=2, ensure_ascii=False).encode() for one in response] for response in RESPONSES]
"""Google sends indented JSON in binary messages."""


async def converse(base_url: str, trust: dict[str, Any]) -> tuple[list[genai.types.FunctionCall], str]:
    """The calls of the first response, and the text of the response to their results."""
    options = genai.types.HttpOptions(base_url=base_url, async_client_args=trust)
    sdk = genai.Client(vertexai=False, api_key=KEY, http_options=options)
    functions = [genai.types.FunctionDeclaration(name=one["name"]) for one in CALLS]
    config = genai.types.LiveConnectConfig(tools=[genai.types.Tool(function_declarations=functions)])
    calls: list[genai.types.FunctionCall] = []
    async with sdk.aio.live.connect(model=MODEL, config=config) as session:
        await session.send_client_content(turns=genai.types.UserContent("How is Oslo?"))
        messages = session.receive()
        async for message in messages:
            if message.tool_call is not None:
                calls = message.tool_call.function_calls or []
                break
        await session.send_realtime_input(audio=genai.types.Blob(data=b"\0" * 640, mime_type="audio/pcm"))
        results = [genai.types.FunctionResponse(id=one.id, name=one.name, response={"ok": True}) for one in calls]
        await session.send_tool_response(function_responses=results)
        spoken = []
        async for message in messages:
            if message.server_content is not None and message.server_content.output_transcription is not None:
                spoken.append(message.server_content.output_transcription.text or "")
            spoken.append(message.text or "")
    return calls, "".join(spoken)


def test_a_session_is_reported_and_forwarded_unchanged(proxies: Proxies, sockets: SocketServer) -> None:
    """With repairs and a shape on, responses and a verdict are reported, and each message is forwarded unchanged."""
    tap = proxies.tap("gemini-live")
    options = {"toolstream_repair": "safe", "toolstream_shape": "whole-calls", "toolstream_jsonl": str(tap.path)}
    proxy = proxies.get(**options)
    planned = sockets.plan(SocketPlan(MESSAGES, request_type=""))
    base_url = f"https://127.0.0.1:{sockets.port}{planned.path}"
    trust = {"proxy": proxy.url, "ssl": ssl.create_default_context(cafile=proxy.ca), "max_size": None}
    calls, spoken = asyncio.run(converse(base_url, trust))
    assert [(one.id, one.name, one.args) for one in calls] == [(one["id"], one["name"], one["args"]) for one in CALLS]
    assert spoken == "It is mild."
    ends = tap.wait_for(lambda line: line["type"] == "end" and line["record"]["dialect"] == "gemini-live", 2)
    first, second = [line["record"] for line in ends]
    assert [(one["model"], one["findings"], one["changes"]) for one in (first, second)] == [(MODEL, [], [])] * 2
    assert [(one["id"], one["name"]) for one in first["calls"]] == [(one["id"], one["name"]) for one in CALLS]
    assert (first["events"], second["events"], second["calls"]) == (2, 4, [])
    assert [record["finish"] for record in (first, second)] == [
        ["toolCall"],
        ["turnComplete"],
    ]
    [verdict] = tap.wait_for(lambda line: line["type"] == "verdict" and line["flow"] == ends[0]["flow"])
    assert verdict["verdict"]["verdict"] == "results-only"
    assert verdict["verdict"]["results"] == [one["id"] for one in CALLS]
    again = sockets.plan(SocketPlan(MESSAGES, request_type=""))
    url = f"wss://127.0.0.1:{sockets.port}{again.path}/ws/x.v1beta.GenerativeService.BidiGenerateContent?key={KEY}"
    with connect(url, proxy=proxy.url, ssl=socket_trust(proxy.ca), max_size=None) as client:
        for message, response in zip(planned.received, MESSAGES, strict=True):
            client.send(json.dumps(message))
            assert [client.recv(10) for _ in response] == response
    tap.wait_for(lambda line: line["type"] == "end" and line["record"]["dialect"] == "gemini-live", 4)
    assert KEY not in json.dumps(tap.lines)


def test_a_session_is_served(tmp_path: Path) -> None:
    """A session with synthetic calls is captured and served from its capture; the official client reads the same."""
    specs = tuple(f"{one['name']} {json.dumps(one['args'])}" for one in CALLS)
    with ProxySession() as session:
        session.reset(Setup(calls=specs, options={"toolstream_capture": str(tmp_path)}))
        base_url = f"https://127.0.0.1:{session.port}"
        trust = {"ssl": ssl.create_default_context(cafile=session.ca_file)}
        first = asyncio.run(converse(base_url, trust))
        session.reset(Setup(flows=(tmp_path,), strict=True, repair=("safe",)))
        second = asyncio.run(converse(base_url, trust))
        exchanges = [one for one in session.exchanges() if one.request.protocol]
    calls, spoken = first
    assert [(one.name, one.args) for one in calls] == [(one["name"], one["args"]) for one in CALLS]
    assert spoken == DONE
    assert second == first
    assert [(one.response, one.finish) for one in exchanges] == [("exact", ("toolCall",)), ("exact", ("turnComplete",))]
    assert exchanges[0].verdict is not None
    assert exchanges[0].verdict.understood
