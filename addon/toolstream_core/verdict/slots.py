"""One answer that may be followed by a request, and how well a request fits as the one that follows it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.verdict.alignment import said_again
from toolstream_core.verdict.history import History, added
from toolstream_core.verdict.in_text import stands_in
from toolstream_core.verdict.judge import to_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.protocols.requests.conversation import Conversation
    from toolstream_core.verdict.answer import SentAnswer
    from toolstream_core.verdict.outcome import Meant


_SOON: Final = 3600.0
"""Seconds that a client may take to run its tools."""


class State(enum.Enum):
    """How far an answer has come."""

    OPEN = "open"
    """It is on its way to the client."""
    WAITING = "waiting"
    """It is over, and no request has followed."""
    TOLD = "told"
    """As `WAITING`; that nothing came, or that the client left, has been told."""
    PASSED = "passed"
    """A request followed without calls or results; only one that has the ids of the answer's calls still counts."""


class Asked(NamedTuple):
    """A request, as far as it matters to which answer it follows."""

    token: str
    """Names it, and the answer that it gets."""
    place: str
    """Protocol, host, model and tools: one conversation rarely changes them."""
    said: Conversation
    history: History
    """The digests of `said`."""
    ids: frozenset[str]
    """Of all calls and results in it."""
    source: str = ""
    """The file that has it; `""` for what passes now."""
    began: float = 0.0
    """When it came, in seconds since 1970; 0 where that is not known."""


@dataclass(slots=True)
class Slot[A: SentAnswer]:
    """One answer, and the request that it answers."""

    asked: str
    """The request's token."""
    place: str
    history: History
    source: str = ""
    count: int = 0
    """How often the same was asked before."""
    state: State = State.OPEN
    answer: A | None = None
    """What the client got, once it is over."""
    early: list[Asked] = field(default_factory=list)
    """A request that came before the answer was over and can only follow it."""

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return self.history.size + (0 if self.answer is None else self.answer.size)


class Fit(NamedTuple):
    """How well a request fits behind an answer; the greatest is the best."""

    named: bool
    """Whether it names the answer (`previous_response_id`)."""
    both: bool
    """Whether it has both the conversation so far and an id of the answer's calls."""
    prefix: int
    """2 where it begins as the answered request, 1 where it does but for what clients change, else 0."""
    ids: int
    """How many of the answer's ids are new in it."""
    length: int
    """How long the conversation was by then."""
    same_place: bool


def likeness(slot: Slot[Any], answer: SentAnswer, asked: Asked) -> int:
    """How many of an answer's calls a request says again as they were sent, beyond the conversation so far."""
    return said_again(to_run(answer.calls), added(slot.history, asked.said, answer.ids).calls)


def fit(slot: Slot[Any], answer: SentAnswer, asked: Asked) -> Fit | None:
    """How well a request fits behind an answer; `None` where it does not follow it."""
    named = bool(answer.response) and answer.response == asked.said.previous
    if asked.said.previous and answer.response and not named:
        return None
    prefix = _prefix(slot.history, asked.history)
    ids = _new_ids(slot.history, answer.ids & asked.ids, asked.said)
    if not (named or ids) and not (prefix and _may_follow(slot, answer, asked)):
        return None
    if slot.source != asked.source and not named and not (prefix and ids) and not _soon_after(slot, answer, asked):
        return None
    return Fit(named, bool(prefix and ids), prefix, ids, _size(slot.history), slot.place == asked.place)


def _soon_after(slot: Slot[Any], answer: SentAnswer, asked: Asked) -> bool:
    """Whether a request of another file follows an answer whose calls have no ids: captures are one file a response."""
    soon = 0 < answer.ended <= asked.began <= answer.ended + _SOON
    return soon and not answer.ids and slot.place == asked.place and goes_on(slot, asked)


def _may_follow(slot: Slot[Any], answer: SentAnswer, asked: Asked) -> bool:
    """Whether the conversation so far is enough: another model or other tools may be asked the same beside it."""
    if slot.state is State.PASSED or 0 < asked.began < answer.ended:
        return False
    return slot.place == asked.place or goes_on(slot, asked)


def goes_on(slot: Slot[Any], asked: Asked) -> bool:
    """Whether a request has the whole conversation so far, and calls or results more."""
    if not _prefix(slot.history, asked.history):
        return False
    new = added(slot.history, asked.said)
    return bool(new.calls or new.results)


def ends_alike(slot: Slot[Any], answer: SentAnswer, asked: Asked) -> bool:
    """Whether a request that begins otherwise ends with just the calls of an answer, under other ids, or none.

    The conversation so far was made into a summary, or the user's message has got more.
    """
    if slot.state is State.PASSED or 0 < asked.began < answer.ended:
        return False
    if (slot.place, slot.source) != (asked.place, asked.source) or asked.said.previous:
        return False
    wanted = [call for call in to_run(answer.calls) if call.complete]
    new = added(slot.history, asked.said)
    if not wanted:
        return False
    if new.calls and new.results:
        return said_again(wanted, new.calls[-len(wanted) :]) == len(wanted)
    return not new.calls and not new.results and _goes_on_in_text(slot.history, wanted, new.texts)


def _goes_on_in_text(before: History, wanted: Sequence[Meant], texts: Sequence[str]) -> bool:
    """Whether a new text begins as the last of the earlier ones, and goes on with the calls."""
    longer = [one for one in texts if before.last and hash(one[: before.last]) == before.texts[-1]]
    return any(all(stands_in(call, one[before.last :]) for call in wanted) for one in longer)


def _size(history: History) -> int:
    return len(history.texts) + len(history.calls) + len(history.results)


def _new_ids(before: History, ids: frozenset[str], said: Conversation) -> int:
    """How many of these ids a request says beyond an earlier one."""
    if not ids:
        return 0
    new = added(before, said, ids)
    return len(ids & {*(one.id for one in new.calls), *(one.id for one in new.results)})


def _prefix(before: History, after: History) -> int:
    lengths = len(before.texts), len(before.calls), len(before.results)
    if not any(lengths):
        return 0
    texts, calls, results = lengths
    if texts > len(after.texts) or calls > len(after.calls) or results > len(after.results):
        return 0
    if texts and after.texts[texts - 1] != before.texts[-1]:
        return 0  # as nearly all others
    # System prompts hold the time of day.
    if texts > 1 and after.texts[1:texts] != before.texts[1:]:
        return 0
    head = History(after.calls[:calls], after.results[:results], after.texts[:texts])
    if head == before:
        return 2
    # Old results are shortened, and some clients make up all ids anew.
    pairs = [*zip(head.calls, before.calls, strict=True), *zip(head.results, before.results, strict=True)]
    if all(one.content == other.content for one, other in pairs):
        return int(texts > 0)
    return int(texts > 1 and all(one.id == other.id or one.content == other.content for one, other in pairs))
