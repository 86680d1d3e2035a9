"""The chunks of a response, kept for the live view. Knows mitmproxy's flow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from mitmproxy import http

from toolstream_core.model import Json, Record
from toolstream_core.proxy.capture.recording import Recording, Take
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.flow import facts_of, secrets_of

type Recorder = LiveRecording | Recording


class LiveRecording:
    """The chunks of one response while they arrive. They are only appended, and another thread may read them.

    An internal error ends the recording, and is reported once; traffic continues.
    """

    def __init__(
        self, flow: http.HTTPFlow, request: Json, keep: Callable[[int], bool], failed: Callable[[Exception], None]
    ) -> None:
        """`keep` returns whether more bytes are kept, and wakes the viewers; `failed` reports an internal error."""
        self.exchange = facts_of(flow, request)
        self.secrets = secrets_of(flow.request)
        self.began = flow.request.timestamp_start
        self.chunks: list[tuple[int, bytes]] = []
        """Milliseconds since the first chunk, and bytes."""
        self.sent: list[bytes] | None = None
        """The chunks that the client got, if they may differ."""
        self.broken: str | None = None
        self.over = False
        self.size = 0
        self._keep, self._failed = keep, failed
        self._first: float | None = None
        self._lost = False

    def take_upstream(self, when: float, data: bytes) -> None:
        """As `Recording` does."""
        self._first = when if self._first is None else self._first
        ms = int((when - self._first) * 1000)
        if data and self._keeps(len(data)):
            self.chunks.append((ms, data))

    def take_client(self) -> Take:
        """As `Recording` does."""
        self.sent = sent = []

        def take(when: float, data: bytes) -> None:
            del when
            if self._keeps(len(data)):
                sent.append(data)

        return take

    def response_started(self, response: http.Response, request: http.Request) -> None:
        """As `Recording` does."""
        del request
        headers = response.headers
        kind, coding = headers.get("content-type", ""), headers.get("content-encoding", "")
        self.exchange = replace(self.exchange, content_type=kind, content_encoding=coding)
        self.take_upstream(time.monotonic(), response.raw_content or b"")

    def end(self, flow: http.HTTPFlow, record: Record | None, broken: str | None, *, differs: bool) -> None:
        """As `Recording` does."""
        del flow, differs
        self.broken = broken if record is None else record.broken
        self.over = True
        self._keeps(0)

    def saved(self) -> Exchange:
        """The response so far."""
        chunks = [*self.chunks]
        return Exchange(
            facts=self.exchange,
            chunks=[data for _, data in chunks],
            times=[ms for ms, _ in chunks],
            broken=self.broken,
            secrets=self.secrets,
            sent=None if self.sent is None else b"".join(self.sent),
            began=self.began,
        )

    def _keeps(self, size: int) -> bool:
        if self._lost:
            return False
        try:
            kept = self._keep(size)
        except Exception as error:  # noqa: BLE001 - after any error, the traffic continues
            self._lost = True
            self._failed(error)
            return False
        if kept:
            self.size += size
        else:
            self._lost = True  # with a gap, the rest would be misread
        return kept
