"""Healthy responses with one tool call, with and without a stream, in each protocol. The test sets id and city."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolstream_core.wire.aws_event_stream import MESSAGES, fresh

if TYPE_CHECKING:
    from collections.abc import Callable

SSE = "text/event-stream"
JSON = "application/json"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NAME = "get_weather"
ABOUT = "Tells the weather of a city."


@dataclass(frozen=True, slots=True)
class Sample:
    """A request and its response, with and without a stream."""

    protocol: str
    path: str
    request: dict[str, Any]
    content_type: str
    chunks: tuple[bytes, ...]
    """The streamed response, one event in each chunk."""
    unstreamed_path: str
    unstreamed_response: dict[str, Any]
    """The response to the same request with `stream: false`."""
    call_id: str
    arguments: dict[str, str]

    @property
    def body(self) -> bytes:
        """The body of the streaming request."""
        return json.dumps(self.request).encode()

    @property
    def unstreamed_request(self) -> dict[str, Any]:
        """The request for a response without a stream; for some APIs only the path differs."""
        return self.request | ({"stream": False} if "stream" in self.request else {})

    @property
    def unstreamed_request_body(self) -> bytes:
        """The body of the request for a response without a stream."""
        return json.dumps(self.unstreamed_request).encode()

    @property
    def unstreamed_response_body(self) -> bytes:
        """The body of the response without a stream."""
        return json.dumps(self.unstreamed_response).encode()


def openai_chat(call_id: str, city: str) -> Sample:
    """Chat completions."""
    text = json.dumps({"city": city})
    function = {"name": NAME, "description": ABOUT, "parameters": PARAMETERS}
    opening = {"index": 0, "id": call_id, "type": "function", "function": {"name": NAME, "arguments": ""}}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None, "tool_calls": [opening]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in _parts(text)]
    head = {"id": "chatcmpl-1", "created": 1700000000, "model": "gpt-test"}
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    chunks = [{**head, "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]
    call = {"id": call_id, "type": "function", "function": {"name": NAME, "arguments": text}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}
    return Sample(
        protocol="openai-chat",
        path="/v1/chat/completions",
        request={
            "model": "gpt-test",
            "messages": [{"role": "user", "content": f"weather? {call_id}"}],
            "tools": [{"type": "function", "function": function}],
            "stream": True,
        },
        content_type=SSE,
        chunks=(*map(_data, chunks), b"data: [DONE]\n\n"),
        unstreamed_path="/v1/chat/completions",
        unstreamed_response={**head, "object": "chat.completion", "choices": [choice]},
        call_id=call_id,
        arguments={"city": city},
    )


def openai_responses(call_id: str, city: str) -> Sample:
    """Responses."""
    text = json.dumps({"city": city})
    item = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": NAME, "arguments": text}
    done = {**item, "status": "completed"}
    opened = {**item, "arguments": "", "status": "in_progress"}
    fixed = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "model": "gpt-test",
        "error": None,
    }
    open_ended = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}}
    created = {**fixed, **open_ended, "status": "in_progress", "output": []}
    ended = {**fixed, **open_ended, "status": "completed", "output": [done]}
    place = {"item_id": "fc_1", "output_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": created},
        {"type": "response.in_progress", "response": created},
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *({"type": "response.function_call_arguments.delta", **place, "delta": part} for part in _parts(text)),
        {"type": "response.function_call_arguments.done", **place, "name": NAME, "arguments": text},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": ended},
    ]
    return Sample(
        protocol="openai-responses",
        path="/v1/responses",
        request={
            "model": "gpt-test",
            "input": f"weather? {call_id}",
            "tools": [{"type": "function", "name": NAME, "description": ABOUT, "parameters": PARAMETERS}],
            "stream": True,
        },
        content_type=SSE,
        chunks=tuple(_named(event | {"sequence_number": number}) for number, event in enumerate(events)),
        unstreamed_path="/v1/responses",
        unstreamed_response=ended,
        call_id=call_id,
        arguments={"city": city},
    )


def anthropic(call_id: str, city: str) -> Sample:
    """Messages."""
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test"}
    usage = {"input_tokens": 9, "output_tokens": 7}
    created: dict[str, Any] = {
        **head,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    block = {"type": "tool_use", "id": call_id, "name": NAME}
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in _parts(json.dumps({"city": city}))]
    stopped = {"stop_reason": "tool_use", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": created},
        {"type": "content_block_start", "index": 0, "content_block": {**block, "input": {}}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    return Sample(
        protocol="anthropic",
        path="/v1/messages",
        request={
            "model": "claude-test",
            "max_tokens": 100,
            "messages": [{"role": "user", "content": f"weather? {call_id}"}],
            "tools": [{"name": NAME, "description": ABOUT, "input_schema": PARAMETERS}],
            "stream": True,
        },
        content_type=SSE,
        chunks=tuple(map(_named, events)),
        unstreamed_path="/v1/messages",
        unstreamed_response={**head, **stopped, "content": [{**block, "input": {"city": city}}], "usage": usage},
        call_id=call_id,
        arguments={"city": city},
    )


def gemini(call_id: str, city: str) -> Sample:
    """GenerateContent."""
    call = {"functionCall": {"id": call_id, "name": NAME, "args": {"city": city}}}
    head = {"modelVersion": "gemini-test", "responseId": "r1"}

    def response(parts: list[dict[str, Any]], **more: str) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **more}], **head}

    events = [
        response([{"text": "I look."}]),
        response([call]),
        response([{"text": ""}], finishReason="STOP"),
    ]
    return Sample(
        protocol="gemini",
        path="/v1beta/models/gemini-test:streamGenerateContent?alt=sse",
        request={
            "contents": [{"role": "user", "parts": [{"text": f"weather? {call_id}"}]}],
            "tools": [{"functionDeclarations": [{"name": NAME, "parametersJsonSchema": PARAMETERS}]}],
        },
        content_type=SSE,
        chunks=tuple(map(_data, events)),
        unstreamed_path="/v1beta/models/gemini-test:generateContent",
        unstreamed_response=response([call], finishReason="STOP"),
        call_id=call_id,
        arguments={"city": city},
    )


def ollama(call_id: str, city: str) -> Sample:
    """Ollama's chat: lines of JSON. SDKs drop the ids of its calls."""
    call = {"id": call_id, "function": {"index": 0, "name": NAME, "arguments": {"city": city}}}
    head = {"model": "llama-test", "created_at": "2025-01-01T00:00:00Z"}
    calling = {"role": "assistant", "content": "", "tool_calls": [call]}
    over = {"done": True, "done_reason": "stop", "total_duration": 1, "eval_count": 1}
    empty = {"role": "assistant", "content": ""}
    text: dict[str, Any] = {"role": "assistant", "content": "I look."}
    events: list[dict[str, Any]] = [{**head, "message": message, "done": False} for message in (text, calling)]
    events.append({**head, "message": empty, **over})
    return Sample(
        protocol="ollama",
        path="/api/chat",
        request={
            "model": "llama-test",
            "messages": [{"role": "user", "content": f"weather? {call_id}"}],
            "tools": [{"type": "function", "function": {"name": NAME, "parameters": PARAMETERS}}],
            "stream": True,
        },
        content_type="application/x-ndjson",
        chunks=tuple(json.dumps(event).encode() + b"\n" for event in events),
        unstreamed_path="/api/chat",
        unstreamed_response={**head, "message": calling, **over},
        call_id=call_id,
        arguments={"city": city},
    )


