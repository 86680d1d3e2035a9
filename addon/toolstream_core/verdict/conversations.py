"""Conversations as they go on: which request follows which answer, and the verdict on each. Bounded in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.verdict.answer import SentAnswer
from toolstream_core.verdict.history import added, history_of
from toolstream_core.verdict.judge import judge, to_run, without_request
from toolstream_core.verdict.outcome import Outcome
from toolstream_core.verdict.slots import Asked, Slot, State, ends_alike, fit, goes_on, likeness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.protocols.requests.conversation import Conversation
    from toolstream_core.verdict.outcome import Verdict

MAX_ANSWERS: Final = 512
"""Answers that are kept, because a request may follow; the oldest go first."""
MAX_BYTES: Final = 32 * 1024 * 1024
"""What all of them may take in memory, about."""


class Judged[A: SentAnswer](NamedTuple):
    """The verdict on an answer."""

    token: str
    """Names the request that was answered."""
    answer: A
    verdict: Verdict
    request: str | None
    """Names the request that followed, if one did."""


class Conversations[A: SentAnswer]:
    """Takes requests and answers as they come, and tells the verdict on each answer that had calls to run.

    An answer has one verdict; a second one follows where no call or result had come by the first, and a request has
    them after all.
    """

    def __init__(
        self,
        tell: Callable[[Judged[A]], None],
        *,
        ids_kept: bool = False,
        max_answers: int = MAX_ANSWERS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """`ids_kept`: as for `judge`; `max_bytes` bounds what is kept of answers that are over."""
        self._tell = tell
        self._ids_kept = ids_kept
        self._max_answers, self._max_bytes = max_answers, max_bytes
        self._slots: dict[str, Slot[A]] = {}
        self._size = 0

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._slots)

    def asked(self, token: str, place: str, said: Conversation, *, source: str = "", began: float = 0.0) -> None:
        """A request came; `token` names it and the answer to come, the rest is as in `Asked`."""
        history = history_of(said)
        ids = frozenset(filter(None, [*(one.id for one in said.calls), *(one.id for one in said.results)]))
        asked = Asked(token, place, said, history, ids, source, began)
        followed = self._followed(asked)
        count = 0 if followed is None else self._judged(*followed, asked)
        if followed is None:
            self._notice_early(asked)
        self._slots[token] = Slot(token, place, history, source, count)
        self._size += history.size
        self._shrink()

    def answered(self, token: str, answer: A, *, left: bool = False) -> None:
        """An answer is over; `left`: whether the client disconnected during the response."""
        slot = self._slots.get(token)
        if slot is None or slot.state is not State.OPEN:
            return
        slot.answer, slot.state = answer, State.WAITING
        self._size += answer.size
        if slot.early:
            self._judged(slot, answer, slot.early[0])
        elif left:
            self._tell_missing(slot, answer, Outcome.ABORTED)
        self._shrink()

    def unanswered(self, token: str) -> None:
        """A request got no answer of an LLM."""
        slot = self._slots.get(token)
        if slot is not None and slot.state is State.OPEN:
            self._drop(slot)

    def silent(self, token: str) -> None:
        """No request has followed an answer for a long time."""
        slot = self._slots.get(token)
        if slot is not None and slot.answer is not None and slot.state is State.WAITING:
            self._tell_missing(slot, slot.answer, Outcome.SILENT)

    def missing(self) -> Iterator[Judged[A]]:
        """The verdicts on answers that no request has followed so far."""
        for slot in self._slots.values():
            if slot.answer is not None and slot.state is State.WAITING and to_run(slot.answer.calls):
                yield _without(slot, slot.answer, Outcome.SILENT)

    def close(self) -> None:
        """No more requests will come."""
        for slot in list(self._slots.values()):
            self._expire(slot)

    def _followed(self, asked: Asked) -> tuple[Slot[A], A] | None:
        """The answer that a request follows; of several that fit alike the one whose calls it says, or the last."""
        over = [(slot, slot.answer) for slot in self._slots.values() if slot.answer is not None]
        fits = [(found, one) for one in over if (found := fit(*one, asked)) is not None]
        if not fits:
            return next((one for one in reversed(over) if ends_alike(*one, asked)), None)
        best = max(found for found, _ in fits)
        equal = [one for found, one in reversed(fits) if found == best]
        return equal[0] if len(equal) == 1 else max(equal, key=lambda one: likeness(one[0], one[1], asked))

    def _notice_early(self, asked: Asked) -> None:
        """Note a request that came before the answer's end was seen."""
        for slot in reversed(self._slots.values()):
            if slot.state is State.OPEN and not slot.early and goes_on(slot, asked):
                slot.early.append(asked)
                return

    def _judged(self, slot: Slot[A], answer: A, asked: Asked) -> int:
        """Tell the verdict on an answer by the request that follows; how often the same has been asked now."""
        new = added(slot.history, asked.said, answer.ids)
        verdict = judge(answer.calls, new, ids_kept=self._ids_kept, dropped=answer.dropped)
        again = not (new.calls or new.results or new.texts)
        count = slot.count + 1 if again else 0
        if verdict.outcome is Outcome.RETRIED:
            verdict = replace(verdict, count=count or 1)
        told = slot.state is State.TOLD and again
        if not told and (to_run(answer.calls) or verdict.problems):
            self._tell(Judged(slot.asked, answer, verdict, asked.token))
        if new.calls or new.results or not answer.ids:
            self._drop(slot)
        else:
            slot.state = State.PASSED
        return count

    def _tell_missing(self, slot: Slot[A], answer: A, outcome: Outcome) -> None:
        slot.state = State.TOLD
        if to_run(answer.calls) or outcome is Outcome.ABORTED:
            self._tell(_without(slot, answer, outcome))

    def _expire(self, slot: Slot[A]) -> None:
        if slot.answer is not None and slot.state is State.WAITING:
            self._tell_missing(slot, slot.answer, Outcome.SILENT)
        self._drop(slot)

    def _drop(self, slot: Slot[A]) -> None:
        del self._slots[slot.asked]
        self._size -= slot.size

    def _shrink(self) -> None:
        while len(self._slots) > self._max_answers or (self._size > self._max_bytes and len(self._slots) > 1):
            self._expire(next(iter(self._slots.values())))


def _without[A: SentAnswer](slot: Slot[A], answer: A, outcome: Outcome) -> Judged[A]:
    verdict = without_request(outcome, answer.calls, answer.dropped)
    return Judged(slot.asked, answer, replace(verdict, count=slot.count), None)
