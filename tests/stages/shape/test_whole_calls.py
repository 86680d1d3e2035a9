"""With whole-calls a client gets calls that are whole, and no other, wherever and however the stream stops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import injected, inspected, run, shaped, sse
from tests.invariants.healthy import PATHS, Healthy, streams
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

type Payload = dict[str, Any]

CUT = {one: [stream for stream in streams() if stream.dialect == one] for one in PATHS}
SHAPED = [one for dialect in ("openai-chat", "openai-responses", "anthropic") for one in CUT[dialect]]


def payloads(body: bytes) -> list[Payload]:
    """What each event says; `[DONE]` is left out."""
    blocks = [block.partition(b"data: ")[2] for block in body.split(b"\n\n")]
    return [json.loads(data) for data in blocks if data and data != b"[DONE]"]


def valid(dialect: str, came: list[Payload]) -> list[Payload | str]:
    """How the provider ends the turn in which the token limit was reached."""
    if dialect == "openai-chat":
        return [{**came[0], "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}, "[DONE]"]
    if dialect == "anthropic":
        stopped = [one["index"] for one in came if one["type"] == "content_block_stop"]
        started = [one["index"] for one in came if one["type"] == "content_block_start"]
        stops: list[Payload | str] = [
            {"type": "content_block_stop", "index": at} for at in started if at not in stopped
        ]
        delta = {"stop_reason": "max_tokens", "stop_sequence": None}
        return [*stops, {"type": "message_delta", "delta": delta}, {"type": "message_stop"}]
    said, closing = {}, []
    for one in came:
        if one["type"].endswith("added"):
            said[one["output_index"]] = dict(one["item"])
        elif one["type"].endswith("delta"):
            said[one["output_index"]]["arguments"] += one["delta"]
        elif one["type"].endswith("item.done"):
            said[one["output_index"]] = one["item"]
    for at, item in said.items():
        if item["status"] != "completed":
            item["status"] = "incomplete"
            closing.append({"type": "response.output_item.done", "output_index": at, "item": item})
    details = {"reason": "max_output_tokens"}
    response = {
        "object": "response",
        "status": "incomplete",
        "incomplete_details": details,
        "output": list(said.values()),
    }
    return [*closing, {"type": "response.incomplete", "response": response}]


def stopped(healthy: Healthy) -> Iterator[tuple[bytes, bool]]:
    """The stream stopped behind each event: just so, and as providers do it; and whether that is so."""
    frames = healthy.frames
    first = 2 if healthy.dialect == "openai-responses" else 1
    for end in range(first, len(frames)):
        came = b"".join(frames[:end])
        yield came, False
        if not inspected(came, healthy.exchange).record.ended:
            yield came + sse(*valid(healthy.dialect, payloads(came))), True


def places(dialect: str, body: bytes) -> list[int]:
    """The places of the calls, items or blocks, as they begin."""
    said = payloads(body)
    if dialect == "openai-chat":
        deltas = [choice["delta"] for one in said for choice in one["choices"]]
        return [entry["index"] for delta in deltas for entry in delta.get("tool_calls", ())]
    key, kind = {"anthropic": ("index", "block_start"), "openai-responses": ("output_index", "item.added")}[dialect]
    return [one[key] for one in said if one["type"].endswith(kind)]


@pytest.mark.parametrize("healthy", SHAPED, ids=str)
def test_no_call_is_said_by_half(healthy: Healthy) -> None:
    """Those that came whole go on, in order and without a gap; nothing else of the answer is lost."""
    intended = inspected(healthy.body, healthy.exchange).calls
    for body, ended in stopped(healthy):
        before = inspected(body, healthy.exchange).record
        out = shaped(body, healthy.exchange, "whole-calls")
        after = inspected(out, healthy.exchange)
        whole = [(call.name, json.loads(call.arguments)) for call in before.calls if call.complete]
        assert [call for call in after.calls if call[0] != "ping"] == [call for call in whole if call[0] != "ping"]
        assert all(call in intended for call in after.calls)
        assert places(healthy.dialect, out) == list(range(len(places(healthy.dialect, out))))
        assert "cut-off-call" not in after.finding_names
        assert after.record.finish == before.finish
        assert after.record.ended == ended or not ended
        assert texts(out) == texts(body)


def texts(body: bytes) -> str:
    """The text deltas, one behind the other."""
    said = payloads(body)
    choices = [choice["delta"].get("content") or "" for one in said for choice in one.get("choices", ())]
    return "".join([*choices, *(one["delta"]["text"] for one in said if "text" in str(one.get("delta")))])


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
def test_a_header_alone_is_no_call(dialect: str) -> None:
    """The tool has no parameters; the turn's own end makes it a call, and the token limit does not."""
    healthy = next(one for one in CUT[dialect] if one.name == "without arguments")
    frames = healthy.frames
    at = 1 + next(at for at, frame in enumerate(frames) if b'"ping"' in frame)
    head = b"".join(frames[:at])
    for body in (head, head + sse(*valid(dialect, payloads(head)))):
        assert inspected(shaped(body, healthy.exchange, "whole-calls"), healthy.exchange).record.calls == []
    assert [
        name for name, _ in inspected(shaped(healthy.body, healthy.exchange, "whole-calls"), healthy.exchange).calls
    ]


