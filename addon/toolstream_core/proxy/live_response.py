"""One response in flight through the proxy. Knows mitmproxy's flow."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from mitmproxy import http

from toolstream_core.defects.defect import Defect
from toolstream_core.defects.finish import UNTERMINATED_BODY
from toolstream_core.defects.framing import UNREADABLE_BODY
from toolstream_core.delivery.sent_bytes import SentBytes
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.faults.spec import Picker
from toolstream_core.model import Record, StreamFacts
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.proxy.backlog import Backlog
from toolstream_core.proxy.capture.recording import Take
from toolstream_core.proxy.flow_facts import noted_faults
from toolstream_core.proxy.live.recording import Recorder
from toolstream_core.redact import redacted
from toolstream_core.saved.flow import secrets_of
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.stages.response_ids import ResponseIds

_STALLED: Final = 5.0
"""Seconds without data from which on a response that breaks may have stalled."""


class LiveResponse:
    """One response in flight: its bytes are forwarded, its events are reported to `sinks`, and recorded if wanted.

    The sinks are made when it is known to be an LLM's.
    """

    cut_off: Defect | None = None
    """The defect for which the ended response is truncated for the client; `None` if it is complete."""
    delivering = False
    """Whether it has a delivery: the client may get another end, or a changed stream."""
    head: dict[str, Any] | None = None
    """Identifies it in JSON Lines, if it is an LLM's; `stream` is its number in the run of the proxy, from 1."""
    record: Record | None = None
    """The record of the ended response."""
    sent: SentBytes | None = None
    """The bytes that the client gets, if they are kept."""
    over = False
    """Whether the end of the response was seen."""
    _failed = False
    _end_due = False
    _broken: str | None = None
    """The error with which the response ended, if any."""
    _forgiven: str | None = None
    """The error of upstream's connection after the complete response, if the client does not see it."""
    _recorders: Sequence[Recorder] = ()
    _record_sent: Sequence[Take] = ()
    """Record the bytes that the client gets, if they may differ from the received ones."""
    _is_made_here = False
    """Whether the read bytes are made from a response that the recorders have already."""
    _is_delivered = False
    """Whether a delivery reports the bytes that the client gets, when they are sent."""

    def __init__(
        self,
        flow: http.HTTPFlow,
        exchange: StreamFacts,
        sinks: Callable[[LiveResponse, WireProtocol], Sequence[Sink]],
        failed: Callable[[http.HTTPFlow, Exception], None],
        settings: Settings = NOTHING,
        ids: ResponseIds | None = None,
        number: int = 0,
        transit: Sequence[Picker] = (),
    ) -> None:
        """`failed` gets an internal error, at most once.

        `ids` makes the ids that repairs need. `transit` has the timing faults that act on the response after this.
        """
        assert flow.response is not None
        self.flow = flow
        self._on_failure = failed
        self._now = self._started = time.monotonic() - (time.time() - flow.request.timestamp_start)
        """The arrival of the bytes that are read now, and the beginning of the request, on the clock of recordings."""
        self.backlog = Backlog()
        """The forwarded chunks of all responses that wait to be read."""
        self._last: list[bytes] = []
        self.exchange = exchange
        self.rewrites = settings.rewrites
        """Whether the client may get other bytes than the received ones."""
        self.repairs = settings.repairs
        self.ids = ids or ResponseIds()
        """Makes the ids of this response."""
        self._session = Session(
            self.exchange,
            settings,
            lambda protocol: sinks(self, protocol),
            ids=self.ids,
            number=number,
            transit=transit,
        )
        self._feed_fast = self._session.feed_fast

    def record_with(self, recorders: Sequence[Recorder]) -> None:
        """Record the received bytes, and the sent ones if they may differ."""
        self._recorders = recorders
        if self.rewrites:
            self._record_sent = [one.take_client() for one in recorders]

    def keep_sent(self) -> None:
        """Keep the bytes that the client gets."""
        exchange = replace(self.exchange, content_encoding="") if self.rewrites else self.exchange
        self.sent = SentBytes(exchange, reads_long=self.rewrites)

    @property
    def foreign(self) -> bool:
        """Whether the response is known to be no LLM's."""
        return self.reader is None and not self._session.reading

    @property
    def reader(self) -> RecordBuilder | None:
        """Builds the record, and receives later findings and changes; `None` if it is not an LLM response."""
        return self._session.reader

    @property
    def differs(self) -> bool:
        """Whether the client may have got other calls than those of the record."""
        changed = self.record is None or self.record.changed > 0 or self._failed
        return self._is_delivered or (self.rewrites and changed)

    @property
    def recorded(self) -> int | None:
        """The bytes of upstream that were recorded so far; `None` without a recorder."""
        return self._recorders[0].size if self._recorders else None

    def stream(self, chunk: bytes) -> bytes | list[bytes]:
        """Called by mitmproxy with each chunk: the same object is sent at once. `b""` is the end.

        The chunks of all responses are read a little later, one after the other: no client waits for it, and it costs
        the proxy 50 % of reading each between two sends.
        """
        if self.rewrites:
            return self._rewritten(chunk)
        if not chunk:
            self.finish()
            return []
        if self._recorders or (not self._failed and self._session.reading):
            try:
                self.backlog.add(self, chunk)
            except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
                self.failed(error)
        return chunk

    def read(self, chunk: bytes) -> None:
        """Read at once a single chunk of a stream that is not rewritten."""
        self.read_all(chunk, [chunk], time.monotonic())

    def read_all(self, data: bytes, chunks: Sequence[bytes], came_at: float) -> None:
        """Read chunks that arrived together; `data` is all of them, joined."""
        self._now = came_at
        for chunk in chunks if self._recorders else ():
            self._arrived(came_at, chunk)
        if self.sent is not None and not self._is_delivered:
            self._keep(data)
        if not self._failed and (len(chunks) > 1 or self._feed_fast(data) is None):
            self._feed(data)

    def finish(self, *, broken: str | None = None) -> None:
        """End the response; `broken`: the error, if it did not end by itself."""
        if self.over:
            return
        self.over, self._broken = True, broken
        try:
            self.backlog.finish()
            broken = self._broken = self._with_silence(broken)
            self._last = self._session.end(broken=broken)
            if self._session.error is not None:
                self.failed(self._session.error)
            record = self._session.record(broken=broken or self._forgiven, report=False)
            if record is not None:
                self.ids.note_given(call.id for call in record.calls)
                self._note_end(record, broken)
                self._end_due = True
                if broken is not None or not self.delivering:
                    self.report_end()
            self.record = record
        except Exception as error:  # noqa: BLE001 - reports must not break the traffic
            self.failed(error)

    def _with_silence(self, broken: str | None) -> str | None:
        """Why the response broke, with the time without data before: the provider may have stalled."""
        silent = time.monotonic() - self._now
        if broken is None or silent < _STALLED:
            return broken
        return f"{broken.removesuffix('.')} after {silent:.0f} s without data"

    def release(self, error: Exception) -> list[bytes]:
        """After an internal error that was reported elsewhere: stop reading, and forward held bytes."""
        self._failed = True
        self._session.fail(error)
        self.finish(broken=str(error))
        return self._last if self.rewrites else []

    def report_end(self) -> None:
        """Report the end of the response, at most once."""
        if self._end_due and self.reader is not None:
            self._end_due = False
            try:
                self.reader.report_end()
            except Exception as error:  # noqa: BLE001 - reports must not break the traffic
                self.failed(error)

    def close(self) -> None:
        """End the flow for the client."""
        self.backlog.finish()
        self.report_end()
        # The record ignores a client that leaves after the finish reason. A capture must not blame the provider for it.
        broken = self.record.broken if self.record is not None and self.record.broken is not None else self._broken
        noted = self.record is not None and bool(self.record.notes)
        timed = not noted_faults(self.flow) and any(pick.touched for pick in self._session.transit)
        for recorder in self._recorders:
            recorder.end(self.flow, self.record, broken, differs=noted or timed)

    def delivered(self) -> Callable[[bytes], None] | None:
        """The function to call with all bytes that are sent to the client; `None` if they are not needed."""
        self._is_delivered = True
        self._record_sent = [one.take_client() for one in self._recorders]
        if self.sent is not None:
            self.sent.reads_long = True
        return self._forwarded if self._recorders or self.sent is not None else None

    def added(self, chunk: bytes) -> None:
        """Record further bytes for the client after the response; they contain no calls."""
        for take in self._record_sent:
            take(time.monotonic(), chunk)

    def fetched(self, response: http.Response, request: http.Request) -> None:
        """Take the response that this one is made from, and its request."""
        self._is_made_here = True
        for recorder in self._recorders:
            recorder.response_started(response, request)

    def forgives(self, message: str) -> bool:
        """Whether the client need not see that the connection broke: the response is complete, and may be repaired."""
        reader = self.reader
        if UNTERMINATED_BODY.code not in self.repairs or self.over or reader is None or not reader.is_complete:
            return False
        self._forgiven = message
        return True

    def elapsed(self) -> int:
        """Milliseconds from the beginning of the request to the arrival of the bytes that are read now."""
        return int((self._now - self._started) * 1000)

    def hide(self, text: str) -> str:
        """`text` without secrets, those of this flow's request included."""
        return redacted(text, self.secrets)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The secrets in this flow's request."""
        return secrets_of(self.flow.request)

    def failed(self, error: Exception) -> None:
        """Report an internal error, once, and stop reading."""
        if not self._failed:
            self._failed = True
            self._on_failure(self.flow, error)

    def _note_end(self, record: Record, broken: str | None) -> None:
        """Record that the client's response ends in another way than upstream's."""
        assert self.reader is not None
        self.cut_off = self._truncated(record)
        if self._forgiven is not None:
            self.reader.add_note(UNTERMINATED_BODY.name, "the response was terminated normally for the client")
        elif self.cut_off is not None and self.delivering and broken is None:
            self.reader.add_note(self.cut_off.name, "the connection was closed so that the client sees an error")

    def _truncated(self, record: Record) -> Defect | None:
        """The defect for which the response is truncated for the client, which cannot see a broken coding itself."""
        found = {finding.code for finding in record.findings}
        if UNREADABLE_BODY.code in found and self.rewrites and self._session.error is None:
            return UNREADABLE_BODY
        return self._session.cut_off(record)

    def _rewritten(self, chunk: bytes) -> list[bytes]:
        """The chunks that the client gets for `chunk`."""
        self._now = time.monotonic()
        if chunk and self._recorders:
            self._arrived(self._now, chunk)
        sent = self._feed_fast(chunk)
        if sent is not None:
            chunks = [sent] if sent else []
        elif chunk:
            chunks = self._feed(chunk)
        else:
            self.finish()
            chunks = self._last
        if not self._is_delivered:
            for part in chunks:
                self._forwarded(part)
        return chunks

    def _feed(self, data: bytes) -> list[bytes]:
        """The chunks that are forwarded for bytes that must be split into frames."""
        try:
            out = self._session.feed_frames(data)
        except Exception as error:  # noqa: BLE001 - mitmproxy would drop the connection
            self.failed(error)
            return [data]
        if self._session.error is not None:
            self.failed(self._session.error)
        return out

    def _arrived(self, when: float, chunk: bytes) -> None:
        """Record a chunk that upstream sent."""
        if not self._is_made_here:
            for recorder in self._recorders:
                recorder.take_upstream(when, chunk)

    def _forwarded(self, chunk: bytes) -> None:
        """Record and keep bytes that the client gets."""
        self.added(chunk)
        if self.sent is not None:
            self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        try:
            if self.sent is not None:
                self.sent.take(chunk)
        except Exception as error:  # noqa: BLE001 - there is no verdict then, and the client gets its bytes
            self.sent = None
            self.failed(error)


type Through = Callable[[bytes], bytes | Iterable[bytes]]


def chunks(passed: bytes | list[bytes]) -> list[bytes]:
    """The forwarded chunks, as a list."""
    return [passed] if isinstance(passed, bytes) else passed


def through(response: LiveResponse, before: bool | Through) -> Through:  # noqa: FBT001 - mitmproxy's own form of it
    """The stream callable of a flow; that of another addon is called after toolstream's."""
    if isinstance(before, bool):
        return response.stream

    def both(chunk: bytes) -> bytes | Iterable[bytes]:
        if not response.rewrites:
            response.stream(chunk)
            return before(chunk)
        out = [after for part in chunks(response.stream(chunk)) for after in _through_too(before, part)]
        return out if chunk else [*out, *_through_too(before, b"")]

    return both


def _through_too(before: Through, chunk: bytes) -> list[bytes]:
    """The result of another addon's callable for a chunk, without empty chunks, which would end the body."""
    made = before(chunk)
    return [part for part in ([made] if isinstance(made, bytes) else made) if part]
