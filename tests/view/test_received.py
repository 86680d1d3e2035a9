"""The events that the client received in place of each event add up to the response that it received."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.calls.patterns import Pattern, patterns
from tests.grouped import Case, grouped
from toolstream_core.engine.session import Session
from toolstream_core.saved.exchange import Exchange
from toolstream_core.settings import Words, known_shapes, settings
from toolstream_core.view.received import Alignment
from toolstream_core.view.response import as_received, read

if TYPE_CHECKING:
    from toolstream_core.view.response import ReadResponse

PATTERNS: Final = patterns()
REWRITES: Final = (
    Words(repair=["safe"]),
    *(Words(shape=[name]) for name in known_shapes()),
    *(Words(fault=[name]) for name in ("duplicate-id", "empty-data")),
)
"""How patterns are rewritten. Each pattern gets a fifth of these."""


def rewritten(pattern: Pattern, rewrite: Words) -> Exchange:
    """A rewritten response, as a capture has it."""
    session = Session(pattern.exchange, settings(rewrite))
    sent = b"".join([*session.feed(pattern.body), *session.end()])
    return Exchange(facts=pattern.exchange, chunks=[pattern.body], sent=sent)


def received(sent_by_provider: ReadResponse, alignment: Alignment) -> str:
    """The text of the events that the client received."""
    sent = alignment.objects()
    return "".join(
        "".join(sent.get(row, {"received": [text]})["received"])
        for row, text in enumerate(sent_by_provider.events.texts)
    )


@grouped(Case(f"{one.protocol} {number % 5}", (number, one)) for number, one in enumerate(PATTERNS))
def test_every_received_event_is_aligned_once(number: int, pattern: Pattern) -> None:
    """The order is that of the client, for each rewrite."""
    for rewrite in REWRITES[number % 5 :: 5]:
        saved = rewritten(pattern, rewrite)
        sent_by_provider = read(saved)
        received_by_client = as_received(sent_by_provider)
        if received_by_client is None or sent_by_provider.record is None or received_by_client.record is None:
            continue
        alignment = Alignment(sent_by_provider, received_by_client)
        assert received(sent_by_provider, alignment) == "".join(received_by_client.events.texts), rewrite
        assert set(alignment.numbers.values()) <= {one.number for one in sent_by_provider.events.frames}
        numbers = [number for _, one in sorted(alignment.objects().items()) for number in one["received_events"]]
        assert numbers == sorted(set(numbers)), rewrite
        assert set(numbers) <= {one.number for one in received_by_client.events.frames}


def test_a_response_that_was_not_rewritten() -> None:
    """It has no separate received response."""
    pattern = PATTERNS[0]
    sent_by_provider = read(Exchange(facts=pattern.exchange, chunks=[pattern.body], sent=pattern.body))
    assert as_received(sent_by_provider) is None