def cohere(call_id: str, city: str) -> Sample:
    """Cohere's chat, version 2."""
    text = json.dumps({"city": city})
    entry = {"id": call_id, "type": "function", "function": {"name": NAME, "arguments": text}}
    opened = {**entry, "function": {"name": NAME, "arguments": ""}}
    deltas = [{"message": {"tool_calls": {"function": {"arguments": part}}}} for part in _parts(text)]
    tokens = {"input_tokens": 9, "output_tokens": 7}
    ended = {"finish_reason": "TOOL_CALL", "usage": {"billed_units": tokens, "tokens": tokens}}
    plan = "I look."
    head = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events: list[dict[str, Any]] = [
        {"id": "chat-1", "type": "message-start", "delta": {"message": head}},
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": plan}}},
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": opened}}},
        *({"type": "tool-call-delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "tool-call-end", "index": 0},
        {"type": "message-end", "delta": ended},
    ]
    return Sample(
        protocol="cohere-v2",
        path="/v2/chat",
        request={
            "model": "command-test",
            "messages": [{"role": "user", "content": "weather?"}],
            "tools": [{"type": "function", "function": {"name": NAME, "description": ABOUT, "parameters": PARAMETERS}}],
            "stream": True,
        },
        content_type=SSE,
        chunks=(*map(_named, events), b"data: [DONE]\n\n"),
        unstreamed_path="/v2/chat",
        unstreamed_response={
            "id": "chat-1",
            "message": {"role": "assistant", "tool_plan": plan, "tool_calls": [entry]},
            **ended,
        },
        call_id=call_id,
        arguments={"city": city},
    )


def interactions(call_id: str, city: str) -> Sample:
    """Gemini's Interactions API."""
    step = {"id": call_id, "type": "function_call", "name": NAME}
    head = {"id": "v1_1", "object": "interaction", "model": "gemini-test"}
    usage = {"total_input_tokens": 9, "total_output_tokens": 7, "total_tokens": 16}
    over = {**head, "status": "requires_action", "usage": usage}
    deltas = [{"arguments": part, "type": "arguments_delta"} for part in _parts(json.dumps({"city": city}))]
    events: list[dict[str, Any]] = [
        {"interaction": {**head, "status": "in_progress"}, "event_type": "interaction.created"},
        {"index": 0, "step": {**step, "arguments": {}}, "event_type": "step.start"},
        *({"index": 0, "delta": delta, "event_type": "step.delta"} for delta in deltas),
        {"index": 0, "event_type": "step.stop"},
        {"interaction": over, "event_type": "interaction.completed"},
    ]
    return Sample(
        protocol="gemini-interactions",
        path="/v1beta/interactions",
        request={
            "model": "gemini-test",
            "input": "weather?",
            "tools": [{"type": "function", "name": NAME, "description": ABOUT, "parameters": PARAMETERS}],
            "stream": True,
        },
        content_type=SSE,
        chunks=(
            *(f"event: {event['event_type']}\n".encode() + _data(event) for event in events),
            b"event: done\ndata: [DONE]\n\n",
        ),
        unstreamed_path="/v1beta/interactions",
        unstreamed_response={**over, "steps": [{**step, "arguments": {"city": city}}]},
        call_id=call_id,
        arguments={"city": city},
    )


def bedrock(call_id: str, city: str) -> Sample:
    """Amazon Bedrock's Converse: binary messages. The path has the model and the operation."""
    tool = {"toolUseId": call_id, "name": NAME}
    usage = {"inputTokens": 9, "outputTokens": 7, "totalTokens": 16}
    rest = {"usage": usage, "metrics": {"latencyMs": 5}}
    place = {"contentBlockIndex": 0}
    parts = ("", *_parts(json.dumps({"city": city})))
    messages: list[tuple[str, dict[str, Any]]] = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockStart", {**place, "start": {"toolUse": tool}}),
        *(("contentBlockDelta", {**place, "delta": {"toolUse": {"input": part}}}) for part in parts),
        ("contentBlockStop", place),
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", rest),
    ]
    schema = {"inputSchema": {"json": PARAMETERS}}
    message = {"role": "assistant", "content": [{"toolUse": {**tool, "input": {"city": city}}}]}
    return Sample(
        protocol="bedrock",
        path="/model/amazon.nova-test-v1%3A0/converse-stream",
        request={
            "messages": [{"role": "user", "content": [{"text": "weather?"}]}],
            "toolConfig": {"tools": [{"toolSpec": {"name": NAME, "description": ABOUT, **schema}}]},
        },
        content_type=MESSAGES,
        chunks=tuple(fresh(json.dumps(body, ensure_ascii=False).encode(), kind).encode() for kind, body in messages),
        unstreamed_path="/model/amazon.nova-test-v1%3A0/converse",
        unstreamed_response={"output": {"message": message}, "stopReason": "tool_use", **rest},
        call_id=call_id,
        arguments={"city": city},
    )


MAKERS: dict[str, Callable[[str, str], Sample]] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "cohere-v2": cohere,
    "gemini-interactions": interactions,
    "bedrock": bedrock,
}


def _parts(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def _data(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


def _named(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)