NEVER_WHOLE = ("lost-arguments", "merged-calls", "invalid-arguments")
"""What makes calls of which everything came, and which nobody can run."""
SENT_BEFORE = {("openai-chat", "merged-calls", name) for name in ("one chunk each", "two in one event")}
"""The first object is complete and sent before the second one comes, which makes it a call that nobody can run."""
BROKEN = [
    (healthy, fault)
    for one in PROTOCOLS
    for healthy in CUT[one.name]
    for fault in NEVER_WHOLE
    if "whole-calls" in one.shapes and fault in one.injectors and (one.name, fault, healthy.name) not in SENT_BEFORE
]


@pytest.mark.parametrize(("healthy", "fault"), BROKEN, ids=str)
def test_no_call_comes_that_nobody_can_run(healthy: Healthy, fault: str) -> None:
    """The others come, in order; with safe repairs before the shape, and without."""
    broken = injected(healthy.body, healthy.exchange, fault).out
    before = inspected(broken, healthy.exchange).record
    for repairs in (frozenset[str](), SAFE):
        went = run(broken, healthy.exchange, Settings(repairs, ("whole-calls",)))
        after = inspected(went.out, healthy.exchange).record
        assert all(call.complete for call in after.calls)
        assert [call.name for call in after.calls] == [call.name for call in before.calls if call.complete]
        assert after.ended == before.ended


def test_what_follows_moves_up() -> None:
    """Blocks behind one that was cut off, and their text, in order."""
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f"}}
    half = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}}
    text = {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
    said = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Sorry."}}
    stops = [{"type": "content_block_stop", "index": at} for at in (0, 1)]
    end: list[Payload] = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    body = sse(start, half, stops[0], text, said, stops[1], *end)
    went = run(body, CUT["anthropic"][0].exchange, Settings(shapes=("whole-calls",)))
    moved = [{**one, "index": 0} for one in (text, said, stops[1])]
    assert payloads(went.out) == [*moved, *end]
    assert "cut-off-call" in went.finding_names


def test_indexes_of_chat_calls_move_up() -> None:
    """One of two interleaved calls was cut off."""
    exchange = CUT["openai-chat"][0].exchange

    def chunk(index: int, arguments: str, **more: str) -> Payload:
        entry = {"index": index, **more, "function": {"arguments": arguments, **({"name": "f"} if more else {})}}
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}

    finish = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    body = sse(chunk(0, "{", id="a"), chunk(1, "{", id="b"), chunk(0, '"a"'), chunk(1, "}"), finish, "[DONE]")
    out = shaped(body, exchange, "whole-calls")
    entries = [one["choices"][0]["delta"].get("tool_calls") for one in payloads(out)]
    assert entries == [[{"index": 0, "id": "b", "function": {"arguments": "{}", "name": "f"}}], None]
    assert b"[DONE]" in out


def test_the_whole_response_leaves_it_out_too() -> None:
    """Also a call that only the whole response has; what the provider runs, and messages, stay."""
    message = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hm."}]}
    search = {"type": "web_search_call", "id": "w", "status": "incomplete"}
    half = {"type": "function_call", "id": "f", "call_id": "c", "name": "f", "arguments": '{"a', "status": "incomplete"}
    free = {"type": "custom_tool_call", "id": "u", "call_id": "d", "name": "g", "input": "ab", "status": "incomplete"}
    whole = {"type": "function_call", "id": "h", "call_id": "e", "name": "f", "arguments": "{}", "status": "completed"}
    response = {"object": "response", "status": "incomplete", "output": [half, message, search, free, whole]}
    body = sse(
        {"type": "response.output_item.added", "output_index": 0, "item": {**half, "arguments": ""}},
        {"type": "response.output_item.added", "output_index": 1, "item": message},
        {"type": "response.incomplete", "response": response},
    )
    out = payloads(shaped(body, CUT["openai-responses"][0].exchange, "whole-calls"))
    assert [one.get("output_index") for one in out] == [0, None]
    assert out[-1]["response"]["output"] == [message, search, whole]


@pytest.mark.parametrize("finish", ["MAX_TOKENS", None])
def test_a_gemini_call_in_parts(finish: str | None) -> None:
    """The last part never came; the text behind it goes on."""

    def event(*parts: Payload, **more: str) -> Payload:
        return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}

    first = {"functionCall": {"name": "f", "willContinue": True}}
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "b"}], "willContinue": True}}
    events = [event({"text": "Hm."}), event(first), event(more)]
    last = [event({"text": "no"}, finishReason=finish)] if finish else []
    out = payloads(shaped(sse(*events, *last), CUT["gemini"][0].exchange, "whole-calls"))
    assert out == [events[0], *last]


