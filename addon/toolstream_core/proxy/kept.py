"""A watched answer of which is kept what the client gets. Knows mitmproxy's flow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, override

from toolstream_core.delivery.sent_bytes import SentBytes
from toolstream_core.proxy.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.model import Record


class KeptWatch(Watch):
    """Keeps the bytes as the client gets them, and the record, for the verdict on the client."""

    def __init__(self, *watched: Any) -> None:
        """`watched` are the arguments of `Watch`."""
        super().__init__(*watched)
        self.record: Record | None = None
        """What the answer was, once it is over."""
        self.sent: SentBytes | None = None
        """What the client gets, where that is kept."""
        self._delivered = False
        """Whether a delivery says what the client gets."""

    def added(self, piece: bytes) -> None:
        """What else the client gets, behind the answer, was sent; nothing of the answer's calls."""

    @property
    def captured(self) -> int | None:
        """The bytes of upstream's that were captured so far; `None` where the answer is not captured."""
        return None

    def keep_sent(self) -> None:
        """Keep what the client gets, from the answer's begin on."""
        exchange = replace(self.exchange, content_encoding="") if self.rewrites else self.exchange
        self.sent = SentBytes(exchange, reads_long=self.rewrites)

    @property
    def differs(self) -> bool:
        """Whether the client may have got other calls than those of the record."""
        changed = self.record is None or self.record.changed > 0 or self._given_up
        return self._delivered or (self.rewrites and changed)

    @override
    def finish(self, *, broken: str | None = None) -> Record | None:
        record = super().finish(broken=broken)
        self.record = self.record or record
        return record

    @override
    def told_by_delivery(self) -> Callable[[bytes], None] | None:
        self._delivered = True
        if self.sent is None:
            return None
        self.sent.reads_long = True
        return self._keep

    def _keep(self, piece: bytes) -> None:
        try:
            if self.sent is not None:
                self.sent.take(piece)
        except Exception as error:  # noqa: BLE001 - there is no verdict then, and the client gets its bytes
            self.sent = None
            self.failed(error)

    @override
    def _rewritten(self, chunk: bytes) -> list[bytes]:
        pieces = super()._rewritten(chunk)
        if self.sent is not None and not self._delivered:
            for piece in pieces:
                self._keep(piece)
        return pieces

    @override
    def _read(self, data: bytes, chunks: Sequence[bytes]) -> None:
        if self.sent is not None and not self._delivered:
            self._keep(data)
        super()._read(data, chunks)
