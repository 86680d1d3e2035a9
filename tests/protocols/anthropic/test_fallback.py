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
COMPLETE, INCOMPLETE, EMPTY = '{"a":1}', '{"a":"rm', ""
SWITCHES = {
    "a complete call": ([("run", COMPLETE)], True),
    "an incomplete call": ([("run", INCOMPLETE)], True),
    "a call without arguments": ([("run", EMPTY)], True),
    "a call that was not stopped": ([("run", INCOMPLETE)], False),
    "two calls": ([("run", COMPLETE), ("run", INCOMPLETE)], True),
    "no call": ([], True),
}


def block(index: int, content: Payload, *deltas: Payload, stop: bool = True) -> list[Payload]:
    """Return the events of a block."""
    start = {"type": "content_block_start", "index": index, "content_block": content}
    parts = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [start, *parts, *([{"type": "content_block_stop", "index": index}] if stop else [])]


def call(index: int, name: str, text: str, *, stop: bool = True) -> list[Payload]:
    """Return the events of a call with its arguments in two deltas."""
    content = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    parts = [{"type": "input_json_delta", "partial_json": part} for part in (text[:3], text[3:]) if part]
    return block(index, content, *parts, stop=stop)


def body(*events: Payload) -> bytes:
    """Return a stream of these events."""
    return b"".join(b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in events)


def stream(before: list[tuple[str, str]], after: list[tuple[str, str]], *, stop: bool = True, times: int = 1) -> bytes:
    """Return a stream with text, then calls and a fallback, `times` times, then other calls."""
    text_delta = {"type": "text_delta", "text": "Let me"}
    events = [HEAD, *block(0, {"type": "text", "text": ""}, text_delta)]
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
@pytest.mark.parametrize("after", [[("get_weather", COMPLETE)], [("get_weather", COMPLETE), ("run", COMPLETE)], []])
@pytest.mark.parametrize("switch", [name for name, (_, stop) in SWITCHES.items() if stop])
def test_only_the_calls_after_the_last_fallback_count(switch: str, after: list[tuple[str, str]], times: int) -> None:
    """The calls after the last fallback are the intended calls, and safe repairs forward the stream unchanged.

    Only a call that stops without arguments is reported: the fallback after it is not yet known then.
    """
    before, _ = SWITCHES[switch]
    received = stream(before, after, times=times)
    outcome = repaired(received, EXCHANGE)
    assert inspected(received, EXCHANGE).calls == [(name, json.loads(text)) for name, text in after]
    assert [call.position for call in outcome.record.calls] == list(range(len(after)))
    assert set(outcome.finding_names) == ({"lost-arguments"} if switch == "a call without arguments" else set())
    assert outcome.out == received
    session = Session(EXCHANGE, Settings(SAFE))
    list(session.feed(received))
    list(session.end())
    record = session.record()
    assert record is not None
    assert session.cut_off(record) is None


def test_an_unclosed_call_before_a_fallback_is_ignored() -> None:
    """After an unclosed call and a fallback, the response ends normally with the call of the second model."""
    before, _ = SWITCHES["a call that was not stopped"]
    outcome = repaired(stream(before, [("get_weather", COMPLETE)], stop=False), EXCHANGE)
    assert outcome.calls == [("get_weather", {"a": 1})]
    assert b"message_stop" in outcome.out
    assert "cut-off-call" not in outcome.finding_names


def test_an_incomplete_call_after_the_fallback_is_reported() -> None:
    """An incomplete call of the second model is reported as cut off."""
    outcome = repaired(stream([("run", COMPLETE)], [("get_weather", INCOMPLETE)]), EXCHANGE)
    assert [(one.name, one.complete) for one in outcome.record.calls] == [("get_weather", False)]
    assert "cut-off-call" in outcome.finding_names


def test_a_fallback_in_an_unstreamed_response() -> None:
    """In an unstreamed response, only the calls after the fallback are read."""
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"a": 1}},
        FALLBACK,
        {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"a": 2}},
    ]
    response = {"type": "message", "role": "assistant", "content": calls, "stop_reason": "tool_use"}
    assert [one.name for one in named("anthropic").read_response(response).fragments] == ["get_weather"]
    facts = StreamFacts(path="/v1/messages", content_type="application/json", request=EXCHANGE.request)
    assert run(json.dumps(response).encode(), facts, Settings(SAFE)).calls == [("get_weather", {"a": 2})]
