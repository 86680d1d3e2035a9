"""Healthy streams of every protocol in its common encodings of tool calls, and the request before them."""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.wire.aws_event_stream import MESSAGES, EventStreamFramer, fresh
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Callable

type Payload = dict[str, Any]

SSE = "text/event-stream"
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-realtime": "/v1/realtime?model=m",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent",
    "gemini-interactions": "/v1beta/interactions",
    "gemini-live": "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "ollama": "/api/chat",
    "cohere-v2": "/v2/chat",
    "bedrock": "/model/m/converse-stream",
}
LINES = "application/x-ndjson"
CONTENT_TYPES = {"ollama": LINES, "openai-realtime": LINES, "gemini-live": LINES, "bedrock": MESSAGES}
SOCKET_PROTOCOLS = {wire.protocol for wire in SOCKETS}
"""The protocols that have a WebSocket API."""
TOOLS = {"get_weather": "city", "get_time": "zone", "ping": ""}
"""The available tools, each with its required parameter."""


class ToolCall(NamedTuple):
    """A tool call whose arguments are sent in fragments."""

    id: str
    name: str
    fragments: tuple[str, ...]


WEATHER = ToolCall("call_a1", "get_weather", ('{"ci', 'ty":"Os', "lo 😀", '\\nsouth"}'))
TIME = ToolCall("call_b2", "get_time", ('{"zone"', ':"UT', 'C"}'))
PING = ToolCall("call_c3", "ping", ("{}",))
SEARCH = ToolCall("call_d4", "search", ('{"query":', '"tool calls"}'))
"""Offered in a namespace (Responses)."""
IN_NAMESPACE = "in a namespace"
"""The name of the stream with that call. Among the tested clients, only Codex supports namespaces."""


class Calls(NamedTuple):
    """The calls in the streams. `ping` has no arguments."""

    weather: ToolCall = WEATHER
    time: ToolCall = TIME
    ping: ToolCall = PING


def in_one_fragment(call: ToolCall) -> ToolCall:
    """Return the call with all arguments in one fragment."""
    return call._replace(fragments=("".join(call.fragments),))


class Healthy(NamedTuple):
    """A stream without defects."""

    protocol: str
    name: str
    body: bytes
    over_socket: bool = False
    """Whether the events are WebSocket messages. The same API also sends them as server-sent events."""

    @property
    def content_type(self) -> str:
        """The content type, which selects the framing."""
        return LINES if self.over_socket else CONTENT_TYPES.get(self.protocol, SSE)

    @property
    def exchange(self) -> StreamFacts:
        """Path, content type and request."""
        return StreamFacts(path=PATHS[self.protocol], content_type=self.content_type, request=request(self.protocol))

    @property
    def frames(self) -> list[bytes]:
        """The bytes of each event."""
        if self.protocol == "bedrock":
            return [frame.raw for frame in EventStreamFramer().feed(self.body)]
        end = b"\n" if self.content_type == LINES else b"\n\n"
        return [frame + end for frame in self.body.removesuffix(end).split(end)]

    def __str__(self) -> str:
        """Return a test id."""
        return f"{self.protocol}{' over a socket' if self.over_socket else ''}, {self.name}"


def request(protocol: str) -> Payload:
    """A request that offers `TOOLS`."""
    schemas = {
        name: {
            "type": "object",
            "properties": {key: {"type": "string"}} if key else {},
            "required": [key] if key else [],
        }
        for name, key in TOOLS.items()
    }
    if protocol == "anthropic":
        tools: list[Payload] = [{"name": name, "input_schema": schema} for name, schema in schemas.items()]
    elif protocol in {"openai-realtime", "openai-responses", "gemini-interactions"}:
        tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in schemas.items()]
        inner = {"type": "function", "name": SEARCH.name, "parameters": {"type": "object", "required": ["query"]}}
        tools += (
            [{"type": "namespace", "name": "mcp__docs", "tools": [inner]}] if protocol == "openai-responses" else []
        )
    elif protocol in {"gemini", "gemini-live"}:
        declared = [{"name": name, "parameters": schema} for name, schema in schemas.items()]
        tools = [{"functionDeclarations": declared}]
    elif protocol == "bedrock":
        specs = [{"toolSpec": {"name": name, "inputSchema": {"json": schema}}} for name, schema in schemas.items()]
        return {"messages": [{"role": "user", "content": [{"text": "Go on."}]}], "toolConfig": {"tools": specs}}
    else:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in schemas.items()
        ]
    messages = [{"role": "user", "content": "Go on."}]
    prompts: dict[str, Payload] = {
        "gemini": {"contents": messages},
        "gemini-live": {"contents": messages},
        "gemini-interactions": {"input": "Go on."},
        "openai-realtime": {"input": messages},
        "openai-responses": {"input": messages},
    }
    body: Payload = {"model": "m", "stream": True, "tools": tools}
    return body | prompts.get(protocol, {"messages": messages})


