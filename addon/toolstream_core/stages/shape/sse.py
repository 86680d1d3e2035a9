"""Valid framings of the same event stream."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, override

from toolstream_core.stages.stage import Stage
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import BOM
from toolstream_core.wire.write import SseWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context

_LINE_END = re.compile(rb"\r\n|\r|\n")
_SPACED = re.compile(rb"(\A|[\r\n])(data|event|id|retry): (?! )")


class _Framing(Stage):
    """Changes the bytes of each event, not its content."""

    each = True

    def __init__(self, context: Context) -> None:
        """As `Stage`; does nothing where the stream is framed otherwise (Gemini's JSON arrays)."""
        super().__init__(context)
        self._sse = isinstance(context.writer, SseWriter)
        self.begun = False
        """Whether a block has gone on: a byte order mark can stand before the first only."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        del resolved
        frame = event.frame
        if not self._sse or frame.oversize:
            self.begun = True
            return [frame]
        mark = BOM if not self.begun and frame.raw.startswith(BOM) else b""
        raw = mark + self._framed(frame.raw.removeprefix(mark), frame)
        self.begun = True
        if raw == frame.raw:
            return [frame]
        return [Frame(raw, frame.number, frame.data, frame.name, frame.last_id, trailing=frame.trailing)]

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        """The block's bytes, without the byte order mark of the first."""
        raise NotImplementedError


class Comments(_Framing):
    """A comment comes before each event."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        newline = _newline(raw)
        return raw if frame.data is None else b": keep-alive" + newline + newline + raw


class Crlf(_Framing):
    """Lines end with CR and LF."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        del frame
        return _LINE_END.sub(b"\r\n", raw)


class NoSpace(_Framing):
    """Sends no space after the colon of a field."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        del frame
        return _SPACED.sub(rb"\1\2:", raw)


class Bom(_Framing):
    """A byte order mark stands at the very start."""

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        return raw if self.begun or frame.raw.startswith(BOM) else BOM + raw


class EventIds(_Framing):
    """Each event has an id line."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._count = 0

    def _framed(self, raw: bytes, frame: Frame) -> bytes:
        if frame.data is None:
            return raw
        self._count += 1
        blank = len(raw) - len(raw.lstrip(b"\r\n"))
        return raw[:blank] + b"id: %d" % self._count + _newline(raw) + raw[blank:]


def _newline(raw: bytes) -> bytes:
    found = _LINE_END.search(raw)
    return found[0] if found else b"\n"


SHAPES: Final[dict[str, type[Stage]]] = {
    "comments": Comments,
    "crlf": Crlf,
    "no-space": NoSpace,
    "bom": Bom,
    "event-ids": EventIds,
}
"""By name."""
