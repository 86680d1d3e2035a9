"""The shape `whole-calls`: a client receives only complete calls, at every end of the stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import injected, inspected, payloads, run, shaped, sse
from tests.invariants.healthy import PATHS, Healthy, streams
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.chat import edit
from toolstream_core.protocols.chat.repair import client
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

type Payload = dict[str, Any]

BY_PROTOCOL = {one: [stream for stream in streams() if stream.protocol == one] for one in PATHS}
SHAPED = [one for protocol in ("openai-chat", "openai-responses", "anthropic") for one in BY_PROTOCOL[protocol]]


def end_at_limit(protocol: str, received: list[Payload]) -> list[Payload | str]:
    """Return the end events of a provider at the token limit."""
    if protocol == "openai-chat":
        return [{**received[0], "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}, "[DONE]"]
    if protocol == "anthropic":
        stopped = [one["index"] for one in received if one["type"] == "content_block_stop"]
        started = [one["index"] for one in received if one["type"] == "content_block_start"]
        stops: list[Payload | str] = [
            {"type": "content_block_stop", "index": at} for at in started if at not in stopped
        ]
        delta = {"stop_reason": "max_tokens", "stop_sequence": None}
        return [*stops, {"type": "message_delta", "delta": delta}, {"type": "message_stop"}]
    items, closing = {}, []
    for one in received:
        if one["type"].endswith("added"):
            items[one["output_index"]] = dict(one["item"])
        elif one["type"].endswith("delta"):
            items[one["output_index"]]["arguments"] += one["delta"]
        elif one["type"].endswith("item.done"):
            items[one["output_index"]] = one["item"]
    for at, item in items.items():
        if item["status"] != "completed":
            item["status"] = "incomplete"
            closing.append({"type": "response.output_item.done", "output_index": at, "item": item})
    details = {"reason": "max_output_tokens"}
    response = {
        "object": "response",
        "status": "incomplete",
        "incomplete_details": details,
        "output": list(items.values()),
    }
    return [*closing, {"type": "response.incomplete", "response": response}]


def truncated(healthy: Healthy) -> Iterator[tuple[bytes, bool]]:
    """Yield the stream truncated after each event, without and with end events, and whether it has these."""
    frames = healthy.frames
    first = 2 if healthy.protocol == "openai-responses" else 1
    for end in range(first, len(frames)):
        received = b"".join(frames[:end])
        yield received, False
        if not inspected(received, healthy.exchange).record.ended:
            yield received + sse(*end_at_limit(healthy.protocol, payloads(received))), True


def indexes(protocol: str, body: bytes) -> list[int]:
    """Return the indexes of the starts of calls, items or blocks."""
    events = payloads(body)
    if protocol == "openai-chat":
        deltas = [choice["delta"] for one in events for choice in one["choices"]]
        return [entry["index"] for delta in deltas for entry in delta.get("tool_calls", ())]
    key, kind = {"anthropic": ("index", "block_start"), "openai-responses": ("output_index", "item.added")}[protocol]
    return [one[key] for one in events if one["type"].endswith(kind)]


@pytest.mark.parametrize("healthy", SHAPED, ids=str)
def test_no_incomplete_call_is_sent(healthy: Healthy) -> None:
    """In a truncated stream, only the complete calls are sent, in order and with consecutive indexes, and all text."""
    intended = inspected(healthy.body, healthy.exchange).calls
    for body, ended in truncated(healthy):
        before = inspected(body, healthy.exchange).record
        out = shaped(body, healthy.exchange, "whole-calls")
        after = inspected(out, healthy.exchange)
        complete = [(call.name, json.loads(call.arguments)) for call in before.calls if call.complete]
        assert [call for call in after.calls if call[0] != "ping"] == [call for call in complete if call[0] != "ping"]
        assert all(call in intended for call in after.calls)
        assert indexes(healthy.protocol, out) == list(range(len(indexes(healthy.protocol, out))))
        assert "cut-off-call" not in after.finding_names
        assert after.record.finish == before.finish
        assert after.record.ended == ended or not ended
        assert texts(out) == texts(body)


def texts(body: bytes) -> str:
    """Return the joined text deltas."""
    events = payloads(body)
    choices = [choice["delta"].get("content") or "" for one in events for choice in one.get("choices", ())]
    return "".join([*choices, *(one["delta"]["text"] for one in events if "text" in str(one.get("delta")))])


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
def test_a_header_alone_is_not_sent(protocol: str) -> None:
    """A header of a tool without parameters is sent at the end of the turn, and not at the token limit."""
    healthy = next(one for one in BY_PROTOCOL[protocol] if one.name == "without arguments")
    frames = healthy.frames
    at = 1 + next(at for at, frame in enumerate(frames) if b'"ping"' in frame)
    head = b"".join(frames[:at])
    for body in (head, head + sse(*end_at_limit(protocol, payloads(head)))):
        assert inspected(shaped(body, healthy.exchange, "whole-calls"), healthy.exchange).record.calls == []
    assert [
        name for name, _ in inspected(shaped(healthy.body, healthy.exchange, "whole-calls"), healthy.exchange).calls
    ]


INVALID = ("lost-arguments", "merged-calls", "invalid-arguments")
"""Faults that make calls that no client can run."""
SENT_BEFORE = {("openai-chat", "merged-calls", name) for name in ("one chunk each", "two in one event")}
"""Streams in which the first object is sent before the second one makes the call invalid."""
BROKEN = [
    (healthy, fault)
    for one in PROTOCOLS
    for healthy in BY_PROTOCOL[one.name]
    for fault in INVALID
    if "whole-calls" in one.shapes and fault in one.injectors and (one.name, fault, healthy.name) not in SENT_BEFORE
]


@pytest.mark.parametrize(("healthy", "fault"), BROKEN, ids=str)
def test_no_invalid_call_is_sent(healthy: Healthy, fault: str) -> None:
    """Only valid calls are sent, in order, with and without safe repairs before the shape."""
    broken = injected(healthy.body, healthy.exchange, fault).out
    before = inspected(broken, healthy.exchange).record
    for repairs in (frozenset[str](), SAFE):
        outcome = run(broken, healthy.exchange, Settings(repairs, ("whole-calls",)))
        after = inspected(outcome.out, healthy.exchange).record
        assert all(call.complete for call in after.calls)
        assert [call.name for call in after.calls] == [call.name for call in before.calls if call.complete]
        assert after.ended == before.ended


def test_blocks_after_a_dropped_call_move_up() -> None:
    """Blocks after a dropped incomplete call get consecutive indexes and keep their order."""
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f"}}
    incomplete = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"a'},
    }
    text = {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
    text_delta = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Sorry."}}
    stops = [{"type": "content_block_stop", "index": at} for at in (0, 1)]
    end: list[Payload] = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    body = sse(start, incomplete, stops[0], text, text_delta, stops[1], *end)
    outcome = run(body, BY_PROTOCOL["anthropic"][0].exchange, Settings(shapes=("whole-calls",)))
    moved = [{**one, "index": 0} for one in (text, text_delta, stops[1])]
    assert payloads(outcome.out) == [*moved, *end]
    assert "cut-off-call" in outcome.finding_names


def test_chat_calls_after_a_dropped_call_move_up() -> None:
    """If one of two interleaved calls is dropped, the other gets its index."""
    exchange = BY_PROTOCOL["openai-chat"][0].exchange

    def chunk(index: int, arguments: str, **more: str) -> Payload:
        entry = {"index": index, **more, "function": {"arguments": arguments, **({"name": "f"} if more else {})}}
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}

    finish = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    body = sse(chunk(0, "{", id="a"), chunk(1, "{", id="b"), chunk(0, '"a"'), chunk(1, "}"), finish, "[DONE]")
    out = shaped(body, exchange, "whole-calls")
    entries = [one["choices"][0]["delta"].get("tool_calls") for one in payloads(out)]
    assert entries == [[{"index": 0, "id": "b", "function": {"arguments": "{}", "name": "f"}}], None]
    assert b"[DONE]" in out


def test_incomplete_calls_are_dropped_from_the_terminal_event() -> None:
    """Incomplete calls are dropped from the terminal event; complete calls, server calls and messages are kept."""
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hm."}]}
    search = {"type": "web_search_call", "id": "w", "status": "incomplete"}
    incomplete = {
        "type": "function_call",
        "id": "f",
        "call_id": "c",
        "name": "f",
        "arguments": '{"a',
        "status": "incomplete",
    }
    custom = {"type": "custom_tool_call", "id": "u", "call_id": "d", "name": "g", "input": "ab", "status": "incomplete"}
    complete = {
        "type": "function_call",
        "id": "h",
        "call_id": "e",
        "name": "f",
        "arguments": "{}",
        "status": "completed",
    }
    response = {"object": "response", "status": "incomplete", "output": [incomplete, message, search, custom, complete]}
    body = sse(
        {"type": "response.output_item.added", "output_index": 0, "item": {**incomplete, "arguments": ""}},
        {"type": "response.output_item.added", "output_index": 1, "item": message},
        {"type": "response.incomplete", "response": response},
    )
    out = payloads(shaped(body, BY_PROTOCOL["openai-responses"][0].exchange, "whole-calls"))
    assert [one.get("output_index") for one in out] == [0, None]
    assert out[-1]["response"]["output"] == [message, search, complete]


@pytest.mark.parametrize("finish", ["MAX_TOKENS", None])
def test_an_incomplete_gemini_call_is_dropped(finish: str | None) -> None:
    """A Gemini call whose last part is missing is dropped, and the text after it is sent."""

    def event(*parts: Payload, **more: str) -> Payload:
        return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}

    first = {"functionCall": {"name": "f", "willContinue": True}}
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "b"}], "willContinue": True}}
    events = [event({"text": "Hm."}), event(first), event(more)]
    last = [event({"text": "no"}, finishReason=finish)] if finish else []
    out = payloads(shaped(sse(*events, *last), BY_PROTOCOL["gemini"][0].exchange, "whole-calls"))
    assert out == [events[0], *last]


def test_interleaved_gemini_calls_are_sent_complete() -> None:
    """Interleaved partial calls of two candidates are sent complete."""

    def event(index: int, call: Payload, **more: str) -> Payload:
        content = {"role": "model", "parts": [{"functionCall": call}]}
        return {"candidates": [{"content": content, "index": index, **more}]}

    def part(value: str, **more: Any) -> Payload:
        return {"partialArgs": [{"jsonPath": "$.a", "stringValue": value}], **more}

    events = [
        event(0, {"name": "f", "willContinue": True}),
        event(1, {"name": "g", "willContinue": True}),
        event(0, part("0", willContinue=True)),
        event(1, part("1")),
        event(0, {"name": "h", "willContinue": True}),
        event(0, part("2")),
        event(1, {"name": "i", "args": {}}, finishReason="STOP"),
    ]
    out = payloads(shaped(sse(*events), BY_PROTOCOL["gemini"][0].exchange, "whole-calls"))
    calls = [one["candidates"][0]["content"]["parts"][0].get("functionCall") for one in out]
    assert calls[-3:] == [
        {"name": "g", "args": {"a": "1"}},
        {"name": "h", "args": {"a": "2"}},
        {"name": "i", "args": {}},
    ]
    assert "willContinue" not in json.dumps(out)


def test_a_call_completed_after_its_finish_reason_is_sent() -> None:
    """A call that is completed after its finish reason is sent in one event."""
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

    def chunk(arguments: str, **more: str) -> Payload:
        entry = {"index": 0, **more, "function": {"arguments": arguments, **({"name": "f"} if more else {})}}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": None}]}

    exchange = StreamFacts(path=PATHS["openai-chat"], content_type="text/event-stream")
    outcome = run(
        sse(chunk('{"a":', id="a"), finish, chunk("1}"), "[DONE]"), exchange, Settings(shapes=("whole-calls",))
    )
    assert payloads(outcome.out) == [finish, chunk('{"a":1}', id="a")]


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
def test_dropped_calls_are_recorded_as_changes(protocol: str) -> None:
    """A dropped call is recorded as a change and reported as cut off."""
    healthy = BY_PROTOCOL[protocol][0]
    body = b"".join(healthy.frames[: len(healthy.frames) // 2])
    outcome = run(body, healthy.exchange, Settings(SAFE, ("whole-calls",)))
    assert outcome.record.changed
    assert "cut-off-call" in outcome.finding_names
    assert b"get_weather" in body
    assert b"get_weather" not in outcome.out


@pytest.mark.parametrize(("finish", "is_sent"), [(None, True), ("length", False), ("tool_calls", True)])
def test_done_completes_a_call(finish: str | None, *, is_sent: bool) -> None:
    """`[DONE]` completes a call without arguments, unless the finish reason is `length`."""
    entry = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": ""}}
    head = {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": None}]}
    last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    out = shaped(sse(head, *last, "[DONE]"), BY_PROTOCOL["openai-chat"][0].exchange, "whole-calls")
    assert (b"ping" in out) == is_sent


def chunked(*deltas: Payload, finish: str | None = "length") -> list[Payload]:
    """Return chunks of a choice, and its finish reason."""
    chunks: list[Payload] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, *([{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else [])]


ODD = {
    "legacy": (
        [{"function_call": {"name": "f", "arguments": ""}}],
        [{"function_call": {"arguments": one}} for one in ('{"a', '":1}')],
    ),
    "flat": (
        [{"tool_calls": [{"index": 0, "id": "a", "name": "f", "arguments": ""}]}],
        [{"tool_calls": [{"index": 0, "arguments": one}]} for one in ('{"a', '":1}')],
    ),
    "an object, not a list": (
        [{"tool_calls": {"index": 0, "id": "a", "function": {"name": "f"}}}],
        [{"tool_calls": {"index": 0, "function": {"arguments": one}}} for one in ('{"a', '":1}')],
    ),
    "flat after a valid header": (
        [{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}],
        [{"tool_calls": [{"index": 0, "arguments": one}]} for one in ('{"a', '":1}')],
    ),
}
"""Forms of calls in deltas: the header, and two parts."""


@pytest.mark.parametrize("finish", ["length", "tool_calls", None])
@pytest.mark.parametrize(("head", "parts"), ODD.values(), ids=ODD)
def test_other_forms_of_chat_deltas(head: list[Payload], parts: list[Payload], finish: str | None) -> None:
    """All events of a call in another form are sent, or none if it is incomplete, without a repair."""
    exchange = StreamFacts(path=PATHS["openai-chat"], content_type="text/event-stream")
    text = {"content": "Hm."}
    incomplete = shaped(sse(*chunked(*head, parts[0], text, finish=finish)), exchange, "whole-calls")
    assert payloads(incomplete) == chunked(text, finish=finish)
    body = sse(*chunked(*head, *parts, finish=finish))
    out = shaped(body, exchange, "whole-calls")
    assert inspected(out, exchange).calls == [("f", {"a": 1})]
    assert payloads(out)[-1] == chunked(finish=finish)[0] if finish else b"f" in out


@pytest.mark.parametrize("key", ["tool_calls", "function_call"])
def test_a_message_in_a_chunk(key: str) -> None:
    """A message with a complete call is unchanged; the incomplete call of a message is dropped."""
    exchange = StreamFacts(path=PATHS["openai-chat"], content_type="text/event-stream")
    for arguments, finish in (('{"a', "length"), ('{"a":1}', "tool_calls")):
        function = {"name": "f", "arguments": arguments}
        call = {key: [{"id": "a", "type": "function", "function": function}] if key == "tool_calls" else function}
        message = {"role": "assistant", "content": "Hm."}
        event = {"choices": [{"index": 0, "message": {**message, **call}, "finish_reason": finish}]}
        out = payloads(shaped(sse(event, "[DONE]"), exchange, "whole-calls"))
        expected = event if finish == "tool_calls" else {"choices": [{**event["choices"][0], "message": message}]}
        assert out == [expected]


def test_the_fragments_of_a_call_are_joined_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `whole-calls`, the cost of a held call grows with its length, not with its square."""
    joins: list[object] = []

    def as_one(entry: object, more: object) -> object:
        joins.append(more)
        return edit.as_one(entry, more)

    monkeypatch.setattr(client, "as_one", as_one)
    function = {"name": "get_weather", "arguments": '{"city":"'}
    first = {"index": 0, "id": "c", "type": "function", "function": function}
    rest = [{"index": 0, "function": {"arguments": text}} for text in [*"x" * 1000, '"}']]
    deltas = [{"tool_calls": [entry]} for entry in (first, *rest)]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    out = shaped(sse(*chunks, finish, "[DONE]"), StreamFacts(path=PATHS["openai-chat"]), "whole-calls")
    assert b'{\\"city\\":\\"' + b"x" * 1000 in out
    assert len(joins) < 10
