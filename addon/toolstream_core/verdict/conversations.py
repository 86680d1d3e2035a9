"""Which request follows which response, and the verdict on each. Bounded in memory."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.defects.table import ROWS
from toolstream_core.verdict.compare import said_again, stands_in
from toolstream_core.verdict.judge import judge, to_run, without_request
from toolstream_core.verdict.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from toolstream_core.model import Call, Record
    from toolstream_core.protocols.requests.conversation import Conversation, EchoedCall, ToolResult
    from toolstream_core.verdict.outcome import Meant, Verdict


_CALL = 300
"""Bytes that a call takes in memory beside its texts, about."""
_LOSSY: Final = frozenset(row.code for row in ROWS if row.lossy)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAnswer:
    """The calls of one answer."""

    calls: Sequence[Call]
    dropped: frozenset[int] = frozenset()
    """Places of calls that a correct client does not run, or need not."""
    response: str = ""
    """The id by which later requests may name the answer (`previous_response_id`)."""
    ended: float = 0.0
    """When it was over, in seconds since 1970; 0 where that is not known."""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the calls."""
        return frozenset(call.id for call in self.calls if call.id)

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return sum(_CALL + len(call.id) + len(call.name) + len(call.arguments) for call in self.calls)


def dropped(record: Record) -> frozenset[int]:
    """Places of the calls of which a lossy defect takes something: of all calls, where it names none."""
    found = [one for one in record.findings if one.code in _LOSSY]
    everything = any(one.call is None for one in found)
    positions = {one.call for one in found}
    return frozenset(place for place, call in enumerate(record.calls) if everything or call.position in positions)


_ENTRY = 200
"""Bytes that one entry takes in memory, about."""


class Entry(NamedTuple):
    """A call or a result of an earlier request."""

    id: str | None
    digest: int
    content: int
    """The digest of all but the id."""


@dataclass(frozen=True, slots=True)
class History:
    """All that an earlier request said of tools, and its texts, as digests."""

    calls: tuple[Entry, ...] = ()
    results: tuple[Entry, ...] = ()
    texts: tuple[int, ...] = ()
    last: int = field(default=0, compare=False)
    """The length of the last text."""

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return _ENTRY * (len(self.calls) + len(self.results)) + 40 * len(self.texts)


def history_of(said: Conversation) -> History:
    """The digests of a request's conversation."""
    return History(
        tuple(map(_call, said.calls)),
        tuple(map(_result, said.results)),
        tuple(map(hash, said.texts)),
        len(said.texts[-1]) if said.texts else 0,
    )


def added(before: History, after: Conversation, own: Collection[str] = ()) -> Conversation:
    """What a request says beyond an earlier one of the same conversation.

    Clients shorten and rewrite old calls and results, and some make up their ids anew: one whose id, or all but the
    id, the earlier request has is no new one, unless its id is one of `own`, those of the answer between the two.
    """
    digests = list(map(hash, after.texts))
    calls = [after.calls[place] for place in _beyond(before.calls, [*map(_call, after.calls)], own)]
    new_ids = {one.id for one in calls}
    return replace(
        after,
        calls=tuple(calls),
        results=tuple(
            after.results[place] for place in _beyond(before.results, [*map(_result, after.results)], own, new_ids)
        ),
        texts=tuple(after.texts[place] for place in _new(before.texts, digests)),
    )


def _call(one: EchoedCall) -> Entry:
    return _entry(one.id, one.name, one.arguments)


def _result(one: ToolResult) -> Entry:
    return _entry(one.id, one.name, one.text)


def _entry(identity: str | None, name: str, text: str) -> Entry:
    content = hash((name, text))
    return Entry(identity, hash((identity, content)), content)


def _beyond(
    before: Sequence[Entry], after: Sequence[Entry], own: Collection[str], new: Collection[str | None] = ()
) -> list[int]:
    """The places in `after` of what `before` has neither as it is, nor under its id, nor under another id.

    What has an id of `own` is new if it is not there as it is; one of `new`, also where another had its content.
    """
    old, again = ([one.digest for one in entries] for entries in (before, after))
    places = _new(old, again)
    gone = [before[place] for place in _new(again, old)]
    by_id = Counter(one.id for one in gone if one.id)
    places = [place for place in places if after[place].id in own or not _taken(by_id, after[place].id)]
    if len(after) < len(before):
        return places  # old ones were left out
    by_content = Counter(one.content for one in gone if not one.id or _taken(by_id, one.id))
    kept = {*own, *new}
    return [place for place in places if after[place].id in kept or not _taken(by_content, after[place].content)]


def _taken[T](left: Counter[T], key: T | None) -> bool:
    """Whether there is one of that key, which is taken then."""
    if key is None or left[key] < 1:
        return False
    left[key] -= 1
    return True


def _new(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The places in `after` of what is there more often than in `before`: of equal ones the last are new."""
    left = Counter(after)
    left.subtract(before)
    places: list[int] = []
    for place in range(len(after) - 1, -1, -1):
        if left[after[place]] > 0:
            left[after[place]] -= 1
            places.append(place)
    return places[::-1]


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
