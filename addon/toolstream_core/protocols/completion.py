"""A streamed answer as the whole one that its API gives with `stream: false`. Knows the shapes of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT, Kind
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.fixtures import Fixture
    from toolstream_core.model import Call, Json

    type Payloads = Sequence[dict[str, Json]]

# The calls are what the stream meant, as the record resolved them; everything else is what its events said.


def assemble(fixture: Fixture) -> Json:
    """The whole answer. One that was not streamed is itself."""
    if not fixture.record.streamed:
        return fixture.payloads[0]
    payloads = [payload for payload in fixture.payloads if isinstance(payload, dict)]
    return _ASSEMBLERS[fixture.record.dialect](payloads, fixture.record.calls)


def _openai_chat(payloads: Payloads, calls: Sequence[Call]) -> Json:
    messages: dict[int, dict[str, Json]] = {call.choice: {} for call in calls}
    reasons: dict[int, Json] = {}
    for payload in payloads:
        for place, choice in enumerate(json_access.items(payload.get("choices"))):
            number = json_access.integer(json_access.get(choice, "index"))
            number = number if isinstance(number, int) else place
            _add_texts(messages.setdefault(number, {}), json_access.get(choice, "delta"))
            reasons[number] = json_access.get(choice, "finish_reason") or reasons.get(number)
    choices = [
        {
            "index": number,
            "message": _chat_message(texts, [call for call in calls if call.choice == number]),
            "logprobs": None,
            "finish_reason": reasons.get(number) or None,
        }
        for number, texts in sorted(messages.items())
    ]
    head = {"id": "chatcmpl-saved", "created": 0, **_merged(payloads, leaving=("choices", "obfuscation"))}
    return {**head, "object": "chat.completion", "choices": choices}


def _add_texts(message: dict[str, Json], delta: Json) -> None:
    """`content`, and what vendors say beside it: `reasoning`, `reasoning_content`, `refusal`."""
    for key, piece in _dict(delta).items():
        if isinstance(piece, str) and piece and key != "role":
            message[key] = message.get(key, "") + piece


def _chat_message(texts: dict[str, Json], calls: Sequence[Call]) -> Json:
    message = {"role": "assistant", "content": None, "refusal": None, **texts}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return message


def _openai_responses(payloads: Payloads, calls: Sequence[Call]) -> Json:
    said = [inner for payload in payloads if isinstance(inner := payload.get("response"), dict)]
    response: dict[str, Json] = {"id": "resp_saved", "object": "response", **(said[-1] if said else {})}
    if not response.get("output"):
        deltas = (one for one in payloads if one.get("type") == "response.output_text.delta")
        text = "".join(str(one.get("delta")) for one in deltas)
        response["output"] = [*_output_message(text), *(_item(call) for call in calls)]
    return response


def _output_message(text: str) -> list[Json]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "msg_saved", "type": "message", "role": "assistant", "status": "completed"}
    return [{**message, "content": [part]}] if text else []


def _item(call: Call) -> Json:
    item = {"id": f"fc_saved_{call.position}", "call_id": call.id, "name": call.name, "status": "completed"}
    if call.kind is Kind.CUSTOM:
        return {**item, "type": "custom_tool_call", "input": call.arguments}
    return {**item, "type": "function_call", "arguments": call.arguments}


def _anthropic(payloads: Payloads, calls: Sequence[Call]) -> Json:
    message: dict[str, Json] = {"id": "msg_saved", "type": "message", "role": "assistant"}
    used: dict[str, Json] = {}
    text = ""
    for payload in payloads:
        for part in (payload.get("message"), payload.get("delta")):
            if isinstance(part, dict) and payload.get("type") in {"message_start", "message_delta"}:
                message.update(part)
                used.update(_dict(part.get("usage")))
        used.update(_dict(payload.get("usage")))
        piece = json_access.get(payload, "delta", "text")
        text += piece if isinstance(piece, str) else ""
    uses = [
        {
            "type": "server_tool_use" if call.kind is Kind.SERVER else "tool_use",
            "id": call.id,
            "name": call.name,
            "input": _object(call),
        }
        for call in calls
    ]
    return {**message, "content": [*([{"type": "text", "text": text}] if text else []), *uses], "usage": used}


def _gemini(payloads: Payloads, calls: Sequence[Call]) -> Json:
    candidate: dict[str, Json] = {"index": 0}
    parts: list[Json] = []
    for payload in payloads:
        said = json_access.get(payload, "candidates", 0)
        candidate.update(_dict(said))
        parts.extend(
            part for part in json_access.items(json_access.get(said, "content", "parts")) if part != {"text": ""}
        )
    if any(json_access.get(part, "functionCall", "partialArgs") is not ABSENT for part in parts):
        parts = [part for part in parts if json_access.get(part, "functionCall") is ABSENT]
        parts += [{"functionCall": {"name": call.name, "args": _object(call)}} for call in calls]
    candidate["content"] = {"role": "model", "parts": _joined(parts)}
    return {**_merged(payloads, leaving=("candidates",)), "candidates": [candidate]}


def _joined(parts: Sequence[Json]) -> list[Json]:
    """The parts, with each run of plain texts as one."""
    joined: list[Json] = []
    for part in parts:
        if joined and _dict(joined[-1]).keys() == {"text"} == _dict(part).keys():
            joined[-1] = {"text": f"{joined[-1]['text']}{part['text']}"}
        else:
            joined.append(part)
    return joined


def _ollama(payloads: Payloads, calls: Sequence[Call]) -> Json:
    message: dict[str, Json] = {"role": "assistant", "content": ""}
    for payload in payloads:
        _add_texts(message, payload.get("message"))
    if calls:
        message["tool_calls"] = [
            {
                **({"id": call.id} if call.id else {}),
                "function": {"name": call.name, "arguments": _object(call)},
            }
            for call in calls
        ]
    return {**_merged(payloads, leaving=()), "message": message}


def _merged(payloads: Payloads, *, leaving: tuple[str, ...]) -> dict[str, Json]:
    """What the payloads say beside their deltas; the last word counts, but null is none."""
    return {
        key: value for payload in payloads for key, value in payload.items() if key not in leaving and value is not None
    }


def _object(call: Call) -> Json:
    return _dict(parse(call.arguments.encode("utf-8", "surrogatepass")))


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


_ASSEMBLERS: dict[str, Callable[[Payloads, Sequence[Call]], Json]] = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
