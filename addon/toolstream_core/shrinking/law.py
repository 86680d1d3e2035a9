"""What a candidate may be: an answer of the same protocol in which nothing else is wrong. Judged by our own reader."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from toolstream_core.engine.session import read_body
from toolstream_core.model import Severity
from toolstream_core.protocols.requests import asked
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from toolstream_core.model import Json, Record
    from toolstream_core.shrinking.candidate import Candidate, Turn
    from toolstream_core.wire.frame import Frame

type Oracle = Callable[[Candidate], bool]
"""Whether a candidate shows the bug."""

_KEPT = 256
_COUNTS = frozenset({Severity.ERROR, Severity.WARNING})


class RecordBuilder:
    """Reads candidates; the last few answers are remembered."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._records: OrderedDict[str, Record | None] = OrderedDict()

    def record(self, turn: Turn) -> Record | None:
        """What an answer says; `None` where nobody recognises it."""
        key = turn.digest
        if key not in self._records:
            self._records[key] = read_body((chunk.data for chunk in turn.chunks), turn.exchange, broken=turn.broken)
            if len(self._records) > _KEPT:
                self._records.popitem(last=False)
        return self._records[key]

    def names(self, candidate: Candidate, severities: Collection[Severity] = frozenset(Severity)) -> frozenset[str]:
        """The defects in a candidate, by name."""
        records = (self.record(turn) for turn in candidate)
        found = (finding for record in records if record is not None for finding in record.findings)
        return frozenset(finding.name for finding in found if finding.severity in severities)


@dataclass(frozen=True, slots=True)
class Law:
    """Holds candidates to what the original was."""

    reader: RecordBuilder
    original: Candidate
    lax: bool = False
    """Whether further defects are allowed."""

    def allows(self, candidate: Candidate, *, like: Candidate | None = None) -> bool:
        """Whether a candidate is an answer, or several, with no defect that the original has not.

        Notes are no defects here, unless the candidate is to be as good as `like`. Not everything that a protocol
        demands is a defect: so an answer also begins, ends and finishes as the original does.
        """
        if not candidate or not all(self._answers(turn) for turn in candidate) or not self._in_order(candidate):
            return False
        if self.lax:
            return True
        if self.reader.names(candidate, _COUNTS) - self.reader.names(self.original, _COUNTS):
            return False
        return like is None or not self.reader.names(candidate) - self.reader.names(like)

    def _in_order(self, candidate: Candidate) -> bool:
        """Whether answers of a conversation can still be told apart by the tool results before them."""
        new = [asked.results(one.exchange.path, one.exchange.request) for one in candidate]
        old = [asked.results(self._before(one).exchange.path, self._before(one).exchange.request) for one in candidate]
        return all((a < b) == (c < d) for (a, b), (c, d) in zip(pairwise(old), pairwise(new), strict=True))

    def _before(self, turn: Turn) -> Turn:
        return next(one for one in self.original if one.number == turn.number)

    def _answers(self, turn: Turn) -> bool:
        record = self.reader.record(turn)
        before = self._before(turn)
        known = self.reader.record(before)
        if record is None or known is None:
            return record is known  # an HTTP error need not say anything in the protocol
        if (record.dialect, record.streamed) != (known.dialect, known.streamed):
            return False
        if not self.lax and not (_is_framed(turn, before) and _is_over(record, known)):
            return False
        return turn.exchange.request == before.exchange.request or _fits(turn, before)


def _is_over(record: Record, known: Record) -> bool:
    """Whether an answer still has an end and a finish reason where the original has them."""
    return record.ended == known.ended and bool(record.finish) == bool(known.finish)


def _is_framed(turn: Turn, before: Turn) -> bool:
    """Whether the events that begin and end an answer are still of the kind that begins and ends the original."""
    new = [piece.frame for piece in turn.pieces if piece.counts]
    old = [piece.frame for piece in before.pieces if piece.counts]
    ends = ((new[0], old[0]), (new[-1], old[-1])) if new and old else ()
    return bool(new) == bool(old) and all(_kind(one) == _kind(other) for one, other in ends)


def _kind(frame: Frame) -> tuple[str, Json]:
    """What an event is, as far as it says so: by its name, by its `type`, or by being no JSON (`[DONE]`)."""
    payload = frame.json
    return frame.name, json_access.scalar(json_access.get(payload, "type")) if isinstance(payload, dict) else frame.data


def _fits(turn: Turn, before: Turn) -> bool:
    """Whether the request of `turn` still asks for such an answer, in somebody's words, with a result for each call."""
    path, new, old = turn.exchange.path, turn.exchange.request, before.exchange.request
    asks, asked_before = asked.read(path, new), asked.read(path, old)
    if asks is None or asked_before is None:
        return asks is asked_before
    if (asks.dialect, asks.form, asks.model) != (asked_before.dialect, asked_before.form, asked_before.model):
        return False
    if asked_before.words and not asks.words:
        return False
    reader = asked.reader_of(path, old)
    history = (asks.results, reader.earlier_ids(new))
    return history in ((0, frozenset()), (asked_before.results, reader.earlier_ids(old)))


def shows(reader: RecordBuilder, codes: Collection[str]) -> Oracle:
    """The oracle of a finding: some answer has one of these codes."""

    def oracle(candidate: Candidate) -> bool:
        records = (reader.record(turn) for turn in candidate)
        return any(finding.code in codes for record in records if record is not None for finding in record.findings)

    return oracle
