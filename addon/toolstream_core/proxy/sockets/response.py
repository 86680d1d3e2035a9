"""One response of a WebSocket in flight to the client, message by message. Knows mitmproxy's flow."""

from __future__ import annotations

from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.proxy.delivery import Delivery
from toolstream_core.proxy.flow_facts import Provided
from toolstream_core.proxy.live_response import LiveResponse, chunks
from toolstream_core.sockets.lines import LineEnds, Messages, line_of
from toolstream_core.sockets.saved import SavedMessage
from toolstream_core.transit.actions import Cut, Finish, Wait
from toolstream_core.wire.write import encoded


class SocketResponse:
    """Reads one response, and decides which messages the client gets."""

    def __init__(
        self,
        live: LiveResponse,
        place: SocketLane,
        delivery: Delivery | None,
        error: bytes | None = None,
        saved: Provided | None = None,
    ) -> None:
        """`delivery` has the timing faults; without it each message, or its replacement, is forwarded at once.

        `error` is the only message of a response that is not requested from the provider. `saved`: the served response.
        """
        self.live = live
        self.lane = place.lane
        self.error = error
        self._place = place
        self._delivery = delivery
        self.line_ends = LineEnds()
        """The line ends of the provider's messages, if the response is recorded."""
        self._messages = Messages(place, None if saved is None else saved.messages, self._note_line_ends)
        self.binary = False
        """Whether its messages are binary."""
        self.others: list[SavedMessage] = []
        """Messages of the client during the response: to steer it, or to cancel it."""
        self._out: list[bytes] = []
        """Messages that are due."""
        self.over = False
        """Whether the response has ended for the client."""
        if saved is not None and saved.messages:
            self._note_saved(saved)
        live.delivering = live.rewrites
        if delivery is not None:
            delivery.offer_headers()

    def take(self, message: bytes) -> list[bytes] | None:
        """The messages to send now for the provider's next one; `None`: the message unchanged."""
        line = self._messages.line(message)
        if not self.live.rewrites:
            self.live.read(line)
            return None
        passed = chunks(self.live.stream(line))
        if self._delivery is None:
            return None if passed == [line] else self._messages.take_events(passed)
        for chunk in passed:
            self._delivery.offer(chunk)
        return []

    def serve(self) -> None:
        """Begin a saved response, without a provider."""
        assert self._delivery is not None
        self._delivery.offer(None)

    def cancel(self, last: bytes) -> None:
        """End a saved response with this message in place of all remaining ones."""
        assert self._delivery is not None
        self._delivery.cut_short(line_of(last))

    def only(self, message: bytes) -> list[bytes]:
        """The messages that are sent if this message is the complete response."""
        self.live.stream(line_of(message))
        self.end()
        return self._messages.take_events([line_of(message)])

    def end(self, broken: str | None = None) -> list[bytes]:
        """After the provider's last message, or if the socket ended (`broken`): the messages that are sent at once."""
        live = self.live
        if broken is not None:
            live.finish(broken=broken)
            self.over = True
            return []
        if not live.rewrites:
            live.stream(b"")
            self.over = True
            return []
        last = chunks(live.stream(b""))
        if self._delivery is not None:
            for chunk in last:
                self._delivery.offer(chunk)
            self._delivery.offer(None)
            return []
        self.over = True
        error = [] if live.cut_off is None else self._error()
        return [*self._messages.take_events(last), *self._messages.end(), *error]

    def release(self, why: str) -> list[bytes]:
        """After the internal error `why`: all received messages that were not sent. Reading stops."""
        self.over = True
        waiting = [] if self._delivery is None else self._delivery.take_waiting()
        held = self.live.release(RuntimeError(why))
        return [*self._out, *self._messages.take_events([*waiting, *held]), *self._messages.end()]

    def advance(self) -> tuple[list[bytes], Cut | None]:
        """The messages that are due, and how the socket breaks, if it does."""
        broken = None
        while self._delivery is not None and broken is None and not self.over:
            step = self._delivery.next()
            if isinstance(step, bytes):
                self._out += self._messages.take_events([step])
            elif isinstance(step, Wait):
                break
            elif isinstance(step, Cut) and self.live.cut_off is not None:
                self.over = True
                self._out += self._error()
            elif isinstance(step, Cut):
                broken = step
            elif isinstance(step, Finish) or self.live.over:
                self.over = True
                self._out += self._messages.end()
            else:
                break
        out, self._out = self._out, []
        return out, broken

    @property
    def timed(self) -> bool:
        """Whether its messages may be delayed."""
        return self._delivery is not None

    @property
    def waiting(self) -> int:
        """Bytes that wait to be sent."""
        return 0 if self._delivery is None else self._delivery.waiting

    @property
    def pause(self) -> float | None:
        """Seconds after which to call `advance` again; `None` if it only waits for messages."""
        return None if self._delivery is None or self.over else self._delivery.pause

    def _note_line_ends(self, message: bytes) -> None:
        if self.live.recorded is not None:
            self.line_ends.add(self.live.recorded, message)

    def _note_saved(self, saved: Provided) -> None:
        at = 0
        for chunk in saved.chunks:
            self.line_ends.add(at, saved.messages.get(chunk.data, b""))
            at += len(chunk.data)

    def _error(self) -> list[bytes]:
        """An error event in place of a disconnect, because other responses share the socket."""
        messages = self._messages.take_events([encoded(self._place.error(ErrorKind.SERVER)) + b"\n"])
        for message in messages:
            self.live.added(line_of(message))
        return messages
