"""A stream for each defect that can be injected, as a candidate of the search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.invariants.driven import injected, sse
from tests.invariants.healthy import Healthy, request, streams
from tests.protocols.responses.events import CREATED, completed
from tests.tables import INJECTORS
from toolstream_core.defects.table import DEFECTS, named
from toolstream_core.model import Chunk
from toolstream_core.shrinking.candidate import Candidate, turn
from toolstream_core.shrinking.search import Condition, Oracle, shows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import StreamFacts


class Sample(NamedTuple):
    """A defect, and a stream with it."""

    name: str
    original: Candidate
    condition: Condition
    oracle: Oracle


NAMES = [defect.name for defect in DEFECTS if any(defect.name in injectors for injectors in INJECTORS.values())]
"""The names of all defects that can be injected."""


def sample_of(name: str) -> Sample:
    """The first stream in which the injected defect is found."""
    for healthy, exchange in all_streams():
        if name in INJECTORS[healthy.protocol]:
            result = injected(healthy.body, exchange, name)
            if name in result.finding_names:
                original = (turn(0, exchange, [Chunk(0, result.out)]),)
                return Sample(name, original, Condition(original), shows(named([name])))
    raise AssertionError(name)


def all_streams() -> Iterator[tuple[Healthy, StreamFacts]]:
    """All valid streams, and two for special defects: with an earlier turn, and with a custom tool."""
    for healthy in streams():
        yield healthy, healthy.exchange
    gemini = next(one for one in streams() if one.protocol == "gemini")
    yield gemini, replace(gemini.exchange, request=request(gemini.protocol) | {"contents": EARLIER})
    item = {"type": "custom_tool_call", "id": "it_1", "call_id": "call_1", "name": "run", "input": "print(1)"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"input": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    custom = Healthy("openai-responses", "custom", sse(CREATED, *events, completed(item)))
    tools = {"tools": [{"type": "custom", "name": "run"}]}
    yield custom, replace(custom.exchange, request=request(custom.protocol) | tools)


EARLIER = [
    {"role": "user", "parts": [{"text": "Go on."}]},
    {"role": "model", "parts": [{"functionCall": {"id": "call_0", "name": "ping", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"id": "call_0", "name": "ping", "response": {}}}]},
]
"""A conversation with a call."""
