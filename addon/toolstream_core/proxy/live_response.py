"""One flow's answer on its way through: its bytes pass, what they say is told. Knows mitmproxy's flow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, override

from toolstream_core.defects.finish import UNTERMINATED_BODY
from toolstream_core.defects.framing import UNREADABLE_BODY
from toolstream_core.delivery.sent_bytes import SentBytes
from toolstream_core.engine.session import Session
from toolstream_core.proxy.flow_facts import facts_of, noted_faults, secrets_of
from toolstream_core.redact import redacted
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.stages.answer_ids import AnswerIds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mitmproxy import http

    from toolstream_core.defects.row import Row
    from toolstream_core.engine.record_builder import RecordBuilder
    from toolstream_core.engine.sink import Sink
    from toolstream_core.faults.spec import Picker
    from toolstream_core.model import Json, Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.proxy.flow_facts import Heading
    from toolstream_core.proxy.live.recording import Recorder


class Watch:
    """Reads one answer and tells `sinks`, which are made when it is known to be an LLM's."""

    def __init__(
        self,
        flow: http.HTTPFlow,
        request: Json,
        sinks: Callable[[Watch, WireProtocol], Sequence[Sink]],
        failed: Callable[[Watch, Exception], None],
        settings: Settings = NOTHING,
        ids: AnswerIds | None = None,
        number: int = 0,
        transit: Sequence[Picker] = (),
    ) -> None:
        """`request` is the request's JSON body or `ABSENT`; `failed` is told of a bug of ours, at most once.

        `ids` makes the ids that repairs need. `transit` has the faults of time that act on the answer behind this.
        """
        assert flow.response is not None
        self.flow = flow
        self._on_failure = failed
        self._over = self._given_up = self._untold = False
        self._now = self._started = flow.request.timestamp_start
        self._waiting: list[bytes] = []
        self._collect: Callable[[bytes], None] | None = None
        self._last: list[bytes] = []
        self.exchange = facts_of(flow, request)
        self.rewrites = settings.rewrites
        """Whether the bytes may leave otherwise than they came."""
        self.ids = ids or AnswerIds()
        """Makes the ids of this answer."""
        self._body = Session(
            self.exchange,
            settings,
            lambda dialect: sinks(self, dialect),
            ids=self.ids,
            number=number,
            transit=transit,
        )
        self._pipeline = self._body.pipeline
        self._feed_fast = self._pipeline.feed_fast
        self._secrets: tuple[str, ...] | None = None
        self.repairs = settings.repairs
        self._forgiven: str | None = None
        self.half: Row | None = None
        """Why the answer, which is over, is only half, and its end is to be no clean one; `None` where it is whole."""
        self.delivering = False
        """Whether it has a delivery: the client may get another end, and more may be done to the stream."""
        self.heading: Heading | None = None
        """What names it in reports, where it is an LLM's."""

    @property
    def foreign(self) -> bool:
        """Whether the response is known to be no LLM's."""
        return self.reader is None and not self._pipeline.reading

    @property
    def over(self) -> bool:
        """Whether the answer's end was seen."""
        return self._over

    def stream(self, chunk: bytes) -> bytes | list[bytes]:
        """What mitmproxy calls for each chunk: the same object goes on at once. `b""` is the end.

        Chunks are read right after, those of one network read together: it costs the proxy half as much as
        reading each between two sends, and no client waits for it.
        """
        if self.rewrites:
            return self._rewritten(chunk)
        collect = self._collect
        if collect is not None and chunk:
            collect(chunk)
            return chunk
        if not chunk:
            self.finish()
            return []
        if self._wants_chunks:
            try:
                self._schedule(chunk)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                self.failed(error)
        return chunk

    def read(self, chunk: bytes) -> None:
        """Read at once a chunk that came alone, of a stream that is not rewritten."""
        self._now = time.time()
        self._read(chunk, [chunk])

    def finish(self, *, broken: str | None = None) -> Record | None:
        """The answer is over; `broken` says how, where it was not by its own end."""
        if self._over:
            return None
        self._over = True
        try:
            self._catch_up()
            self._last = self._body.end(broken=broken)
            if self._pipeline.error is not None:
                self.failed(self._pipeline.error)
            record = self._body.record(broken=broken or self._forgiven, told=False)
            if record is not None:
                self.ids.note_given(call.id for call in record.calls)
                self._note_end(record, broken)
                self._untold = True
                if broken is not None or not self.delivering:
                    self.tell_end()
        except Exception as error:  # noqa: BLE001 - telling must not break what is told
            self.failed(error)
            return None
        return record

    def release(self, error: Exception) -> list[bytes]:
        """After an internal error elsewhere, which is reported there: read no more; what is held goes unchanged."""
        self._given_up = True
        self._pipeline.fail(error)
        self.finish(broken=str(error))
        return self._last if self.rewrites else []

    def tell_end(self) -> None:
        """Tell that the answer is over, at most once: nothing more is done to it."""
        if self._untold and self.reader is not None:
            self._untold = False
            try:
                self.reader.tell_end()
            except Exception as error:  # noqa: BLE001 - telling must not break what is told
                self.failed(error)

    def close(self) -> None:
        """The flow is over for the client too."""
        self.tell_end()

    def told_by_delivery(self) -> Callable[[bytes], None] | None:
        """What a delivery, which decides on it, is to call with each piece that the client gets; nobody, if `None`."""
        return None

    def fetched(self, response: http.Response, request: http.Request) -> None:
        """Take the answer that this one is made of, and what was asked for it."""

    @property
    def reader(self) -> RecordBuilder | None:
        """What gathers the record, and is told of what is done behind this; `None` where it is no LLM's answer."""
        return self._body.reader

    def forgives(self, message: str) -> bool:
        """Whether the connection's break is no matter to the client: everything was said, and it may be mended."""
        reader = self.reader
        if UNTERMINATED_BODY.code not in self.repairs or self._over or reader is None or not reader.whole:
            return False
        self._forgiven = message
        return True

    def _note_end(self, record: Record, broken: str | None) -> None:
        """Note that the client's answer ends in another way than upstream's."""
        assert self.reader is not None
        self.half = self._half(record)
        if self._forgiven is not None:
            self.reader.noted(UNTERMINATED_BODY.name, "the response was terminated normally for the client")
        elif self.half is not None and self.delivering and broken is None:
            self.reader.noted(self.half.name, "the connection was closed so that the client sees an error")

    def _half(self, record: Record) -> Row | None:
        """Why the answer is only half for the client; of a broken coding, which it cannot see, that alone is told."""
        found = {finding.code for finding in record.findings}
        if UNREADABLE_BODY.code in found and self.rewrites and self._pipeline.error is None:
            return UNREADABLE_BODY
        return self._body.cut_off(record)

    def elapsed(self) -> int:
        """Milliseconds from the request's begin to the arrival of what is read now."""
        return int((self._now - self._started) * 1000)

    def hide(self, text: str) -> str:
        """`text` without secrets, those of this flow's request included."""
        if self._secrets is None:
            self._secrets = secrets_of(self.flow.request)
        return redacted(text, self._secrets)

    def _rewritten(self, chunk: bytes) -> list[bytes]:
        """What goes on for `chunk`, at once: the client waits for it."""
        self._now = time.time()
        gone = self._feed_fast(chunk)
        if gone is not None:
            return [gone] if gone else []
        if not chunk:
            self.finish()
            return self._last
        return self._feed(chunk)

    def _feed(self, data: bytes) -> list[bytes]:
        """What goes on for bytes that have to be looked at."""
        try:
            out = self._pipeline.feed(data)
        except Exception as error:  # noqa: BLE001 - mitmproxy would drop the connection
            self.failed(error)
            return [data]
        if self._pipeline.error is not None:
            self.failed(self._pipeline.error)
        return out

    @property
    def _wants_chunks(self) -> bool:
        """Whether somebody takes the chunks that come."""
        return not self._given_up and self._pipeline.reading

    def _schedule(self, chunk: bytes) -> None:
        """Begin to collect the chunks of one network read; it is over when mitmproxy's loop has its next turn."""
        self._now = time.time()
        self._waiting.append(chunk)
        try:
            asyncio.get_running_loop().call_soon(self._catch_up)
            self._collect = self._waiting.append
        except RuntimeError:
            self._catch_up()

    def _catch_up(self) -> None:
        """Read what is waiting."""
        self._collect = None
        chunks, self._waiting = self._waiting, []
        if chunks:
            self._read(chunks[0] if len(chunks) == 1 else b"".join(chunks), chunks)

    def _read(self, data: bytes, chunks: Sequence[bytes]) -> None:
        """Read the chunks of one network read; `data` is all of them, joined."""
        if not self._given_up and (len(chunks) > 1 or self._feed_fast(data) is None):
            self._feed(data)

    def failed(self, error: Exception) -> None:
        """Tell a bug of ours, once, and read no more."""
        if not self._given_up:
            self._given_up = True
            self._on_failure(self, error)


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
        timed = not noted_faults(self.flow) and any(pick.touched for pick in self._body.transit)
        self._recording.end(self.flow, record, broken, differs=noted or timed)


type Through = Callable[[bytes], bytes | Iterable[bytes]]


def pieces(passed: bytes | list[bytes]) -> list[bytes]:
    """What goes on, as a list."""
    return [passed] if isinstance(passed, bytes) else passed


def through(watch: Watch, before: bool | Through) -> Through:  # noqa: FBT001 - mitmproxy's own form of it
    """The stream callable of a flow; one that another addon has set still has its say, after us."""
    if isinstance(before, bool):
        return watch.stream

    def both(chunk: bytes) -> bytes | Iterable[bytes]:
        if not watch.rewrites:
            watch.stream(chunk)
            return before(chunk)
        out = [after for piece in pieces(watch.stream(chunk)) for after in _through_too(before, piece)]
        return out if chunk else [*out, *_through_too(before, b"")]

    return both


def _through_too(before: Through, chunk: bytes) -> list[bytes]:
    """What another addon's callable makes of a chunk, without what would end the body."""
    made = before(chunk)
    return [piece for piece in ([made] if isinstance(made, bytes) else made) if piece]
