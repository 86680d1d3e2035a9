"""Injected merged calls, leaked calls and reused ids, in every protocol with end events of calls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import Record, StreamFacts
from toolstream_core.settings import Settings

PROTOCOLS_OF_BLOCKS = ("anthropic", "bedrock", "cohere-v2", "gemini-interactions")
TWO = {one.protocol: one for one in streams() if one.name == "fragments of two"}
ONE = {one.protocol: one for one in streams() if one.name == "fragments"}
EARLIER: dict[str, Any] = {
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "old_1", "name": "f", "input": {}}]},
    "bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "old_1", "name": "f", "input": {}}}]},
    "gemini-interactions": {"type": "function_call", "id": "old_1", "name": "f", "arguments": {}},
    "cohere-v2": {
        "role": "assistant",
        "tool_calls": [{"id": "old_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
}


def inject(healthy: Healthy, name: str, *, cut: int | None = None, request: Any = None) -> tuple[bytes, Record]:
    """Inject a defect into the first events of a stream; return the bytes and the record."""
    facts = healthy.exchange
    exchange = StreamFacts(path=facts.path, content_type=facts.content_type, request=request or facts.request)
    session = Session(exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    out = b"".join([*session.feed(b"".join(healthy.frames[:cut])), *session.end()])
    record = session.record()
    assert record is not None
    return out, record


@pytest.mark.parametrize("protocol", PROTOCOLS_OF_BLOCKS)
def test_later_calls_are_merged_into_the_first(protocol: str) -> None:
    """The injected `merged-calls` is one call with the arguments of both."""
    _, record = inject(TWO[protocol], "merged-calls")
    [call] = record.calls
    assert call.name == "get_weather"
    assert call.arguments.count("{") == 2
    assert [finding.name for finding in record.findings] == ["merged-calls"]


@pytest.mark.parametrize("protocol", PROTOCOLS_OF_BLOCKS)
def test_a_single_call_is_not_changed(protocol: str) -> None:
    """`merged-calls` does not change a stream with one call, also if it is truncated."""
    healthy = ONE[protocol]
    for count in range(1, len(healthy.frames) + 1):
        assert inject(healthy, "merged-calls", cut=count)[0] == b"".join(healthy.frames[:count])


@pytest.mark.parametrize("protocol", PROTOCOLS_OF_BLOCKS)
def test_calls_are_repeated_as_text(protocol: str) -> None:
    """The injected `leaked-twice` keeps the calls and repeats them as text."""
    _, record = inject(TWO[protocol], "leaked-twice")
    assert [call.name for call in record.calls] == ["get_weather", "get_time"]
    assert {finding.name for finding in record.findings} == {"leaked-twice", "leaked-hermes"}


@pytest.mark.parametrize("protocol", PROTOCOLS_OF_BLOCKS)
def test_a_call_gets_an_id_of_an_earlier_turn(protocol: str) -> None:
    """The injected `reused-id` gives a call an id from the request, and changes nothing if there is none."""
    healthy = ONE[protocol]
    request = {**healthy.exchange.request, "messages": [EARLIER[protocol]]}
    _, record = inject(healthy, "reused-id", request=request)
    assert [call.id for call in record.calls] == ["old_1"]
    assert [finding.name for finding in record.findings] == ["reused-id"]
    assert inject(healthy, "reused-id")[0] == healthy.body
