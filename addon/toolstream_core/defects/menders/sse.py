"""Event streams of any protocol, judged and mended: keep-alives sent as data, and a last event without its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import COMMENT_AS_DATA, EMPTY_DATA, UNTERMINATED_EVENT
from toolstream_core.defects.stage import Mender
from toolstream_core.model import ABSENT
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.model import Event


class SseMender(Mender):
    """Judges and mends the blocks of one event stream. Stands before the protocol's own mender."""

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        del heard
        frame = event.frame
        out = frame
        if frame.trailing and frame.data is not None:
            out = self._terminated(frame)
        elif frame.data is not None and frame.data.strip()[:1] in {b"", b":"}:
            out = self._commented(frame, frame.data.strip())
        if out is not frame:
            self.audit(frame.number, [frame], [out])
        return (out,)

    def _commented(self, frame: Frame, data: bytes) -> Frame:
        if data:
            mend = self.tell(COMMENT_AS_DATA, frame.number, "a comment is sent as data")
        else:
            mend = self.tell(EMPTY_DATA, frame.number, "the event's data is empty")
        newline = b"\r\n" if frame.raw.endswith(b"\r\n") else b"\n"
        text = data.removeprefix(b":").strip() or frame.name.encode() or b"keep-alive"
        return Frame(b": " + text + newline + newline, frame.number, None) if mend else frame

    def _terminated(self, frame: Frame) -> Frame:
        """The last event with the blank line that ends it; what is half an event stays half."""
        whole = frame.data is not None and (frame.data.strip() == b"[DONE]" or frame.json is not ABSENT)
        if not whole or not self.on(UNTERMINATED_EVENT):
            return frame
        self.tell(UNTERMINATED_EVENT, frame.number, "the last event lacks its terminator")
        newline = b"\r\n" if b"\r\n" in frame.raw else b"\n"
        raw = frame.raw if frame.raw.endswith((b"\n", b"\r")) else frame.raw + newline
        return Frame(raw + newline, frame.number, frame.data, frame.name, frame.last_id)
