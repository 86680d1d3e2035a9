"""One answer of a socket on its way to the client, message by message. Knows mitmproxy's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.provider_error import ErrorKind
from toolstream_core.proxy.delivery import Break, End
from toolstream_core.proxy.live_response import pieces
from toolstream_core.sockets.lines import LineEnds, Messages, line_of
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.protocols.socket_wire import SocketLane
    from toolstream_core.proxy.delivery import WatchedDelivery
    from toolstream_core.proxy.flow_facts import Provided
    from toolstream_core.proxy.live_response import KeptWatch
    from toolstream_core.sockets.saved import SavedMessage


class SocketAnswer:
    """Reads one answer, and says what goes to the client in its place."""

    def __init__(
        self,
        watch: KeptWatch,
        place: SocketLane,
        delivery: WatchedDelivery | None,
        error: bytes | None = None,
        saved: Provided | None = None,
    ) -> None:
        """`delivery` has the faults of time; without it each message goes on, or what it became, at once.

        `error` is the one message of an answer that the provider is not asked for. `saved` is what is served.
        """
        self.watch = watch
        self.lane = place.lane
        self.error = error
        self._place = place
        self._delivery = delivery
        self.line_ends = LineEnds()
        """Those of the provider's messages, where the answer is captured."""
        self._messages = Messages(place, None if saved is None else saved.messages, self._note_line_ends)
        self.binary = False
        """Whether its messages came as binary ones."""
        self.others: list[SavedMessage] = []
        """What the client sent while it came: to steer it, or to cancel it."""
        self._out: list[bytes] = []
        """What may go by now."""
        self.over = False
        """Whether nothing more of it goes to the client."""
        if saved is not None and saved.messages:
            self._note_saved(saved)
        watch.delivering = watch.rewrites
        if delivery is not None:
            delivery.offer_headers()

    def take(self, message: bytes) -> list[bytes] | None:
        """What goes to the client at once for the provider's next message; `None`: the message as it came."""
        line = self._messages.line(message)
        if not self.watch.rewrites:
            self.watch.read(line)
            return None
        passed = pieces(self.watch.stream(line))
        if self._delivery is None:
            return None if passed == [line] else self._messages.made(passed)
        for piece in passed:
            self._delivery.offer(piece)
        return []

    def serve(self) -> None:
        """Begin the answer, which is saved: nothing of it comes from a provider."""
        assert self._delivery is not None
        self._delivery.offer(None)

    def cancel(self, last: bytes) -> None:
        """End the answer, which is saved, with this message in the place of all that is still to come."""
        assert self._delivery is not None
        self._delivery.cut_short(line_of(last))

    def only(self, message: bytes) -> list[bytes]:
        """What goes to the client where this message is the whole answer."""
        self.watch.stream(line_of(message))
        self.end()
        return self._messages.made([line_of(message)])

    def end(self, broken: str | None = None) -> list[bytes]:
        """The provider's last message has come, or the socket ended as `broken` says; what goes on at once."""
        watch = self.watch
        if broken is not None:
            watch.finish(broken=broken)
            self.over = True
            return []
        if not watch.rewrites:
            watch.stream(b"")
            self.over = True
            return []
        last = pieces(watch.stream(b""))
        if self._delivery is not None:
            for piece in last:
                self._delivery.offer(piece)
            self._delivery.offer(None)
            return []
        self.over = True
        return [*self._messages.made(last), *self._messages.end(), *self._end_of_half()]

    def release(self, why: str) -> list[bytes]:
        """After an internal error, as `why` says: what came and has not gone. Nothing more is read."""
        self.over = True
        waiting = [] if self._delivery is None else self._delivery.take_waiting()
        held = self.watch.release(RuntimeError(why))
        return [*self._out, *self._messages.made([*waiting, *held]), *self._messages.end()]

    def advance(self) -> tuple[list[bytes], Break | None]:
        """What may go by now, and how the socket breaks, if it does."""
        broken = None
        while self._delivery is not None and broken is None and not self.over and self._delivery.advance():
            step = self._delivery.step
            if isinstance(step, bytes):
                self._out += self._messages.made([step])
            elif isinstance(step, Break) and self.watch.half is not None:
                self.over = True
                self._out += self._error()
            elif isinstance(step, Break):
                broken = step
            elif isinstance(step, End) or self.watch.over:
                self.over = True
                self._out += self._messages.end()
            else:
                break
        out, self._out = self._out, []
        return out, broken

    @property
    def timed(self) -> bool:
        """Whether something of it may go later than it came."""
        return self._delivery is not None

    @property
    def waiting(self) -> int:
        """Bytes of it that came and wait to be sent."""
        return 0 if self._delivery is None else self._delivery.waiting

    @property
    def pause(self) -> float | None:
        """Seconds after which `advance` is to be called again; `None` where it waits for messages alone."""
        return None if self._delivery is None or self.over else self._delivery.pause

    def _note_line_ends(self, message: bytes) -> None:
        if self.watch.captured is not None:
            self.line_ends.add(self.watch.captured, message)

    def _note_saved(self, saved: Provided) -> None:
        at = 0
        for chunk in saved.chunks:
            self.line_ends.add(at, saved.messages.get(chunk.data, b""))
            at += len(chunk.data)

    def _end_of_half(self) -> list[bytes]:
        return [] if self.watch.half is None else self._error()

    def _error(self) -> list[bytes]:
        """An error in the place of the end that a break would be over HTTP: other answers share the socket."""
        made = self._messages.made([encoded(self._place.error(ErrorKind.SERVER)) + b"\n"])
        for message in made:
            self.watch.added(line_of(message))
        return made
