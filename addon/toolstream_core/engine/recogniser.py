"""Finds out which protocol a stream speaks, and keeps its frames until that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.wire.frame import DamagedFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Frame

MAX_UNRECOGNISED: Final = 8
"""Frames with data that are looked at before a stream counts as no LLM stream."""
KEEP_ALIVE: Final = frozenset({b"", b":"})
"""How data begins that says nothing in any protocol."""


class Recogniser:
    """Looks for the protocol of one stream, first for that which the request's path belongs to."""

    def __init__(self, dialects: Sequence[WireProtocol], path: str) -> None:
        """`dialects` are the protocols that it may be."""
        claimed = [dialect for dialect in dialects if dialect.claims(path)]
        self._claimed = claimed[0] if claimed else None
        self._candidates = [*claimed, *(dialect for dialect in dialects if dialect not in claimed)]
        self.pending: list[Frame] = []
        """The frames so far; of long runs of comments the last ones."""
        self._unsent: list[Frame] = []
        self.given_up = False
        """Whether the stream counts as no LLM stream."""

    def find(self, frame: Frame) -> WireProtocol | None:
        """The protocol that a frame belongs to, where it shows."""
        payload: Json = frame.json
        return next((one for one in self._candidates if one.recognise(frame.name, payload)), None)

    def take(self, frame: Frame) -> WireProtocol | None:
        """Take the next frame; the protocol, where it is known now."""
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
        """The protocol, where the stream is over and no frame has shown it: the path's."""
        return self._claimed if self.pending else None

    def passing(self, frame: Frame) -> list[Frame]:
        """What may go on when `frame` was taken, and the protocol is not known yet.

        Keep-alives sent as data wait for the first event: a stage may want to repair them.
        """
        silent = frame.data is not None and frame.data.strip()[:1] in KEEP_ALIVE
        if silent and not (self.given_up or frame.trailing):
            self._unsent.append(frame)
            return []
        return [*self.unsent(), frame]

    def unsent(self) -> list[Frame]:
        """The frames that wait, which are handed over with this."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def frames(self) -> list[Frame]:
        """All frames so far, which are handed over with this."""
        pending, self.pending = self.pending, []
        return pending
