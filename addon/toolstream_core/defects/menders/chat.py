"""Chat Completions streams, judged and mended: `choices[].delta.tool_calls[]`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from toolstream_core.calls.book import same_arguments
from toolstream_core.defects.ending import IN_BAND_ERROR, UNSTREAMED_CALLS
from toolstream_core.defects.framing import (
    CHANGING_STREAM_ID,
    DATA_AFTER_END,
    LEGACY_FUNCTION_CALL,
    MISSING_DELTA,
    SPLIT_CHOICES,
    TOOL_CALLS_OBJECT,
)
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID, MISSING_ID, REPEATED_INDEX
from toolstream_core.defects.menders.chat_call import DROP, Edits, KnownCall, edited
from toolstream_core.defects.menders.chat_ending import Endings
from toolstream_core.defects.menders.spelling import Told
from toolstream_core.defects.stage import Context, Mender
from toolstream_core.defects.wording import (
    MISNAMED_ARGUMENTS,
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
)
from toolstream_core.dialects import request
from toolstream_core.model import ABSENT, Kind, Phase
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Fragment, Json
    from toolstream_core.wire.frame import Frame

# An event goes through two phases. On arrival its fragments are judged against what came before (`_heard`), and each
# gets what the client is to be told of it (`Told`). On departure, which is at once unless a header or a first `{}`
# has to wait for what follows, its entries are compared with what the client needs by then, and rewritten where a
# defect whose repair is on was told. So a header that waited knows the id and name that came after it. Everything
# behind a waiting event waits with it, in order; a choice's finish, the end, and a bound on the queue let all go.

MAX_WAITING = 64
"""Events that wait before all are let go."""


class Choice:
    """The calls of one choice, as the client has been told them."""

    def __init__(self, number: int) -> None:
        """A choice of which nothing has been told."""
        self.number = number
        self.known: list[KnownCall] = []
        self.taken: dict[int, KnownCall] = {}
        self.ids: dict[str, KnownCall] = {}
        self.finish: str | None = None
        """The finish reason that the client has."""
        self.finish_event = 0
        self.said: set[str] = set()
        """Every finish reason that came."""
        self.held: str | None = None
        """A finish reason that came too early and is still owed."""

    def free_index(self) -> int:
        """The index that comes next."""
        return max(self.taken, default=-1) + 1


class Part:
    """One entry of one event."""

    __slots__ = ("fragment", "known", "place", "told")

    def __init__(self, fragment: Fragment, known: KnownCall, told: Told, place: int) -> None:
        """`place` is the entry's among those of its choice."""
        self.fragment = fragment
        self.known = known
        self.told = told
        self.place = place


