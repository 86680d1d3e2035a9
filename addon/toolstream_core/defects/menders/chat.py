"""Chat Completions streams, judged and mended: `choices[].delta.tool_calls[]`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from toolstream_core.calls.book import same_arguments
from toolstream_core.defects.ending import IN_BAND_ERROR
from toolstream_core.defects.framing import CHANGING_STREAM_ID, DATA_AFTER_END, MISSING_DELTA, SPLIT_CHOICES
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.defects.menders import chat_placeholders as placeholders
from toolstream_core.defects.menders.chat_call import KnownCall
from toolstream_core.defects.menders.chat_ending import Endings
from toolstream_core.defects.menders.chat_entries import Entries
from toolstream_core.defects.menders.chat_state import Choice, Part, Waiting
from toolstream_core.defects.menders.spelling import Spelling
from toolstream_core.defects.menders.told import Told
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.defects.wording import CUMULATIVE_ARGUMENTS, PLACEHOLDER_ARGUMENTS
from toolstream_core.dialects import request
from toolstream_core.model import ABSENT, Kind, Phase
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Fragment, Json, Passed
    from toolstream_core.wire.frame import Frame

# An event goes through two phases. On arrival its fragments are judged against what came before (`_heard`), and each
# gets what the client is to be told of it (`Told`). On departure, at once unless it has to wait for what follows, its
# entries are compared with what the client needs by then, and rewritten where a defect whose repair is on was told: a
# header that waited knows the id and name that came after it. What is behind a waiting event waits with it, in order.

MAX_WAITING = 64
"""Events that wait before all are let go."""


class ChatMender(Mender):
    """Judges and mends one Chat Completions stream."""

    def __init__(self, context: Context) -> None:
        """As `Mender`."""
        super().__init__(context)
        self.context = context
        self.choices: dict[int, Choice] = {}
        self._known: dict[int, KnownCall] = {}
        self._queue: deque[Waiting] = deque()
        self._ending = Endings(self)
        self._entries = Entries(self)
        self.head: dict[str, Json] = {}
        self._earlier: frozenset[str] | None = None
        asked = context.exchange.request
        self.speaks_legacy = bool(look.items(look.get(asked, "functions"))) and not look.items(look.get(asked, "tools"))
        """Whether the client asked with `functions`, so that `function_call` is what it wants."""
        self._seen = 0
        self.may_have_text = False
        """Whether a delta had text, or an event went by unseen, which only text does."""
        self.over = False
        """Whether `[DONE]` came."""
        self.failed = False
        """Whether the provider reported an error."""
        self.ending = self.ending_clean = False
        """Whether nothing more comes, so that nothing may wait; and whether the body ended in order."""

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return bool(self._queue)

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = request.earlier_ids(self.context.exchange.request)
        return self._earlier

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        said = event.said
        self._seen += 1
        self.may_have_text = self.may_have_text or bool(said.text) or event.frame.number >= self._seen
        if len(heard) == 1 and not self._queue and not said.finishes and self._is_plain(heard[0], event.frame):
            return self._plainly(heard[0], event)
        if self.over and event.frame.data is not None:
            gone = self.tell(DATA_AFTER_END, event.frame.number, "an event follows [DONE]")
            if gone:
                self.audit(event.frame.number, [event.frame], [])
            return () if gone else (event.frame,)
        plain = not (heard or said.finishes or said.end or said.error or self._queue)
        if plain and not (self._entries.lacks_delta(event.frame) or self._ending.is_early_total(event.frame)):
            self.remember_head(event.frame.json)
            return (event.frame,)
        self._queue.append(Waiting(event, self._heard(event, heard)))
        for finish in said.finishes:
            if finish.reason:
                self._settle(finish.choice)
        if said.end or said.error or len(self._queue) > MAX_WAITING:
            self._settle(None)
        return self._departures()

    def minds(self, call: OpenCall) -> bool:
        """As `Stage.minds`."""
        known = self._known.get(id(call))
        if known is None or self._queue or self.over:
            return True
        return not (known.told and known.choice.finish is None and known.spelling.amid)

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """As `Stage.went_by`."""
        known = self._known[id(call)]
        known.event = self._ending.last = passed.first + passed.events - 1
        known.spelling.went_by(passed.text, passed.last)

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self.ending, self.ending_clean = True, clean
        self._settle(None)
        out = list(self._departures())
        number = self._ending.last + 1
        added = self._ending.at_end(clean=clean and not self.over)
        if added:
            self.audit(number, [], added)
        return [*out, *added]

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        waiting, self._queue = self._queue, deque()
        return [one.frame for one in waiting]

    def choice(self, number: int) -> Choice:
        """The state of a choice."""
        number = 0 if self.folded(number) else number
        return self.choices.setdefault(number, Choice(number))

    def folded(self, number: int) -> bool:
        """Whether a choice that nobody asked for is part of the first."""
        if number == 0 or not isinstance(self.context.exchange.request, dict):
            return False
        asked = look.integer(look.get(self.context.exchange.request, "n"))
        return asked in {ABSENT, None, 1} and self.tell(SPLIT_CHOICES, 0, f"choice {number} came, one was asked for")

    def known_call(self, call: OpenCall) -> KnownCall:
        """The state of a call."""
        found = self._known.get(id(call))
        if found is None:
            choice = self.choice(call.choice)
            found = self._known[id(call)] = KnownCall(self, choice, call)
        return found

    def delta(self, choice: int, delta: Json, *, finish: str | None = None, number: int = 0) -> Frame:
        """A new event of this stream."""
        head = self.head or {"object": "chat.completion.chunk"}
        payload = {**head, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}
        return self.context.writer.make(payload, number)

    def _is_plain(self, one: Heard, frame: Frame) -> bool:
        """Nearly every fragment: bare arguments of a call that the client knows."""
        known = self._known.get(id(one.call))
        if known is None or not known.goes_on_with(one.fragment):
            return False
        return not (self.over or (frame.parsed and self._other_id(frame.json)))

    def _plainly(self, one: Heard, event: Event) -> Iterable[Frame]:
        fragment, call = one
        known = self._known[id(call)]
        said = fragment.arguments
        assert isinstance(said, str)
        known.event = event.frame.number
        told = known.spelling.take(said, known.judge, may_wait=self._may_wait(known))
        if told.text == said and not known.spelling.waiting:
            self._ending.heard(event, known)
            return (event.frame,)
        self._queue.append(Waiting(event, [Part(fragment, known, told, 0)]))
        return self._departures()

    def _heard(self, event: Event, heard: Sequence[Heard]) -> list[Part]:
        """Judge the event's fragments against what came before them."""
        parts: list[Part] = []
        places: dict[tuple[int, Phase], int] = {}
        for fragment, call in () if self.speaks_legacy else heard:
            if call.kind is not Kind.FUNCTION:
                continue
            known = self.known_call(call)
            known.event = event.frame.number
            if known not in known.choice.known:
                placeholders.opens(fragment, known.choice.known)
                known.choice.known.append(known)
            key = (fragment.choice, fragment.phase)
            place = places[key] = places.get(key, -1) + 1
            waited = known.spelling.placeholder
            parts.append(Part(fragment, known, self._spelled(fragment, known), place))
            placeholders.heard(fragment, known, waited=waited)
            known.heard(fragment)
            self._ending.heard(event, known)
            self._compare(known)
        return parts

    def _spelled(self, fragment: Fragment, known: KnownCall) -> Told:
        said = fragment.arguments
        if not isinstance(said, str):
            return Told("")
        if fragment.phase is Phase.WHOLE:
            return Spelling(self.on).take(known.call.arguments.reading()[0], known.judge)
        return known.spelling.take(said, known.judge, may_wait=self._may_wait(known))

    def _may_wait(self, known: KnownCall) -> bool:
        """Whether a fragment of the call may wait for the next one: one that may be a placeholder, or cumulative."""
        if known.settled or self.context.takes_none(known.call.name):
            return False
        return self.on(PLACEHOLDER_ARGUMENTS) or self.on(CUMULATIVE_ARGUMENTS)

    def _compare(self, known: KnownCall) -> None:
        """Find out whether a call under another call's id is that call again, as long as it may be."""
        if known.told or known.doubled or not known.call.id or not (self.on(DOUBLED_CALL) or self.on(DUPLICATE_ID)):
            return
        call, earlier = known.call, known.choice.known
        twins = [one for one in earlier[: earlier.index(known)] if one.call.id == call.id and not one.doubled]
        twins = [one for one in twins if not (call.name and one.call.name) or call.name == one.call.name]
        known.may_repeat = bool(twins) and not known.settled
        if twins and call.name and call.arguments.whole:
            said = call.arguments.reading()[0]
            known.may_repeat = False
            known.doubled = any(same_arguments(said, one.call.arguments.reading()[0]) for one in twins)

    def _settle(self, choice: int | None) -> None:
        """Nothing more is waited for, in one choice or in all."""
        wanted = None if choice is None else self.choice(choice)
        for known in self._known.values():
            if wanted is None or known.choice is wanted:
                known.may_repeat = False
                known.settle()

    def _departures(self) -> list[Frame]:
        """What may go; it leaves the queue only when all of it is made, so that a bug of ours loses nothing."""
        out: list[Frame] = []
        queue = list(self._queue)
        while queue and not any(part.known.pending for part in queue[0].parts):
            if self._ending.must_wait(queue):
                break
            waiting = queue.pop(0)
            frames = self._departed(waiting, queue[0] if queue else None)
            if len(frames) != 1 or frames[0] is not waiting.frame:
                self.audit(waiting.frame.number, [waiting.frame], frames)
            out.extend(frames)
        self._queue = deque(queue)
        return out

    def _departed(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What the client gets for an event."""
        frame, said = waiting.frame, waiting.said
        if said.error:
            self.failed = True
            self.tell(IN_BAND_ERROR, frame.number, f"the provider reports an error: {said.error}")
        if said.end and not said.finishes and not waiting.parts:
            self.over = True
            return [*self._ending.at_done(frame.number), frame]
        if (said.finishes or not waiting.parts) and self._entries.lacks_delta(frame):
            waiting.bare = self.tell(MISSING_DELTA, frame.number, "a choice has no delta object")
        before = [*self._entries.unstreamed(waiting), *self._ending.before(waiting, following)]
        edits = [(part, self._entries.edits(part, waiting)) for part in waiting.parts]
        changes = self._ending.changes(waiting, following)
        pin = self._pinned(frame)
        edited = any(edit is None or edit for _, edit in edits)
        changed = self._entries.structure(waiting) or waiting.bare or waiting.moved or pin or changes or edited
        for finish in said.finishes:
            self._ending.finished(finish, frame.number, changes)
        numbers = [*(finish.choice for finish in said.finishes), *(part.fragment.choice for part in waiting.parts)]
        if not changed and not any(self.folded(number) for number in numbers):
            return [*before, frame]
        payload = self._entries.rewritten(waiting, edits, changes, pin=pin)
        gone = self._ending.is_nothing(waiting, changes, payload)
        return before if gone else [*before, self.context.writer.rewrite(frame, payload)]

    def _other_id(self, payload: Json) -> bool:
        identity = payload.get("id") if isinstance(payload, dict) else None
        return bool(identity and self.head.get("id")) and identity != self.head["id"]

    def _pinned(self, frame: Frame) -> bool:
        """Whether the event's own id is another than the stream's, and is to be mended."""
        if not self._known or not frame.parsed or not self._other_id(frame.json):
            return False
        return self.tell(CHANGING_STREAM_ID, frame.number, "the chunk's id is another than the first one's")

    def remember_head(self, payload: Json) -> None:
        """Keep the envelope of the first chunk that has an id and a choice."""
        if not self.head.get("id") and isinstance(payload, dict) and payload.get("choices"):
            self.head = {key: value for key, value in payload.items() if key not in {"choices", "usage", "error"}}

    def remember(self, waiting: Waiting) -> None:
        """Note an event that leaves: its envelope serves for events that are added."""
        self._ending.last = waiting.frame.number
        self.remember_head(waiting.frame.json)
