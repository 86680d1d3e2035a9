"""Finds the protocol of a stream from its first frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolstream_core.model import Json
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.wire.frame import DamagedFrame, Frame

MAX_UNRECOGNISED: Final = 8
"""Frames with data after which a stream does not count as an LLM stream."""
KEEP_ALIVE: Final = frozenset({b"", b":"})
"""The first byte of data that no protocol reads."""


class Recogniser:
    """Finds the protocol of one stream. The protocol of the request's path is tried first."""

    def __init__(self, protocols: Sequence[WireProtocol], path: str) -> None:
        """`protocols` are the possible protocols."""
        self._claimed = next((protocol for protocol in protocols if protocol.claims(path)), None)
        self._candidates = sorted(protocols, key=lambda protocol: protocol is not self._claimed)
        self.pending: list[Frame] = []
        """The frames so far; of comments only the last ones."""
        self._unsent: list[Frame] = []
        self.given_up = False
        """Whether the stream does not count as an LLM stream."""

    def find(self, frame: Frame) -> WireProtocol | None:
        """The protocol that a frame shows, if any."""
        payload: Json = frame.json
        return next((one for one in self._candidates if one.recognise(frame.name, payload)), None)

    def take(self, frame: Frame) -> WireProtocol | None:
        """Take the next frame. Returns the protocol, if it is known now."""
        pending = self.pending
        if isinstance(frame, DamagedFrame) and any(isinstance(one, DamagedFrame) for one in pending):
            return None  # reading stops at the first
        pending.append(frame)
        if frame.data is None:
            if len(pending) > 4 * MAX_UNRECOGNISED:
                pending.remove(next(one for one in pending if one.data is None))
            return None
        found = self.find(frame)
        if found is None and sum(1 for one in pending if one.data is not None) >= MAX_UNRECOGNISED:
            found = self._claimed
            self.given_up = found is None
        return found

    def at_end(self) -> WireProtocol | None:
        """The protocol at the end of a stream whose frames do not show it: that of the path."""
        return self._claimed if self.pending else None

    def forwardable(self, frame: Frame) -> list[Frame]:
        """The frames that may be forwarded after `frame`, while the protocol is not known.

        Keep-alives sent as data wait for the first event: a stage may want to repair them.
        """
        silent = frame.data is not None and frame.data.strip()[:1] in KEEP_ALIVE
        if silent and not (self.given_up or frame.trailing):
            self._unsent.append(frame)
            return []
        return [*self.unsent(), frame]

    def unsent(self) -> list[Frame]:
        """Remove and return the waiting frames."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def frames(self) -> list[Frame]:
        """Remove and return all frames so far."""
        pending, self.pending = self.pending, []
        return pending
