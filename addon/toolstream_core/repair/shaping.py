"""Sends the events of calls to a client that reads less than its protocol allows: the last step of a repair.

Knows no protocol: an event comes with its call, its phase and the paths of its fields. It may wait for its turn, then
for its complete call; deltas are joined or split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.model import EventContent, Json, Kind, Phase
from toolstream_core.repair.fields import TOP, Paths, Payload
from toolstream_core.repair.shapes import (
    SELF_CONTAINED_DELTAS,
    SEQUENTIAL,
    TINY_FRAGMENTS,
    WHOLE_CALLS,
    Policy,
    Position,
)
from toolstream_core.stages.repair.repairer import MAX_BYTES, Reporter
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import known_only, merged, put

ARGUMENTS: Final = "arguments"
INDEX: Final = "index"
PADDING: Final = "obfuscation"
"""OpenAI's key for characters that hide the length of a delta."""


class Outgoing(NamedTuple):
    """An event that is sent to the client, now or later."""

    received: Frame | None
    """The received event that it is sent for; `None` for a new one."""
    frame: Frame | None
    """The frame that has the payload, or had it before it was changed; `None` for a new one."""
    payload: Payload | None
    """`None`: the frame is forwarded unchanged."""
    number: int
    """The number of the received event with which it is sent."""
    call: OpenCall | None = None
    """The call that it is of."""
    name: str = ""
    """The SSE event name of a new one."""
    phase: Phase = Phase.ARGUMENTS
    """The fields of its call."""
    paths: Paths = TOP
    """The paths of its arguments and of its call's place."""
    status: str = ""
    """The status of a call that it closes: `completed`, `incomplete`, or empty."""

    @property
    def text(self) -> str:
        """The arguments in a delta."""
        text = self._get(ARGUMENTS)
        return text if isinstance(text, str) else ""

    @property
    def place(self) -> int | None:
        """Its index for the client."""
        place = json_access.integer(self._get(INDEX))
        return place if isinstance(place, int) else None

    @property
    def size(self) -> int:
        """Its bytes."""
        return len(self.text) if self.frame is None else len(self.frame.raw)

    def _get(self, name: str) -> Json:
        path = self.paths.get(name)
        return None if path is None else json_access.get(self.payload, *path)

    def with_text(self, text: str) -> Payload:
        """The payload with other arguments, without padding."""
        payload = {key: value for key, value in (self.payload or {}).items() if key != PADDING}
        return put(payload, self.paths[ARGUMENTS], text)


class ShapedCalls(NamedTuple):
    """The protocol's knowledge of the calls."""

    known: AbstractSet[str]
    """The keys of a delta, at every depth."""
    is_sendable: Callable[[OpenCall, bool], bool]
    """Whether the client gets a complete call; with `True`: the provider ended it, and did not truncate it."""
    identity: Callable[[OpenCall], Payload] = lambda call: {}  # noqa: ARG005
    """The fields that identify a call in its deltas, for a client that needs them."""
    reordered: Callable[[], None] = lambda: None
    """Records that events are sent in another order."""


class Shaping:
    """The needs of one client, for one stream."""

    def __init__(self, policy: Policy, calls: ShapedCalls, reporter: Reporter) -> None:
        self._policy, self._calls, self._because = policy, calls, reporter.shape
        self._turns = Turns(calls, reporter) if policy.in_turn else None
        self._complete = CompleteCalls(policy, calls, reporter) if policy.leaves_out else None

    @property
    def waits(self) -> bool:
        """Whether an event waits."""
        return bool((self._turns and self._turns.waiting) or (self._complete and self._complete.waiting))

    @property
    def moves(self) -> bool:
        """Whether later events have another place for the client."""
        return self._complete is not None and bool(self._complete.gaps)

    @property
    def frames(self) -> list[Frame]:
        """The waiting events as they were received."""
        later = [] if self._turns is None else self._turns.waiting
        earlier = [] if self._complete is None else self._complete.waiting
        return [one.received for one in (*earlier, *later) if one.received is not None]

    def sent(self, outgoing: Outgoing) -> Iterator[Outgoing]:
        """The events to send with this one."""
        return self._after_turns([outgoing] if self._turns is None else self._turns.sent(outgoing))

    def at_end(self, *, over: bool) -> Iterator[Outgoing]:
        """The waiting events at the end of the turn. `over`: the turn ended normally, with no truncated call."""
        yield from self._after_turns([] if self._turns is None else self._turns.take_all())
        if self._complete is not None:
            yield from self._cut(self._complete.at_end(over=over))

    def leaves_out(self, call: OpenCall | None) -> bool:
        """Whether a call was left out."""
        return self._complete is not None and id(call) in self._complete.left_out

    def stays(self, call: OpenCall, *, over: bool) -> bool:
        """Whether the client gets a call of the terminal event; one that was left out only if it is an object."""
        if self._complete is None or self._calls.is_sendable(call, over and not self.leaves_out(call)):
            return True
        self._complete.note_change()
        return False

    def _after_turns(self, events: Iterable[Outgoing]) -> Iterator[Outgoing]:
        for one in events:
            yield from self._cut([one] if self._complete is None else self._complete.sent(one))

    def _cut(self, events: Iterable[Outgoing]) -> Iterator[Outgoing]:
        """The events in the fragments that the client needs. Unknown keys stay with the first."""
        for one in events:
            if one.call is None or one.call.kind is not Kind.FUNCTION or one.phase is not Phase.MORE:
                yield one
                continue
            text, *rest = self._policy.cut(one.text, Position())
            if rest:
                self._because(_names(self._policy, TINY_FRAGMENTS))
            yield one._replace(payload=one.with_text(text)) if rest else one
            name = one.name if one.frame is None else one.frame.name
            for fragment in rest:
                payload = known_only(one.with_text(fragment), self._calls.known)
                yield one._replace(received=None, frame=None, payload=payload, name=name)


