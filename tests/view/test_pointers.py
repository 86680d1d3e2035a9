"""Each protocol has pointers to the calls, text, finish reasons and errors in its events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, override

from tests.calls.patterns import Pattern, patterns
from tests.grouped import Case, grouped
from tests.invariants import healthy
from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Phase
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.saved.files import responses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent, Record

ROOT: Final = Path(__file__).resolve().parents[2]
PATTERNS: Final = patterns()

NOT_RECORDED: Final[dict[str, set[str]]] = {
    "openai-realtime": {"/transcript", "/text", "/error"},
    "openai-responses": {"/response/error", "/error"},
    "gemini": {"/promptFeedback", "/error"},
    "gemini-live": {
        "/toolCallCancellation",
        "/serverContent/generationComplete",
        "/error",
    },
    "ollama": {"/response"},
    "cohere-v2": {"/tool_calls"},
}
"""Pointers that no available stream has: errors, reasoning, and fields of audio."""


def matches(pointer: str, value: Any) -> bool:
    """Whether a pointer leads to a value that is neither null nor empty."""
    key, _, rest = pointer.removeprefix("/").partition("/")
    if isinstance(value, list):
        found = value if key == "*" else []
    elif isinstance(value, dict):
        found = list(value.values()) if key == "*" else [value[key]] if key in value else []
    else:
        return False
    return any(matches(f"/{rest}", one) for one in found) if rest else any(one not in (None, "") for one in found)


class EventsWithContent(Sink):
    """Keeps the events with calls, text, a finish reason or an error."""

    live = True
    each = True

    def __init__(self) -> None:
        self.events: list[Event] = []

    @override
    def resolved(self, event: Event, content: EventContent, resolved: Sequence[ResolvedFragment]) -> None:
        fragments = [one for one in content.fragments if one.phase is not Phase.CLOSE or one.arguments]
        if (
            fragments or content.finishes or content.text or content.thought or content.error
        ) and event.frame.json != ABSENT:
            self.events.append(event)


@grouped(Case(pattern.protocol, (pattern,)) for pattern in PATTERNS)
def test_every_event_with_content_has_a_pointer(pattern: Pattern) -> None:
    """The pointers lead to the content of each event."""
    sink = EventsWithContent()
    record = read_body([pattern.body], pattern.exchange, sinks=[sink])
    assert record is not None
    (protocol,) = [one for one in PROTOCOLS if one.name == record.protocol]
    wrong = [
        event.frame.raw
        for event in sink.events
        if record.streamed and not any(matches(pointer, event.frame.json) for pointer in protocol.pointers)
    ]
    assert wrong == []


def test_every_protocol_is_in_the_patterns() -> None:
    """So the pointers of each protocol are tested."""
    protocols = set()
    for pattern in PATTERNS:
        record = read_body([pattern.body], pattern.exchange)
        assert record is not None
        protocols.add(record.protocol)
    assert protocols == {one.name for one in PROTOCOLS}


class AllEvents(Sink):
    """Keeps all events with their protocol."""

    live = True
    each = True

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self._protocol = ""

    @override
    def begun(self, record: Record) -> None:
        self._protocol = record.protocol

    @override
    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        self.events.append((self._protocol, event.frame.json))


def test_every_pointer_leads_somewhere() -> None:
    """Each leads to a value in a recorded, valid or sample stream."""
    sink = AllEvents()
    for flow in sorted((ROOT / "flows").glob("*.flow")):
        for saved in responses(str(flow)):
            read_body(saved.chunks, saved.facts, sinks=[sink])
    for one in healthy.over_all_transports():
        read_body([one.body], one.exchange, sinks=[sink])
    for pattern in PATTERNS:
        read_body([pattern.body], pattern.exchange, sinks=[sink])
    for protocol in PROTOCOLS:
        values = [value for name, value in sink.events if name == protocol.name]
        left = {pointer for pointer in protocol.pointers if not any(matches(pointer, value) for value in values)}
        assert left == NOT_RECORDED.get(protocol.name, set()), protocol.name