def _sse(payloads: list[Payload], *, named: bool, done: bool) -> bytes:
    blocks = [
        (f"event: {one['type']}\n" if named else "") + f"data: {json.dumps(one, ensure_ascii=False)}\n\n"
        for one in payloads
    ]
    return "".join([*blocks, *(["data: [DONE]\n\n"] if done else [])]).encode()


def _chunk(delta: Payload, finish: str | None = None) -> Payload:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _entries(index: int, call: ToolCall, *, header: bool) -> list[Payload]:
    """Return the entries of a call. With `header`, the first entry has no arguments."""
    fragments = ("", *call.fragments) if header else call.fragments
    first = {
        "index": index,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": fragments[0]},
    }
    return [first, *({"index": index, "function": {"arguments": fragment}} for fragment in fragments[1:])]


def _chat(*groups: list[Payload], text: str = "", finish_with_call: bool = False) -> bytes:
    """Return a stream with one event for each group of entries."""
    chunks = [_chunk({"role": "assistant", "content": text})]
    chunks += [_chunk({"tool_calls": group}) for group in groups]
    if finish_with_call:
        chunks[-1]["choices"][0]["finish_reason"] = "tool_calls"
    else:
        chunks.append(_chunk({}, "tool_calls"))
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return _sse([*chunks, {**_chunk({}), "choices": [], "usage": usage}], named=False, done=True)


def _one_per_event(*entries: Payload) -> list[list[Payload]]:
    return [[entry] for entry in entries]


def _interleaved(one: list[Payload], other: list[Payload]) -> list[Payload]:
    longest = max(len(one), len(other))
    return [entry for at in range(longest) for entries in (one, other) for entry in entries[at : at + 1]]


def _chat_streams(calls: Calls) -> dict[str, bytes]:
    weather, time = _entries(0, calls.weather, header=True), _entries(1, calls.time, header=True)
    return {
        "fragments": _chat(*_one_per_event(*weather)),
        "fragments of two": _chat(*_one_per_event(*weather, *time), text="Let me look."),
        "arguments in the header": _chat(*_one_per_event(*_entries(0, calls.weather, header=False))),
        "one chunk": _chat(_entries(0, in_one_fragment(calls.weather), header=False)),
        "one chunk each": _chat(
            _entries(0, in_one_fragment(calls.weather), header=False),
            _entries(1, in_one_fragment(calls.time), header=False),
        ),
        "two in one event": _chat(
            [
                *_entries(0, in_one_fragment(calls.weather), header=False),
                *_entries(1, in_one_fragment(calls.time), header=False),
            ]
        ),
        "finish with the call": _chat(_entries(0, in_one_fragment(calls.weather), header=False), finish_with_call=True),
        "interleaved": _chat(*_one_per_event(*_interleaved(weather, time))),
        "without arguments": _chat(*_one_per_event(*_entries(0, calls.ping, header=True))),
    }


def _item(at: int, call: ToolCall, arguments: str, status: str) -> Payload:
    return {
        "type": "function_call",
        "id": f"fc_{at}",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments,
        "status": status,
    }


def _response(status: str, output: list[Payload]) -> Payload:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": output}


def _item_events(at: int, call: ToolCall) -> list[Payload]:
    text, place = "".join(call.fragments), {"item_id": f"fc_{at}", "output_index": at}
    kind = "response.function_call_arguments"
    return [
        {"type": "response.output_item.added", "output_index": at, "item": _item(at, call, "", "in_progress")},
        *({"type": f"{kind}.delta", **place, "delta": fragment} for fragment in call.fragments),
        {"type": f"{kind}.done", **place, "arguments": text},
        {"type": "response.output_item.done", "output_index": at, "item": _item(at, call, text, "completed")},
    ]


def _responses(events: list[Payload], *calls: ToolCall) -> bytes:
    output = [_item(at, call, "".join(call.fragments), "completed") for at, call in enumerate(calls)]
    payloads = [
        {"type": "response.created", "response": _response("in_progress", [])},
        {"type": "response.in_progress", "response": _response("in_progress", [])},
        *events,
        {"type": "response.completed", "response": _response("completed", output)},
    ]
    return _sse([{**one, "sequence_number": at} for at, one in enumerate(payloads)], named=True, done=False)