def _names(policy: Policy, *parts: Policy) -> tuple[str, ...]:
    """The names of these shapes, if the policy has them."""
    wanted = [name for part in parts for name in part.names]
    return tuple(name for name in policy.names if name in wanted)


class Turns:
    """One call after the other: events of a later one wait until the one before it is closed."""

    def __init__(self, calls: ShapedCalls, reporter: Reporter) -> None:
        self._calls, self._reporter = calls, reporter
        self._current: OpenCall | None = None
        self._closed: set[int] = set()
        """The calls that an event closed for the client; by `id(call)`."""
        self.waiting: list[Outgoing] = []

    def sent(self, outgoing: Outgoing) -> list[Outgoing]:
        """The events to send with this one."""
        if outgoing.call is not None:
            if self._is_free:
                self._current = outgoing.call
            if outgoing.call is not self._current:
                self.waiting.append(outgoing)
                return []
            self._note(outgoing)
        if self.waiting:
            self._reporter.shape(SEQUENTIAL.names)
            self._calls.reordered()
        out = [outgoing]
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

    def _note(self, outgoing: Outgoing) -> None:
        if outgoing.phase is Phase.CLOSE:
            self._closed.add(id(outgoing.call))
        elif outgoing.phase is Phase.OPEN:
            self._closed.discard(id(outgoing.call))


class CompleteCalls:
    """Each call in one delta: its events, and later ones, wait until it is complete.

    The events of an incomplete call are not sent, nor is an event that closed a call before its end. The places
    of later ones are lowered: clients put calls into a list by their place.
    """

    def __init__(self, policy: Policy, calls: ShapedCalls, reporter: Reporter) -> None:
        self._calls, self._reporter = calls, reporter
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
        self.left_out: dict[int, OpenCall] = {}
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
        if self._held > MAX_BYTES:
            self._settled.update(self._open)
        return self._ready()

    def at_end(self, *, over: bool) -> Iterator[Outgoing]:
        """The events to send at the end of the turn: a call that is incomplete now remains so."""
        for key, call in self._open.items():
            if key in self._settled or self._calls.is_sendable(call, over):
                self._settled.add(key)
            else:
                self._leave_out(call)
        self._closed.clear()
        return self._ready()

    def note_change(self) -> None:
        """Record that an event is changed because only complete calls are sent."""
        self._reporter.shape(self._shapes)

    def _judge(self, outgoing: Outgoing, call: OpenCall) -> None:
        """Decide whether the client gets a call, as far as that is known."""
        key, sendable = id(call), self._calls.is_sendable
        if outgoing.phase is Phase.OPEN:
            self._settled.update(k for k, other in self._open.items() if other is not call and sendable(other, False))  # noqa: FBT003
        if key in self._settled or key in self.left_out:
            return
        self._open[key] = call
        if outgoing.phase in {Phase.ARGUMENTS, Phase.CLOSE} and sendable(call, False):  # noqa: FBT003
            self._settled.add(key)
        elif outgoing.phase is Phase.CLOSE:
            if outgoing.status == "incomplete":
                self._leave_out(call)
            elif sendable(call, True):  # noqa: FBT003
                self._settled |= {key} if outgoing.status == "completed" else set()
                self._closed[key] = call

    def _leave_out(self, call: OpenCall) -> None:
        self.left_out[id(call)] = call
        places = [one.place for one in self.waiting if one.call is call]
        self.gaps += [place for place in places[:1] if place is not None]
        self.note_change()

    def _ready(self) -> Iterator[Outgoing]:
        """The events that wait no more."""
        while self.waiting:
            one = self.waiting[0]
            key = id(one.call)
            if one.call is not None and key not in self._settled and key not in self.left_out:
                break
            self._open.pop(key, None)
            if key in self.left_out:
                self._take_out(one.call)
            elif one.call is not None and one.phase is Phase.MORE:
                yield from self._in_one(one.call)
            else:
                self._held -= self.waiting.pop(0).size
                if one.phase is Phase.CLOSE and any(each.call is one.call for each in self.waiting):  # it was early
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
        return taken

    def _in_one(self, call: OpenCall) -> Iterator[Outgoing]:
        """The one delta of a call, in the place of its first, with the unknown keys of all.

        An event whose unknown keys contradict it comes after it, without arguments.
        """
        first, *later = self._take_out(call, deltas=True)
        named: Payload = self._calls.identity(call) if self._names_calls else {}
        text = "".join([one.text for one in (first, *later)])
        payload = first.with_text(text) if later else first.payload or {}
        apart: list[Outgoing] = []
        for one in later:
            bare = one.with_text("")
            both = merged(payload, bare, self._calls.known)
            apart += [] if both is not None else [one._replace(payload=bare | named)]
            payload = payload if both is None else both
        if apart:
            self._calls.reordered()
        if later or not named.items() <= payload.items():
            self.note_change()
            payload = payload | named
        yield self._moved(first._replace(payload=payload))
        yield from map(self._moved, apart)

    def _moved(self, outgoing: Outgoing) -> Outgoing:
        """The event in the place that it has for the client."""
        place = outgoing.place
        lower = 0 if place is None else sum(gap < place for gap in self.gaps)
        if place is None or not lower or outgoing.payload is None:
            return outgoing
        self.note_change()
        return outgoing._replace(payload=put(outgoing.payload, outgoing.paths[INDEX], place - lower))


def turn_over(content: EventContent) -> bool:
    """Whether an event ends the turn normally, with no truncated call."""
    reasons = [finish.reason for finish in content.finishes]
    return (any(reasons) or content.end) and content.error is None and not any(map(is_cut, reasons))
