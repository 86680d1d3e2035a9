"""The repair stage of block protocols: blocks of all types, and ends of incomplete calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needs_shared, shared_dir
from tests.invariants.driven import exchange, inspected, repaired, sse
from tests.protocols.anthropic.repair.test_repairer import (
    DELTA,
    HEAD,
    HERE,
    STOP,
    event,
    frames,
    joined,
    more,
    start,
    stop,
)
from toolstream_core.model import StreamFacts
from toolstream_core.wire.sse import SseFramer

KINDS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "text": ({"type": "text", "text": "", "citations": None}, [{"type": "text_delta", "text": "Hm.", "extra": 1}]),
    "thinking": (
        {"type": "thinking", "thinking": "", "signature": ""},
        [{"type": "thinking_delta", "thinking": "I"}, {"type": "signature_delta", "signature": "c2ln"}],
    ),
    "redacted": ({"type": "redacted_thinking", "data": "ZGF0YQ=="}, []),
    "server": (
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        [
            {"type": "input_json_delta", "partial_json": '{"query"'},
            {"type": "input_json_delta", "partial_json": ':"x"}'},
        ],
    ),
    "result": ({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]}, []),
    "mcp": ({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "n", "server_name": "s", "input": {"a": 1}}, []),
    "unknown": ({"type": "hologram", "voxels": [1]}, [{"type": "hologram_delta", "voxels": [2], "why": {"not": None}}]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_moved_block_keeps_its_keys(kind: str) -> None:
    """If a block gets another index, all its other keys are unchanged."""
    block, deltas = KINDS[kind]
    body = event("content_block_start", index=1, content_block=block, vendor=kind)
    body += b"".join(event("content_block_delta", index=1, delta=delta, vendor=kind) for delta in deltas) + stop(1)
    out = repaired(HEAD + body + start(2) + more(2, "{}") + stop(2) + DELTA + STOP, HERE).out
    expected = [
        (name, {**payload, "index": payload["index"] - 1} if "index" in payload else payload)
        for name, payload in frames(HEAD + body)
    ]
    assert frames(out)[: len(expected)] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_of_any_type_is_unchanged(kind: str) -> None:
    """A block of any type with a valid index is forwarded unchanged."""
    block, deltas = KINDS[kind]
    body = HEAD + event("content_block_start", index=0, content_block=block)
    body += b"".join(event("content_block_delta", index=0, delta=delta) for delta in deltas) + stop(0)
    body += start(1) + more(1, '{"a":1}') + stop(1) + DELTA + STOP
    assert repaired(body, HERE).out == body


def test_the_stop_of_an_incomplete_call_is_withheld() -> None:
    """The stop of an incomplete call and the end of the message are withheld, but not at the token limit."""
    incomplete = HEAD + start(0) + more(0, '{"a":')
    assert repaired(incomplete + stop(0) + DELTA + STOP, HERE).out == incomplete
    assert repaired(incomplete + stop(0), HERE).out == incomplete
    cut = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={"output_tokens": 1})
    assert repaired(incomplete + stop(0) + cut + STOP, HERE).out == incomplete + stop(0) + cut + STOP


def test_a_start_alone_is_not_completed() -> None:
    """A message that stops after the start of a call of an unknown tool is unchanged, and the call incomplete."""
    body = HEAD + start(0) + STOP
    outcome = repaired(body, HERE)
    assert outcome.out == body
    assert [call.complete for call in outcome.record.calls] == [False]
    assert "cut-off-call" in outcome.finding_names


def test_a_second_message_start_inside_a_call_is_unchanged() -> None:
    """A second `message_start` inside a call is forwarded unchanged."""
    body = HEAD + start(0) + more(0, '{"path":') + HEAD + more(0, '"a"}') + stop(0) + DELTA + STOP
    assert repaired(body, HERE).out == body


@needs_shared
def test_cohere_entries_in_a_list_are_read() -> None:
    """Cohere entries in a list, in the start and in deltas, are repaired."""
    folder = shared_dir()
    assert folder is not None
    body = Path(folder / "repro" / "turn3" / "cohere-tool-calls-as-list.sse").read_bytes()
    out = repaired(body, StreamFacts(content_type="text/event-stream")).out
    payloads = [json.loads(frame.data) for frame in SseFramer().feed(out) if frame.data not in (None, b"[DONE]")]
    entries = [
        one["delta"]["message"]["tool_calls"]
        for one in payloads
        if one["type"] in {"tool-call-start", "tool-call-delta"}
    ]
    assert "".join(one["function"]["arguments"] for one in entries) == '{"city":"Oslo"}'
    assert inspected(out, StreamFacts(content_type="text/event-stream")).finding_names == []


def test_a_split_surrogate_pair_is_joined() -> None:
    """A high surrogate at the end of a fragment is sent with the next fragment, also if that is longer."""
    body = HEAD + start(0) + more(0, '{"a":"o \ud83d') + more(0, "\ude00\\") + more(0, 'n"}') + stop(0) + DELTA + STOP
    assert joined(repaired(body, HERE).out) == '{"a":"o 😀\\n"}'


def test_a_withheld_repetition_is_sent_if_it_is_another_object() -> None:
    """A `{` after complete arguments, withheld as a possible repetition, is sent if another object follows."""
    body = (
        HEAD + start(0) + more(0, '{"a":1}') + more(0, "{") + more(0, '"b":2') + more(0, "}") + stop(0) + DELTA + STOP
    )
    assert joined(repaired(body, HERE).out) == joined(body) == '{"a":1}{"b":2}'


@pytest.mark.parametrize("arguments", [['{"a":1}', '{"a":1}'], ["{}", '{"a":1}']])
def test_a_doubled_call_with_defective_arguments_is_dropped(arguments: list[str]) -> None:
    """A doubled call is dropped, also if its arguments are repeated or follow a placeholder."""
    call = start(0) + b"".join(more(0, text) for text in arguments) + stop(0)
    body = HEAD + call + call.replace(b'"index":0', b'"index":1') + DELTA + STOP
    out = repaired(body, HERE)
    assert joined(out.out) == '{"a":1}'
    assert "doubled-call" in out.finding_names


def test_a_repeated_start_without_a_name_is_dropped() -> None:
    """A repeated start of a call whose name is late is dropped."""
    call = {"id": "t", "type": "function", "function": {"arguments": ""}}
    begin = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}
    function = {"name": "f", "arguments": '{"a":1}'}
    delta = {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"function": function}}}}
    end = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {}}}}
    body = sse(begin, begin, delta, {"type": "tool-call-end", "index": 0}, end, "[DONE]")
    out = repaired(body, exchange("cohere-v2")).out
    assert out.count(b"tool-call-start") == 1
    assert inspected(out, exchange("cohere-v2")).calls == [("f", {"a": 1})]


def test_a_doubly_encoded_call_after_a_stop_reason_is_unchanged() -> None:
    """If the beginning of a doubly encoded object was sent before the stop reason, the rest is sent unchanged."""
    fragments = ['"{\\"a\\":', '\\"x', 'y\\"}"']
    body = (
        HEAD + start(0) + more(0, fragments[0]) + DELTA + more(0, fragments[1]) + more(0, fragments[2]) + stop(0) + STOP
    )
    assert joined(repaired(body, HERE).out) == "".join(fragments)


def test_misnamed_arguments_are_not_added_to_another_entry() -> None:
    """Each of two entries in a start becomes an event, and no arguments are added to the entry without any."""
    function = {"name": "get_weather"}
    entries = [
        {"id": "a", "type": "function", "function": {**function, "parameters": '{"city":"Oslo"}'}},
        {"id": "b", "type": "function", "function": function},
    ]
    body = event("tool-call-start", index=0, delta={"message": {"tool_calls": entries}})
    body += event("message-end", delta={"finish_reason": "TOOL_CALL", "usage": {}})
    out = repaired(body, exchange("cohere-v2")).out
    sent = [payload["delta"]["message"]["tool_calls"] for name, payload in frames(out) if name == "tool-call-start"]
    assert [one["function"] for one in sent] == [{**function, "arguments": ""}, function]
