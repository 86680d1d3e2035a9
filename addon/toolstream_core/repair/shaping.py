"""Applies a policy to the events that a repair sends: the last step. Knows no protocol.

An event has its call, its phase and the paths of its fields. It may wait until the calls before it have ended, then
until its own call is complete. Deltas are joined or split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.model import EventContent, Json, Kind, Phase
from toolstream_core.repair.fields import TOP, Paths
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
from toolstream_core.wire.json_value import Payload

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
    """The number of the received event at which it is sent."""
    call: OpenCall | None = None
    """The call that it belongs to."""
    name: str = ""
    """The SSE event name, if it is new."""
    phase: Phase = Phase.ARGUMENTS
    """The part of its call."""
    paths: Paths = TOP
    """The paths of the call's arguments and index."""
    status: str = ""
    """The status of a call that it closes: `completed`, `incomplete`, or empty."""

    @property
    def text(self) -> str:
        """The arguments in a delta."""
        text = self._get(ARGUMENTS)
        return text if isinstance(text, str) else ""

    @property
    def place(self) -> int | None:
        """The call's index for the client."""
        place = json_access.integer(self._get(INDEX))
        return place if isinstance(place, int) else None

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return len(self.text) if self.frame is None else len(self.frame.raw)

    def _get(self, name: str) -> Json:
        path = self.paths.get(name)
        return None if path is None else json_access.get(self.payload, *path)

    def with_text(self, text: str) -> Payload:
        """The payload with other arguments, without padding."""
        payload = {key: value for key, value in (self.payload or {}).items() if key != PADDING}
        return put(payload, self.paths[ARGUMENTS], text)


class ShapedCalls(NamedTuple):
    """Functions and tables of the protocol about its calls."""

    known: AbstractSet[str]
    """The keys of a delta, at every depth."""
    is_sendable: Callable[[OpenCall, bool], bool]
    """Whether the client gets a call as complete; `True`: the provider ended it, and did not truncate it."""
    identity: Callable[[OpenCall], Payload] = lambda call: {}  # noqa: ARG005
    """The fields that identify a call in its deltas, for a client that needs them."""
    reordered: Callable[[], None] = lambda: None
    """Records that events are sent in another order."""


class Shaping:
    """Applies a policy to one stream."""

    def __init__(self, policy: Policy, calls: ShapedCalls, reporter: Reporter) -> None:
        self._policy, self._calls, self._report_shape = policy, calls, reporter.shape
        self._sequencer = CallSequencer(calls, reporter) if policy.sequential else None
        self._joiner = DeltaJoiner(policy, calls, reporter) if policy.complete_only else None

    @property
    def waits(self) -> bool:
        """Whether an event waits."""
        return bool((self._sequencer and self._sequencer.waiting) or (self._joiner and self._joiner.waiting))

    @property
    def lowers_places(self) -> bool:
        """Whether later events get a lower index, because calls were left out."""
        return self._joiner is not None and bool(self._joiner.gaps)

    @property
    def waiting_frames(self) -> list[Frame]:
        """The waiting events, unchanged."""
        later = [] if self._sequencer is None else self._sequencer.waiting
        earlier = [] if self._joiner is None else self._joiner.waiting
        return [one.received for one in (*earlier, *later) if one.received is not None]

    def sent(self, outgoing: Outgoing) -> Iterator[Outgoing]:
        """The events to send at this event."""
        return self._after_sequencer([outgoing] if self._sequencer is None else self._sequencer.sent(outgoing))

    def at_end(self, *, normally: bool) -> Iterator[Outgoing]:
        """The waiting events, at the end of the turn; `normally`: no limit or error truncated it."""
        yield from self._after_sequencer([] if self._sequencer is None else self._sequencer.take_all())
        if self._joiner is not None:
            yield from self._split(self._joiner.at_end(normally=normally))

    def is_left_out(self, call: OpenCall | None) -> bool:
        """Whether a call was left out."""
        return self._joiner is not None and id(call) in self._joiner.left_out

    def stays(self, call: OpenCall, *, ended: bool) -> bool:
        """Whether the client gets a call in the terminal event; a call that was left out only if it is an object."""
        if self._joiner is None or self._calls.is_sendable(call, ended and not self.is_left_out(call)):
            return True
        self._joiner.note_change()
        return False

    def _after_sequencer(self, events: Iterable[Outgoing]) -> Iterator[Outgoing]:
        for one in events:
            yield from self._split([one] if self._joiner is None else self._joiner.sent(one))

    def _split(self, events: Iterable[Outgoing]) -> Iterator[Outgoing]:
        """The events, with split arguments; unknown keys stay in the first."""
        for one in events:
            if one.call is None or one.call.kind is not Kind.FUNCTION or one.phase is not Phase.MORE:
                yield one
                continue
            text, *rest = self._policy.split(one.text, Position())
            if rest:
                self._report_shape(_names_of(self._policy, TINY_FRAGMENTS))
            yield one._replace(payload=one.with_text(text)) if rest else one
            name = one.name if one.frame is None else one.frame.name
            for fragment in rest:
                payload = known_only(one.with_text(fragment), self._calls.known)
                yield one._replace(received=None, frame=None, payload=payload, name=name)


def _names_of(policy: Policy, *parts: Policy) -> tuple[str, ...]:
    """The names of the shapes of `parts` that the policy has."""
    wanted = [name for part in parts for name in part.names]
    return tuple(name for name in policy.names if name in wanted)


class CallSequencer:
    """Sends one call after the other: events of a later call wait until the one before it is closed."""

    def __init__(self, calls: ShapedCalls, reporter: Reporter) -> None:
        self._calls, self._reporter = calls, reporter
        self._current: OpenCall | None = None
        self._closed: set[int] = set()
        """The `id(call)` of each call that an event closed for the client."""
        self.waiting: list[Outgoing] = []

    def sent(self, outgoing: Outgoing) -> list[Outgoing]:
        """The events to send at this event."""
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
        """Remove and return the waiting events."""
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


