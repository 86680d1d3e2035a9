"""Bytes in, bytes out, fail open. Is handed its tables and imports none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.engine.chain_factory import never, never_leaks
from toolstream_core.engine.decoder import BodyDecoder
from toolstream_core.engine.fast_path import FastPath, fast_path_through_faults
from toolstream_core.engine.template import TemplateReader
from toolstream_core.model import Event
from toolstream_core.wire.sse import SseFramer, reread
from toolstream_core.wire.whole import WholeFramer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.engine.chain import Breaking, Chain
    from toolstream_core.engine.chain_factory import ChainFactory
    from toolstream_core.engine.observer import Observer
    from toolstream_core.model import EventContent, Exchange, Json
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Frame, Framer

# The bytes that leave `feed` are the same objects that came. Whatever goes wrong in reading ends it; the bytes go on.

MANY = 2048
"""Bytes in one go below which looking at the frames one by one is as cheap."""
MAX_UNRECOGNISED = 8
"""Frames with data that are looked at before a stream counts as no LLM stream."""


class Pipeline(BodyDecoder):
    """One answer's bytes on their way through."""

    clean = True
    """Whether the body ends by its own end; said before the end is fed."""
    _error: Exception | None = None
    _read_healthy: Callable[[Frame], EventContent]
    """Reads what faults are going to break."""
    _over = False
    _holding = False
    _faults: Breaking | None = None
    _judge: Chain | None = None
    _stages: Chain | None = None
    _fast_path: FastPath | None = None
    _broken: FastPath | None = None

    def __init__(
        self, dialects: Sequence[WireProtocol], exchange: Exchange, begin: ChainFactory, *, fast: bool = True
    ) -> None:
        """`begin` is called at most once; `exchange` says what the headers said; `fast`: as for `Session`."""
        super().__init__(exchange)
        self._begin = begin
        self._fast = fast
        claimed = [dialect for dialect in dialects if dialect.claims(exchange.path)]
        self._claimed = claimed[0] if claimed else None
        self._candidates = [*claimed, *(dialect for dialect in dialects if dialect not in claimed)]
        self._dialect: WireProtocol | None = None
        self._read: Callable[[Frame], EventContent] | None = None
        self._observers: Sequence[Observer] = ()
        self._pending: list[Frame] = []
        self._direct: Callable[[bytes], list[Frame]] | None = None
        self._bulk: SseFramer | None = None
        self._quiet: Callable[[bytes, int], bool] = never
        self._may_leak: Callable[[bytes], bool] = never_leaks

    @property
    def error(self) -> Exception | None:
        """The bug of ours that ended the reading or the rewriting, where there was one."""
        if self._error is None:
            for chain in (self._faults, self._judge, self._stages):
                if chain is not None and chain.error is not None:
                    return chain.error
        return self._error

    def feed(self, chunk: bytes) -> list[bytes]:
        """What goes on for `chunk`; `b""` is the end. Never holds an empty `bytes`: mitmproxy ends the body on it."""
        if self.reading:
            try:
                if chunk and self._direct is not None:
                    self._hurry(self._direct, chunk)
                else:
                    self._look(chunk)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                self._stop(f"{type(error).__name__} while reading")
                self._error = error
        return [chunk] if chunk else []

    def feed_fast(self, chunk: bytes) -> bytes | None:
        """What goes on for a chunk, perhaps nothing, where that is seen at once; `None` where it has to be fed."""
        del chunk
        return None

    def _stop(self, failure: str | None = None) -> None:
        super()._stop(failure)
        self._direct = None
        self._pending = []

    def _feed(self, framer: Framer, data: bytes) -> None:
        if self._read is None and len(data) > MANY:
            self._pass(framer.feed(data[:MANY]))
            data = data[MANY:]
        if self._direct is not None:
            self._hurry(self._direct, data)
        elif self.reading:
            self._pass(framer.feed(data))

    def _finish(self) -> None:
        for fast_path in (self._broken, self._fast_path):
            if fast_path is not None:
                fast_path.hand_on()
        if self._framer is None and self._head and self._choose(b"", ended=True):
            self._take(b"")
        if self._framer is not None:
            self._pass(self._framer.feed(b""))
        if self._dialect is None and self._claimed is not None and self._pending:
            self._start(self._claimed)
        self._end()
        self._stop()

    def _end(self) -> None:
        """Nothing more comes: let go what is held."""
        if self._read is None:
            return
        for chain in (self._faults, self._judge, self._stages):
            if chain is None or not self.reading:
                continue
            last = chain.end(clean=self.clean)
            if chain is self._faults:
                for frame in last:
                    self._tell(Event(frame, self._read))
            elif chain is self._stages:
                self._send(last)

    def _pass(self, frames: list[Frame]) -> None:
        read = self._read
        if read is None:
            self._pass_unrecognised(frames)
            return
        for frame in frames:
            if frame.oversize and self._is_damaged(frame):
                return
            raw, quiet, faults = frame.raw, self._quiet, self._faults
            if faults is None and self._fast_path is not None and (gone := self._fast_path.takes(frame)) is not None:
                self._send([gone])
            elif (
                quiet(raw, 1)
                and frame.data is not None
                and not (frame.trailing or self._may_leak(raw) or self._holding)
            ):
                for observer in self._observers:
                    observer.quiet(frame.number, 1, len(frame.raw))
                if self._fast_path is not None:
                    self._fast_path.learn_quiet(raw)
                self._send([frame])
            elif faults is None:
                self._tell(Event(frame, read))
            else:
                self._break(faults, frame, read)

    def _break(self, faults: Breaking, frame: Frame, read: Callable[[Frame], EventContent]) -> None:
        """Let everybody see what a frame was made of by faults."""
        gone = self._broken.takes(frame) if self._broken is not None else None
        event = Event(frame, self._read_healthy)
        broken = faults.take(event) if gone is None else [gone]
        for one in broken:
            sent = self._fast_path.takes(one) if self._fast_path is not None else None
            if sent is None:
                self._tell(Event(one if one is not gone else reread(one), read))
            else:
                self._send([sent])
        if gone is None and self._broken is not None:
            self._broken.learn(event, broken)

    def _tell(self, event: Event) -> None:
        """Let everybody see an event, and let go what becomes of it."""
        for observer in self._observers:
            observer(event)
        if self._judge is not None:
            self._judge.take(event)
        if event.content.end:
            self._over, self._quiet = True, never
        out = [event.frame] if self._stages is None else self._stages.take(event)
        self._send(out)
        self._told(event, out)

    def _told(self, event: Event, out: Sequence[Frame]) -> None:
        self._holding = any(chain is not None and chain.holding for chain in (self._stages, self._judge))
        if self._fast_path is not None:
            self._fast_path.learn(event, out)

    def _send(self, frames: Iterable[Frame]) -> None:
        """What goes on to the client: here it is gone already."""

    def _send_along(self, chunk: bytes, begin: int, end: int, new: bytes | None) -> None:
        """As `_send`, for one frame of a chunk, and what goes on in its place if it does not pass."""

    def _hurry(self, feed: Callable[[bytes], list[Frame]], chunk: bytes) -> None:
        """Pass what needs no decoding; the whole frames in it at once, where nobody wants to see them one by one."""
        bulk = self._bulk
        if bulk is None:
            self._pass(feed(chunk))
            return
        if bulk.holding and len(chunk) > MANY:
            begin = chunk.find(b"\n\n") + 2
            self._pass(feed(chunk[:begin]))
            chunk = chunk[begin:]
        self._at_once(bulk, chunk)

    def _at_once(self, bulk: SseFramer, chunk: bytes) -> None:
        """Pass a chunk that begins where a frame does, most often; what cannot pass at once may do so in halves."""
        if self._fast_path is not None and self._faults is None:
            chunk = self._fast_path.along(chunk, self._send_along)
        end = chunk.rfind(b"\n\n") + 2 if len(chunk) > MANY and not bulk.holding else 0
        if end < MANY:
            self._pass(bulk.feed(chunk) if chunk else [])
        elif end < len(chunk):
            self._at_once(bulk, chunk[:end])
            self._pass(bulk.feed(chunk[end:]))
        elif not self._pass_by(bulk, chunk):
            half = chunk.find(b"\n\n", end // 2) + 2
            for part in (chunk[:half], chunk[half:]) if half < end else ():
                self._at_once(bulk, part)
            if half == end:
                self._pass(bulk.feed(chunk))

    def _pass_by(self, framer: SseFramer, middle: bytes) -> bool:
        """Frames that say nothing, told by their number: whether they were that."""
        if self._holding:
            return False
        frames = framer.usual(middle)
        if not frames or not self._quiet(middle, frames) or self._may_leak(middle):
            return False
        if self._fast_path is not None:
            self._fast_path.hand_on()
            if frames == 1:
                self._fast_path.learn_quiet(middle)
        first = framer.skip(frames)
        for observer in self._observers:
            observer.quiet(first, frames, len(middle))
        self._send_quiet(middle)
        return True

    def _send_quiet(self, raw: bytes) -> None:
        """As `_send`, for whole frames that say nothing."""

    def _pass_unrecognised(self, frames: list[Frame]) -> None:
        for at, frame in enumerate(frames):
            self._recognise(frame)
            if self._read is not None:
                self._pass(frames[at + 1 :])
            if self._read is not None or not self.reading:
                return

    def _recognise(self, frame: Frame) -> None:
        self._pending.append(frame)
        if frame.data is None:
            if len(self._pending) > 4 * MAX_UNRECOGNISED:
                self._pending.remove(next(one for one in self._pending if one.data is None))
            return
        payload: Json = frame.json
        found = next((one for one in self._candidates if one.recognise(frame.name, payload)), None)
        if found is None and sum(1 for one in self._pending if one.data is not None) >= MAX_UNRECOGNISED:
            found = self._claimed
            if found is None:
                self._stop()
        if found is not None:
            self._start(found)

    def _start(self, dialect: WireProtocol) -> None:
        """The dialect is known; the frames so far are never quiet, so that what only the first ones say is read."""
        assert self._framer is not None
        streamed = not isinstance(self._framer, WholeFramer)
        self._dialect = dialect
        template_reader, healthy = TemplateReader(dialect.read), TemplateReader(dialect.read)
        self._read_healthy = healthy.read if self._fast else dialect.read
        read = template_reader.read if self._fast else dialect.read
        self._read = read if streamed else lambda frame: dialect.answer(frame.json)
        plan = self._begin(dialect, self._framer)
        self._observers = plan.observers
        if streamed:
            self._faults, self._judge, self._stages = plan.faults, plan.judge, plan.stages
            self._may_leak = plan.may_leak
        if self._decoder is None:
            self._direct = self._framer.feed
            each = any(observer.each for observer in self._observers) or self._wants_each
            if self._fast and isinstance(self._framer, SseFramer):
                self._bulk = None if each else self._framer
                if plan.told is not None and not self._wants_each:
                    self._fast_path = FastPath(self._framer, template_reader, plan, dialect.quiet)
                    self._broken = fast_path_through_faults(self._framer, healthy, plan)
        pending, self._pending = self._pending, []
        self._pass(pending)
        if self._fast and streamed and not (self._wants_each or self._over):
            self._quiet = dialect.quiet

    @property
    def _wants_each(self) -> bool:
        return any(chain is not None and chain.each for chain in (self._faults, self._stages))
