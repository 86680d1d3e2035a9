"""A response as a client receives it, and whether the client reads the intended calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.calls.json_text import same
from toolstream_core.clients.fields import GENERATED_IDS
from toolstream_core.clients.model import ClientModel, Id, ResolvedEvent, entries_of
from toolstream_core.clients.stepping import SteppedCall, reads
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.model import Call, Event, EventContent, StreamFacts
from toolstream_core.model.record import runs_on_client
from toolstream_core.protocols.protocol import CallForm, WireProtocol
from toolstream_core.settings import Settings
from toolstream_core.verdict.compare import is_name_of


@dataclass(frozen=True, slots=True)
class ReceivedBytes:
    """One response's bytes."""

    facts: StreamFacts
    body: bytes
    broken: str | None = None
    """How the connection broke, if it did."""


class Repaired(NamedTuple):
    """A response after its repair with some settings."""

    response: ReceivedBytes | None
    """`None` if it ends with a disconnect: no call runs then."""
    changes: Collection[str]
    """The names of the repairs and shapes that changed it."""
    cut_off: str = ""
    """The name of the defect for which it ends with a disconnect."""


def repair(response: ReceivedBytes, tried: Settings) -> Repaired:
    """Repair a response with some settings."""
    session = Session(response.facts, tried)
    sent = [*session.feed(response.body), *session.end(broken=response.broken)] if response.body else []
    record = session.record(broken=response.broken)
    changes = () if record is None else record.changes
    if record is not None and (cut_off := session.cut_off(record)) is not None:
        return Repaired(None, changes, cut_off.name)
    # A rewritten response has no content coding.
    facts = replace(response.facts, content_encoding="") if tried.rewrites else response.facts
    return Repaired(ReceivedBytes(facts, b"".join(sent), response.broken), changes)


class Received:
    """A response as a client receives it: its events, and the intended calls."""

    def __init__(self, response: ReceivedBytes, choice: int | None = None) -> None:
        """Read `response`. `choice`: the one that the client uses; by default the first that has calls."""
        self.protocol: WireProtocol | None = None
        """Its protocol; `None` if it is unknown."""
        collected = _Events()

        def sinks(protocol: WireProtocol) -> Sequence[Sink]:
            self.protocol = protocol
            return [collected]

        session = Session(response.facts, sinks=sinks, fast=False)
        if response.body:
            session.feed(response.body)
        session.end(broken=response.broken)
        self.record = session.record(broken=response.broken)
        self.events = collected.events
        """The events with calls, a finish reason or an end."""
        self.entries = entries_of(self.events)
        self.choice = min((one.fragment.choice for one in self.entries), default=0) if choice is None else choice
        """The choice that the client uses."""

    @property
    def calls(self) -> list[Call]:
        calls = () if self.record is None else self.record.calls
        return [call for call in calls if runs_on_client(call) and call.choice == self.choice]

    @property
    def intended(self) -> list[Call]:
        return [call for call in self.calls if call.complete]

    def is_understood(self, model: ClientModel, intended: Sequence[Call]) -> bool:
        """Whether the client of `model` reads exactly the calls `intended`, perhaps with the ids of items."""
        if self.protocol is None or self.record is None:
            return False
        read = reads(model, self.protocol.call_form, self.entries, self.choice)
        ids = [one.id for one in read if one.id]
        wanted = len(read) if self._ids_matter(model) else len(ids)
        if len(read) != len(intended) or len(set(ids)) < wanted:
            return False
        if model.id is not Id.ITEM and not {call.id for call in self.record.calls}.issuperset(ids):
            return False
        return all(_is_read(call, one) for call, one in zip(intended, read, strict=True))

    def _ids_matter(self, model: ClientModel) -> bool:
        """Whether each call needs an id: complete entries may lack one, and some clients generate ids."""
        whole = self.protocol is None or self.protocol.call_form is CallForm.WHOLE
        return not whole and model.id not in GENERATED_IDS


def _is_read(call: Call, read: SteppedCall) -> bool:
    if call.kind == "custom":
        return (read.name, read.arguments) == (call.name, call.arguments)
    has_name = read.name == call.name or is_name_of(call.name, read.name)
    return has_name and same(read.arguments, call.arguments)


class _Events(Sink):
    """Keeps the events of a response."""

    live = True

    def __init__(self) -> None:
        self.events: list[ResolvedEvent] = []

    @override
    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        self.events.append(ResolvedEvent(event.frame.number, content, fragments))
