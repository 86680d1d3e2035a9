"""Lawful ways to frame the same event stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.stage import Context, Stage
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import BOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.model import Event


class _Framing(Stage):
    """Changes the bytes of each block, and nothing that it says."""

    each = True

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        del heard
        frame = event.frame
        if frame.trailing or frame.oversize:
            return [frame]
        raw = self._framed(frame.raw, frame)
        if raw == frame.raw:
            return [frame]
        return [Frame(raw, frame.number, frame.data, frame.name, frame.last_id)]

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        raise NotImplementedError


class Comments(_Framing):
    """A comment comes before each event."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        return raw if frame.data is None else b": keep-alive\n\n" + raw


class Crlf(_Framing):
    """Lines end with CR and LF."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        del frame
        return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


class NoSpace(_Framing):
    """No space stands behind the colon of a field."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        del frame
        return b"\n".join(
            line.replace(b": ", b":", 1) if line.startswith((b"data: ", b"event: ")) else line
            for line in raw.split(b"\n")
        )


class Bom(_Framing):
    """A byte order mark stands at the very start."""

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._begun = False

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        del frame
        begun, self._begun = self._begun, True
        return raw if begun or raw.startswith(BOM) else BOM + raw


class EventIds(_Framing):
    """Each event has an id line."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        return raw if frame.data is None else b"id: %d\n" % frame.number + raw


SHAPES: Final[dict[str, type[Stage]]] = {
    "comments": Comments,
    "crlf": Crlf,
    "no-space": NoSpace,
    "bom": Bom,
    "event-ids": EventIds,
}