class DeltaJoiner:
    """Sends each call in one delta: its events, and later ones, wait until it is complete.

    Events of an incomplete call are not sent, nor is an event that closed a call before its end. Later calls get lower
    indexes, because clients use the index as the position in a list.
    """

    def __init__(self, policy: Policy, calls: ShapedCalls, reporter: Reporter) -> None:
        self._calls, self._reporter = calls, reporter
        self._shapes = _names_of(policy, WHOLE_CALLS, SELF_CONTAINED_DELTAS)
        self._adds_identity = policy.names_calls
        self.waiting: list[Outgoing] = []
        self._held = 0
        """Bytes of the waiting events."""
        self._open: dict[int, OpenCall] = {}
        """Calls that are not known to be complete; by `id(call)`, as in all attributes below."""
        self._closed: dict[int, OpenCall] = {}
        """Open calls that were closed without arguments: the finish reason decides whether they were truncated."""
        self._to_send: set[int] = set()
        self.left_out: dict[int, OpenCall] = {}
        self.gaps: list[int] = []
        """Indexes of calls that were left out."""

    def sent(self, one: Outgoing) -> Iterator[Outgoing]:
        """The events to send at this event."""
        if self._closed and one.place is not None:  # the response continues
            self._to_send.update(self._closed)
            self._closed.clear()
        if one.call is not None and one.call.kind is Kind.SERVER:
            one = one._replace(call=None)
        if one.call is not None:
            self._decide(one, one.call)
        self.waiting.append(one)
        self._held += one.size
        if self._held > MAX_BYTES:
            self._to_send.update(self._open)
        return self._ready()

    def at_end(self, *, normally: bool) -> Iterator[Outgoing]:
        """The events to send at the end of the turn, when an incomplete call remains incomplete."""
        for key, call in self._open.items():
            if key in self._to_send or self._calls.is_sendable(call, normally):
                self._to_send.add(key)
            else:
                self._leave_out(call)
        self._closed.clear()
        return self._ready()

    def note_change(self) -> None:
        """Record the shapes for which an event is changed."""
        self._reporter.shape(self._shapes)

    def _decide(self, outgoing: Outgoing, call: OpenCall) -> None:
        """Decide whether the client gets a call, if that is known."""
        key, sendable = id(call), self._calls.is_sendable
        if outgoing.phase is Phase.OPEN:
            self._to_send.update(k for k, other in self._open.items() if other is not call and sendable(other, False))  # noqa: FBT003
        if key in self._to_send or key in self.left_out:
            return
        self._open[key] = call
        if outgoing.phase in {Phase.ARGUMENTS, Phase.CLOSE} and sendable(call, False):  # noqa: FBT003
            self._to_send.add(key)
        elif outgoing.phase is Phase.CLOSE:
            if outgoing.status == "incomplete":
                self._leave_out(call)
            elif sendable(call, True):  # noqa: FBT003
                self._to_send |= {key} if outgoing.status == "completed" else set()
                self._closed[key] = call

    def _leave_out(self, call: OpenCall) -> None:
        self.left_out[id(call)] = call
        places = [one.place for one in self.waiting if one.call is call]
        self.gaps += [place for place in places[:1] if place is not None]
        self.note_change()

    def _ready(self) -> Iterator[Outgoing]:
        """Remove and return the events that need not wait."""
        while self.waiting:
            one = self.waiting[0]
            key = id(one.call)
            if one.call is not None and key not in self._to_send and key not in self.left_out:
                break
            self._open.pop(key, None)
            if key in self.left_out:
                self._take_out(one.call)
            elif one.call is not None and one.phase is Phase.MORE:
                yield from self._one_delta(one.call)
            else:
                self._held -= self.waiting.pop(0).size
                if one.phase is Phase.CLOSE and any(each.call is one.call for each in self.waiting):  # it was early
                    self.note_change()
                else:
                    yield self._at_lowered_place(one)

    def _take_out(self, call: OpenCall | None, *, deltas: bool = False) -> list[Outgoing]:
        """Remove and return the waiting events of a call, or only its deltas."""
        taken: list[Outgoing] = []
        kept: list[Outgoing] = []
        for one in self.waiting:
            (taken if one.call is call and (not deltas or one.phase is Phase.MORE) else kept).append(one)
        self.waiting = kept
        self._held -= sum(one.size for one in taken)
        return taken

    def _one_delta(self, call: OpenCall) -> Iterator[Outgoing]:
        """The deltas of a call as one, with the unknown keys of all.

        A delta whose unknown keys contradict those follows it, without arguments.
        """
        first, *later = self._take_out(call, deltas=True)
        named: Payload = self._calls.identity(call) if self._adds_identity else {}
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
        yield self._at_lowered_place(first._replace(payload=payload))
        yield from map(self._at_lowered_place, apart)

    def _at_lowered_place(self, outgoing: Outgoing) -> Outgoing:
        """The event with the index that its call has for the client."""
        place = outgoing.place
        lower = 0 if place is None else sum(gap < place for gap in self.gaps)
        if place is None or not lower or outgoing.payload is None:
            return outgoing
        self.note_change()
        return outgoing._replace(payload=put(outgoing.payload, outgoing.paths[INDEX], place - lower))


def ends_normally(content: EventContent) -> bool:
    """Whether an event ends the turn normally, with no truncated call."""
    reasons = [finish.reason for finish in content.finishes]
    return (any(reasons) or content.end) and content.error is None and not any(map(is_cut, reasons))
