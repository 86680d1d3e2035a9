"""Each protocol says where in an event calls, text, finish reasons and errors stand."""

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
    "ollama": {"/message/thinking", "/response"},
    "cohere-v2": {"/tool_calls"},
}
"""Pointers that no stream at hand has: errors, reasoning, and what comes with audio."""


def matches(pointer: str, value: Any) -> bool:
    """Whether a pointer leads to a value that says something."""
    key, _, rest = pointer.removeprefix("/").partition("/")
    if isinstance(value, list):
        found = value if key == "*" else []
    elif isinstance(value, dict):
        found = list(value.values()) if key == "*" else [value[key]] if key in value else []
    else:
        return False
    return any(matches(f"/{rest}", one) for one in found) if rest else any(one not in (None, "") for one in found)


class Saying(Sink):
    """Keeps the events that say something of calls, text, a finish or an error."""

    live = True
    each = True

    def __init__(self) -> None:
        self.events: list[Event] = []

    @override
    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        fragments = [one for one in said.fragments if one.phase is not Phase.CLOSE or one.arguments]
        if (fragments or said.finishes or said.text or said.thought or said.error) and event.frame.json != ABSENT:
            self.events.append(event)


@grouped(Case(pattern.protocol, (pattern,)) for pattern in PATTERNS)
def test_pointers_lead_to_what_an_event_says(pattern: Pattern) -> None:
    """No event that says something is without a pointer to it."""
    saying = Saying()
    record = read_body([pattern.body], pattern.exchange, sinks=[saying])
    assert record is not None
    (protocol,) = [one for one in PROTOCOLS if one.name == record.dialect]
    wrong = [
        event.frame.raw
        for event in saying.events
        if record.streamed and not any(matches(pointer, event.frame.json) for pointer in protocol.pointers)
    ]
    assert wrong == []


def test_every_protocol_is_in_the_patterns() -> None:
    """So that the table of each is tested."""
    seen = set()
    for pattern in PATTERNS:
        record = read_body([pattern.body], pattern.exchange)
        assert record is not None
        seen.add(record.dialect)
    assert seen == {one.name for one in PROTOCOLS}


class Seen(Sink):
    """Keeps the events of one protocol."""

    live = True
    each = True

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self._protocol = ""

    @override
    def begun(self, record: Record) -> None:
        self._protocol = record.dialect

    @override
    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        self.events.append((self._protocol, event.frame.json))


def test_every_pointer_leads_somewhere() -> None:
    """In an event of a recorded stream, of a healthy one or of a sample."""
    seen = Seen()
    for flow in sorted((ROOT / "flows").glob("*.flow")):
        for saved in responses(str(flow)):
            read_body(saved.chunks, saved.facts, sinks=[seen])
    for one in healthy.everywhere():
        read_body([one.body], one.exchange, sinks=[seen])
    for pattern in PATTERNS:
        read_body([pattern.body], pattern.exchange, sinks=[seen])
    for protocol in PROTOCOLS:
        values = [value for name, value in seen.events if name == protocol.name]
        left = {pointer for pointer in protocol.pointers if not any(matches(pointer, value) for value in values)}
        assert left == NOT_RECORDED.get(protocol.name, set()), protocol.name
