"""A watched response that is captured, or shown live. Knows mitmproxy's flow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, override

from toolstream_core.proxy.fault_answers import noted as noted_in
from toolstream_core.proxy.kept import KeptWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mitmproxy import http

    from toolstream_core.model import Record
    from toolstream_core.proxy.live.recording import Recorder


class CapturedWatch(KeptWatch):
    """Hands what comes, and what goes where that may be something else, to a recording."""

    def __init__(self, recording: Recorder, *watched: Any) -> None:
        """`watched` are the arguments of `Watch`."""
        super().__init__(*watched)
        self._recording = recording
        self._broken: str | None = None
        self._made_here = False
        """Whether what is read here was made of an answer that the recording has already."""
        self._came_at = 0.0
        """When the network read came whose chunks are waiting."""
        self._take_client = recording.take_client() if self.rewrites else None
        """Takes what the client gets; nothing does where that is what came."""
        self._delivery_tells = False
        """Whether what goes is told as it goes, not as it is made."""

    @override
    def _rewritten(self, chunk: bytes) -> list[bytes]:
        if chunk and not self._made_here:
            self._recording.take_upstream(time.monotonic(), chunk, (len(chunk),))
        out = super()._rewritten(chunk)
        if not self._delivery_tells:
            for piece in out:
                self.added(piece)
        return out

    @property
    @override
    def _wants_chunks(self) -> bool:
        return True

    @override
    def read(self, chunk: bytes) -> None:
        self._came_at = time.monotonic()
        super().read(chunk)

    @override
    def _schedule(self, chunk: bytes) -> None:
        self._came_at = time.monotonic()
        super()._schedule(chunk)

    @override
    def _read(self, data: bytes, chunks: Sequence[bytes]) -> None:
        if not self._made_here:
            self._recording.take_upstream(self._came_at, data, list(map(len, chunks)))
        super()._read(data, chunks)

    @override
    def told_by_delivery(self) -> Callable[[bytes], None]:
        self._take_client, self._delivery_tells = self._recording.take_client(), True
        keep = super().told_by_delivery()

        def both(piece: bytes) -> None:
            self.added(piece)
            if keep is not None:
                keep(piece)

        return both

    @property
    @override
    def captured(self) -> int:
        return self._recording.size

    @override
    def added(self, piece: bytes) -> None:
        if self._take_client is not None:
            self._take_client(time.monotonic(), piece, (len(piece),))

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
        self._catch_up()
        super().close()
        record = self.record
        broken = self._broken if record is None else record.broken
        noted = record is not None and bool(record.notes)
        timed = not noted_in(self.flow) and any(pick.touched for pick in self._body.transit)
        self._recording.end(self.flow, record, broken, differs=noted or timed)
