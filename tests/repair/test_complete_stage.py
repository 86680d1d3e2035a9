"""The stage for calls that come complete, in the protocols that use it."""

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
    """A line with unknown keys at each level."""
    message = {"role": "assistant", "m1": [1], "content": "", "tool_calls": [call], "m2": None}
    return {"p1": {"a": 1}, "model": "m", "message": message, "done": False, "p2": 1.50}


def gemini(call: Payload) -> Payload:
    """An event with unknown keys at each level."""
    content = {
        "c1": 1,
        "parts": [{"text": "Hm", "t1": 1}, {"s1": "x", "functionCall": call, "s2": "y"}],
        "role": "model",
    }
    return {"p1": {"a": 1}, "candidates": [{"k1": 1, "content": content, "index": 0, "k2": 2}], "p2": 1.50}


def ollama_call(name: str, arguments: object) -> Payload:
    """An entry with unknown keys."""
    return {"e1": 1, "id": "call_1", "function": {"f1": 1, "name": name, "arguments": arguments, "f2": 2}, "e2": 2}


def gemini_call(name: str, arguments: object) -> Payload:
    """A part's call with unknown keys."""
    return {"e1": 1, "id": "call_1", "name": name, "e2": 2, "args": arguments, "e3": 3}


@pytest.mark.parametrize("repairs", ["", "decorated-name", "double-encoded-arguments"])
@pytest.mark.parametrize("dialect", ["ollama", "gemini"])
def test_only_the_fields_that_differ_are_written(dialect: str, repairs: str) -> None:
    """All else keeps its value, its order and its spelling, also with one of the repairs alone."""
    event, call, frames = (ollama, ollama_call, lines) if dialect == "ollama" else (gemini, gemini_call, sse)
    text = json.dumps(ARGUMENTS)
    body = frames(event(call("functions.get_weather", text)))
    went = repaired(body, exchange(dialect), *filter(None, [repairs]))
    name = "functions.get_weather" if repairs == "double-encoded-arguments" else "get_weather"
    arguments = text if repairs == "decorated-name" else ARGUMENTS
    assert went.out == frames(event(call(name, arguments)))
    assert went.finding_names[:2] == ["decorated-name", "double-encoded-arguments"]


def test_calls_of_one_line_are_repaired_apart() -> None:
    """A line has several; those that are right stay."""
    good, bad = ollama_call("get_time", {"zone": "UTC"}), ollama_call("functions.get_weather", ARGUMENTS)
    event = ollama(good)
    event["message"]["tool_calls"] = [good, bad, good]
    expected = copy.deepcopy(event)
    expected["message"]["tool_calls"][1]["function"]["name"] = "get_weather"
    assert repaired(lines(event), exchange("ollama")).out == lines(expected)


def test_the_last_line_is_judged_also_if_the_connection_breaks() -> None:
    """Its bytes stay."""
    body = lines(ollama(ollama_call("functions.get_weather", ARGUMENTS))).rstrip()
    went = run(body, exchange("ollama"), Settings(SAFE), broken="reset")
    assert went.out == body
    assert "decorated-name" in went.finding_names
    assert "decorated-name" in inspected(body, exchange("ollama")).finding_names


def test_a_finish_of_one_candidate_leaves_the_streamed_call_of_another() -> None:
    """With `whole-calls`, a call is left out only if its own candidate is over."""

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
    made = inspected(shaped(body, exchange("gemini"), "whole-calls"), exchange("gemini"))
    assert [(call.choice, call.arguments) for call in made.record.calls] == [(1, '{"city":"OsloOslo"}')]


def test_calls_of_a_wrapped_event_are_promoted_in_the_event() -> None:
    """Code Assist puts the event into `response`."""
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    content = {"parts": [{"text": text}], "role": "model"}
    inner = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "modelVersion": "m"}
    out = repaired(sse({"response": inner, "traceId": "t"}), exchange("gemini"), "leaked-hermes").out
    payload = json.loads(out.removeprefix(b"data: "))
    assert payload.keys() == {"response", "traceId"}
    assert {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}} in (
        payload["response"]["candidates"][0]["content"]["parts"]
    )
