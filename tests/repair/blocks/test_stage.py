"""Blocks of every kind pass a moved index with all their keys; what says that half a call is over does not go."""

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
    more,
    said,
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
def test_a_block_of_any_kind_keeps_its_keys_under_another_index(kind: str) -> None:
    """Its index alone changes."""
    block, deltas = KINDS[kind]
    body = event("content_block_start", index=1, content_block=block, vendor=kind)
    body += b"".join(event("content_block_delta", index=1, delta=delta, vendor=kind) for delta in deltas) + stop(1)
    out = repaired(HEAD + body + start(2) + more(2, "{}") + stop(2) + DELTA + STOP, HERE).out
    want = [
        (name, {**said, "index": said["index"] - 1} if "index" in said else said) for name, said in frames(HEAD + body)
    ]
    assert frames(out)[: len(want)] == want


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_of_any_kind_passes(kind: str) -> None:
    """As the same bytes, where it has its place."""
    block, deltas = KINDS[kind]
    body = HEAD + event("content_block_start", index=0, content_block=block)
    body += b"".join(event("content_block_delta", index=0, delta=delta) for delta in deltas) + stop(0)
    body += start(1) + more(1, '{"a":1}') + stop(1) + DELTA + STOP
    assert repaired(body, HERE).out == body


def test_the_stop_of_half_a_call_does_not_go() -> None:
    """Nor does what ends the message; a limit lets both go, and so does a block that starts behind it."""
    half = HEAD + start(0) + more(0, '{"a":')
    assert repaired(half + stop(0) + DELTA + STOP, HERE).out == half
    assert repaired(half + stop(0), HERE).out == half
    cut = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={"output_tokens": 1})
    assert repaired(half + stop(0) + cut + STOP, HERE).out == half + stop(0) + cut + STOP


def test_nothing_is_made_of_a_start_alone() -> None:
    """The message stops, and no tool is known."""
    body = HEAD + start(0) + STOP
    went = repaired(body, HERE)
    assert went.out == body
    assert [call.complete for call in went.record.calls] == [False]
    assert "cut-off-call" in went.finding_names


def test_a_second_message_amid_a_call_is_as_it_came() -> None:
    """Nobody knows whether clients begin anew."""
    body = HEAD + start(0) + more(0, '{"path":') + HEAD + more(0, '"a"}') + stop(0) + DELTA + STOP
    assert repaired(body, HERE).out == body


@needs_shared
def test_cohere_entries_in_a_list_are_entries() -> None:
    """In the start and in deltas."""
    folder = shared_dir()
    assert folder is not None
    body = Path(folder / "repro" / "turn3" / "cohere-tool-calls-as-list.sse").read_bytes()
    out = repaired(body, StreamFacts(content_type="text/event-stream")).out
    said = [json.loads(frame.data) for frame in SseFramer().feed(out) if frame.data not in (None, b"[DONE]")]
    entries = [
        one["delta"]["message"]["tool_calls"] for one in said if one["type"] in {"tool-call-start", "tool-call-delta"}
    ]
    assert "".join(one["function"]["arguments"] for one in entries) == '{"city":"Oslo"}'
    assert inspected(out, StreamFacts(content_type="text/event-stream")).finding_names == []


def test_a_surrogate_pair_is_joined_where_its_second_half_begins_a_longer_fragment() -> None:
    """The half that was withheld goes with it."""
    body = HEAD + start(0) + more(0, '{"a":"o \ud83d') + more(0, "\ude00\\") + more(0, 'n"}') + stop(0) + DELTA + STOP
    assert said(repaired(body, HERE).out) == '{"a":"o 😀\\n"}'


def test_what_looked_like_a_repetition_is_sent_if_it_is_another_call() -> None:
    """A first `{` after complete arguments is withheld, for they may come again."""
    body = (
        HEAD + start(0) + more(0, '{"a":1}') + more(0, "{") + more(0, '"b":2') + more(0, "}") + stop(0) + DELTA + STOP
    )
    assert said(repaired(body, HERE).out) == said(body) == '{"a":1}{"b":2}'


@pytest.mark.parametrize("arguments", [['{"a":1}', '{"a":1}'], ["{}", '{"a":1}']])
def test_a_doubled_call_is_left_out_whatever_its_arguments_lack(arguments: list[str]) -> None:
    """They are sent twice, or stand after a placeholder."""
    call = start(0) + b"".join(more(0, text) for text in arguments) + stop(0)
    body = HEAD + call + call.replace(b'"index":0', b'"index":1') + DELTA + STOP
    out = repaired(body, HERE)
    assert said(out.out) == '{"a":1}'
    assert "doubled-call" in out.finding_names


def test_a_start_that_comes_again_while_the_name_is_awaited_goes_with_the_first() -> None:
    """The client has the call once."""
    call = {"id": "t", "type": "function", "function": {"arguments": ""}}
    begin = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}
    function = {"name": "f", "arguments": '{"a":1}'}
    delta = {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"function": function}}}}
    end = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {}}}}
    body = sse(begin, begin, delta, {"type": "tool-call-end", "index": 0}, end, "[DONE]")
    out = repaired(body, exchange("cohere-v2")).out
    assert out.count(b"tool-call-start") == 1
    assert inspected(out, exchange("cohere-v2")).calls == [("f", {"a": 1})]


def test_arguments_in_a_string_go_on_as_they_came_after_a_finish() -> None:
    """The string's begin was forwarded with the finish: nothing of the rest is withheld."""
    pieces = ['"{\\"a\\":', '\\"x', 'y\\"}"']
    body = HEAD + start(0) + more(0, pieces[0]) + DELTA + more(0, pieces[1]) + more(0, pieces[2]) + stop(0) + STOP
    assert said(repaired(body, HERE).out) == "".join(pieces)


def test_an_entry_without_arguments_beside_one_with_misnamed_ones_gets_none() -> None:
    """Each becomes an event of its own, and nothing is put where nothing came."""
    function = {"name": "get_weather"}
    entries = [
        {"id": "a", "type": "function", "function": {**function, "parameters": '{"city":"Oslo"}'}},
        {"id": "b", "type": "function", "function": function},
    ]
    body = event("tool-call-start", index=0, delta={"message": {"tool_calls": entries}})
    body += event("message-end", delta={"finish_reason": "TOOL_CALL", "usage": {}})
    out = repaired(body, exchange("cohere-v2")).out
    sent = [said["delta"]["message"]["tool_calls"] for name, said in frames(out) if name == "tool-call-start"]
    assert [one["function"] for one in sent] == [{**function, "arguments": ""}, function]
