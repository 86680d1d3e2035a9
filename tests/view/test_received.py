"""What the client got instead of each event, put together, is what the client got."""

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
WAYS: Final = (
    Words(repair=["safe"]),
    *(Words(shape=[name]) for name in known_shapes()),
    *(Words(fault=[name]) for name in ("duplicate-id", "empty-data")),
)
"""How a pattern is rewritten; each one in a fifth of the ways."""


def rewritten(pattern: Pattern, way: Words) -> Exchange:
    """A response as a capture has it whose proxy rewrote it."""
    session = Session(pattern.exchange, settings(way))
    sent = b"".join([*session.feed(pattern.body), *session.end()])
    return Exchange(facts=pattern.exchange, chunks=[pattern.body], sent=sent)


def received(ours: ReadResponse, alignment: Alignment) -> str:
    """What the events say that the client got."""
    sent = alignment.objects()
    return "".join(
        "".join(sent.get(row, {"received": [text]})["received"]) for row, text in enumerate(ours.events.texts)
    )


@grouped(Case(f"{one.protocol} {number % 5}", (number, one)) for number, one in enumerate(PATTERNS))
def test_received(number: int, pattern: Pattern) -> None:
    """Of each pattern, however it was rewritten: every event once, in the client's order."""
    for way in WAYS[number % 5 :: 5]:
        saved = rewritten(pattern, way)
        ours = read(saved)
        theirs = as_received(ours)
        if theirs is None or ours.record is None or theirs.record is None:
            continue
        alignment = Alignment(ours, theirs)
        assert received(ours, alignment) == "".join(theirs.events.texts), way
        assert set(alignment.numbers.values()) <= {one.number for one in ours.events.frames}
        numbers = [number for _, one in sorted(alignment.objects().items()) for number in one["received_events"]]
        assert numbers == sorted(set(numbers)), way
        assert set(numbers) <= {one.number for one in theirs.events.frames}


def test_a_response_that_was_not_rewritten() -> None:
    """Has no other one that the client got."""
    pattern = PATTERNS[0]
    ours = read(Exchange(facts=pattern.exchange, chunks=[pattern.body], sent=pattern.body))
    assert as_received(ours) is None
