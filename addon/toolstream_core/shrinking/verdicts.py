"""What the client made of the responses of a candidate, by the requests that the candidate holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.delivery.sent_bytes import response_id
from toolstream_core.protocols.requests import asked
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.answer import SentAnswer, dropped
from toolstream_core.verdict.conversations import Conversations, Judged

if TYPE_CHECKING:
    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.shrinking.law import Oracle, RecordCache


def verdicts(candidate: Candidate, records: RecordCache) -> frozenset[Outcome]:
    """The verdicts on responses that the client misread, and that a request of the candidate follows."""
    found: set[Outcome] = set()

    def tell(judged: Judged[SentAnswer]) -> None:
        if not judged.verdict.understood:
            found.add(judged.verdict.outcome)

    conversations = Conversations[SentAnswer](tell)
    for turn in candidate:
        _take(turn, records, conversations)
    return frozenset(found)


def has_verdict(records: RecordCache, wanted: Outcome) -> Oracle:
    """The oracle for a verdict on the saved conversation."""
    return lambda candidate: wanted in verdicts(candidate, records)


def worst(found: frozenset[Outcome]) -> Outcome | None:
    """The verdict that stands first in the list of verdicts."""
    return min(found, key=list(Outcome).index, default=None)


def _take(turn: Turn, records: RecordCache, conversations: Conversations[SentAnswer]) -> None:
    exchange, token = turn.exchange, str(turn.number)
    wanted = asked.read(exchange.path, exchange.request)
    if wanted is None:
        return
    said = asked.reader_of(exchange.path, exchange.request).conversation(exchange.request)
    conversations.asked(token, f"{wanted.dialect} {exchange.host} {wanted.model}", said)
    record = records.record(turn)
    if record is None:
        conversations.unanswered(token)
        return
    chunks = [chunk.data for chunk in turn.chunks]
    response = response_id(chunks, exchange) if record.calls else ""
    conversations.answered(token, SentAnswer(calls=tuple(record.calls), dropped=dropped(record), response=response))
