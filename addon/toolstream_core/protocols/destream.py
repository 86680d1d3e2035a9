"""A whole answer said as a stream, each protocol in its own events. Knows the shapes of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.model import Json

type Payload = dict[str, Any]


def streamed(dialect: str, answer: Json, request: Json) -> list[bytes]:
    """The events of a whole answer, in order; nothing where it is no answer of that protocol."""
    if not isinstance(answer, dict) or dialect not in _SAID:
        return []
    return list(_SAID[dialect](answer, request))


def _chat(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://platform.openai.com/docs/api-reference/chat-streaming."""
    head = {key: value for key, value in answer.items() if key not in {"choices", "usage", "object"}}
    head["object"] = "chat.completion.chunk"

    def chunk(index: int, delta: Json, finish: Json = None) -> bytes:
        return _data({**head, "choices": [{"index": index, "delta": delta, "finish_reason": finish}]})

    choices = [choice for choice in json_access.items(answer.get("choices")) if isinstance(choice, dict)]
    for at, choice in enumerate(choices):
        index, message = choice.get("index", at), _dict(choice.get("message"))
        calls = json_access.items(message.get("tool_calls"))
        yield chunk(index, {key: value for key, value in message.items() if key != "tool_calls"})
        for place, call in enumerate(calls):
            yield chunk(index, {"tool_calls": [{"index": place, **_dict(call)}]})
        yield chunk(index, {}, choice.get("finish_reason"))
    if choices:
        if json_access.get(request, "stream_options", "include_usage") is True and answer.get("usage"):
            yield _data({**head, "choices": [], "usage": answer["usage"]})
        yield b"data: [DONE]\n\n"


def _anthropic(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://docs.claude.com/en/docs/build-with-claude/streaming."""
    del request
    if answer.get("type") != "message":
        return
    begun = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
    yield _named({"type": "message_start", "message": begun})
    for index, block in enumerate(json_access.items(answer.get("content"))):
        if not isinstance(block, dict):
            continue
        start, delta = _block(block)
        yield _named({"type": "content_block_start", "index": index, "content_block": start})
        if delta:
            yield _named({"type": "content_block_delta", "index": index, "delta": delta})
        yield _named({"type": "content_block_stop", "index": index})
    said = {key: answer.get(key) for key in ("stop_reason", "stop_sequence")}
    yield _named({"type": "message_delta", "delta": said, "usage": answer.get("usage") or {"output_tokens": 0}})
    yield _named({"type": "message_stop"})


def _block(block: Payload) -> tuple[Payload, Payload | None]:
    """What opens a content block, and what its one delta says."""
    match block.get("type"):
        case "text":
            return {**block, "text": ""}, {"type": "text_delta", "text": block.get("text", "")}
        case "thinking":
            said = {"type": "thinking_delta", "thinking": block.get("thinking", "")}
            return {**block, "thinking": ""}, said
        case "tool_use" | "server_tool_use":
            arguments = numbers.spaced(block.get("input", {}))
            return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
    return block, None


def _responses(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://platform.openai.com/docs/api-reference/responses-streaming."""
    del request
    if answer.get("object") != "response":
        return
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    said: list[Payload] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for place, item in enumerate(json_access.items(answer.get("output"))):
        if isinstance(item, dict):
            said += _item(item, place)
    kind = answer.get("status") if answer.get("status") in {"failed", "incomplete"} else "completed"
    said.append({"type": f"response.{kind}", "response": answer})
    for number, payload in enumerate(said):
        yield _named({**payload, "sequence_number": number})


def _item(item: Payload, place: int) -> Iterator[Payload]:
    """The events of one output item."""
    where = {"item_id": item.get("id"), "output_index": place}
    key = {"function_call": "arguments", "custom_tool_call": "input"}.get(str(item.get("type")))
    opened = {**item, "status": "in_progress", **({key: ""} if key else {})}
    if item.get("type") == "message":
        opened["content"] = []
    yield {"type": "response.output_item.added", "output_index": place, "item": opened}
    if key:
        kind = "response.function_call_arguments" if key == "arguments" else "response.custom_tool_call_input"
        yield {"type": f"{kind}.delta", **where, "delta": item.get(key, "")}
        yield {"type": f"{kind}.done", **where, key: item.get(key, "")}
    for index, part in enumerate(json_access.items(item.get("content")) if item.get("type") == "message" else ()):
        here = {**where, "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**_dict(part), "text": ""}}
        text = _dict(part).get("text", "")
        yield {"type": "response.output_text.delta", **here, "delta": text, "logprobs": []}
        yield {"type": "response.output_text.done", **here, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **here, "part": part}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _gemini(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://ai.google.dev/api/generate-content: each event has the shape of the whole answer."""
    del request
    if answer.get("candidates"):
        yield b"data: " + encoded(answer) + b"\r\n\r\n"


def _ollama(answer: Payload, request: Json) -> Iterator[bytes]:
    """https://github.com/ollama/ollama/blob/main/docs/api.md: a line with the message, one that says done."""
    del request
    message = answer.get("message")
    if isinstance(message, dict):
        head = {key: answer[key] for key in ("model", "created_at") if key in answer}
        yield encoded({**head, "message": message, "done": False}) + b"\n"
        yield encoded({**answer, "message": {"role": "assistant", "content": ""}, "done": True}) + b"\n"


def _dict(value: Json) -> Payload:
    return value if isinstance(value, dict) else {}


def _data(payload: Json) -> bytes:
    return b"data: " + encoded(payload) + b"\n\n"


def _named(payload: Payload) -> bytes:
    return b"event: " + str(payload["type"]).encode() + b"\n" + _data(payload)


_SAID: Final[dict[str, Callable[[Payload, Json], Iterator[bytes]]]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
    OLLAMA: _ollama,
}
