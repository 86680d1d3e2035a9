"""Calls merged, said twice, and under the id of an earlier turn, in every protocol that ends calls by events."""

from __future__ import annotations

from typing import Any

import pytest

from tests.invariants.healthy import Healthy, streams
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import Record, StreamFacts
from toolstream_core.settings import Settings

DIALECTS = ("anthropic", "bedrock", "cohere-v2", "gemini-interactions")
TWO = {one.dialect: one for one in streams() if one.name == "fragments of two"}
ONE = {one.dialect: one for one in streams() if one.name == "fragments"}
EARLIER: dict[str, Any] = {
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "old_1", "name": "f", "input": {}}]},
    "bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "old_1", "name": "f", "input": {}}}]},
    "gemini-interactions": {"type": "function_call", "id": "old_1", "name": "f", "arguments": {}},
    "cohere-v2": {
        "role": "assistant",
        "tool_calls": [{"id": "old_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
}


def broken(healthy: Healthy, name: str, *, cut: int | None = None, request: Any = None) -> tuple[bytes, Record]:
    """What goes on of the first events of a stream with this defect, and what is read of it."""
    known = healthy.exchange
    exchange = StreamFacts(path=known.path, content_type=known.content_type, request=request or known.request)
    line = Session(exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    out = b"".join([*line.feed(b"".join(healthy.frames[:cut])), *line.end()])
    record = line.record()
    assert record is not None
    return out, record


@pytest.mark.parametrize("dialect", DIALECTS)
def test_later_calls_are_glued_to_the_first(dialect: str) -> None:
    """Which has the arguments of both, and ends once."""
    _, record = broken(TWO[dialect], "merged-calls")
    [call] = record.calls
    assert call.name == "get_weather"
    assert call.arguments.count("{") == 2
    assert [finding.name for finding in record.findings] == ["merged-calls"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_call_has_nothing_to_be_glued_to(dialect: str) -> None:
    """Wherever the stream ends, all of it goes on as it came."""
    healthy = ONE[dialect]
    for count in range(1, len(healthy.frames) + 1):
        assert broken(healthy, "merged-calls", cut=count)[0] == b"".join(healthy.frames[:count])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_are_text_too(dialect: str) -> None:
    """And are made all the same."""
    _, record = broken(TWO[dialect], "leaked-twice")
    assert [call.name for call in record.calls] == ["get_weather", "get_time"]
    assert {finding.name for finding in record.findings} == {"leaked-twice", "leaked-hermes"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_has_the_id_of_an_earlier_turn(dialect: str) -> None:
    """If the request says one."""
    healthy = ONE[dialect]
    request = {**healthy.exchange.request, "messages": [EARLIER[dialect]]}
    _, record = broken(healthy, "reused-id", request=request)
    assert [call.id for call in record.calls] == ["old_1"]
    assert [finding.name for finding in record.findings] == ["reused-id"]
    assert broken(healthy, "reused-id")[0] == healthy.body
