"""Server-side fallback: another model continues the response, and the calls of the first one are cancelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, run
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

TOOLS = [
    {"name": name, "input_schema": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}
    for name in ("run", "get_weather")
]
EXCHANGE = StreamFacts(
    path="/v1/messages", content_type="text/event-stream", request={"model": "a", "stream": True, "tools": TOOLS}
)
HEAD = {
    "type": "message_start",
    "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}},
}
FALLBACK = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
WHOLE, HALF, NONE = '{"a":1}', '{"a":"rm', ""
SWITCHES = {
    "a complete call": ([("run", WHOLE)], True),
    "an incomplete call": ([("run", HALF)], True),
    "a call without arguments": ([("run", NONE)], True),
    "a call that was not stopped": ([("run", HALF)], False),
    "two calls": ([("run", WHOLE), ("run", HALF)], True),
    "no call": ([], True),
}


def block(index: int, content: Payload, *deltas: Payload, stop: bool = True) -> list[Payload]:
    """The events of a block."""
    start = {"type": "content_block_start", "index": index, "content_block": content}
    parts = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [start, *parts, *([{"type": "content_block_stop", "index": index}] if stop else [])]


def call(index: int, name: str, text: str, *, stop: bool = True) -> list[Payload]:
    """The events of a call, its arguments in two deltas."""
    content = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    parts = [{"type": "input_json_delta", "partial_json": part} for part in (text[:3], text[3:]) if part]
    return block(index, content, *parts, stop=stop)


def body(*events: Payload) -> bytes:
    """A stream."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in events)


def stream(before: list[tuple[str, str]], after: list[tuple[str, str]], *, stop: bool = True, times: int = 1) -> bytes:
    """Text and calls, one fallback after the other, other calls."""
    said = {"type": "text_delta", "text": "Let me"}
    events = [HEAD, *block(0, {"type": "text", "text": ""}, said)]
    at = 1
    for _ in range(times):
        for name, text in before:
            events += call(at, name, text, stop=stop)
            at += 1
        events += block(at, FALLBACK)
        at += 1
    for name, text in after:
        events += call(at, name, text)
        at += 1
    reason = {"stop_reason": "tool_use" if after else "end_turn", "stop_sequence": None}
    end = {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 5}}
    return body(*events, end, {"type": "message_stop"})


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("after", [[("get_weather", WHOLE)], [("get_weather", WHOLE), ("run", WHOLE)], []])
@pytest.mark.parametrize("switch", [name for name, (_, stop) in SWITCHES.items() if stop])
def test_only_the_calls_after_the_last_fallback_count(switch: str, after: list[tuple[str, str]], times: int) -> None:
    """The stream is valid, and `safe` forwards it byte for byte, with its end.

    Nothing is reported, but for a call that was stopped without its arguments: nobody knows then that a fallback comes.
    """
    before, _ = SWITCHES[switch]
    given = stream(before, after, times=times)
    went = repaired(given, EXCHANGE)
    assert inspected(given, EXCHANGE).calls == [(name, json.loads(text)) for name, text in after]
    assert [call.position for call in went.record.calls] == list(range(len(after)))
    assert set(went.finding_names) == ({"lost-arguments"} if switch == "a call without arguments" else set())
    assert went.out == given
    line = Session(EXCHANGE, Settings(SAFE))
    list(line.feed(given))
    list(line.end())
    record = line.record()
    assert record is not None
    assert line.cut_off(record) is None


def test_a_call_that_was_not_stopped_counts_for_nothing() -> None:
    """Whatever the repair makes of its block, the response ends in order, with the call of the second model."""
    before, _ = SWITCHES["a call that was not stopped"]
    went = repaired(stream(before, [("get_weather", WHOLE)], stop=False), EXCHANGE)
    assert went.calls == [("get_weather", {"a": 1})]
    assert b"message_stop" in went.out
    assert "cut-off-call" not in went.finding_names


def test_an_incomplete_call_after_the_fallback_is_cut_off() -> None:
    """The second model's calls are judged as any others."""
    went = repaired(stream([("run", WHOLE)], [("get_weather", HALF)]), EXCHANGE)
    assert [(one.name, one.complete) for one in went.record.calls] == [("get_weather", False)]
    assert "cut-off-call" in went.finding_names


def test_a_response_that_was_not_streamed() -> None:
    """Its content has the block too."""
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"a": 1}},
        FALLBACK,
        {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"a": 2}},
    ]
    response = {"type": "message", "role": "assistant", "content": calls, "stop_reason": "tool_use"}
    assert [one.name for one in named("anthropic").read_response(response).fragments] == ["get_weather"]
    whole = StreamFacts(path="/v1/messages", content_type="application/json", request=EXCHANGE.request)
    assert run(json.dumps(response).encode(), whole, Settings(SAFE)).calls == [("get_weather", {"a": 2})]