def _responses_streams(calls: Calls) -> dict[str, bytes]:
    weather, time = _item_events(0, calls.weather), _item_events(1, calls.time)
    return {
        "fragments": _responses(weather, calls.weather),
        "fragments of two": _responses([*weather, *time], calls.weather, calls.time),
        "one delta": _responses(_item_events(0, in_one_fragment(calls.weather)), calls.weather),
        "interleaved": _responses(_interleaved(weather, time), calls.weather, calls.time),
        "without arguments": _responses(_item_events(0, calls.ping), calls.ping),
    }


def _http_streams(calls: Calls) -> dict[str, bytes]:
    """Return the streams of Responses, and the stream with a namespace, which Realtime does not have."""
    bare, name = _responses(_item_events(0, SEARCH), SEARCH), b'"name": "search"'
    return {**_responses_streams(calls), IN_NAMESPACE: bare.replace(name, name + b', "namespace": "mcp__docs"')}


def _realtime(body: bytes) -> bytes:
    """Convert to the events of Realtime: one terminal event, an id for each event, no sequence numbers."""
    payloads = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: ")]
    head = {"id": "resp_1", "object": "realtime.response", "status": "in_progress", "output": []}
    lines: list[Payload] = []
    calls: dict[str, Payload] = {}
    for number, payload in enumerate(payloads):
        event = {key: value for key, value in payload.items() if key != "sequence_number"}
        if "response" in event:
            is_last = event["type"] == "response.completed"
            event["response"] = head | (
                {"status": "completed", "output": event["response"]["output"]} if is_last else {}
            )
            event["type"] = "response.done" if is_last else event["type"]
        else:
            event["response_id"] = "resp_1"
        if "item" in event:
            calls[event["item"]["id"]] = event["item"]
        elif "arguments" in event["type"]:
            call = calls[event["item_id"]]
            event |= {"call_id": call["call_id"]} | ({"name": call["name"]} if event["type"].endswith("done") else {})
        if event["type"] != "response.in_progress":
            lines.append({"event_id": f"event_{number}", **event})
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()


def _block_events(at: int, call: ToolCall) -> list[Payload]:
    block = {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.name, "input": {}}
    return [
        {"type": "content_block_start", "index": at, "content_block": block},
        *(
            {
                "type": "content_block_delta",
                "index": at,
                "delta": {"type": "input_json_delta", "partial_json": fragment},
            }
            for fragment in ("", *call.fragments)
        ),
        {"type": "content_block_stop", "index": at},
    ]


def _text_events(at: int, text: str) -> list[Payload]:
    return [
        {"type": "content_block_start", "index": at, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": at, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": at},
    ]


def _anthropic(*events: Payload) -> bytes:
    message: Payload = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    delta = {"stop_reason": "tool_use", "stop_sequence": None}
    payloads: list[Payload] = [
        {"type": "message_start", "message": message},
        {"type": "ping"},
        *events,
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return _sse(payloads, named=True, done=False)


def _anthropic_streams(calls: Calls) -> dict[str, bytes]:
    return {
        "fragments": _anthropic(*_block_events(0, calls.weather)),
        "fragments of two": _anthropic(
            *_text_events(0, "Let me look."), *_block_events(1, calls.weather), *_block_events(2, calls.time)
        ),
        "one delta": _anthropic(*_block_events(0, in_one_fragment(calls.weather))),
        "without arguments": _anthropic(*_block_events(0, calls.ping._replace(fragments=()))),
    }


def _converse_block(at: int, call: ToolCall) -> list[tuple[str, Payload]]:
    place = {"contentBlockIndex": at}
    tool = {"toolUseId": f"tooluse_{call.id}", "name": call.name}
    return [
        ("contentBlockStart", {**place, "start": {"toolUse": tool}}),
        *(
            ("contentBlockDelta", {**place, "delta": {"toolUse": {"input": fragment}}})
            for fragment in ("", *call.fragments)
        ),
        ("contentBlockStop", place),
    ]


def _converse_text(at: int, text: str) -> list[tuple[str, Payload]]:
    place = {"contentBlockIndex": at}
    return [("contentBlockDelta", {**place, "delta": {"text": text}}), ("contentBlockStop", place)]


def _converse(*events: tuple[str, Payload]) -> bytes:
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    payloads: list[tuple[str, Payload]] = [
        ("messageStart", {"role": "assistant"}),
        *events,
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", {"usage": usage, "metrics": {"latencyMs": 9}}),
    ]
    messages = [fresh(json.dumps({**body, "p": "abc"}, ensure_ascii=False).encode(), name) for name, body in payloads]
    return b"".join(message.encode() for message in messages)


def _converse_streams(calls: Calls) -> dict[str, bytes]:
    weather, time = _converse_block(1, calls.weather), _converse_block(3, calls.time)
    return {
        "fragments": _converse(*_converse_block(0, calls.weather)),
        "fragments of two": _converse(*_converse_text(0, "Let me look."), *weather, *time),
        "one delta": _converse(*_converse_block(0, in_one_fragment(calls.weather))),
        "without arguments": _converse(*_converse_block(0, calls.ping._replace(fragments=()))),
    }


def _gemini(*groups: list[ToolCall]) -> bytes:
    events: list[Payload] = [{"candidates": [{"content": {"parts": [{"text": "Let me look."}], "role": "model"}}]}]
    for group in groups:
        parts = [
            {
                "functionCall": {"name": call.name, "args": json.loads("".join(call.fragments))},
                "thoughtSignature": "c2ln",
            }
            for call in group
        ]
        events.append({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}], "modelVersion": "m"})
    last = {"candidates": [{"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP"}]}
    return _sse([*events, last], named=False, done=False)


