"""Responses: converts a complete response to a stream, and a stream to a complete response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import Kind
from toolstream_core.protocols.answers import dictionary, named_event, uncut
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.answers import Cut, Payload, Payloads


def streamed(answer: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """https://platform.openai.com/docs/api-reference/responses-streaming."""
    del request
    if answer.get("object") == "response":
        for number, payload in enumerate(events(answer, cut)):
            yield named_event({**payload, "sequence_number": number})


def events(answer: Payload, cut: Cut) -> list[Payload]:
    """The events of a complete response, without sequence numbers."""
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    made: list[Payload] = [{"type": f"response.{kind}", "response": begun} for kind in ("created", "in_progress")]
    for place, item in enumerate(json_access.items(answer.get("output"))):
        if isinstance(item, dict):
            made += _item_events(item, place, cut)
    kind = answer.get("status") if answer.get("status") in ("failed", "incomplete") else "completed"
    return [*made, {"type": f"response.{kind}", "response": answer}]


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The complete response of a stream; see `WireProtocol.assembled`."""
    responses = [inner for payload in payloads if isinstance(inner := payload.get("response"), dict)]
    response: dict[str, Json] = {"id": "resp_saved", "object": "response", **(responses[-1] if responses else {})}
    if not response.get("output"):
        deltas = (one for one in payloads if one.get("type") == "response.output_text.delta")
        text = "".join(str(one.get("delta")) for one in deltas)
        response["output"] = [*_output_message(text), *(_item(call) for call in calls)]
    return response


def _item_events(item: Payload, place: int, cut: Cut) -> Iterator[Payload]:
    """The events of one output item."""
    where = {"item_id": item.get("id"), "output_index": place}
    key = {"function_call": "arguments", "custom_tool_call": "input"}.get(str(item.get("type")))
    opened = {**item, "status": "in_progress", **({key: ""} if key else {})}
    if item.get("type") == "message":
        opened["content"] = []
    yield {"type": "response.output_item.added", "output_index": place, "item": opened}
    if key:
        kind = "response.function_call_arguments" if key == "arguments" else "response.custom_tool_call_input"
        for text in cut(item.get(key, "")):
            yield {"type": f"{kind}.delta", **where, "delta": text}
        yield {"type": f"{kind}.done", **where, key: item.get(key, "")}
    for index, part in enumerate(json_access.items(item.get("content")) if item.get("type") == "message" else ()):
        here = {**where, "content_index": index}
        yield {"type": "response.content_part.added", **here, "part": {**dictionary(part), "text": ""}}
        text = dictionary(part).get("text", "")
        for piece in cut(text):
            yield {"type": "response.output_text.delta", **here, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **here, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **here, "part": part}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _output_message(text: str) -> list[Json]:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": "msg_saved", "type": "message", "role": "assistant", "status": "completed"}
    return [{**message, "content": [part]}] if text else []


def _item(call: Call) -> Json:
    item = {"id": f"fc_saved_{call.position}", "call_id": call.id, "name": call.name, "status": "completed"}
    if call.kind is Kind.CUSTOM:
        return {**item, "type": "custom_tool_call", "input": call.arguments}
    return {**item, "type": "function_call", "arguments": call.arguments}
