"""One stream for each defect that can be caused, as a candidate of the search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.invariants.driven import injected, sse
from tests.invariants.healthy import Healthy, request, streams
from tests.protocols.responses.events import CREATED, completed
from tests.tables import INJECTORS
from toolstream_core.defects.table import DEFECTS, named
from toolstream_core.shrinking.candidate import Candidate, Chunk, turn
from toolstream_core.shrinking.condition import Condition, Oracle, RecordCache, shows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import StreamFacts


class Sample(NamedTuple):
    """A defect, and a stream that has it."""

    name: str
    original: Candidate
    condition: Condition
    oracle: Oracle


NAMES = [row.name for row in DEFECTS if any(row.name in injectors for injectors in INJECTORS.values())]
"""Of every row that can be planted."""


def sample_of(name: str) -> Sample:
    """The first healthy stream in which the defect shows."""
    for healthy, exchange in _streams():
        if name in INJECTORS[healthy.dialect]:
            went = injected(healthy.body, exchange, name)
            if name in went.finding_names:
                original = (turn(0, exchange, [Chunk(0, went.out)]),)
                reader = RecordCache()
                return Sample(name, original, Condition(reader, original), shows(reader, named([name])))
    raise AssertionError(name)


def _streams() -> Iterator[tuple[Healthy, StreamFacts]]:
    """All healthy streams, then what two plants need: a conversation that goes on, and a custom tool."""
    for healthy in streams():
        yield healthy, healthy.exchange
    gemini = next(one for one in streams() if one.dialect == "gemini")
    yield gemini, replace(gemini.exchange, request=request(gemini.dialect) | {"contents": EARLIER})
    item = {"type": "custom_tool_call", "id": "it_1", "call_id": "call_1", "name": "run", "input": "print(1)"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"input": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    custom = Healthy("openai-responses", "custom", sse(CREATED, *events, completed(item)))
    tools = {"tools": [{"type": "custom", "name": "run"}]}
    yield custom, replace(custom.exchange, request=request(custom.dialect) | tools)


EARLIER = [
    {"role": "user", "parts": [{"text": "Go on."}]},
    {"role": "model", "parts": [{"functionCall": {"id": "call_0", "name": "ping", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "call_0", "name": "ping", "response": {}}}]},
]
"""A conversation that has had a call."""
