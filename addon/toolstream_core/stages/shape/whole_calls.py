"""The shape that sends only complete calls, if calls are items or blocks. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, override

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.shape.wholeness import is_whole, turn_over
from toolstream_core.stages.stage import Holds, Stage
from toolstream_core.wire import json_access
from toolstream_core.wire.json_paths import merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, EventContent, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

MAX_HELD: Final = 16 * 1024 * 1024
"""The most bytes of held events. If there are more, all are forwarded unchanged."""


class _Waiting(NamedTuple):
    """An event that waits, with the call that it is of."""

    event: Event
    call: OpenCall | None
    delta: bool
    """Whether it brings arguments."""


class MergedFragments(Stage, Holds):
    """Holds the events of a call, and later ones, until the call is complete. Its arguments become one delta.

    The events of an incomplete call are not sent, nor is an event that closed it early. The places of later items
    are lowered: clients put items into a list by their place.
    """

    place: str
    """The key that has the place of an item or a block."""
    known: frozenset[str]
    """The keys that a fragment's event has in this protocol, at any depth."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._waiting: list[_Waiting] = []
        self._held = 0
        self._open: dict[int, OpenCall] = {}
        """Calls that are not known to be complete; by `id(call)`, as in all attributes below."""
        self._closed: dict[int, OpenCall] = {}
        """Those of them that were closed without arguments: the finish reason decides whether they were cut off."""
        self._settled: set[int] = set()
        self._left_out: dict[int, OpenCall] = {}
        self._halves: set[int] = set()
        """Numbers of events that close a call with incomplete arguments: more may come, in other items."""
        self._gaps: list[int] = []
        """Places that do not exist for the client."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._waiting or self._gaps)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        content = event.content
        if content.finishes or content.end or content.error:
            self._decide(over=turn_over(content))
            return [*self._gone(), *self._terminal(event, resolved)]
        if self._closed and self._moves_on(event):
            self._settled.update(self._closed)
            self._closed.clear()
        call = resolved[0].call if len(resolved) == 1 and resolved[0].call.kind is not Kind.SERVER else None
        phase = resolved[0].fragment.phase if call is not None else None
        if call is not None and phase is not None:
            self._resolve(event, call, phase)
        self._waiting.append(_Waiting(event, call, phase is Phase.MORE))
        self._held += len(event.frame.raw)
        if self._held > MAX_HELD:
            self._settled.update(self._open)
            self._halves.clear()
        return self._gone()

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        del clean
        self._decide(over=False)
        return self._gone()

    @override
    def release(self) -> Iterable[Frame]:
        waiting, self._waiting, self._held = self._waiting, [], 0
        return [one.event.frame for one in waiting]

    def delta(self, frame: Frame, text: str, call: OpenCall) -> dict[str, Json]:
        """The payload of a delta with other arguments."""
        raise NotImplementedError

    def place_of(self, frame: Frame) -> int | None:
        """The index of the event's item or block; `None` if it has none that is counted with calls."""
        place = json_access.integer(json_access.get(frame.json, self.place))
        return place if isinstance(place, int) else None

    def placed(self, frame: Frame, place: int) -> Frame:
        """The event with another index."""
        payload = frame.json
        assert isinstance(payload, dict)  # as its place was read from it
        return self._context.writer.rewrite(frame, {**payload, self.place: place})

    def status(self, payload: Json) -> str:
        """The status of a call in the event that closes it: `completed`, `incomplete`, or empty."""
        del payload
        return ""

    def without(
        self, payload: dict[str, Json], content: EventContent, resolved: Sequence[ResolvedFragment]
    ) -> dict[str, Json]:
        """The event that ends the response, without the calls that are left out."""
        del content, resolved
        return payload

    def is_left_out(self, call: OpenCall) -> bool:
        """Whether a call was left out."""
        return id(call) in self._left_out

    def _resolve(self, event: Event, call: OpenCall, phase: Phase) -> None:
        """Decide on a call, as far as that can be done now."""
        key = id(call)
        if phase is Phase.OPEN:
            for other in list(self._open.values()):
                if other is not call and is_whole(other, self._context, over=False):
                    self._settled.add(id(other))
        if key in self._settled or key in self._left_out:
            return
        self._open[key] = call
        if phase in {Phase.ARGUMENTS, Phase.CLOSE} and is_whole(call, self._context, over=False):
            self._settled.add(key)
        elif phase is Phase.CLOSE:
            status = self.status(event.frame.json)
            if status == "incomplete":
                self._leave_out(call)
            elif not is_whole(call, self._context, over=True):
                self._halves.add(event.frame.number)
            elif status == "completed":
                self._settled.add(key)
            else:
                self._closed[key] = call

    def _moves_on(self, event: Event) -> bool:
        """Whether the response continues with another item or block."""
        return self.place_of(event.frame) is not None

    def _decide(self, *, over: bool) -> None:
        """The turn ends: a call that is incomplete now remains so."""
        for key, call in list(self._open.items()):
            if key not in self._settled and not is_whole(call, self._context, over=over):
                self._leave_out(call)
            else:
                self._settled.add(key)
        self._closed.clear()

    def _leave_out(self, call: OpenCall) -> None:
        self._left_out[id(call)] = call
        if isinstance(call.index, int):
            self._gaps.append(call.index)

    def _gone(self) -> list[Frame]:
        """What need not wait any more."""
        out: list[Frame] = []
        while self._waiting:
            event, call, delta = self._waiting[0]
            key = id(call)
            if call is not None and key not in self._settled and key not in self._left_out:
                break
            self._open.pop(key, None)
            if call is not None and key in self._left_out:
                self._take_out(call)
            elif call is not None and delta:
                out += self._in_one(call)
            else:
                self._held -= len(self._waiting.pop(0).event.frame.raw)
                if event.frame.number not in self._halves:
                    out.append(self._moved(event.frame))
        return out

    def _take_out(self, call: OpenCall, *, deltas: bool = False) -> list[_Waiting]:
        """The waiting events of a call, or its deltas, which wait no more."""
        taken = [one for one in self._waiting if one.call is call and (one.delta or not deltas)]
        self._waiting = [one for one in self._waiting if one.call is not call or (deltas and not one.delta)]
        self._held -= sum(len(one.event.frame.raw) for one in taken)
        return taken

    def _in_one(self, call: OpenCall) -> Iterator[Frame]:
        """The one delta of a call, in the place of its first, with the unknown keys of all.

        An event whose unknown keys contradict it comes after it, without arguments.
        """
        events = [one.event for one in self._take_out(call, deltas=True)]
        texts = [fragment.arguments for event in events for fragment in event.content.fragments]
        first, *later = events
        if not isinstance(first.frame.json, dict):
            yield from (self._moved(event.frame) for event in events)
            return
        payload = self.delta(first.frame, "".join(text for text in texts if isinstance(text, str)), call)
        apart: list[Frame] = []
        for event in later:
            other = self.delta(event.frame, "", call)
            both = merged(payload, other, self.known)
            if both is None:
                apart.append(self._context.writer.rewrite(event.frame, other))
            else:
                payload = both
        yield self._moved(self._context.writer.rewrite(first.frame, payload))
        yield from map(self._moved, apart)

    def _terminal(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterator[Frame]:
        frame = event.frame
        payload = frame.json
        changed = self.without(payload, event.content, resolved) if isinstance(payload, dict) else payload
        yield self._moved(frame if changed is payload else self._context.writer.rewrite(frame, changed))

    def _moved(self, frame: Frame) -> Frame:
        """The event in the place that it has for the client."""
        if not self._gaps or frame.data is None:
            return frame
        at = self.place_of(frame)
        gaps = 0 if at is None else sum(gap < at for gap in self._gaps)
        return self.placed(frame, at - gaps) if at is not None and gaps else frame
