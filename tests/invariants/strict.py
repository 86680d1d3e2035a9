"""A strict client: reads the calls of a stream that follows its protocol exactly, and rejects other streams."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from botocore.eventstream import EventStreamBuffer

from tests.invariants.healthy import LINES
from toolstream_core.engine.session import read_body
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from toolstream_core.model import StreamFacts

type Calls = list[tuple[str, Any]]


class StrictError(AssertionError):
    """The stream violates its protocol."""


def _require(condition: object, message: str) -> None:
    if not condition:
        raise StrictError(message)


def calls(protocol: str, body: bytes, exchange: StreamFacts) -> Calls:
    """Return names and arguments in order, or raise `StrictError`."""
    if protocol == "openai-chat":
        return _chat(_payloads(body))
    if protocol == "openai-responses":
        return _responses(_lines(body) if exchange.content_type == LINES else _payloads(body))
    if protocol == "openai-realtime":
        return _realtime(body)
    if protocol == "gemini-live":
        return _live(body)
    if protocol == "anthropic":
        return _anthropic(_payloads(body))
    if protocol == "gemini-interactions":
        return _interactions(_payloads(body))
    if protocol == "cohere-v2":
        return _cohere(_payloads(body))
    if protocol == "bedrock":
        return _converse(body)
    record = read_body([body], exchange)
    _require(record, "no LLM stream")
    return [(call.name, json.loads(call.arguments)) for call in record.calls] if record else []


def _lines(body: bytes) -> list[Any]:
    return [json.loads(line) for line in body.splitlines()]


def _payloads(body: bytes) -> list[Any]:
    framer = SseFramer()
    frames = [*framer.feed(body), *framer.feed(b"")]
    payloads: list[Any] = []
    for frame in frames:
        if frame.data is None:
            continue
        _require(not frame.trailing, "the last event is not terminated")
        if frame.data == b"[DONE]":
            payloads.append(None)
            continue
        payload = json.loads(frame.data)
        _require(
            not frame.name or frame.name == payload.get("event_type", payload.get("type", frame.name)),
            "the event name differs from the type",
        )
        payloads.append(payload)
    return payloads


def _chat(payloads: list[Any]) -> Calls:
    """Require an index for each entry, the header first, one finish reason, and `[DONE]` last."""
    _require(payloads and payloads[-1] is None, "no [DONE] at the end")
    found: dict[int, list[str]] = {}
    finish = None
    for payload in payloads[:-1]:
        for choice in payload["choices"]:
            _require(choice["index"] == 0, "a second choice")
            if choice["finish_reason"] is not None:
                _require(finish is None, "two finish reasons")
                finish = choice["finish_reason"]
            for entry in choice["delta"].get("tool_calls") or []:
                _add_entry(found, entry)
    _require(finish == ("tool_calls" if found else "stop"), f"finish reason {finish}")
    _require(list(found) == list(range(len(found))), f"indexes {list(found)}")
    return [(name, _parsed(text)) for name, text in found.values()]


def _add_entry(found: dict[int, list[str]], entry: Any) -> None:
    index, function = entry["index"], entry["function"]
    _require(type(index) is int, "the index is no number")
    if index not in found:
        _require(entry.get("id") and entry.get("type") == "function" and function.get("name"), f"header {entry}")
        found[index] = [function["name"], function.get("arguments", "")]
        return
    _require(not {"id", "type"} & entry.keys() and "name" not in function, f"continuation {entry}")
    found[index][1] += function["arguments"]


def _responses(payloads: list[Any]) -> Calls:
    """Require that each item is added, filled and closed under one id, and repeated in the terminal event."""
    return _items(payloads, "response.completed")


def _realtime(body: bytes) -> Calls:
    """Require the same of one response, and that each event has its own id and the response id."""
    _require(body.endswith(b"\n"), "the last message is incomplete")
    payloads = _lines(body)
    _require(payloads[0]["type"] == "response.created", "no response.created")
    response_id = payloads[0]["response"]["id"]
    for payload in payloads:
        _require(payload["event_id"], "no event_id")
        _require(
            payload.get("response_id", payload.get("response", {}).get("id")) == response_id, "another response's event"
        )
    items = {payload["output_index"]: payload["item"] for payload in payloads if "item" in payload}
    for payload in payloads:
        if payload["type"].startswith("response.function_call_arguments"):
            item = items[payload["output_index"]]
            _require(payload["call_id"] == item["call_id"], "arguments of another call id")
            _require(payload.get("name", item["name"]) == item["name"], "arguments of another name")
            _require(payload["type"].endswith("delta") or "name" in payload, "arguments without a name")
    return _items(payloads, "response.done")


def _live(body: bytes) -> Calls:
    """Require one key in each message, and all calls in the last message."""
    _require(body.endswith(b"\n"), "the last message is incomplete")
    *payloads, last = _lines(body)
    for payload in payloads:
        _require(payload.keys() == {"serverContent"}, "calls before the last message")
    calls = last["toolCall"]["functionCalls"]
    _require(len({call["id"] for call in calls}) == len(calls), "two calls of one id")
    return [(call["name"], call["args"]) for call in calls]


def _items(payloads: list[Any], end: str) -> Calls:
    items: dict[int, dict[str, Any]] = {}
    last = None
    for payload in payloads:
        _require(last != end, "an event after the end")
        last = payload["type"]
        if last == "response.output_item.added":
            _require(payload["output_index"] not in items, "an item added twice")
            items[payload["output_index"]] = {**payload["item"], "arguments": ""}
        elif last.startswith("response.function_call_arguments"):
            item = items[payload["output_index"]]
            _require(item["id"] == payload["item_id"], "another item id")
            if last.endswith("delta"):
                item["arguments"] += payload["delta"]
            else:
                _require(item["arguments"] == payload["arguments"], "the deltas are not the arguments")
        elif last == "response.output_item.done":
            _same_item(items[payload["output_index"]], payload["item"])
            items[payload["output_index"]]["done"] = True
    _require(last == end, f"no {end}")
    listed = [item for item in payloads[-1]["response"]["output"] if item["type"] == "function_call"]
    streamed = [items[at] for at in sorted(items) if items[at]["type"] == "function_call"]
    _require(len(listed) == len(streamed), "the response has other items")
    for one, other in zip(streamed, listed, strict=True):
        _same_item(one, other)
        _require(one.get("done"), "an item was not closed")
    return [(item["name"], _parsed(item["arguments"])) for item in streamed]


def _same_item(one: dict[str, Any], other: dict[str, Any]) -> None:
    for key in ("type", "id", "call_id", "name", "arguments"):
        if one["type"] == "function_call":
            _require(one[key] and one[key] == other[key], f"{key} {one[key]!r} differs from {other[key]!r}")


def _anthropic(payloads: list[Any]) -> Calls:
    """Require consecutive blocks with consecutive indexes, and the matching stop reason."""
    blocks: list[dict[str, Any]] = []
    reason = last = None
    is_open = False
    for payload in payloads:
        _require(last != "message_stop", "an event after the end")
        _require(last is not None or payload["type"] in {"message_start", "ping"}, "no message_start")
        last = payload["type"]
        if last == "content_block_start":
            _require(not is_open and payload["index"] == len(blocks), "a block started out of place")
            block = payload["content_block"]
            _require(block["type"] != "tool_use" or block["input"] == {}, "input in the start")
            blocks.append({**block, "json": ""})
            is_open = True
        elif last in {"content_block_delta", "content_block_stop"}:
            _require(is_open and payload["index"] == len(blocks) - 1, "a block that is not open")
            is_open = last != "content_block_stop"
            if is_open and blocks[-1]["type"] == "tool_use":
                blocks[-1]["json"] += payload["delta"]["partial_json"]
        elif last == "message_delta":
            _require(reason is None, "two stop reasons")
            reason = payload["delta"]["stop_reason"]
            _require(isinstance(payload["usage"]["output_tokens"], int), "no usage")
    _require(last == "message_stop" and not is_open, "no message_stop")
    tools = [block for block in blocks if block["type"] == "tool_use"]
    _require(reason == ("tool_use" if tools else "end_turn"), f"stop reason {reason}")
    _require(len({block["id"] for block in tools}) == len(tools), "two calls of one id")
    return [(block["name"], _parsed(block["json"] or "{}")) for block in tools]


def _interactions(payloads: list[Any]) -> Calls:
    """Require consecutive steps with consecutive indexes, and the matching status."""
    steps: list[dict[str, Any]] = []
    status = None
    is_open = False
    _require(payloads and payloads[-1] is None, "no [DONE] at the end")
    _require(payloads[0]["event_type"] == "interaction.created", "no interaction.created")
    for payload in payloads[:-1]:
        _require(status is None, "an event after the end")
        kind = payload["event_type"]
        if kind == "step.start":
            _require(not is_open and payload["index"] == len(steps), "a step started out of place")
            step = payload["step"]
            _require(step["type"] != "function_call" or step["arguments"] == {}, "arguments in the start")
            steps.append({**step, "json": ""})
            is_open = True
        elif kind in {"step.delta", "step.stop"}:
            _require(is_open and payload["index"] == len(steps) - 1, "a step that is not open")
            _require(type(payload["index"]) is int, "the index is no number")
            is_open = kind == "step.delta"
            if is_open and steps[-1]["type"] == "function_call":
                _require(payload["delta"]["type"] == "arguments_delta", "a delta of another kind")
                steps[-1]["json"] += payload["delta"]["arguments"]
        elif kind == "interaction.completed":
            status = payload["interaction"]["status"]
            _require(payload["interaction"]["id"] == payloads[0]["interaction"]["id"], "another id at the end")
    calls = [step for step in steps if step["type"] == "function_call"]
    _require(not is_open and status == ("requires_action" if calls else "completed"), f"status {status}")
    _require(all(call["id"] for call in calls), "a call without an id")
    _require(len({call["id"] for call in calls}) == len(calls), "two calls of one id")
    return [(call["name"], _parsed(call["json"] or "{}")) for call in calls]


def _cohere(payloads: list[Any]) -> Calls:
    """Require consecutive calls with consecutive indexes, and the matching finish reason."""
    found: list[dict[str, Any]] = []
    reason = None
    is_open = False
    _require(payloads and payloads[-1] is None, "no [DONE] at the end")
    for payload in payloads[:-1]:
        _require(reason is None, "an event after the end")
        kind = payload["type"]
        if kind == "tool-call-start":
            _require(not is_open and payload["index"] == len(found), "a call started out of place")
            found.append(_cohere_header(payload["delta"]["message"]["tool_calls"]))
            is_open = True
        elif kind in {"tool-call-delta", "tool-call-end"}:
            _require(is_open and payload["index"] == len(found) - 1, "a call that is not open")
            _require(type(payload["index"]) is int, "the index is no number")
            is_open = kind == "tool-call-delta"
            _require(is_open == ("delta" in payload), "an end with a delta, or a delta without one")
            if is_open:
                [entry] = payload["delta"]["message"]["tool_calls"].values()
                found[-1]["text"] += entry.pop("arguments")
                _require(not entry, f"more than arguments: {entry}")
        elif kind == "message-end":
            reason = payload["delta"]["finish_reason"]
            _require(isinstance(payload["delta"]["usage"]["tokens"]["output_tokens"], int), "no usage")
    _require(not is_open and reason == ("TOOL_CALL" if found else "COMPLETE"), f"finish reason {reason}")
    _require(len({call["id"] for call in found}) == len(found), "two calls of one id")
    return [(call["name"], _parsed(call["text"] or "{}")) for call in found]


def _cohere_header(entry: Any) -> dict[str, Any]:
    _require(isinstance(entry, dict) and entry["id"] and entry["type"] == "function", f"header {entry}")
    function = entry["function"]
    _require(function["name"] and function["arguments"] == "", f"header {entry}")
    return {"id": entry["id"], "name": function["name"], "text": ""}


def _converse(body: bytes) -> Calls:
    """Require consecutive blocks with distinct indexes, and the matching stop reason."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    calls: list[dict[str, Any]] = []
    reason, used, current = None, set[int](), None
    for message in buffer:
        kind, payload = message.headers[":event-type"], json.loads(message.payload)
        _require(reason is None or kind == "metadata", "an event after messageStop")
        if kind == "contentBlockStart":
            _require(current is None and payload["contentBlockIndex"] not in used, "a block started out of place")
            current = payload["contentBlockIndex"]
            calls.append({**payload["start"]["toolUse"], "json": ""})
            _require("input" not in calls[-1], "input in the start")
        elif kind == "contentBlockDelta":
            _require(current in {None, payload["contentBlockIndex"]}, "a block that is not open")
            _require(("toolUse" in payload["delta"]) is (current is not None), "a delta of another kind")
            if current is not None:
                calls[-1]["json"] += payload["delta"]["toolUse"]["input"]
        elif kind == "contentBlockStop":
            _require(current in {None, payload["contentBlockIndex"]}, "a stop of a block that is not open")
            used.add(payload["contentBlockIndex"])
            current = None
        elif kind == "messageStop":
            reason = payload["stopReason"]
        elif kind == "metadata":
            _require(isinstance(payload["usage"]["inputTokens"], int), "no usage")
    _require(reason == ("tool_use" if calls else "end_turn") and current is None, f"stop reason {reason}")
    _require(all(call["toolUseId"] for call in calls), "a call without an id")
    _require(len({call["toolUseId"] for call in calls}) == len(calls), "two calls of one id")
    return [(call["name"], _parsed(call["json"] or "{}")) for call in calls]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise StrictError(f"arguments {text!r}") from error
