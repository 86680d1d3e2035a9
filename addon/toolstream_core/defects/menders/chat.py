"""Chat Completions streams, judged and mended: `choices[].delta.tool_calls[]`."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.defects.framing import DATA_AFTER_END, SPLIT_CHOICES
from toolstream_core.defects.menders import chat_placeholders as placeholders
from toolstream_core.defects.menders.chat_arguments import Arguments
from toolstream_core.defects.menders.chat_call import KnownCall
from toolstream_core.defects.menders.chat_departures import Departures
from toolstream_core.defects.menders.chat_ending import Endings
from toolstream_core.defects.menders.chat_entries import Entries
from toolstream_core.defects.menders.chat_forms import Form, form_of
from toolstream_core.defects.menders.chat_pin import Pin
from toolstream_core.defects.menders.chat_state import Choice, Part, Waiting
from toolstream_core.defects.menders.chat_tail import Tail, ended, is_cut
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.dialects import request
from toolstream_core.model import ABSENT, Kind
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Fragment, Json, Passed, Phase
    from toolstream_core.wire.frame import Frame

# An event goes through two phases. On arrival its fragments are judged against what came before (`_heard`), and each
# gets what the client is to be told of it (`Told`). On departure, at once unless it has to wait for what follows, its
# entries are compared with what the client needs by then, and rewritten where a defect whose repair is on was told: a
# header that waited knows the id and name that came after it. What is behind a waiting event waits with it, in order.
# The last event of a body may lack its end: it is looked at when the body is over, and nothing is ever put behind it
# that would be joined to it.

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
        self._anonymous: list[KnownCall] = []
        """Calls that were begun by a fragment with neither id nor name."""
        self._queue: deque[Waiting] = deque()
        self._last: tuple[Event, Sequence[Heard]] | None = None
        """The last event of the body, which lacks its end."""
        self._bare: KnownCall | None = None
        """The call of which the last event brought bare arguments, nothing else."""
        self._early: set[Choice] = set()
        """Choices whose finish waits in the queue, and that are not settled."""
        self._ending = Endings(self)
        self._tail = Tail(self, self._ending)
        self._entries, self._arguments, self._pin = Entries(self), Arguments(self), Pin(self)
        self._departures = Departures(self, self._ending, self._tail, self._pin)
        self.head: dict[str, Json] = {}
        asked = context.exchange.request
        self.speaks_legacy = bool(look.items(look.get(asked, "functions"))) and not look.items(look.get(asked, "tools"))
        """Whether the client asked with `functions`, so that `function_call` is what it wants."""
        self._seen, self.skipped = 0, False
        """Whether an event went by unseen, which only text does."""
        self.may_have_text = False
        """Whether a delta had text, or may have had."""
        self.over = self.failed = False
        """Whether `[DONE]` came; whether the provider reported an error."""
        self.ending = self.ending_clean = False
        """Whether nothing more comes, so that nothing may wait; and whether the body ended in order."""

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return bool(self._queue) or self._pin.looks or (self._ending.finished and not self.over)

    @cached_property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        return request.earlier_ids(self.context.exchange.request)

    @property
    def astray(self) -> bool:
        """Whether arguments came that belong to no known call: they may be those that another one lacks."""
        self._anonymous = [one for one in self._anonymous if not (one.call.id or one.call.name)]
        return any(not one.call.arguments.empty for one in self._anonymous)

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        frame = event.frame
        if frame.trailing and frame.raw.strip():
            self._last = event, heard
            return ()
        return self._taken(event, heard)

    def minds(self, call: OpenCall) -> bool:
        """As `Stage.minds`."""
        known = self._known.get(id(call))
        if known is None or self._queue or self.over:
            return True
        return not (known.told and known.choice.finish is None and known.spelling.amid)

    def went_by(self, call: OpenCall, passed: Passed) -> None:
        """As `Stage.went_by`."""
        known = self._known[id(call)]
        self._seen += passed.events
        known.event = self._ending.last = passed.first + passed.events - 1
        self._arguments.went_by(known, passed)

    def takes_any(self, call: OpenCall) -> bool:
        """As `Stage.takes_any`."""
        known = self._known.get(id(call))
        bare = known is not None and known is self._bare and known.choice.finish is None and known.spelling.decided
        return bare and not self._queue and self.context.judging

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self.ending, self.ending_clean = True, clean
        cut: Frame | None = None
        out: list[Frame] = []
        if self._last is not None:
            event, heard = self._last
            cut = event.frame if is_cut(event.frame) else None
            out = list(self._taken(event, heard)) if cut is None else []
            self._last = None
        self._settle()
        out += self._departures.of(self._queue)
        added = self._tail.at_end(clean=clean, cut=cut is not None)
        more = [*self._tail.kept_back(), *added]
        rest = [] if cut is None else [cut]
        if more:
            self.audit(self._ending.last + 1, rest if added else [], more)
            out = [*out[:-1], *(ended(frame) for frame in out[-1:])]
        return [*out, *more, *(() if added else rest)]

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        waiting, self._queue = self._queue, deque()
        last, self._last = self._last, None
        return [*(one.frame for one in waiting), *([last[0].frame] if last else [])]

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

    def delta(self, choice: int, delta: Json, *, finish: str | None = None, number: int = 0) -> Frame:
        """A new event of this stream."""
        head = self.head or {"object": "chat.completion.chunk"}
        payload = {**head, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}
        return self.context.writer.make(payload, number)

    def remember(self, waiting: Waiting) -> None:
        """Note an event that leaves: its envelope serves for events that are added."""
        self._ending.last = waiting.frame.number
        self._remember_head(waiting.frame.json)

    def _taken(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        said, frame = event.said, event.frame
        self._bare = None
        self._seen += 1
        self.skipped = self.skipped or frame.number >= self._seen
        self.may_have_text = self.may_have_text or bool(said.text) or self.skipped
        bare = len(heard) == 1 and not (self._queue or said.finishes or said.error)
        if bare and self._is_plain(heard[0], frame):
            return self._plainly(heard[0], event)
        if self.over and frame.data is not None:
            gone = self.tell(DATA_AFTER_END, frame.number, "an event follows [DONE]")
            if gone:
                self.audit(frame.number, [frame], [])
            return () if gone else (frame,)
        self._tail.look(frame, said)
        self._ending.spoke(said, frame)
        plain = not (heard or said.finishes or said.end or said.error or self._queue)
        if plain and not (self._entries.lacks_delta(frame) or self._ending.is_early_total(frame)):
            return (self._passing(frame),)
        waiting = Waiting(event, self._heard(event, heard))
        if not (self._queue or self._early or said.finishes or said.end or said.error) and waiting.ready:
            return self._departures.at_once(waiting)
        self._arrives(waiting)
        return self._departures.of(self._queue)

    def _passing(self, frame: Frame) -> Frame:
        """An event that says nothing of calls, and that nothing waits for."""
        self._remember_head(frame.json)
        return self._pin.pinned(frame) if self._pin.differs(frame) else frame

    def _arrives(self, waiting: Waiting) -> None:
        """Put an event into the queue, and settle what does not wait any longer because of it."""
        self._queue.append(waiting)
        if waiting.goes_on:
            for choice in self._early - {part.known.choice for part in waiting.parts}:
                choice.settle()
            self._early.clear()
        self._ending.arrives(waiting)
        self._early |= waiting.early
        if waiting.said.end or waiting.said.error or len(self._queue) > MAX_WAITING:
            self._settle()

    def _is_plain(self, one: Heard, frame: Frame) -> bool:
        """Nearly every fragment: bare arguments of a call that the client knows."""
        known = self._known.get(id(one.call))
        if known is None or self.over or not known.goes_on_with(one.fragment):
            return False
        return not self._pin.differs(frame, seen=True)

    def _plainly(self, one: Heard, event: Event) -> Iterable[Frame]:
        fragment, said = one.fragment, one.fragment.arguments
        known = self._bare = self._known[id(one.call)]
        known.event = event.frame.number
        told = self._arguments.bare(str(said), known)
        if (told.text == said or self.context.judging) and not known.spelling.waiting:
            known.said = known.said or bool(told.text)
            self._ending.heard(event, known)
            return (event.frame,)
        placeholders.waits(known)
        known.choice.unfinished.touch(known)
        self._queue.append(Waiting(event, [Part(fragment, known, told, 0, Form.PLAIN)]))
        return self._departures.of(self._queue)

    def _heard(self, event: Event, heard: Sequence[Heard]) -> list[Part]:
        """Judge the event's fragments against what came before them."""
        parts: list[Part] = []
        places: dict[tuple[int, Phase], int] = {}
        for fragment, call in () if self.speaks_legacy else heard:
            if call.kind is not Kind.FUNCTION:
                continue
            known = self._known.get(id(call)) or self._opened(fragment, call)
            known.event = event.frame.number
            key = (fragment.choice, fragment.phase)
            place = places[key] = places.get(key, -1) + 1
            fresh, known.heard_as = known.heard_as != (call.id, call.name), (call.id, call.name)
            form = form_of(event.frame, fragment, place)
            told = self._arguments.take(fragment, known, form)
            parts.append(Part(fragment, known, told, place, form, fresh=fresh))
            self._ending.heard(event, known)
        return parts

    def _opened(self, fragment: Fragment, call: OpenCall) -> KnownCall:
        choice = self.choice(call.choice)
        known = self._known[id(call)] = KnownCall(self, choice, call)
        if not (call.id or call.name):
            self._anonymous.append(known)
        placeholders.opens(fragment, choice)
        choice.add(known)
        return known

    def _settle(self) -> None:
        """Nothing more is waited for."""
        for choice in self.choices.values():
            choice.settle()

    def _remember_head(self, payload: Json) -> None:
        """Keep the envelope of the first chunk that has an id and a choice."""
        if not self.head.get("id") and isinstance(payload, dict) and payload.get("choices"):
            self.head = {key: value for key, value in payload.items() if key not in {"choices", "usage", "error"}}
