"""A watched answer that is captured too. Knows mitmproxy's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

from toolstream_core.proxy.callables import pieces
from toolstream_core.proxy.kept import KeptWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http

    from toolstream_core.model import Record
    from toolstream_core.proxy.capture.recording import Recording


class CapturedWatch(KeptWatch):
    """Hands what comes, and what goes where that may be something else, to a recording."""

    def __init__(self, recording: Recording, *watched: Any) -> None:
        """`watched` are the arguments of `Watch`."""
        super().__init__(*watched)
        self._recording = recording
        self._broken: str | None = None
        self._made_here = False
        """Whether what is read here was made of an answer that the recording has already."""
        self._delivery_tells = not self.rewrites
        """Whether what the client gets is told elsewhere, or need not be."""

    @override
    def stream(self, chunk: bytes) -> bytes | list[bytes]:
        if chunk and not self._made_here:
            self._recording.take_upstream(chunk)
        out = super().stream(chunk)
        if not self._delivery_tells:
            for piece in pieces(out):
                self._recording.take_client(piece)
        return out

    @override
    def told_by_delivery(self) -> Callable[[bytes], None]:
        self._delivery_tells = True
        keep, capture = super().told_by_delivery(), self._recording.take_client
        if keep is None:
            return capture

        def both(piece: bytes) -> None:
            keep(piece)
            capture(piece)

        return both

    @override
    def added(self, piece: bytes) -> None:
        self._recording.take_client(piece)

    @override
    def fetched(self, response: http.Response, request: http.Request) -> None:
        self._made_here = True
        self._recording.answered(response, request)

    @override
    def finish(self, *, broken: str | None = None) -> Record | None:
        if not self.over:
            self._broken = broken
            super().finish(broken=broken)
        return self.record

    @override
    def close(self) -> None:
        super().close()
        record = self.record
        broken = self._broken if record is None else record.broken
        noted = record is not None and bool(record.notes)
        timed = any(pick.touched for pick in self._body.transit)
        self._recording.end(self.flow, record, broken, differs=noted or timed)
