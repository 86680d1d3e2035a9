"""Finds the request that follows each response, and its verdict. Bounded in memory."""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self

from toolstream_core.defects.framing import UNPARSABLE_DATA, UNREADABLE_BODY
from toolstream_core.defects.table import DEFECTS
from toolstream_core.model import Call, Json, Record, StreamFacts
from toolstream_core.protocols.requests import match_key, tools
from toolstream_core.protocols.requests.conversation import Conversation, ReturnedCall, ToolResult
from toolstream_core.verdict.compare import count_returned, is_in_text
from toolstream_core.verdict.judge import judge, to_run, without_request
from toolstream_core.verdict.outcome import IntendedCall, Outcome, Verdict
from toolstream_core.wire import json_access

_CALL = 300
"""Approximate bytes of a call in memory, without its texts."""
_LOSSY: Final = frozenset(defect.code for defect in DEFECTS if defect.lossy)
_UNREAD: Final = {UNPARSABLE_DATA.code, UNREADABLE_BODY.code}
_REASONING: Final = re.compile(rb'"reasoning_content"\s*:\s*"[^"]|"type"\s*:\s*"reasoning"')
_FURTHER: Final = _UNREAD | {defect.code for defect in DEFECTS if defect.family == "leak"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentResponse:
    """The calls of one response, as its client received them."""

    calls: Sequence[Call]
    dropped: frozenset[int] = frozenset()
    """Positions of calls that a correct client need not run."""
    has_further: bool = False
    """Whether the client may have further calls: from the text, by polling, or from what could not be read here."""
    response_id: str = ""
    """The id by which later requests may name the response (`previous_response_id`)."""
    reasoned: bool = False
    """Whether it has reasoning, which some models require in the next request."""
    ended: float = 0.0
    """The time of its end, in seconds since 1970; 0 if unknown."""

    @classmethod
    def of(cls, record: Record, request: Json, data: bytes = b"", **more: Any) -> Self:
        """The response of `record` to `request`; `data` are its bytes, if they are kept, `more` other fields.

        The client may have further calls after the error of a provider, too: `failed_generation` of Groq.
        """
        polled = json_access.get(request, "background") is True
        further = bool(record.error) or polled or any(one.code in _FURTHER for one in record.findings)
        reasoned = bool(record.calls) and _REASONING.search(data) is not None
        return cls(calls=tuple(record.calls), dropped=dropped(record), has_further=further, reasoned=reasoned, **more)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(call.id for call in self.calls if call.id)

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return sum(_CALL + len(call.id) + len(call.name) + len(call.arguments) for call in self.calls)


def dropped(record: Record) -> frozenset[int]:
    """Positions of the calls that a lossy defect damages: all, if it names none."""
    found = [one for one in record.findings if one.code in _LOSSY]
    everything = any(one.call is None for one in found)
    positions = {one.call for one in found}
    return frozenset(place for place, call in enumerate(record.calls) if everything or call.position in positions)


_ENTRY = 200
"""Approximate bytes of an entry in memory."""


class Entry(NamedTuple):
    """A call or a result of an earlier request."""

    id: str | None
    digest: int
    content: int
    """The digest without the id."""


@dataclass(frozen=True, slots=True)
class History:
    """The calls, results and texts of an earlier request, as digests."""

    calls: tuple[Entry, ...] = ()
    results: tuple[Entry, ...] = ()
    texts: tuple[int, ...] = ()
    last: int = field(default=0, compare=False)
    """The length of the last text."""

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return _ENTRY * (len(self.calls) + len(self.results)) + 40 * len(self.texts)


def history_of(conversation: Conversation) -> History:
    """The digests of a request's conversation."""
    return History(
        tuple(map(_call, conversation.calls)),
        tuple(map(_result, conversation.results)),
        tuple(map(hash, conversation.texts)),
        len(conversation.texts[-1]) if conversation.texts else 0,
    )


def added(
    before: History, after: Conversation, own: Collection[str] = (), digests: History | None = None
) -> Conversation:
    """The calls, results and texts that a request adds to an earlier one of the same conversation.

    `digests` are those of `after`, if they are known.

    Clients shorten and rewrite old calls and results, and some make up their ids anew: an entry is not new if
    the earlier request has its id, or all but its id. One with an id of `own`, the response between the two, is new.
    """
    now = digests or history_of(after)
    calls = [after.calls[place] for place in _new_entries(before.calls, now.calls, own)]
    new_ids = {one.id for one in calls}
    return replace(
        after,
        calls=tuple(calls),
        results=tuple(after.results[place] for place in _new_entries(before.results, now.results, own, new_ids)),
        texts=tuple(after.texts[place] for place in _new(before.texts, now.texts)),
    )


def _call(returned: ReturnedCall) -> Entry:
    return _entry(returned.id, returned.name, returned.arguments)


def _result(result: ToolResult) -> Entry:
    return _entry(result.id, result.name, result.text)


def _entry(identity: str | None, name: str, text: str) -> Entry:
    content = hash((name, text))
    return Entry(identity, hash((identity, content)), content)


def _new_entries(
    before: Sequence[Entry], after: Sequence[Entry], own: Collection[str], new: Collection[str | None] = ()
) -> list[int]:
    """The positions in `after` of new entries: `before` has neither the same id nor the same content.

    An entry with an id of `own` is new unless it is there unchanged; one of `new` also if another had its content.
    """
    old, again = ([one.digest for one in entries] for entries in (before, after))
    places = _new(old, again)
    gone = [before[place] for place in _new(again, old)]
    by_id = Counter(one.id for one in gone if one.id)
    places = [place for place in places if after[place].id in own or not _remove(by_id, after[place].id)]
    if len(after) < len(before):
        return places  # old ones were left out
    by_content = Counter(one.content for one in gone if not one.id or _remove(by_id, one.id))
    kept = {*own, *new}
    return [place for place in places if after[place].id in kept or not _remove(by_content, after[place].content)]


def _remove[T](left: Counter[T], key: T | None) -> bool:
    """Remove an entry with this key. Returns whether there was one."""
    if key is None or left[key] < 1:
        return False
    left[key] -= 1
    return True


def _new(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The positions in `after` of entries that are more frequent than in `before`; the last of equal ones are new."""
    if [*after[: len(before)]] == [*before]:
        return [*range(len(before), len(after))]  # nearly always
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
    """The state of a response."""

    OPEN = "open"
    """The client is receiving it."""
    WAITING = "waiting"
    """It has ended, and no request has followed."""
    REPORTED = "told"
    """As `WAITING`; a missing request, or a disconnect of the client, was reported."""
    PASSED = "passed"
    """A request followed without calls or results; only one with the ids of the response's calls still counts."""


class NextRequest(NamedTuple):
    """A request, and the facts that show which response it follows."""

    token: str
    """Identifies it, and its response."""
    place: str
    """Protocol, host, model, and tools with their parameters: one conversation rarely changes them."""
    conversation: Conversation
    history: History
    """The digests of `conversation`."""
    ids: frozenset[str]
    """The ids of all calls and results in it."""
    source: str = ""
    """The file that has it; `""` for live traffic."""
    began: float = 0.0
    """The time of the request, in seconds since 1970; 0 if it is unknown."""

    def added_to(self, before: History, own: Collection[str] = ()) -> Conversation:
        """As `added`."""
        return added(before, self.conversation, own, self.history)


@dataclass(slots=True)
class Slot[A: SentResponse]:
    """A response, and its request."""

    token: str
    """That of the request."""
    place: str
    history: History
    source: str = ""
    after: str | None = None
    """The token of the response that the request follows."""
    count: int = 0
    """The number of earlier repetitions of the request."""
    state: State = State.OPEN
    sent: A | None = None
    """The response as the client received it, after its end."""
    early: list[NextRequest] = field(default_factory=list)
    """A request that arrived before the end of the response, but follows it."""

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return self.history.size + (0 if self.sent is None else self.sent.size)


class Fit(NamedTuple):
    """How well a request fits as the successor of a response; the greatest is the best."""

    named: bool
    """Whether it names the response (`previous_response_id`)."""
    both: bool
    """Whether it has both the conversation so far and an id of the response's calls."""
    prefix: int
    """2 if it begins with the earlier request, 1 if with one that a client changed, else 0."""
    ids: int
    """The number of the response's ids that are new in it."""
    length: int
    """The length of the conversation up to the response."""
    place: bool
    """Whether it has the same protocol, host, model and tools."""


def returned_calls(slot: Slot[Any], sent: SentResponse, request: NextRequest) -> int:
    """The number of a response's calls that a request newly returns, unchanged."""
    return count_returned(to_run(sent.calls), request.added_to(slot.history, sent.ids).calls)


def fit(slot: Slot[Any], sent: SentResponse, request: NextRequest) -> Fit | None:
    """How well a request fits as the successor of a response; `None` if it does not follow it."""
    named = bool(sent.response_id) and sent.response_id == request.conversation.previous
    if request.conversation.previous and sent.response_id and not named:
        return None
    shared = sent.ids & request.ids if request.ids else request.ids
    if slot.state is State.PASSED and not (named or shared):
        return None  # as nearly always with repeated requests
    prefix = _prefix(slot.history, request.history)
    ids = _new_ids(slot.history, shared, request)
    if not (named or ids) and not (prefix and _may_follow(slot, sent, request)):
        return None
    if slot.source != request.source and not named and not (prefix and ids) and not _soon_after(slot, sent, request):
        return None
    return Fit(named, bool(prefix and ids), prefix, ids, _size(slot.history), slot.place == request.place)


def _soon_after(slot: Slot[Any], sent: SentResponse, request: NextRequest) -> bool:
    """Whether a request of another file follows a response whose calls have no ids: captures have one file each."""
    soon = 0 < sent.ended <= request.began <= sent.ended + _SOON
    return soon and not sent.ids and slot.place == request.place and continues(slot, request)


def _may_follow(slot: Slot[Any], sent: SentResponse, request: NextRequest) -> bool:
    """Whether the conversation so far suffices: another model or other tools may get the same request too."""
    if slot.state is State.PASSED or 0 < request.began < sent.ended:
        return False
    return slot.place == request.place or continues(slot, request)


def continues(slot: Slot[Any], request: NextRequest) -> bool:
    """Whether a request has the complete conversation so far, and more calls or results."""
    if slot.history == request.history or not _prefix(slot.history, request.history):
        return False
    new = request.added_to(slot.history)
    return bool(new.calls or new.results)


def ends_with_calls(slot: Slot[Any], sent: SentResponse, request: NextRequest) -> bool:
    """Whether a request that begins otherwise ends with exactly the calls of a response, with other ids or none.

    The client summarised the conversation so far, or extended the user's message.
    """
    if slot.state is State.PASSED or 0 < request.began < sent.ended:
        return False
    if (slot.place, slot.source) != (request.place, request.source) or request.conversation.previous:
        return False
    wanted = [call for call in to_run(sent.calls) if call.complete]
    new = request.added_to(slot.history)
    if not wanted:
        return False
    if new.calls and new.results:
        return count_returned(wanted, new.calls[-len(wanted) :]) == len(wanted)
    return not new.calls and not new.results and _continues_in_text(slot.history, wanted, new.texts)


def _continues_in_text(before: History, wanted: Sequence[IntendedCall], texts: Sequence[str]) -> bool:
    """Whether a new text begins as the last of the earlier ones, and continues with the calls."""
    longer = [one for one in texts if before.last and hash(one[: before.last]) == before.texts[-1]]
    return any(all(is_in_text(call, one[before.last :]) for call in wanted) for one in longer)


def _size(history: History) -> int:
    return len(history.texts) + len(history.calls) + len(history.results)


def _new_ids(before: History, ids: frozenset[str], request: NextRequest) -> int:
    """The number of these ids that a request adds to an earlier one."""
    if not ids:
        return 0
    new = request.added_to(before, ids)
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


MAX_RESPONSES: Final = 512
"""Number of responses that are kept, because a request may follow; the oldest are dropped first."""
MAX_BYTES: Final = 32 * 1024 * 1024
"""Approximate bytes that all of them may use."""


class Judged[A: SentResponse](NamedTuple):
    """The verdict on a response."""

    token: str
    """Identifies the request of the response."""
    response: A
    verdict: Verdict
    request: str | None
    """Identifies the request that followed, if any."""


class Conversations[A: SentResponse]:
    """Receives requests and responses, and reports the verdict on each response with calls to run.

    A response has one verdict; a second one follows if a later request has the calls or results that the first lacked.
    """

    def __init__(
        self,
        report: Callable[[Judged[A]], None],
        *,
        ids_kept: bool = False,
        max_responses: int = MAX_RESPONSES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """`ids_kept`: as for `judge`; `max_bytes` bounds what is kept of finished responses."""
        self._report = report
        self._ids_kept = ids_kept
        self._max_responses, self._max_bytes = max_responses, max_bytes
        self._slots: dict[str, Slot[A]] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._slots)

    def llm_request(self, token: str, facts: StreamFacts, *, source: str = "", began: float = 0.0) -> bool:
        """As `request`, by host, path and body. Returns whether it is an LLM request; others are ignored."""
        protocol = match_key.protocol_of(facts.path, facts.request)
        if protocol is not None:
            model, offered = match_key.model_of(facts.path, facts.request), tools.schemas(facts.request)
            called = frozenset((name, _parameters(schema)) for name, schema in offered.items())
            place = f"{protocol.name} {facts.host} {model} {hash(called)}"
            self.request(token, place, protocol.api.conversation(facts.request), source=source, began=began)
        return protocol is not None

    def request(
        self, token: str, place: str, conversation: Conversation, *, source: str = "", began: float = 0.0
    ) -> None:
        """Take a request. `token` identifies it and its response, the rest is as in `NextRequest`."""
        history = history_of(conversation)
        ids = frozenset(
            filter(None, (*(one.id for one in conversation.calls), *(one.id for one in conversation.results)))
        )
        request = NextRequest(token, place, conversation, history, ids, source, began)
        followed = self._followed(request)
        count = 0 if followed is None else self._judge(*followed, request)
        if followed is None:
            self._notice_early(request)
        after = None if followed is None else followed[0].token
        self._slots[token] = Slot(token, place, history, source, after, count)
        self._size += history.size
        self._shrink()

    def followed(self, token: str) -> str | None:
        """The response that a request of this token follows, while its own response is kept."""
        return self._slots[token].after if token in self._slots else None

    def response(self, token: str, sent: A, *, left: bool = False) -> None:
        """Take the end of a response; `left`: the client disconnected during it."""
        slot = self._slots.get(token)
        if slot is None or slot.state is not State.OPEN:
            return
        slot.sent, slot.state = sent, State.WAITING
        self._size += sent.size
        if slot.early:
            self._judge(slot, sent, slot.early[0])
        elif left:
            self._report_missing(slot, sent, Outcome.ABORTED)
        self._shrink()

    def no_response(self, token: str) -> None:
        """Forget a request without an LLM response."""
        slot = self._slots.get(token)
        if slot is not None and slot.state is State.OPEN:
            self._drop(slot)

    def silent(self, token: str) -> None:
        """Report a response that no request has followed for a long time."""
        slot = self._slots.get(token)
        if slot is not None and slot.sent is not None and slot.state is State.WAITING:
            self._report_missing(slot, slot.sent, Outcome.SILENT)

    def missing(self) -> Iterator[Judged[A]]:
        """The verdicts on responses that no request has followed so far."""
        for slot in self._slots.values():
            if slot.sent is not None and slot.state is State.WAITING and to_run(slot.sent.calls):
                yield _verdict_without_request(slot, slot.sent, Outcome.SILENT)

    def close(self) -> None:
        for slot in list(self._slots.values()):
            self._expire(slot)

    def _followed(self, request: NextRequest) -> tuple[Slot[A], A] | None:
        """The response that a request follows; of several equal ones, that with the returned calls, or the last.

        A request that was sent before and continues a newer response belongs to another run of the same conversation.
        """
        by_id = request.ids or request.conversation.previous
        slots = [slot for slot in self._slots.values() if by_id or slot.state is not State.PASSED]
        ended = [(slot, slot.sent) for slot in slots if slot.sent is not None]
        fits = [(found, one) for one in ended if (found := fit(*one, request)) is not None]
        if not fits:
            return next((one for one in reversed(ended) if ends_with_calls(*one, request)), None)
        best = max(found for found, _ in fits)
        if any(found == best and slot.history == request.history for found, (slot, _) in fits):
            oldest = [found for found, _ in fits].index(best)
            newer = [found for found, (slot, _) in fits[oldest:] if slot.history != request.history]
            best = max(newer, default=best)
        equal = [one for found, one in reversed(fits) if found == best]
        if len(equal) == 1 or not request.conversation.calls:
            return equal[0]
        return max(equal, key=lambda one: returned_calls(one[0], one[1], request))

    def _notice_early(self, request: NextRequest) -> None:
        """Record a request that arrived before the end of the response that it follows."""
        for slot in reversed(self._slots.values()):
            if slot.state is State.OPEN and not slot.early and continues(slot, request):
                slot.early.append(request)
                return

    def _judge(self, slot: Slot[A], sent: A, request: NextRequest) -> int:
        """Report the verdict on a response by the next request. Returns the number of repetitions of the request."""
        new = request.added_to(slot.history, sent.ids)
        if not sent.reasoned:
            new = replace(new, unreasoned=frozenset())
        verdict = judge(sent.calls, new, ids_kept=self._ids_kept, dropped=sent.dropped, has_further=sent.has_further)
        again = not (new.calls or new.results or new.texts)
        count = slot.count + 1 if again else 0
        if verdict.outcome is Outcome.RETRIED:
            verdict = replace(verdict, count=count or 1)
        lacks = again or verdict.outcome in (Outcome.LOST_CALL, Outcome.NOT_RETURNED)
        already = slot.state is State.REPORTED and lacks and not (new.calls or new.results)
        if not already and (to_run(sent.calls) or verdict.problems):
            self._report(Judged(slot.token, sent, verdict, request.token))
        if new.calls or new.results or not sent.ids:
            self._drop(slot)
        else:
            slot.state = State.PASSED
        return count

    def _report_missing(self, slot: Slot[A], sent: A, outcome: Outcome) -> None:
        slot.state = State.REPORTED
        if to_run(sent.calls) or outcome is Outcome.ABORTED:
            self._report(_verdict_without_request(slot, sent, outcome))

    def _expire(self, slot: Slot[A]) -> None:
        if slot.sent is not None and slot.state is State.WAITING:
            self._report_missing(slot, slot.sent, Outcome.SILENT)
        self._drop(slot)

    def _drop(self, slot: Slot[A]) -> None:
        del self._slots[slot.token]
        self._size -= slot.size

    def _shrink(self) -> None:
        while len(self._slots) > self._max_responses or (self._size > self._max_bytes and len(self._slots) > 1):
            self._expire(next(iter(self._slots.values())))


def _parameters(schema: Json) -> frozenset[str]:
    """The names of a tool's parameters: a client may offer the same tool for other data."""
    known = json_access.get(schema, "properties")
    return frozenset(known if isinstance(known, dict) else ())


def _verdict_without_request[A: SentResponse](slot: Slot[A], sent: A, outcome: Outcome) -> Judged[A]:
    verdict = without_request(outcome, sent.calls, sent.dropped)
    return Judged(slot.token, sent, replace(verdict, count=slot.count), None)
