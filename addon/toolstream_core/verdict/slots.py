"""One answer that may be followed by a request, and how well a request fits as the one that follows it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.verdict.history import History, added

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.protocols.requests.conversation import Conversation
    from toolstream_core.verdict.outcome import Meant

_CALL = 300
"""Bytes that a call takes in memory beside its texts, about."""


class State(enum.Enum):
    """How far an answer has come."""

    OPEN = "open"
    """It is on its way to the client."""
    WAITING = "waiting"
    """It is over, and no request has followed."""
    TOLD = "told"
    """As `WAITING`; that nothing came, or that the client left, has been told."""


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


@dataclass(slots=True)
class Slot:
    """One answer, and the request that it answers."""

    asked: str
    """The request's token."""
    place: str
    history: History
    count: int = 0
    """How often the same was asked before."""
    state: State = State.OPEN
    calls: Sequence[Meant] = ()
    dropped: frozenset[int] = frozenset()
    """Places of calls that a correct client may leave out."""
    response: str = ""
    """The id by which later requests may name the answer."""
    early: list[Asked] = field(default_factory=list)
    """A request that came before the answer was over and can only follow it."""

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        calls = sum(_CALL + len(call.id) + len(call.name) + len(call.arguments) for call in self.calls)
        return self.history.size + calls

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the calls, as the client got them."""
        return frozenset(call.id for call in self.calls if call.id)


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


def fit(slot: Slot, asked: Asked) -> Fit | None:
    """How well a request fits behind an answer; `None` where it does not follow it."""
    named = bool(slot.response) and slot.response == asked.said.previous
    if asked.said.previous and slot.response and not named:
        return None
    prefix = _prefix(slot.history, asked.history)
    ids = _new_ids(slot, asked)
    if not (named or ids or (prefix and (slot.place == asked.place or _size(asked.history) > _size(slot.history)))):
        return None  # the same may be asked of several models
    return Fit(named, bool(prefix and ids), prefix, ids, _size(slot.history), slot.place == asked.place)


def goes_on(slot: Slot, asked: Asked) -> bool:
    """Whether a request has the whole conversation of an answer that is still on its way, and calls or results more."""
    if not _prefix(slot.history, asked.history):
        return False
    new = added(slot.history, asked.said)
    return bool(new.calls or new.results)


def _size(history: History) -> int:
    return len(history.texts) + len(history.calls) + len(history.results)


def _new_ids(slot: Slot, asked: Asked) -> int:
    ids = slot.ids & asked.ids
    if not ids:
        return 0
    new = added(slot.history, asked.said, ids)
    return len(ids & {*(one.id for one in new.calls), *(one.id for one in new.results)})


def _prefix(before: History, after: History) -> int:
    lengths = len(before.texts), len(before.calls), len(before.results)
    if not any(lengths):
        return 0
    texts, calls, results = lengths
    if texts > len(after.texts) or calls > len(after.calls) or results > len(after.results):
        return 0
    head = History(after.calls[:calls], after.results[:results], after.texts[:texts])
    if head == before:
        return 2
    # System prompts hold the time of day; old results are shortened.
    same_ids = [one.id for one in (*head.calls, *head.results)] == [one.id for one in (*before.calls, *before.results)]
    return int(same_ids and texts > 1 and head.texts[1:] == before.texts[1:])
