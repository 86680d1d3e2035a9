"""The search for the smallest candidate: passes over and over, until none makes it smaller."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.shrinking.candidate import digest, events, size
from toolstream_core.shrinking.tried import Tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.law import Law, Oracle
    from toolstream_core.shrinking.passes.proposal import Pass, Proposal


class Progress(NamedTuple):
    """How far a search is."""

    stage: str
    """The pass at work."""
    events: int
    size: int
    """Bytes of all bodies."""
    tries: int
    """Candidates that the oracle was asked about."""


class _Try(NamedTuple):
    proposal: Proposal
    verdict: Future[bool]


class Search:
    """Makes a candidate smaller as long as the oracle says that it shows the bug.

    With several jobs, the oracle is asked about the next proposals at once, and the first that holds is taken: the
    result is that of one job.
    """

    def __init__(
        self,
        law: Law,
        oracle: Oracle,
        *,
        tried: Tried | None = None,
        jobs: int = 1,
        progress: Callable[[Progress], None] = lambda progress: None,  # noqa: ARG005
    ) -> None:
        """`oracle` is called in threads where there are several `jobs`."""
        self._law = law
        self._oracle = oracle
        self._tried = tried or Tried()
        self._jobs = jobs
        self._progress = progress
        self.tries = 0
        self._been: set[str] = set()
        self._pool: ThreadPoolExecutor | None = None

    def run(self, original: Candidate, passes: Sequence[Pass]) -> Candidate:
        """The smallest candidate that can be found: no pass makes it smaller."""
        best, before = original, ""
        try:
            while before != (before := digest(best)):
                for one in passes:
                    best = self._exhaust(one, best)
        finally:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
        return best

    def shows(self, candidate: Candidate) -> bool:
        """Whether a candidate shows the bug; asked once."""
        key = digest(candidate)
        known = self._tried.get(key)
        return self._ask(candidate, key) if known is None else known

    def _exhaust(self, one: Pass, best: Candidate) -> Candidate:
        """Take what `one` proposes until nothing of it holds."""
        proposals = one.proposals(best, ())
        while True:
            self._been.add(digest(best))
            self._progress(Progress(one.name, events(best), size(best), self.tries))
            taken = self._first(proposal for proposal in proposals if self._lawful(one, proposal, best))
            if taken is None:
                return best
            best = taken.candidate
            proposals = one.proposals(best, taken.resume)

    def _lawful(self, one: Pass, proposal: Proposal, best: Candidate) -> bool:
        """Whether a proposal leads to where the search has not been, and is allowed."""
        if digest(proposal.candidate) in self._been:
            return False
        return self._law.allows(proposal.candidate, like=best if one.careful else None)

    def _first(self, proposals: Iterable[Proposal]) -> Proposal | None:
        """The first proposal that shows the bug."""
        if self._jobs == 1:
            return next((one for one in proposals if self.shows(one.candidate)), None)
        waiting: deque[_Try] = deque()
        for one in self._begun(proposals, waiting):
            if one.verdict.result():
                for other in waiting:  # those that run already end on their own, and are remembered
                    other.verdict.cancel()
                return one.proposal
        return None

    def _begun(self, proposals: Iterable[Proposal], waiting: deque[_Try]) -> Iterator[_Try]:
        """Tries in the order of the proposals, with the next ones under way already."""
        pool = self._pool = self._pool or ThreadPoolExecutor(self._jobs)
        for proposal in proposals:
            waiting.append(_Try(proposal, pool.submit(self.shows, proposal.candidate)))
            if len(waiting) == self._jobs:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()

    def _ask(self, candidate: Candidate, key: str) -> bool:
        self.tries += 1
        shows = self._oracle(candidate)
        self._tried.add(key, shows=shows)
        return shows