class Waiting:
    """One event on its way."""

    __slots__ = ("event", "frame", "parts", "said")

    def __init__(self, event: Event, parts: list[Part]) -> None:
        """`parts` are its entries."""
        self.event = event
        self.frame = event.frame
        self.said = event.said
        self.parts = parts


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
        self._head: dict[str, Json] = {}
        self._earlier: frozenset[str] | None = None
        self.over = False
        """Whether `[DONE]` came."""
        self.failed = False
        """Whether the provider reported an error."""
        self.ending = False
        """Whether nothing more comes, so that nothing may wait."""

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
        if len(heard) == 1 and not self._queue and not said.finishes and self._is_plain(heard[0], event):
            return self._plainly(heard[0], event)
        if self.over and event.frame.data is not None:
            gone = self.tell(DATA_AFTER_END, event.frame.number, "an event follows [DONE]")
            if gone:
                self.audit(event.frame.number, [event.frame], [])
            return () if gone else (event.frame,)
        if not (heard or said.finishes or said.end or said.error or self._queue):
            return self._without_calls(event)
        self._queue.append(Waiting(event, self._heard(event, heard)))
        for finish in said.finishes:
            if finish.reason:
                self._settle(finish.choice)
        if said.end or said.error or len(self._queue) > MAX_WAITING:
            self._settle(None)
        return self._departures()

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        self.ending = True
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
        found = self.choices.get(number)
        if found is None:
            found = self.choices[number] = Choice(number)
        return found

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

    def made_id(self, known: KnownCall, original: str | None) -> str:
        """A stable id for a call that has none of its own."""
        seed = f"{self._head.get('id', '')}|{self.context.turn}|{known.choice.number}|{known.call.position}"
        return self.context.ids.make("call_", seed, original)

    def delta(self, choice: int, delta: Json, *, finish: str | None = None, number: int = 0) -> Frame:
        """A new event of this stream."""
        head = self._head or {"object": "chat.completion.chunk"}
        payload = {**head, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}
        return self.context.writer.make(payload, number)

    def _is_plain(self, one: Heard, event: Event) -> bool:
        """Nearly every fragment: bare arguments of a call that the client knows."""
        fragment, call = one
        known = self._known.get(id(call))
        return (
            known is not None
            and known.told
            and fragment.id is ABSENT
            and fragment.name is ABSENT
            and fragment.index == known.index == known.wire_index
            and fragment.as_wanted
            and fragment.phase is Phase.MORE
            and fragment.choice == known.choice.number
            and type(fragment.arguments) is str
            and (fragment.type is ABSENT or bool(fragment.type))
            and known.choice.finish is None
            and not (self.over or (event.frame.parsed and self._other_id(event.frame.json)))
        )

    def _plainly(self, one: Heard, event: Event) -> Iterable[Frame]:
        fragment, call = one
        known = self._known[id(call)]
        said = fragment.arguments
        assert isinstance(said, str)
        known.event = event.frame.number
        told = known.spelling.take(said, known.judge)
        if told.text == said and not known.spelling.waiting:
            self._ending.heard(event, known)
            return (event.frame,)
        self._queue.append(Waiting(event, [Part(fragment, known, told, 0)]))
        return self._departures()

    def _heard(self, event: Event, heard: Sequence[Heard]) -> list[Part]:
        """Judge the event's fragments against what came before them."""
        parts: list[Part] = []
        places: dict[tuple[int, Phase], int] = {}
        for fragment, call in heard:
            if call.kind is not Kind.FUNCTION:
                continue
            known = self.known_call(call)
            known.event = event.frame.number
            if known not in known.choice.known:
                self._opened(known)
            key = (fragment.choice, fragment.phase)
            place = places[key] = places.get(key, -1) + 1
            parts.append(Part(fragment, known, self._spelled(fragment, known), place))
            known.heard(fragment)
            self._ending.heard(event, known)
            if known.twin is not None:
                self._compare(known, known.twin)
        return parts

    def _opened(self, known: KnownCall) -> None:
        """A call opens: earlier ones of its choice need not wait for it; it may repeat one of them."""
        before = known.choice.known
        for earlier in before:
            if earlier.nothing:
                earlier.settle()
            earlier.spelling.settle(earlier.judge)
        if known.call.id and (self.on(DOUBLED_CALL) or self.on(DUPLICATE_ID)):
            known.twin = next((one for one in before if one.call.id == known.call.id), None)
        before.append(known)

    def _spelled(self, fragment: Fragment, known: KnownCall) -> Told:
        said = fragment.arguments
        if not isinstance(said, str):
            return Told("")
        if fragment.phase is Phase.WHOLE:
            return Told(said if known.call.arguments.whole else known.call.arguments.text())
        may_wait = not (known.settled or known.told or self.context.takes_none(known.call.name))
        may_wait = may_wait and self.on(PLACEHOLDER_ARGUMENTS)
        return known.spelling.take(said, known.judge, may_wait=may_wait)

    def _compare(self, known: KnownCall, twin: KnownCall) -> None:
        """Decide whether a call under another call's id is that call again."""
        mine, other = known.call.arguments, twin.call.arguments
        if known.call.name != twin.call.name:
            known.twin = None
        elif mine.whole and other.whole:
            known.twin = None
            known.doubled = same_arguments(mine.text(), other.text())

    def _settle(self, choice: int | None) -> None:
        """Nothing more is waited for, in one choice or in all."""
        wanted = None if choice is None else self.choice(choice)
        for known in self._known.values():
            if wanted is None or known.choice is wanted:
                known.twin = None
                known.settle()

    def _departures(self) -> list[Frame]:
        out: list[Frame] = []
        while self._queue and not any(part.known.pending for part in self._queue[0].parts):
            if self._ending.must_wait(self._queue):
                break
            waiting = self._queue.popleft()
            frames = self._departed(waiting)
            if len(frames) != 1 or frames[0] is not waiting.frame:
                self.audit(waiting.frame.number, [waiting.frame], frames)
            out.extend(frames)
        return out

    def _departed(self, waiting: Waiting) -> list[Frame]:
        """What the client gets for an event."""
        frame, said = waiting.frame, waiting.said
        if said.error:
            self.failed = True
            self.tell(IN_BAND_ERROR, frame.number, f"the provider reports an error: {said.error}")
        if said.end and not said.finishes and not waiting.parts:
            self.over = True
            return [*self._ending.at_done(frame.number), frame]
        self._remember(waiting)
        before = [*self._unstreamed(waiting), *self._ending.before(waiting)]
        edits = [(part, self._edits(part, waiting)) for part in waiting.parts]
        changes = self._ending.changes(waiting, self._queue[0] if self._queue else None)
        pin = self._pinned(frame)
        changed = self._structure(waiting) or pin or changes or any(edit is None or edit for _, edit in edits)
        for finish in said.finishes:
            self._ending.finished(finish, frame.number, changes)
        numbers = [*(finish.choice for finish in said.finishes), *(part.fragment.choice for part in waiting.parts)]
        if not changed and not any(self.folded(number) for number in numbers):
            return [*before, frame]
        payload = self._rewritten(waiting, edits, changes, pin=pin)
        return [*before, self.context.writer.rewrite(frame, payload)]

    def _edits(self, part: Part, waiting: Waiting) -> Edits | None:
        """How the entry has to change to be understood; `None` where it is to go."""
        fragment, known = part.fragment, part.known
        number = known.event = waiting.frame.number
        if fragment.phase is Phase.WHOLE:
            return {}
        if known.doubled:
            return None if self.tell(DOUBLED_CALL, number, "the call was said before", known.call) else {}
        if known.nothing and not known.told:
            return None if self.tell(MISSING_ID, number, "an entry has neither id, name nor arguments") else {}
        raw = self._entry(waiting.frame, part) if not fragment.as_wanted else {}
        index = raw.get("index", ABSENT)
        told = known.told
        edits = known.continuing(fragment, index) if told else known.opening(fragment, index)
        self._edit_arguments(part, raw, edits)
        known.said = known.said or bool(part.told.text)
        if told and edits and not part.told.text and not self._has_more(waiting.frame, part):
            return None
        return edits

    def _edit_arguments(self, part: Part, raw: dict[str, Json], edits: Edits) -> None:
        said, told, known = part.fragment.arguments, part.told.text, part.known
        function = raw.get("function")
        value = function.get("arguments", ABSENT) if isinstance(function, dict) else ABSENT
        if said is None and known.judge(NULL_ARGUMENTS, "the arguments are null"):
            edits["arguments"] = told
        elif isinstance(function, dict) and value is ABSENT and isinstance(said, str) and "parameters" in function:
            if known.judge(MISNAMED_ARGUMENTS, "the arguments are under the key parameters"):
                edits.update({"parameters": DROP, "arguments": told})
        elif not isinstance(value, str) and value is not None and value is not ABSENT:
            if known.judge(OBJECT_ARGUMENTS, f"the arguments are no text, but {type(value).__name__}"):
                edits["arguments"] = told
        elif told != (said if isinstance(said, str) else ""):
            edits["arguments"] = told

    def _entry(self, frame: Frame, part: Part) -> dict[str, Json]:
        """The entry as it stands in the payload."""
        for place, choice in enumerate(look.items(look.get(frame.json, "choices"))):
            if choice_number(choice, place) == part.fragment.choice:
                entries = entries_of(look.get(choice, "delta"))
                entry = entries[part.place] if part.place < len(entries) else None
                return entry if isinstance(entry, dict) else {}
        return {}

    def _has_more(self, frame: Frame, part: Part) -> bool:
        """Whether the entry has fields beside those that every entry has."""
        entry = self._entry(frame, part)
        return bool(entry.keys() - {"index", "id", "type", "function", "name", "arguments"})

    def _unstreamed(self, waiting: Waiting) -> list[Frame]:
        """Calls that only the final message says, as deltas before it."""
        out: list[Frame] = []
        for part in waiting.parts:
            known = part.known
            if part.fragment.phase is not Phase.WHOLE or known.told:
                continue
            known.told = known.settled = True
            call, number = known.call, waiting.frame.number
            known.index = known.choice.free_index()
            known.choice.taken[known.index] = known
            if self.tell(UNSTREAMED_CALLS, number, "the call comes in the final message only", call):
                known.id = call.id or self.made_id(known, None)
                function = {"name": call.name, "arguments": part.told.text or "{}"}
                entry = {"index": known.index, "id": known.id, "type": "function", "function": function}
                self._remember(waiting)
                out.append(self.delta(known.choice.number, {"tool_calls": [entry]}, number=number))
        return out

    def _structure(self, waiting: Waiting) -> bool:
        """Whether the entries stand in a wrong place or form, and that is to be mended."""
        mend = False
        number = waiting.frame.number
        seen: set[int] = set()
        for part in waiting.parts:
            if id(part.known) in seen and part.fragment.phase is Phase.MORE:
                message = "one event has two entries for the call"
                mend = self.tell(REPEATED_INDEX, number, message, part.known.call) or mend
            seen.add(id(part.known))
        if all(part.fragment.as_wanted for part in waiting.parts):
            return mend
        for choice in look.items(look.get(waiting.frame.json, "choices")):
            calls = look.get(choice, "delta", "tool_calls")
            if isinstance(calls, dict) and calls:
                mend = self.tell(TOOL_CALLS_OBJECT, number, "tool_calls is an object") or mend
            elif not look.items(calls) and isinstance(look.get(choice, "delta", "function_call"), dict):
                mend = self._legacy(number) or mend
        return mend

    def _legacy(self, number: int) -> bool:
        if self.speaks_legacy:
            return False
        return self.tell(LEGACY_FUNCTION_CALL, number, "the call comes as function_call")

    @property
    def speaks_legacy(self) -> bool:
        """Whether the client asked with `functions`, so that `function_call` is what it wants."""
        asked = self.context.exchange.request
        return bool(look.items(look.get(asked, "functions"))) and not look.items(look.get(asked, "tools"))

    def _without_calls(self, event: Event) -> Iterable[Frame]:
        """An event that concerns no call, finish, error or end."""
        frame, payload = event.frame, event.frame.json
        if not isinstance(payload, dict):
            return (frame,)
        self._remember_head(payload)
        number = frame.number
        choices = look.items(payload.get("choices"))
        bare = [
            c for c in choices if isinstance(c, dict) and not isinstance(c.get("delta"), dict) and "message" not in c
        ]
        if not bare or not self.tell(MISSING_DELTA, number, "a choice has no delta object"):
            return (frame,)
        empty: Json = {"delta": {}, "finish_reason": None}
        filled = [{**one, **empty} if _is_bare(one) else one for one in choices]
        rewritten = self.context.writer.rewrite(frame, {**payload, "choices": filled})
        self.audit(number, [frame], [rewritten])
        return (rewritten,)

    def _other_id(self, payload: Json) -> bool:
        identity = payload.get("id") if isinstance(payload, dict) else None
        return bool(identity and self._head.get("id")) and identity != self._head["id"]

    def _pinned(self, frame: Frame) -> bool:
        """Whether the event's own id is another than the stream's, and is to be mended."""
        if not self._known or not frame.parsed or not self._other_id(frame.json):
            return False
        return self.tell(CHANGING_STREAM_ID, frame.number, "the chunk's id is another than the first one's")

    def _remember_head(self, payload: Json) -> None:
        if not self._head.get("id") and isinstance(payload, dict) and payload.get("choices"):
            self._head = {key: value for key, value in payload.items() if key not in {"choices", "usage", "error"}}

    def _remember(self, waiting: Waiting) -> None:
        self._ending.last = waiting.frame.number
        if not self._head.get("id"):
            self._remember_head(waiting.frame.json)

    def _rewritten(
        self, waiting: Waiting, edits: list[tuple[Part, Edits | None]], finishes: dict[int, str | None], *, pin: bool
    ) -> dict[str, Json]:
        """The payload with everything in it that was told and is to be mended."""
        payload = dict(waiting.frame.json) if isinstance(waiting.frame.json, dict) else {}
        choices: list[Json] = []
        for place, choice in enumerate(look.items(payload.get("choices"))):
            number = choice_number(choice, place)
            mine = {part.place: edit for part, edit in edits if part.fragment.choice == number and _streamed(part)}
            if not isinstance(choice, dict):
                choices.append(choice)
                continue
            rewritten = self._choice_rewritten(dict(choice), mine)
            if number in finishes:
                rewritten["finish_reason"] = finishes[number]
            if self.folded(number):
                rewritten["index"] = 0
            choices.append(rewritten)
        payload["choices"] = choices
        if pin:
            payload["id"] = self._head["id"]
        return payload

    def _choice_rewritten(self, choice: dict[str, Json], edits: dict[int, Edits | None]) -> dict[str, Json]:
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not edits:
            return choice
        entries: list[Json] = []
        for place, entry in enumerate(entries_of(delta)):
            edit = edits.get(place, {})
            if edit is not None:
                entries.append(edited(entry, edit) if isinstance(entry, dict) else entry)
        delta = dict(delta)
        if "function_call" in delta and not look.items(delta.get("tool_calls")) and self.on(LEGACY_FUNCTION_CALL):
            del delta["function_call"]
        if entries:
            delta["tool_calls"] = self._coalesced(entries)
        else:
            delta.pop("tool_calls", None)
        choice["delta"] = delta
        return choice

    def _coalesced(self, entries: list[Json]) -> list[Json]:
        """Entries of one index as one."""
        if not self.on(REPEATED_INDEX):
            return entries
        by_index: dict[Json, dict[str, Json]] = {}
        out: list[Json] = []
        for entry in entries:
            first = by_index.get(entry.get("index")) if isinstance(entry, dict) else None
            if first is None:
                out.append(entry)
                if isinstance(entry, dict) and isinstance(entry.get("index"), int):
                    by_index[entry["index"]] = entry
                continue
            said = look.get(first, "function", "arguments"), look.get(entry, "function", "arguments")
            joined = "".join(text for text in said if isinstance(text, str))
            first["function"] = {**first["function"], "arguments": joined}
        return out


def choice_number(choice: Json, place: int) -> int:
    """A choice's number: its index, or its place where it has none."""
    number = look.integer(look.get(choice, "index"))
    return number if isinstance(number, int) else place


def entries_of(delta: Json) -> list[Json]:
    """The tool-call entries of a delta, in whatever form they are."""
    entries = look.items(look.get(delta, "tool_calls"))
    if entries:
        return entries
    legacy = look.get(delta, "function_call")
    return [{"function": legacy}] if isinstance(legacy, dict) else []


def _is_bare(choice: Json) -> bool:
    return isinstance(choice, dict) and not isinstance(choice.get("delta"), dict) and "message" not in choice


def _streamed(part: Part) -> bool:
    return part.fragment.phase is Phase.MORE
