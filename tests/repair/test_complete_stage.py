"""The stage for calls that are sent complete, in the protocols that use it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.invariants.driven import exchange, inspected, lines, repaired, run, shaped, sse
from toolstream_core.settings import SAFE, Settings

type Payload = dict[str, Any]

ARGUMENTS = {"city": "Oslo", "q": [1.0, 1e3]}


def ollama(call: Payload) -> Payload:
    """Return a line with unknown keys at each level."""
    message = {"role": "assistant", "m1": [1], "content": "", "tool_calls": [call], "m2": None}
    return {"p1": {"a": 1}, "model": "m", "message": message, "done": False, "p2": 1.50}


def gemini(call: Payload) -> Payload:
    """Return an event with unknown keys at each level."""
    content = {
        "c1": 1,
        "parts": [{"text": "Hm", "t1": 1}, {"s1": "x", "functionCall": call, "s2": "y"}],
        "role": "model",
    }
    return {"p1": {"a": 1}, "candidates": [{"k1": 1, "content": content, "index": 0, "k2": 2}], "p2": 1.50}


def ollama_call(name: str, arguments: object) -> Payload:
    """Return an entry with unknown keys."""
    return {"e1": 1, "id": "call_1", "function": {"f1": 1, "name": name, "arguments": arguments, "f2": 2}, "e2": 2}


def gemini_call(name: str, arguments: object) -> Payload:
    """Return a part's call with unknown keys."""
    return {"e1": 1, "id": "call_1", "name": name, "e2": 2, "args": arguments, "e3": 3}


@pytest.mark.parametrize("repairs", ["", "decorated-name", "double-encoded-arguments"])
@pytest.mark.parametrize("protocol", ["ollama", "gemini"])
def test_only_repaired_fields_are_changed(protocol: str, repairs: str) -> None:
    """A repair keeps the values, order and formatting of other fields, also if only one repair is selected."""
    event, call, frames = (ollama, ollama_call, lines) if protocol == "ollama" else (gemini, gemini_call, sse)
    text = json.dumps(ARGUMENTS)
    body = frames(event(call("functions.get_weather", text)))
    outcome = repaired(body, exchange(protocol), *filter(None, [repairs]))
    name = "functions.get_weather" if repairs == "double-encoded-arguments" else "get_weather"
    arguments = text if repairs == "decorated-name" else ARGUMENTS
    assert outcome.out == frames(event(call(name, arguments)))
    assert outcome.finding_names[:2] == ["decorated-name", "double-encoded-arguments"]


def test_only_the_malformed_call_of_a_line_is_repaired() -> None:
    """Of several calls in a line, only the malformed call is changed."""
    good, bad = ollama_call("get_time", {"zone": "UTC"}), ollama_call("functions.get_weather", ARGUMENTS)
    event = ollama(good)
    event["message"]["tool_calls"] = [good, bad, good]
    expected = copy.deepcopy(event)
    expected["message"]["tool_calls"][1]["function"]["name"] = "get_weather"
    assert repaired(lines(event), exchange("ollama")).out == lines(expected)


def test_a_repeated_call_brings_a_signature() -> None:
    """The call is removed, and its signature stays unless the client has it (NousResearch/hermes-agent#102809)."""
    call = {"functionCall": gemini_call("get_weather", ARGUMENTS)}
    signed = call | {"thoughtSignature": "c2ln"}

    def repeated(first: Payload, *again: Payload) -> bytes:
        events = [{"candidates": [{"content": {"parts": [part]}, "index": 0}]} for part in (first, *again)]
        return sse(*events)

    alone, empty = {"thoughtSignature": "c2ln", "text": ""}, {"text": ""}
    for body, expected in (
        (repeated(call, signed), repeated(call, alone)),
        (repeated(signed, signed), repeated(signed, empty)),
        (repeated(call, signed, signed), repeated(call, alone, empty)),
    ):
        outcome = repaired(body, exchange("gemini"))
        assert outcome.out == expected
        assert "doubled-call" in outcome.finding_names


def test_the_last_line_is_reported_after_a_disconnect() -> None:
    """After a disconnect, defects of an unterminated last line are reported, and its bytes are unchanged."""
    body = lines(ollama(ollama_call("functions.get_weather", ARGUMENTS))).rstrip()
    outcome = run(body, exchange("ollama"), Settings(SAFE), broken="reset")
    assert outcome.out == body
    assert "decorated-name" in outcome.finding_names
    assert "decorated-name" in inspected(body, exchange("ollama")).finding_names


def test_the_end_of_one_candidate_keeps_the_open_call_of_another() -> None:
    """With `whole-calls`, an open call is dropped only if its own candidate has ended."""

    def event(choice: int, call: Payload | None, finish: str | None = None) -> Payload:
        parts = [] if call is None else [{"functionCall": call}]
        candidate = {"content": {"parts": parts, "role": "model"}, "index": choice}
        return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], "modelVersion": "m"}

    patch = {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Oslo"}]}
    first = {"name": "get_weather", **patch, "willContinue": True}
    body = sse(
        event(0, first),
        event(1, first),
        event(0, None, "STOP"),
        event(1, patch),
        event(1, None, "STOP"),
    )
    outcome = inspected(shaped(body, exchange("gemini"), "whole-calls"), exchange("gemini"))
    assert [(call.choice, call.arguments) for call in outcome.record.calls] == [(1, '{"city":"OsloOslo"}')]


def test_leaked_calls_of_a_wrapped_event_are_repaired() -> None:
    """A leaked call in an event inside `response`, as Code Assist sends it, is repaired in that event."""
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    content = {"parts": [{"text": text}], "role": "model"}
    inner = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m"}
    out = repaired(sse({"response": inner, "traceId": "t"}), exchange("gemini"), "leaked-hermes").out
    payload = json.loads(out.removeprefix(b"data: "))
    assert payload.keys() == {"response", "traceId"}
    assert {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}} in (
        payload["response"]["candidates"][0]["content"]["parts"]
    )
