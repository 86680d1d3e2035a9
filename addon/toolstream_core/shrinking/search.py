"""Searches the smallest candidate that shows a bug, in passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import override

from toolstream_core.calls.json_text import same, value_of
from toolstream_core.delivery.sent_bytes import response_id
from toolstream_core.model import Call, Json, Record
from toolstream_core.protocols.requests import conversation, match_key, tools
from toolstream_core.shrinking.candidate import Candidate, Turn, digest, events, size
from toolstream_core.shrinking.events import Pass, Proposal, fewer_events, fewer_groups, fewer_responses, single_chunks
from toolstream_core.shrinking.json_passes import (
    fewer_fields,
    joined_fragments,
    required_fields,
    shorter_strings,
    shorter_texts,
    smaller_requests,
)
from toolstream_core.state_file import Results
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame

type Oracle = Callable[[Candidate], bool]
"""Whether a candidate shows the bug."""


def names(candidate: Candidate, *, notes: bool = True) -> frozenset[str]:
    """The defects in a candidate, by name; without `notes`, errors and warnings only."""
    found = (finding for turn in candidate if turn.record is not None for finding in turn.record.findings)
    return frozenset(finding.name for finding in found if notes or finding.severity.counts)


@dataclass(frozen=True, slots=True)
class Condition:
    """Compares candidates with the original."""

    original: Candidate
    lax: bool = False
    """Whether further defects are allowed."""
    for_client: bool = False
    """Whether a client reads candidates: then no note is new, and calls keep their arguments, with which tools run.

    Otherwise calls keep the keys that they need, with any values.
    """

    def allows(self, candidate: Candidate, *, like: Candidate | None = None) -> bool:
        """Whether a candidate is one response or several, without defects that the original lacks.

        Notes do not count, unless `like` is given: then a candidate has no note that `like` lacks. Not everything that
        a protocol demands is a defect, therefore a response must also begin, end and finish like the original.
        """
        if not candidate or not all(self._responses(turn) for turn in candidate) or not self._in_order(candidate):
            return False
        if self.lax:
            return True
        if names(candidate, notes=False) - names(self.original, notes=False):
            return False
        like = self.original if self.for_client and like is None else like
        return like is None or not names(candidate) - names(like)

    def _in_order(self, candidate: Candidate) -> bool:
        """Whether the responses of a conversation still differ in the number of tool results before them."""
        new = [conversation.results(one.facts.request) for one in candidate]
        old = [conversation.results(self._before(one).facts.request) for one in candidate]
        return all((a < b) == (c < d) for (a, b), (c, d) in zip(pairwise(old), pairwise(new), strict=True))

    def _before(self, turn: Turn) -> Turn:
        return next(one for one in self.original if one.number == turn.number)

    def _responses(self, turn: Turn) -> bool:
        original_turn = self._before(turn)
        record, original = turn.record, original_turn.record
        if record is None or original is None:
            return record is original  # an HTTP error need not have an event of the protocol
        if (record.protocol, record.streamed) != (original.protocol, original.streamed):
            return False
        if not self.lax and not (_is_framed(turn, original_turn) and _is_over(record, original)):
            return False
        if not self.lax and not all(self._keeps_arguments(call, original_turn) for call in record.calls):
            return False
        return turn.facts.request == original_turn.facts.request or _fits(turn, original_turn)

    def _keeps_arguments(self, call: Call, original_turn: Turn) -> bool:
        """Whether the arguments of a call still show whether a client read them, and its tool can still be run."""
        original, facts = original_turn.record, original_turn.facts
        before = [one for one in ([] if original is None else original.calls) if one.name == call.name]
        if self.for_client:
            return any(same(one.arguments, call.arguments) for one in before)
        schema = tools.schemas(facts.request).get(call.name)
        needed = {*json_access.items(json_access.get(schema, "required"))}
        return any(_keeps(value_of(call.arguments), value_of(one.arguments), needed) for one in before)


def _keeps(new: Json, old: Json, needed: Collection[Json]) -> bool:
    """Whether arguments are as empty as they were, and have the keys of `needed` that they had."""
    if not (isinstance(new, dict) and isinstance(old, dict)):
        return True
    return bool(new) == bool(old) and {*new} >= {*old}.intersection(needed)


def _is_over(record: Record, original: Record) -> bool:
    """Whether a response still has an end and a finish reason if the original has them."""
    return record.ended == original.ended and bool(record.finish) == bool(original.finish)


def _is_framed(turn: Turn, original_turn: Turn) -> bool:
    """Whether the first and the last event are still of the same kind as those of the original."""
    new = [part.frame for part in turn.frames if part.counts]
    old = [part.frame for part in original_turn.frames if part.counts]
    ends = ((new[0], old[0]), (new[-1], old[-1])) if new and old else ()
    return bool(new) == bool(old) and all(_kind(one) == _kind(other) for one, other in ends)


def _kind(frame: Frame) -> tuple[str, Json]:
    """The kind of an event: its name with its `type`, or with its data if that is not a JSON object (`[DONE]`)."""
    payload = frame.json
    return frame.name, json_access.scalar(json_access.get(payload, "type")) if isinstance(payload, dict) else frame.data


def _fits(turn: Turn, original_turn: Turn) -> bool:
    """Whether a changed request still requests such a response, has text, and has a result for each call."""
    path, new, old = turn.facts.path, turn.facts.request, original_turn.facts.request
    new_request, old_request = match_key.read(path, new), match_key.read(path, old)
    if new_request is None or old_request is None:
        return new_request is old_request
    if (new_request.protocol, new_request.form, new_request.model) != (
        old_request.protocol,
        old_request.form,
        old_request.model,
    ):
        return False
    if old_request.words and not new_request.words:
        return False
    history = (new_request.results, conversation.earlier_ids(new))
    return history in ((0, frozenset()), (old_request.results, conversation.earlier_ids(old)))


def shows(codes: Collection[str]) -> Oracle:
    """The oracle for a finding: a response has one of these codes."""
    return lambda candidate: any(
        finding.code in codes for turn in candidate if turn.record is not None for finding in turn.record.findings
    )


def verdicts(candidate: Candidate) -> frozenset[Outcome]:
    """The verdicts on responses that the client misread, and that a request of the candidate follows."""
    found: set[Outcome] = set()

    def report(judged: Judged[SentResponse]) -> None:
        if not judged.verdict.understood:
            found.add(judged.verdict.outcome)

    conversations = Conversations[SentResponse](report)
    for turn in candidate:
        _take(turn, conversations)
    return frozenset(found)


def worst(found: frozenset[Outcome]) -> Outcome | None:
    """The verdict that is first in the list of verdicts."""
    return min(found, key=list(Outcome).index, default=None)


def _take(turn: Turn, conversations: Conversations[SentResponse]) -> None:
    facts, token = turn.facts, str(turn.number)
    if not conversations.llm_request(token, facts):
        return
    record = turn.record
    if record is None:
        conversations.no_response(token)
        return
    chunks = [chunk.data for chunk in turn.chunks]
    response = response_id(chunks, facts) if record.calls else ""
    sent = SentResponse.of(record, facts.request, b"".join(chunks), response_id=response)
    conversations.response(token, sent)


class TriedCandidates(Results[str, bool]):
    """Whether candidates showed the bug, by digest."""

    command = "toolstream shrink"
    parts = "flow, command"

    @override
    def read(self, line: str) -> tuple[str, bool] | None:
        digest, _, shows = line.partition(" ")
        return (digest, shows == "1") if shows in {"0", "1"} else None

    @override
    def line(self, key: str, result: bool) -> str:
        return f"{key} {int(result)}"


def passes(original: Candidate, *, lax: bool = False) -> tuple[Pass, ...]:
    """The passes for `original`. Unless `lax`, they keep the fields that all objects of their kind have."""
    required = {} if lax else required_fields(original)
    return (
        Pass("chunks", single_chunks),
        Pass("answers", fewer_responses),
        Pass("groups", fewer_groups),
        Pass("events", fewer_events),
        Pass("fragments", joined_fragments),
        Pass("arguments and text", shorter_texts, careful=True),
        Pass("fields", fewer_fields(required), careful=True),
        Pass("strings", shorter_strings, careful=True),
        Pass("requests", smaller_requests, careful=True),
    )


type Progress = Callable[[str, int, int, int], None]
"""Receives the current pass, the events and bytes of all bodies, and the number of tested candidates."""
type _Try = tuple[Proposal, Future[bool]]


class Search:
    """Makes a candidate smaller as long as the oracle finds the bug in it.

    With several jobs the oracle judges several proposals at once, and the first in order that shows the bug is
    taken: the result is the same as with one job.
    """

    def __init__(
        self,
        condition: Condition,
        oracle: Oracle,
        *,
        tried: TriedCandidates | None = None,
        jobs: int = 1,
        progress: Progress = lambda *_: None,
    ) -> None:
        """`oracle` is called in threads if there are several `jobs`."""
        self._condition = condition
        self._oracle = oracle
        self._tried = tried or TriedCandidates()
        self._jobs = jobs
        self._progress = progress
        self.tries = 0
        self._visited: set[str] = set()
        self._pool: ThreadPoolExecutor | None = None

    def run(self, original: Candidate, passes: Sequence[Pass]) -> Candidate:
        """A candidate that no pass makes smaller."""
        best, before = original, ""
        try:
            while before != (before := digest(best)):
                for one in passes:
                    best = self._run_pass(one, best)
        finally:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
        return best

    def shows(self, candidate: Candidate) -> bool:
        """Whether a candidate shows the bug; the oracle is asked only once for each."""
        key = digest(candidate)
        shows = self._tried.get(key)
        return self._ask(candidate, key) if shows is None else shows

    def _run_pass(self, reduction: Pass, best: Candidate) -> Candidate:
        """Apply proposals of a pass until none of them shows the bug."""
        proposals = reduction.proposals(best, ())
        while True:
            self._visited.add(digest(best))
            self._progress(reduction.name, events(best), size(best), self.tries)
            taken = self._first(proposal for proposal in proposals if self._is_allowed(reduction, proposal, best))
            if taken is None:
                return best
            best = taken.candidate
            proposals = reduction.proposals(best, taken.resume)

    def _is_allowed(self, reduction: Pass, proposal: Proposal, best: Candidate) -> bool:
        if digest(proposal.candidate) in self._visited:
            return False
        return self._condition.allows(proposal.candidate, like=best if reduction.careful else None)

    def _first(self, proposals: Iterable[Proposal]) -> Proposal | None:
        if self._jobs == 1:
            return next((one for one in proposals if self.shows(one.candidate)), None)
        waiting: deque[_Try] = deque()
        for proposal, shows in self._started(proposals, waiting):
            if shows.result():
                for _, other in waiting:  # running ones finish, and are remembered
                    other.cancel()
                return proposal
        return None

    def _started(self, proposals: Iterable[Proposal], waiting: deque[_Try]) -> Iterator[_Try]:
        """Tries in the order of the proposals; the next ones already run."""
        pool = self._pool = self._pool or ThreadPoolExecutor(self._jobs)
        for proposal in proposals:
            waiting.append((proposal, pool.submit(self.shows, proposal.candidate)))
            if len(waiting) == self._jobs:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()

    def _ask(self, candidate: Candidate, key: str) -> bool:
        self.tries += 1
        shows = self._oracle(candidate)
        self._tried.add(key, shows)
        return shows
