"""The bytes of one response as actions: events with their places, changed by timing faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from toolstream_core.calls import Calls, OpenCall
from toolstream_core.engine.recogniser import Recogniser
from toolstream_core.faults.spec import Picker
from toolstream_core.model import Event, StreamFacts
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.requests import conversation, match_key, tools
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.settings import Settings
from toolstream_core.transit.actions import Action, Ask, Cut, EventPlace, Finish, Hold, Send
from toolstream_core.transit.definitions import Moment, TransitFault
from toolstream_core.transit.faults import FaultContext, Stage
from toolstream_core.wire import json_access
from toolstream_core.wire.aws_event_stream import EventStreamFramer
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.frame import Form, Frame
from toolstream_core.wire.sse import SseFramer
from toolstream_core.wire.write import writer_for

type Drawn = Sequence[tuple[TransitFault, Picker]]
"""The timing faults that were selected for a response."""

# It gets the bytes for the client: decoded, and rewritten by the settings. Frames are forwarded when they are complete.
# The content coding of its exchange is that of the provider's bytes.

_CALLED = frozenset({"tool_calls", "tool_use", "TOOL_CALL"})
"""The finish reasons of such an end."""


class Schedule:
    """The actions of one response."""

    def __init__(
        self, exchange: StreamFacts, faults: Drawn, *, asks: bool = False, socket: SocketLane | None = None
    ) -> None:
        """`faults` in the order in which they act. `asks`: whether a second request is sent for missing calls.

        `socket`: the lane of the response, if it arrives over a WebSocket.
        """
        self._exchange = exchange
        self._framing = BodyFraming(exchange.content_type)
        self._recogniser = Recogniser(PROTOCOLS, exchange.path)
        self._reading = True
        self._asks = asks
        self._index = -1
        self._event: Event | None = None
        self._contexts = [
            FaultContext(fault.values, socket=socket, seed=f"{pick.seed}|way", hits=pick.fault.hits, acted=pick.acted)
            for fault, pick in faults
        ]
        makes = [fault.definition.make for fault, _ in faults]
        self._stages: list[Stage] = [
            make(context) for make, context in zip(makes, self._contexts, strict=True) if make is not None
        ]
        self._protocol: WireProtocol | None = None
        self._resolver: Calls | None = None
        self._calls: dict[int, OpenCall] = {}
        self._bytes = 0
        self._out: list[Action] = []
        self.rest = bytearray()
        """Received bytes that were not passed to the faults: mostly an incomplete event."""
        self._passing: tuple[int, list[Action]] = (0, [])
        """The number of the fault that acts now, and its actions."""
        self.over = False
        """Whether a fault has ended the stream."""

    def begin(self) -> list[Action]:
        """The actions before the headers are sent."""
        return [action for stage in self._stages for action in stage.begin()]

    def feed(self, chunk: bytes) -> list[Action]:
        """The actions for `chunk`; `b""` is the end."""
        self.rest += chunk
        if self._reading and not self.over:
            self._cut(chunk)
        elif chunk:
            self._pass(Send(chunk, self._place(chunk)), chunk)
        if not chunk and not self.over:
            for at, stage in enumerate(self._stages):
                self._through(stage.end(), at + 1)
        out, self._out = self._out, []
        return out

    def release(self) -> list[Action]:
        """After an internal error: the remaining actions, and all received bytes that were not sent."""
        out, self._out = self._out, []
        if self.over:
            return out
        number, passing = self._passing
        for at in reversed(range(len(self._stages))):  # the last fault holds the oldest bytes
            held = self._stages[at].held
            out += [*held, *(one for one in passing if at == number and one not in held)]
        rest = bytes(self.rest)
        return [*out, Send(rest, EventPlace(0, 0, has_data=False))] if rest else out

    def _cut(self, chunk: bytes) -> None:
        """Split the next received bytes into frames; `b""` is the end."""
        ended = not chunk and self._framing.framer is not None
        for frame in self._framing.end() if ended else self._framing.feed(chunk):
            self._frame(frame)
        if not chunk or self._framing.foreign:
            self._stop()

    def _stop(self) -> None:
        """Read no more; forward the bytes that are in no frame."""
        self._reading = False
        head, self._framing.head = self._framing.head, b""
        if head:
            self._pass(Send(head, self._place(head)), head)

    def _frame(self, frame: Frame) -> None:
        if self._protocol is None and frame.data is not None:
            self._recognise(frame)
        place, event = self._place(frame.raw, frame), self._event
        if self._asks and event is not None and event.frame is frame and self._lacks_calls(event):
            self._asks = False
            self._pass(self._ask(event), frame.raw)
        else:
            self._pass(Send(frame.raw, place), frame.raw)

    def _ask(self, event: Event) -> Ask:
        """Send the second request before this event."""
        framer = self._framing.framer
        writer = None if framer is None else writer_for(framer)
        assert writer is not None
        assert self._protocol is not None
        return Ask(event, self._index + 1, writer, self._protocol, comments=isinstance(framer, SseFramer))

    def _lacks_calls(self, event: Event) -> bool:
        """Whether an event announces calls, but none arrived."""
        if event.frame.parsed:
            indexes = [fragment.index for fragment in event.content.fragments]
            indexes.append(json_access.integer(json_access.get(event.frame.json, "index")))
            self._index = max(self._index, *(index for index in indexes if isinstance(index, int)), -1)
        return not self._calls and any(finish.reason in _CALLED for finish in event.content.finishes)

    def _recognise(self, frame: Frame) -> None:
        found = self._recogniser.find(frame)
        if found is not None:
            self._protocol = found
            binary = isinstance(self._framing.framer, EventStreamFramer)
            # Another API's events inside messages have another form of request.
            asks = found.api.stream_form is Form.MESSAGES if binary else isinstance(self._framing.framer, SseFramer)
            self._asks = self._asks and asks
            self._resolver = found.calls(tools.parameters(tools.schemas(self._exchange.request)))
            for context in self._contexts:
                context.protocol, context.binary = found, binary

    def _place(self, raw: bytes, frame: Frame | None = None) -> EventPlace:
        start, self._bytes = self._bytes, self._bytes + len(raw)
        if frame is None or self._protocol is None or self._resolver is None or frame.data is None:
            return EventPlace(0 if frame is None else frame.number, start, has_data=False)
        before = [call for call in self._calls.values() if _is_within_arguments(call)]
        started = {key for key, call in self._calls.items() if not call.arguments.empty}
        event = self._event = Event(frame, self._protocol.read)
        resolved = self._resolver.resolve(event.content, frame.number)
        opened = [one.call for one in resolved if id(one.call) not in self._calls]
        self._calls.update((id(call), call) for call in opened)
        touched = {id(one.call): one.call for one in resolved}
        finished = any(finish.reason for finish in event.content.finishes)
        return EventPlace(
            frame.number,
            start,
            opened_calls=tuple(call.position for call in opened),
            tools=tuple(call.name for call in (*before, *touched.values())),
            in_arguments=bool(before),
            has_complete_arguments=not before
            and any(
                key not in started and not call.arguments.empty and not _is_within_arguments(call)
                for key, call in touched.items()
            ),
            is_terminal=event.content.end or (finished and self._protocol.ends_with_finish),
        )

    def _pass(self, action: Action, raw: bytes) -> None:
        """Pass an action for the next bytes through the faults."""
        del self.rest[: len(raw)]
        self._through([action], 0)

    def _through(self, actions: Iterable[Action], at: int) -> None:
        """Pass actions through the faults from number `at` on."""
        passing = [*actions]
        for number, stage in enumerate(self._stages[at:], at):
            self._passing = (number, passing)
            passing = [after for action in passing for after in stage.take(action)]
        self._passing = (0, [])
        for action in passing:
            if self.over:
                return
            self._out.append(action)
            self.over = isinstance(action, Cut | Finish | Hold)


def drawn(settings: Settings, exchange: StreamFacts, number: int, moment: Moment = Moment.ANSWER) -> Drawn:
    """The faults that act on a response from a moment on. `number`: as for `Session`."""
    out: list[tuple[TransitFault, Picker]] = []
    model, turn = match_key.model_of(exchange.path, exchange.request), conversation.results(exchange.request)
    for place, (one, fault, budget) in enumerate(settings.transit):
        reached = fault.reaches(host=exchange.host, path=exchange.path, model=model, turn=turn)
        if reached and one.acts_at(moment):
            pick = Picker(fault, f"{settings.seed}|{number}|transit{place}", budget)
            if pick.stream():
                out.append((one, pick))
    return out


class HttpError(NamedTuple):
    """An error that a fault sends in place of a response."""

    status: int
    headers: dict[str, str]
    spec: str
    """The fault, as the user wrote it."""


def http_error(settings: Settings, exchange: StreamFacts, number: int, moment: Moment) -> HttpError | None:
    """The error to send instead of a response; `None` if the request is forwarded. `number`: that of the request."""
    for fault, pick in drawn(settings, exchange, number, moment):
        status, later = int(str(fault.values["status"])), int(str(fault.values["retry-after"]))
        return HttpError(status, {"retry-after": str(later)} if later else {}, pick.fault.spec)
    return None


def _is_within_arguments(call: OpenCall) -> bool:
    """Whether a call's arguments have begun and are incomplete."""
    arguments = call.arguments
    return not (arguments.empty or arguments.is_complete)


def bytes_of(actions: Iterable[Action]) -> bytes:
    """All bytes that are sent, at any time."""
    return b"".join(action.raw for action in actions if isinstance(action, Send))