def _ollama(*groups: list[ToolCall]) -> bytes:
    lines: list[Payload] = [{"model": "m", "message": {"role": "assistant", "content": "Hm."}, "done": False}]
    for group in groups:
        calls = [{"function": {"name": call.name, "arguments": json.loads("".join(call.fragments))}} for call in group]
        message = {"role": "assistant", "content": "", "tool_calls": calls}
        lines.append({"model": "m", "message": message, "done": False})
    last = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in [*lines, last]).encode()


def _cohere_call(at: int, call: ToolCall) -> list[Payload]:
    entry = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    return [
        {"type": "tool-call-start", "index": at, "delta": {"message": {"tool_calls": entry}}},
        *(
            {
                "type": "tool-call-delta",
                "index": at,
                "delta": {"message": {"tool_calls": {"function": {"arguments": fragment}}}},
            }
            for fragment in call.fragments
        ),
        {"type": "tool-call-end", "index": at},
    ]


def _cohere_text(at: int, text: str) -> list[Payload]:
    return [
        {"type": "content-start", "index": at, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
        {"type": "content-delta", "index": at, "delta": {"message": {"content": {"text": text}}}},
        {"type": "content-end", "index": at},
    ]


def _live(*messages: Payload) -> bytes:
    usage = {"promptTokenCount": 1, "responseTokenCount": 9, "totalTokenCount": 10}
    payloads = [*messages[:-1], {**messages[-1], "usageMetadata": usage}]
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in payloads).encode()


def _live_streams(calls: Calls) -> dict[str, bytes]:
    audio = {"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm", "data": "UklGRg=="}}]}}}
    transcription = {"serverContent": {"outputTranscription": {"text": "Let me look."}}}
    return {
        "one": _live(_live_calls(calls.weather)),
        "two": _live(audio, transcription, audio, _live_calls(calls.weather, calls.time)),
    }


def _live_calls(*calls: ToolCall) -> Payload:
    entries = [{"id": call.id, "name": call.name, "args": json.loads("".join(call.fragments))} for call in calls]
    return {"toolCall": {"functionCalls": entries}}


