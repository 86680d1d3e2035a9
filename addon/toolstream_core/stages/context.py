"""The context of the stages of one stream, and calls to write into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from toolstream_core.calls import OpenCall
from toolstream_core.calls.parameters import plain_name
from toolstream_core.model import Change, Event, Finding, Json, StreamFacts
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import SseWriter, Writer


def nobody(report: object) -> None:
    """Ignore a report."""


@dataclass
class Context:
    """The facts and settings of one stream, and the receivers of its findings and changes."""

    exchange: StreamFacts
    schemas: Mapping[str, Json]
    """The schema of the parameters of each offered tool; empty without a request, or without tools."""
    promote: Callable[[Promotion], list[Frame]] | None = None
    """Writes calls that the model wrote as text, in the stream's protocol."""
    id_prefix: str = "call_"
    """The prefix of generated ids of calls."""
    ids_in: Callable[[Json], frozenset[str]] = lambda request: frozenset()  # noqa: ARG005
    """The ids of the calls in a request's conversation."""
    reads_comments: bool = True
    """Whether the protocol's official clients skip SSE comments."""
    repairs: frozenset[str] = frozenset()
    """Codes of the defects whose repair is on."""
    writer: Writer = field(default_factory=SseWriter)
    ids: ResponseIds = field(default_factory=ResponseIds)
    found: Callable[[Finding], None] = nobody
    changed: Callable[[Change], None] = nobody
    incomplete_calls: Callable[[], Sequence[OpenCall]] = tuple
    """The incomplete calls that no finish reason or error of the response explains."""
    stop_checks: Callable[[], None] = lambda: None
    """Called if the rest of the response is not checked: it began on another connection, or begins again."""
    reports_only: bool = False
    """Whether only findings are used: the returned frames are discarded, and need not be correct."""

    @property
    def is_saved(self) -> bool:
        """Whether the stream is saved: frames may wait freely, because no client does."""
        return not isinstance(self.exchange.request, dict)

    @cached_property
    def earlier_ids(self) -> frozenset[str]:
        """The ids of the calls of earlier turns."""
        return self.ids_in(self.exchange.request)

    def tool(self, name: str) -> str:
        """The offered tool that a name contains between other characters; `name` itself if there is none."""
        return plain_name(name, self.schemas)

    def may_be_empty(self, name: str) -> bool:
        """Whether the tool has no required parameters, or is unknown."""
        return self.tool(name) not in self._with_required_parameters

    def has_no_parameters(self, name: str) -> bool:
        """Whether the tool is known to have no parameters."""
        return self.tool(name) in self._without_parameters

    @cached_property
    def _with_required_parameters(self) -> frozenset[str]:
        """The tools that have required parameters."""
        required = {name: json_access.get(schema, "required") for name, schema in self.schemas.items()}
        return frozenset([name for name, one in required.items() if json_access.items(one)])

    @cached_property
    def _without_parameters(self) -> frozenset[str]:
        """The tools that have no parameters."""
        known = self.schemas.items()
        return frozenset([name for name, one in known if not (isinstance(one, dict) and one.get("properties"))])


class Wanted(Protocol):
    """A call to write."""

    @property
    def name(self) -> str:
        """The name of the tool."""

    @property
    def arguments(self) -> str:
        """JSON text of an object."""


class Promotion(NamedTuple):
    """Calls to write before a finish reason."""

    event: Event
    """The event with the finish reason, or any other event of the stream."""
    calls: Sequence[tuple[str, Wanted]]
    """Each with an id."""
    place: int
    """The next free index of a call, content block or output item."""
    before: int
    """The number of calls before them, for protocols that count calls separately from content."""
    writer: Writer
    choice: int = 0
    """The choice that they belong to."""

    def finished(self, payload: Payload) -> Frame:
        """The event with the finish reason, with `payload`; unchanged if it has that already."""
        frame = self.event.frame
        return frame if payload == frame.json else self.writer.rewrite(frame, payload)

    def new_events(self, *payloads: Payload) -> list[Frame]:
        """New events, each named after its `type`."""
        return [self.writer.make(payload, self.event.frame.number, payload["type"]) for payload in payloads]
