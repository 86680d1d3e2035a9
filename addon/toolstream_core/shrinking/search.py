"""The search for the smallest candidate: repeats all passes until none makes it smaller."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import override

from toolstream_core.shrinking.candidate import Candidate, digest, events, size
from toolstream_core.shrinking.condition import Condition, Oracle
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
"""Gets the current pass, the events and bytes of all bodies, and the number of judged candidates."""
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
        """Whether a candidate shows the bug; the oracle judges each only once."""
        key = digest(candidate)
        shows = self._tried.get(key)
        return self._ask(candidate, key) if shows is None else shows

    def _run_pass(self, reduction: Pass, best: Candidate) -> Candidate:
        """Take proposals of a pass until none of them shows the bug."""
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
