"""Sends events as a client needs them that reads less than the protocol allows: shapes, as parts of the repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.resolver import is_cut
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.responses.repair.events import ADDED, CLOSED, DELTA
from toolstream_core.repair.shapes import (
    BARE_DELTAS,
    MAX_HELD,
    SELF_CONTAINED_DELTAS,
    SEQUENTIAL,
    TINY_FRAGMENTS,
    WHOLE_CALLS,
    Policy,
    is_complete,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.json_paths import known_only, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import EventContent, Json
    from toolstream_core.protocols.responses.repair.client import Client
    from toolstream_core.protocols.responses.repair.intended import IntendedCalls
    from toolstream_core.repair.fields import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter
    from toolstream_core.wire.frame import Frame

_KNOWN: Final = frozenset(
    {
        *("type", "event_id", "response_id", "sequence_number", "item_id", "output_index", "content_index"),
        *("call_id", "name", "delta", "obfuscation"),
    }
)
"""The keys of an event with a fragment, in Realtime too."""
_PHASES: Final = {ADDED: Phase.OPEN, CLOSED: Phase.CLOSE}


class Outgoing(NamedTuple):
    """An event that is sent to the client, now or later."""

    frame: Frame | None
    """The received event that it replaces; `None` for a new one."""
    payload: Payload | None
    """`None`: the frame is forwarded unchanged."""
    number: int
    """The number of the received event with which it is sent."""
    call: OpenCall | None = None
    """The call that it is of."""
    name: str = ""
    """The SSE event name of a new one."""

    @property
    def phase(self) -> Phase:
        """The fields of its call."""
        kind = str(json_access.get(self.payload, "type"))
        return _PHASES.get(kind, Phase.MORE if kind.endswith(".delta") else Phase.ARGUMENTS)

    @property
    def text(self) -> str:
        """The arguments in a delta."""
        text = json_access.get(self.payload, "delta")
        return text if isinstance(text, str) else ""

    @property
    def place(self) -> int | None:
        """Its `output_index`."""
        place = json_access.integer(json_access.get(self.payload, "output_index"))
        return place if isinstance(place, int) else None

    @property
    def size(self) -> int:
        """Its bytes, if it was received."""
        return 0 if self.frame is None else len(self.frame.raw)

    def with_text(self, text: str) -> Payload:
        """A delta with other arguments, and without padding."""
        payload = self.payload or {}
        return {key: value for key, value in payload.items() if key != "obfuscation"} | {"delta": text}


class Shaping:
    """The needs of one client, for one stream: events wait for their turn, then for complete calls."""

    def __init__(
        self, policy: Policy, calls: IntendedCalls, client: Client, reporter: Reporter, context: Context
    ) -> None:
        self._policy, self._because = policy, reporter.shape
        self._turns = Turns(client, reporter) if _names(policy, SEQUENTIAL) else None
        self._complete = CompleteCalls(policy, calls, client, reporter, context) if policy.leaves_out else None

    @property
    def waits(self) -> bool:
        """Whether an event waits."""
        return bool((self._turns and self._turns.waiting) or (self._complete and self._complete.waiting))

    @property
    def moves(self) -> bool:
        """Whether later items have another place for the client."""
        return self._complete is not None and bool(self._complete.gaps)

    @property
    def frames(self) -> list[Frame]:
        """The waiting events as they were received."""
        later = [] if self._turns is None else self._turns.waiting
        earlier = [] if self._complete is None else self._complete.waiting
        return [one.frame for one in (*earlier, *later) if one.frame is not None]

    def sent(self, one: Outgoing) -> Iterator[Outgoing]:
        """The events to send with this one."""
        return self._after_turns([one] if self._turns is None else self._turns.sent(one))

    def at_end(self, *, over: bool) -> Iterator[Outgoing]:
        """The waiting events: the turn ends. `over`: by itself, so that none of its calls is truncated."""
        yield from self._after_turns([] if self._turns is None else self._turns.take_all())
        if self._complete is not None:
            yield from self._written(self._complete.at_end(over=over))

    def leaves_out(self, call: OpenCall) -> bool:
        """Whether a call was left out."""
        return self._complete is not None and self._complete.leaves_out(call)

    def stays(self, item: Json, call: OpenCall | None, *, over: bool) -> bool:
        """Whether the client gets an item of the terminal event."""
        if self._complete is None or call is None or call.kind is Kind.SERVER:
            return True
        status = _status(item)
        over = (over or status == "completed") and status != "incomplete"
        stays = self._complete.is_sendable(call, over=over and not self.leaves_out(call))
        if not stays:
            self._complete.note_change()
        return stays

    def _after_turns(self, events: Iterable[Outgoing]) -> Iterator[Outgoing]:
        for one in events:
            yield from self._written([one] if self._complete is None else self._complete.sent(one))

    def _written(self, events: Iterable[Outgoing]) -> Iterator[Outgoing]:
        """The events with the fields that the client reads, in the fragments that it needs."""
        for event in events:
            one = self._bare(event) if self._policy.names_calls is False else event
            if one.call is None or one.call.kind is not Kind.FUNCTION or one.phase is not Phase.MORE:
                yield one
                continue
            text, *rest = self._policy.cut(None, False, one.text)  # noqa: FBT003
            if rest:
                self._because(_names(self._policy, TINY_FRAGMENTS))
            yield one._replace(payload=one.with_text(text)) if rest else one
            name = one.name if one.frame is None else one.frame.name
            for piece in rest:
                yield one._replace(frame=None, payload=known_only(one.with_text(piece), _KNOWN), name=name)

    def _bare(self, one: Outgoing) -> Outgoing:
        """The event without what names its call, if it is a delta."""
        payload = one.payload or {}
        if payload.get("type") != DELTA or not {"call_id", "name"} & payload.keys():
            return one
        bare = {key: value for key, value in payload.items() if key not in {"call_id", "name"}}
        if "item_id" not in bare and one.call is not None and one.call.item_id:
            bare["item_id"] = one.call.item_id
        self._because(_names(self._policy, BARE_DELTAS))
        return one._replace(payload=bare)


def _names(policy: Policy, *parts: Policy) -> tuple[str, ...]:
    """The names of these shapes, if the policy has them."""
    wanted = [name for part in parts for name in part.names]
    return tuple(name for name in policy.names if name in wanted)


class Turns:
    """One item after the other: events of a later one wait until the one before it is closed."""

    def __init__(self, client: Client, reporter: Reporter) -> None:
        self._client, self._reporter = client, reporter
        self._current: OpenCall | None = None
        self._closed: set[int] = set()
        """The calls that an event closed for the client; by `id(call)`."""
        self.waiting: list[Outgoing] = []

    def sent(self, one: Outgoing) -> list[Outgoing]:
        """The events to send with this one."""
        if one.call is not None:
            if self._is_free:
                self._current = one.call
            if one.call is not self._current:
                self.waiting.append(one)
                return []
            self._note(one)
        if self.waiting:
            self._reporter.shape(SEQUENTIAL.names)
            self._client.renumber()
        out = [one]
        while self.waiting and self._is_free:
            self._current = self.waiting[0].call
            mine = [each for each in self.waiting if each.call is self._current]
            self.waiting = [each for each in self.waiting if each.call is not self._current]
            for each in mine:
                self._note(each)
            out += mine
        return out

    def take_all(self) -> list[Outgoing]:
        """The waiting events, which wait no more."""
        waiting, self.waiting = self.waiting, []
        return waiting

    @property
    def _is_free(self) -> bool:
        return self._current is None or id(self._current) in self._closed

    def _note(self, one: Outgoing) -> None:
        if one.phase is Phase.CLOSE:
            self._closed.add(id(one.call))
        elif one.phase is Phase.OPEN:
            self._closed.discard(id(one.call))


class CompleteCalls:
    """Each call in one delta: its events, and later ones, wait until it is complete.

    The events of an incomplete call are not sent, nor is an event that closed it early. The places of later items
    are lowered: clients put items into a list by their place.
    """

    def __init__(
        self, policy: Policy, calls: IntendedCalls, client: Client, reporter: Reporter, context: Context
    ) -> None:
        self._calls, self._client, self._reporter, self._context = calls, client, reporter, context
        self._shapes = _names(policy, WHOLE_CALLS, SELF_CONTAINED_DELTAS)
        self._names_calls = policy.names_calls
        self.waiting: list[Outgoing] = []
        self._held = 0
        """Their bytes."""
        self._open: dict[int, OpenCall] = {}
        """Calls that are not known to be complete; by `id(call)`, as in all attributes below."""
        self._closed: dict[int, OpenCall] = {}
        """Those of them that were closed without arguments: the finish reason decides whether they were truncated."""
        self._settled: set[int] = set()
        self._left_out: dict[int, OpenCall] = {}
        self._early: set[int] = set()
        """By `id(payload)`, events that close a call with incomplete arguments: more may come, in other items."""
        self.gaps: list[int] = []
        """Places that do not exist for the client."""

    def sent(self, one: Outgoing) -> Iterator[Outgoing]:
        """The events to send with this one."""
        if self._closed and one.place is not None:  # the response continues
            self._settled.update(self._closed)
            self._closed.clear()
        if one.call is not None and one.call.kind is Kind.SERVER:
            one = one._replace(call=None)
        if one.call is not None:
            self._judge(one, one.call)
        self.waiting.append(one)
        self._held += one.size
        if self._held > MAX_HELD:
            self._settled.update(self._open)
            self._early.clear()
        return self._ready()

    def at_end(self, *, over: bool) -> Iterator[Outgoing]:
        """The events to send at the end of the turn: a call that is incomplete now remains so."""
        for key, call in self._open.items():
            if key in self._settled or self.is_sendable(call, over=over):
                self._settled.add(key)
            else:
                self._leave_out(call)
        self._closed.clear()
        return self._ready()

    def leaves_out(self, call: OpenCall) -> bool:
        """Whether a call was left out."""
        return id(call) in self._left_out

    def is_sendable(self, call: OpenCall, *, over: bool) -> bool:
        """Whether the client gets a complete call. `over`: the provider ended it, and did not truncate it."""
        intended = self._calls.by_key.get(id(call))
        if intended is not None and intended.has is not None:
            if intended.has.is_custom:
                return over
            if intended.queued and not over:
                return False
            reading = intended.reading(over=True)
            repaired = reading.defect is None or (self._reporter.on(reading.defect) and not reading.stands)
            if repaired and is_object(reading.text):
                return True
        return is_complete(call, self._context, over=over)

    def _identity(self, call: OpenCall) -> Payload:
        """What names a call for the client."""
        intended = self._calls.by_key.get(id(call))
        has = intended and intended.has
        return {"call_id": (has and has.call_id) or call.id, "name": (has and has.name) or call.name}

    def note_change(self) -> None:
        """Note that an event is changed because only complete calls are sent."""
        self._reporter.shape(self._shapes)

    def _judge(self, one: Outgoing, call: OpenCall) -> None:
        """Decide whether the client gets a call, as far as that is known."""
        key, sendable = id(call), self.is_sendable
        if one.phase is Phase.OPEN:
            others = [other for other in self._open.values() if other is not call]
            self._settled.update(id(other) for other in others if sendable(other, over=False))
        if key in self._settled or key in self._left_out:
            return
        self._open[key] = call
        if one.phase in {Phase.ARGUMENTS, Phase.CLOSE} and sendable(call, over=False):
            self._settled.add(key)
        elif one.phase is Phase.CLOSE:
            status = _status(json_access.get(one.payload, "item"))
            if status == "incomplete":
                self._leave_out(call)
            elif not sendable(call, over=True):
                self._early.add(id(one.payload))
            elif status == "completed":
                self._settled.add(key)
            else:
                self._closed[key] = call

    def _leave_out(self, call: OpenCall) -> None:
        self._left_out[id(call)] = call
        if isinstance(call.index, int):
            self.gaps.append(call.index)
        self.note_change()

    def _ready(self) -> Iterator[Outgoing]:
        """The events that wait no more."""
        while self.waiting:
            one = self.waiting[0]
            key = id(one.call)
            if one.call is not None and key not in self._settled and key not in self._left_out:
                break
            self._open.pop(key, None)
            if key in self._left_out:
                self._take_out(one.call)
            elif one.call is not None and one.phase is Phase.MORE:
                yield from self._in_one(one.call)
            else:
                self._held -= self.waiting.pop(0).size
                if id(one.payload) in self._early:
                    self._early.discard(id(one.payload))
                    self.note_change()
                else:
                    yield self._moved(one)

    def _take_out(self, call: OpenCall | None, *, deltas: bool = False) -> list[Outgoing]:
        """The waiting events of a call, or its deltas, which wait no more."""
        taken: list[Outgoing] = []
        kept: list[Outgoing] = []
        for one in self.waiting:
            (taken if one.call is call and (not deltas or one.phase is Phase.MORE) else kept).append(one)
        self.waiting = kept
        self._held -= sum(one.size for one in taken)
        self._early.difference_update(id(one.payload) for one in taken)
        return taken

    def _in_one(self, call: OpenCall) -> Iterator[Outgoing]:
        """The one delta of a call, in the place of its first, with the unknown keys of all.

        An event whose unknown keys contradict it comes after it, without arguments.
        """
        first, *later = self._take_out(call, deltas=True)
        named: Payload = self._identity(call) if self._names_calls else {}
        payload = first.with_text("".join([one.text for one in (first, *later)])) if later else first.payload or {}
        apart: list[Outgoing] = []
        for one in later:
            bare = one.with_text("")
            both = merged(payload, bare, _KNOWN)
            apart += [] if both is not None else [one._replace(payload=bare | named)]
            payload = payload if both is None else both
        if apart:
            self._client.renumber()
        if later or not named.items() <= payload.items():
            self.note_change()
            payload = payload | named
        yield self._moved(first._replace(payload=payload))
        yield from map(self._moved, apart)

    def _moved(self, one: Outgoing) -> Outgoing:
        """The event in the place that it has for the client."""
        place = one.place
        lower = 0 if place is None else sum(gap < place for gap in self.gaps)
        if place is None or not lower or one.payload is None:
            return one
        self.note_change()
        return one._replace(payload={**one.payload, "output_index": place - lower})


def turn_over(content: EventContent) -> bool:
    """Whether an event ends the turn normally, so that none of its calls is truncated."""
    reasons = [finish.reason for finish in content.finishes]
    return (any(reasons) or content.end) and content.error is None and not any(map(is_cut, reasons))


def _status(item: Json) -> str:
    """The status of an item: `completed`, `incomplete`, or empty."""
    status = item.get("status") if isinstance(item, dict) else None
    return status if isinstance(status, str) else ""