def test_gemini_calls_in_parts_may_be_interleaved() -> None:
    """Those of two candidates, and one that begins before another is whole."""

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
    out = payloads(shaped(sse(*events), CUT["gemini"][0].exchange, "whole-calls"))
    said = [one["candidates"][0]["content"]["parts"][0].get("functionCall") for one in out]
    assert said[-3:] == [
        {"name": "g", "args": {"a": "1"}},
        {"name": "h", "args": {"a": "2"}},
        {"name": "i", "args": {}},
    ]
    assert "willContinue" not in json.dumps(out)


def test_a_call_that_is_whole_behind_its_finish() -> None:
    """It is still said, in one event."""
    finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

    def chunk(arguments: str, **more: str) -> Payload:
        entry = {"index": 0, **more, "function": {"arguments": arguments, **({"name": "f"} if more else {})}}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": None}]}

    exchange = StreamFacts(path=PATHS["openai-chat"], content_type="text/event-stream")
    went = run(sse(chunk('{"a":', id="a"), finish, chunk("1}"), "[DONE]"), exchange, Settings(shapes=("whole-calls",)))
    assert payloads(went.out) == [finish, chunk('{"a":1}', id="a")]


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
def test_the_audit_has_what_was_left_out(dialect: str) -> None:
    """An event that goes nowhere is one that was changed."""
    healthy = CUT[dialect][0]
    body = b"".join(healthy.frames[: len(healthy.frames) // 2])
    went = run(body, healthy.exchange, Settings(SAFE, ("whole-calls",)))
    assert went.record.changed
    assert "cut-off-call" in went.finding_names
    assert b"get_weather" in body
    assert b"get_weather" not in went.out


@pytest.mark.parametrize(("finish", "said"), [(None, True), ("length", False), ("tool_calls", True)])
def test_done_says_that_a_call_is_over(finish: str | None, *, said: bool) -> None:
    """Unless the turn was cut off before it: a call without arguments is one, or is not."""
    entry = {"index": 0, "id": "a", "function": {"name": "ping", "arguments": ""}}
    head = {"choices": [{"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": None}]}
    last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else []
    out = shaped(sse(head, *last, "[DONE]"), CUT["openai-chat"][0].exchange, "whole-calls")
    assert (b"ping" in out) == said


def chunked(*deltas: Payload, finish: str | None = "length") -> list[Payload]:
    """Chunks of a choice, and its finish."""
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
    "an entry that is no list": (
        [{"tool_calls": {"index": 0, "id": "a", "function": {"name": "f"}}}],
        [{"tool_calls": {"index": 0, "function": {"arguments": one}}} for one in ('{"a', '":1}')],
    ),
    "flat behind a valid header": (
        [{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}],
        [{"tool_calls": [{"index": 0, "arguments": one}]} for one in ('{"a', '":1}')],
    ),
}
"""Forms in which deltas may say a call, in order: its header, two parts."""


@pytest.mark.parametrize("finish", ["length", "tool_calls", None])
@pytest.mark.parametrize(("head", "parts"), ODD.values(), ids=ODD)
def test_other_forms_of_chat_deltas(head: list[Payload], parts: list[Payload], finish: str | None) -> None:
    """All events of a call or none, with no repair before the shape."""
    exchange = StreamFacts(path=PATHS["openai-chat"], content_type="text/event-stream")
    text = {"content": "Hm."}
    half = shaped(sse(*chunked(*head, parts[0], text, finish=finish)), exchange, "whole-calls")
    assert payloads(half) == chunked(text, finish=finish)
    whole = sse(*chunked(*head, *parts, finish=finish))
    out = shaped(whole, exchange, "whole-calls")
    assert inspected(out, exchange).calls == [("f", {"a": 1})]
    assert payloads(out)[-1] == chunked(finish=finish)[0] if finish else b"f" in out


@pytest.mark.parametrize("key", ["tool_calls", "function_call"])
def test_a_whole_message_in_a_chunk(key: str) -> None:
    """What it says beside half a call goes on; one that is whole goes on untouched."""
    exchange = StreamFacts(path=PATHS["openai-chat"], content_type="text/event-stream")
    for arguments, finish in (('{"a', "length"), ('{"a":1}', "tool_calls")):
        function = {"name": "f", "arguments": arguments}
        said = {key: [{"id": "a", "type": "function", "function": function}] if key == "tool_calls" else function}
        message = {"role": "assistant", "content": "Hm."}
        event = {"choices": [{"index": 0, "message": {**message, **said}, "finish_reason": finish}]}
        out = payloads(shaped(sse(event, "[DONE]"), exchange, "whole-calls"))
        left = event if finish == "tool_calls" else {"choices": [{**event["choices"][0], "message": message}]}
        assert out == [left]
