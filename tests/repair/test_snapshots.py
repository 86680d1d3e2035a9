"""Deltas that are complete objects, each replacing the one before."""

from __future__ import annotations

import pytest

from tests.invariants import strict
from tests.invariants.driven import exchange, injected, inspected, payloads, repaired, run, sse
from tests.invariants.healthy import Healthy, streams
from toolstream_core.calls.json_text import grows_into
from toolstream_core.defects.table import named
from toolstream_core.settings import NOTHING, SAFE, Settings

NAME = "snapshot-arguments"
CHAT = exchange("openai-chat")
ALL = Settings(SAFE | named([NAME]))
_BODIES = [(one, injected(one.body, one.exchange, NAME).out) for one in streams()]
INJECTED = [
    (one, body) for one, body in _BODIES if body != one.body and NAME in inspected(body, one.exchange).finding_names
]


def chat(*fragments: str, finish: bool = True) -> bytes:
    """Return a call with its arguments in these deltas."""
    head = {"index": 0, "id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": ""}}
    entries = [head, *({"index": 0, "function": {"arguments": one}} for one in fragments)]
    deltas = [{"tool_calls": [one]} for one in entries]
    choices = [{"index": 0, "delta": one, "finish_reason": None} for one in deltas]
    ends = [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}] if finish else []
    payloads = [{"object": "chat.completion.chunk", "choices": [one]} for one in (*choices, *ends)]
    return sse(*payloads, "[DONE]")


def test_every_protocol_with_argument_fragments_is_tested() -> None:
    """The defect is injected and reported in every protocol that streams arguments in fragments."""
    assert {one.protocol for one, _ in INJECTED} == {
        "openai-chat", "openai-responses", "openai-realtime", "anthropic", "cohere-v2", "bedrock",
        "gemini-interactions",
    }  # fmt: skip


@pytest.mark.parametrize(("healthy", "body"), INJECTED, ids=str)
def test_the_named_repair_sends_the_last_object(healthy: Healthy, body: bytes) -> None:
    """With the named repair, a strict client reads the intended calls; without it, the stream is unchanged."""
    assert run(body, healthy.exchange, NOTHING).out == body
    out = run(body, healthy.exchange, ALL).out
    assert NAME not in inspected(out, healthy.exchange).finding_names
    intended = strict.calls(healthy.protocol, healthy.body, healthy.exchange)
    assert strict.calls(healthy.protocol, out, healthy.exchange) == intended


@pytest.mark.parametrize(
    ("fragments", "arguments", "names"),
    [
        (('{"a":"x"}', '{"a":"xy"}'), '{"a":"xy"}', {NAME}),
        (('{"a":"x"}', '{"a":"xy"}', '{"a":"xyz","b":[1]}'), '{"a":"xyz","b":[1]}', {NAME}),
        (("{}", '{"a":"x"}', '{"a":"xy"}'), '{"a":"xy"}', {NAME}),
        (('{"a":"x"}', '{"a":"xy"}', '{"a":"xy"}'), '{"a":"xy"}', {NAME}),
        (('{"a":"x"}', '{"b":"xy"}'), '{"a":"x"}{"b":"xy"}', {"merged-calls"}),
        (('{"a":"x"}', '{"a":"y"}'), '{"a":"x"}{"a":"y"}', {"merged-calls"}),
        (('{"a":"x"}', '{"a":"x"}'), '{"a":"x"}', {"replayed-arguments"}),
        (('{"a":"x"}', '{"a": "x"}'), '{"a":"x"}', {"replayed-arguments"}),
        (('{"a":"x","b":1}', '{"b":1,"a":"x"}'), '{"a":"x","b":1}', {"replayed-arguments"}),
        (('{"a":"x"}', '{"a":"xy"}', '{"a": "xy"}'), '{"a":"xy"}', {NAME}),
        (('{"a":"x"}', '{"a":"xy"}', "\n"), '{"a":"xy"}', {NAME}),
        (('{"a":"x"}', '{"a":"xy"}', '{"a":"x"}'), '{"a":"x"}{"a":"xy"}{"a":"x"}', {NAME, "invalid-arguments"}),
        (('{"a":"x"}', '{"a":"xy"}', '{"a":"z"}'), '{"a":"x"}{"a":"xy"}{"a":"z"}', {NAME, "invalid-arguments"}),
        (('{"a":"x"}',), '{"a":"x"}', set()),
        (('{"a":', '"x"}'), '{"a":"x"}', set()),
    ],
)  # fmt: skip
def test_only_growing_objects_are_replaced(fragments: tuple[str, ...], arguments: str, names: set[str]) -> None:
    """Only objects that grow are snapshots; merged calls and repeated arguments are reported as such."""
    body = chat(*fragments)
    assert set(inspected(body, CHAT).finding_names) - {"placeholder-arguments"} == names
    out = run(body, CHAT, ALL).out
    entries = [entry for one in payloads(out) for entry in one["choices"][0]["delta"].get("tool_calls", ())]
    assert "".join(one["function"].get("arguments", "") for one in entries) == arguments


def test_the_held_object_of_a_truncated_stream_is_sent() -> None:
    """In a truncated stream, a held object is sent at the end."""
    body = chat('{"a":"x"}', finish=False).removesuffix(b"data: [DONE]\n\n")
    assert repaired(body, CHAT, NAME).out == body


@pytest.mark.parametrize(
    ("before", "after", "grows"),
    [
        ('{"a":"x"}', '{"a":"x","b":1}', True),
        ('{"a":{"b":["x"]}}', '{"a":{"b":["xy","z"]}}', True),
        ('{"a":1}', '{"a":12}', False),
        ('{"a":1}', '{"a":true}', False),
        ('{"a":["x","y"]}', '{"a":["x"]}', False),
        ('{"a":"x"}', '{"a":"x"}', False),
        ('{"a":"x","b":1}', '{"b": 1, "a": "x"}', False),
        ('{"a":"x"', '{"a":"xy"}', False),
        ("[" * 100_000, "[" * 100_001, False),
    ],
)  # fmt: skip
def test_grows_into(before: str, after: str, grows: bool) -> None:
    """An object grows into another if its texts, lists and objects are continued and all else is equal."""
    assert grows_into(before, after) is grows