def _cohere(*events: Payload) -> bytes:
    head: Payload = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    tokens = {"input_tokens": 1, "output_tokens": 9}
    payloads: list[Payload] = [
        {"id": "c1", "type": "message-start", "delta": {"message": head}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will"}}},
        *events,
        {
            "type": "message-end",
            "delta": {"finish_reason": "TOOL_CALL", "usage": {"billed_units": tokens, "tokens": tokens}},
        },
    ]
    return _sse(payloads, named=True, done=True)


def _cohere_streams(calls: Calls) -> dict[str, bytes]:
    return {
        "fragments": _cohere(*_cohere_call(0, calls.weather)),
        "fragments of two": _cohere(
            *_cohere_text(0, "Let me look."), *_cohere_call(0, calls.weather), *_cohere_call(1, calls.time)
        ),
        "one delta": _cohere(*_cohere_call(0, in_one_fragment(calls.weather))),
        "without arguments": _cohere(*_cohere_call(0, calls.ping._replace(fragments=()))),
    }


def _step_events(at: int, call: ToolCall) -> list[Payload]:
    step = {"id": call.id, "type": "function_call", "name": call.name, "arguments": {}}
    deltas = [{"arguments": fragment, "type": "arguments_delta"} for fragment in call.fragments]
    return _step(at, step, deltas)


def _step(at: int, step: Payload, deltas: list[Payload]) -> list[Payload]:
    return [
        {"index": at, "step": step, "event_type": "step.start"},
        *({"index": at, "delta": delta, "event_type": "step.delta"} for delta in deltas),
        {"index": at, "event_type": "step.stop"},
    ]


def _interaction(*events: Payload) -> bytes:
    head: Payload = {"id": "v1_1", "object": "interaction", "model": "m"}
    thought: Payload = {"signature": "c2ln", "type": "thought_signature"}
    payloads: list[Payload] = [
        {"interaction": {**head, "status": "in_progress"}, "event_type": "interaction.created"},
        {"interaction_id": "v1_1", "status": "in_progress", "event_type": "interaction.status_update"},
        *_step(0, {"type": "thought"}, [thought]),
        *events,
        {
            "interaction": {**head, "status": "requires_action", "usage": {"total_tokens": 9}},
            "event_type": "interaction.completed",
        },
    ]
    blocks = [f"event: {one['event_type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in payloads]
    return "".join([*blocks, "event: done\ndata: [DONE]\n\n"]).encode()


def _interactions_streams(calls: Calls) -> dict[str, bytes]:
    text = [{"text": "Let me ", "type": "text"}, {"text": "look.", "type": "text"}]
    return {
        "fragments": _interaction(*_step_events(1, calls.weather)),
        "fragments of two": _interaction(
            *_step(1, {"type": "model_output"}, text), *_step_events(2, calls.weather), *_step_events(3, calls.time)
        ),
        "one delta": _interaction(*_step_events(1, in_one_fragment(calls.weather))),
        "without arguments": _interaction(*_step_events(1, calls.ping._replace(fragments=()))),
    }


def _gemini_streams(calls: Calls) -> dict[str, bytes]:
    return {
        "one": _gemini([calls.weather]),
        "two": _gemini([calls.weather], [calls.time]),
        "two in one event": _gemini([calls.weather, calls.time]),
    }


def _ollama_streams(calls: Calls) -> dict[str, bytes]:
    return {
        "one": _ollama([calls.weather]),
        "two": _ollama([calls.weather], [calls.time]),
        "two in one line": _ollama([calls.weather, calls.time]),
    }


def _realtime_streams(calls: Calls) -> dict[str, bytes]:
    return {name: _realtime(body) for name, body in _responses_streams(calls).items()}


_STREAMS: dict[str, Callable[[Calls], dict[str, bytes]]] = {
    "openai-chat": _chat_streams,
    "openai-responses": _http_streams,
    "openai-realtime": _realtime_streams,
    "anthropic": _anthropic_streams,
    "gemini": _gemini_streams,
    "gemini-interactions": _interactions_streams,
    "gemini-live": _live_streams,
    "cohere-v2": _cohere_streams,
    "ollama": _ollama_streams,
    "bedrock": _converse_streams,
}


def streams() -> list[Healthy]:
    """Return all streams in the transport of their API's documents."""
    return list(_streams())


def over_all_transports() -> list[Healthy]:
    """Return all streams; streams of APIs with both transports are also included as WebSocket messages."""
    socket_streams = [one for one in _streams() if one.protocol in SOCKET_PROTOCOLS and one.content_type == SSE]
    return [*_streams(), *(one._replace(body=_messages(one.body), over_socket=True) for one in socket_streams)]


def with_calls(healthy: Healthy, calls: Calls) -> Healthy:
    """Return the same stream with other calls."""
    body = _STREAMS[healthy.protocol](calls)[healthy.name]
    return healthy._replace(body=_messages(body) if healthy.over_socket else body)


def _messages(body: bytes) -> bytes:
    """Convert server-sent events to WebSocket messages."""
    return b"".join(frame.data + b"\n" for frame in SseFramer().feed(body) if frame.data)


@functools.cache
def _streams() -> tuple[Healthy, ...]:
    made = ((protocol, name, body) for protocol, build in _STREAMS.items() for name, body in build(Calls()).items())
    return tuple(itertools.starmap(Healthy, made))
