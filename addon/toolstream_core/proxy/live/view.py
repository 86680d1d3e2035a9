"""The live view: the responses of the proxy as a growing document of the session view. Knows mitmproxy's flow."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from mitmproxy import http

from toolstream_core.model import Json
from toolstream_core.proxy.live.recording import LiveRecording
from toolstream_core.proxy.verdicts import LiveVerdict
from toolstream_core.redact import redacted
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.view.assemble import page
from toolstream_core.view.document import ViewBuilder
from toolstream_core.view.response import ReadResponse, read, without_secrets

LIMIT: Final = 4 * 1024 * 1024
"""Bytes of responses that are kept; the oldest are dropped first."""
PAUSE: Final = 0.05
"""Seconds between two readings: chunks that arrive close together are one patch."""


class Shown:
    """A response, and its state for viewers."""

    def __init__(self, recording: LiveRecording) -> None:
        self.recording = recording
        self.verdict: ReportedVerdict | None = None
        self.stale = True
        """Whether there are changes apart from new events."""
        self.object: dict[str, Any] | None = None
        """Its object in the document; `None` until it is known to be an LLM's."""
        self.version = 0
        """The version of the object, without new events."""
        self.complete: ReadResponse | None = None
        self._reader: ReadResponse | None = None
        self._fed = 0

    def grow(self) -> None:
        """Read the new chunks."""
        recording = self.recording
        if self._reader is None:
            if not recording.chunks:
                return
            hide = partial(redacted, secrets=recording.secrets)
            self._reader = ReadResponse(replace(recording.saved(), chunks=(), times=(0,)), hide)
        reader, chunks = self._reader, recording.chunks[self._fed :]
        self._fed += len(chunks)
        for ms, data in chunks:
            reader.feed(data, ms)
        if reader.protocol is None:
            return
        if self.object is None:
            self.object = reader.live_object()
        elif chunks:
            self.object |= reader.live_object()

    def finish(self) -> None:
        """Read the complete response, without secrets."""
        self._reader = None
        self.complete = read(without_secrets(self.recording.saved()))

    def drop(self) -> None:
        """Drop its events. Open pages keep them."""
        self.recording.chunks = []
        self.recording.sent = None
        self._reader = self.complete = None
        if self.object is not None:
            head = {key: value for key, value in self.object.items() if key != "readings"}
            self.object = {**head, "lanes": [], "events": []}


class LiveView:
    """Records responses, and sends viewers the document and its patches.

    The proxy's loop only appends chunks. Everything else happens in a thread while a viewer is connected.
    """

    def __init__(self, failed: Callable[[Exception], None], limit: int = LIMIT) -> None:
        """At most `limit` bytes of responses are kept. `failed` reports an internal error."""
        self.failed = failed
        self._limit = limit
        self._kept = 0
        self._lock = threading.Lock()
        self._versions = itertools.count(1)
        self._shown: dict[str, Shown] = {}
        """By flow, the responses that may change."""
        self._placed: list[Shown] = []
        """The responses in the order of the document."""
        self.waiting: set[asyncio.Event] = set()
        """Set after each change."""
        self._builder = ViewBuilder(live=True)
        self.ended = False
        """Whether the client has ended."""

    def begin(self, flow: http.HTTPFlow, request: Json) -> LiveRecording:
        """Record a response that begins."""
        recording = LiveRecording(flow, request, self._keep, self.failed)
        shown = Shown(recording)
        self._shown[flow.id] = shown
        for one in self._shown.values():
            if one.verdict is not None and one.verdict.request == flow.id:
                one.stale = True
        return recording

    def judged(self, verdict: LiveVerdict) -> None:
        """Add the verdict on a response."""
        shown = self._shown.get(verdict.reported.source)
        if shown is not None:
            shown.verdict = verdict.reported
            shown.stale = True
            self._wake()

    def end(self) -> None:
        """The client has ended."""
        self.ended = True
        self._wake()

    def page(self) -> str:
        """The page, without responses."""
        return page(ViewBuilder(live=True).document([]), connect="'self'")

    def document(self) -> dict[str, Any]:
        """The document so far. Called in a thread."""
        with self._lock:
            self._grow()
            return self._builder.assembled([one.object for one in self._placed if one.object])

    def finished_page(self) -> str:
        """The final page as a file."""
        document = self.document()
        return page({**document, "generated": {**document["generated"], "live": False}})

    def patches(self, cursor: LiveCursor) -> list[dict[str, Any]]:
        """The patch for a viewer. Called in a thread."""
        with self._lock:
            self._grow()
            found = [patch for place, one in enumerate(self._placed) if (patch := cursor.seen(place, one))]
            if any("begin" in one for one in found):
                assembled = self._builder.assembled([one.object for one in self._placed if one.object])
                found.insert(0, {key: assembled[key] for key in ("models", "projects", "defects")})
                found.append({"conversations": assembled["conversations"]})
            if self.ended and not cursor.ended:
                cursor.ended = True
                found.append({"ended": True})
            return found

    def _grow(self) -> None:
        """Read the new chunks of each response that is not complete."""
        for flow, one in list(self._shown.items()):
            if one.complete is None:
                self._read(flow, one)
            elif one.stale:
                self._complete(one)

    def _read(self, flow: str, shown: Shown) -> None:
        over = shown.recording.over
        shown.grow()
        if over:
            shown.finish()
            assert shown.complete is not None
            self._builder.requests[flow] = shown.complete.saved.facts.request
            if shown.complete.record is None:
                shown.object = None
                del self._shown[flow]
                return
            self._complete(shown)
        if shown.object is not None and not shown.version:
            shown.version = next(self._versions)
            self._placed.append(shown)

    def _complete(self, shown: Shown) -> None:
        assert shown.complete is not None
        shown.stale = False
        shown.object = self._builder.object_of(shown.complete, shown.verdict)
        if shown.version:
            shown.version = next(self._versions)

    def _keep(self, size: int) -> bool:
        """Make room by dropping the oldest finished responses. Returns whether `size` bytes fit. Wakes the viewers."""
        self._kept += size
        for flow, one in list(self._shown.items()) if self._kept > self._limit else ():
            if self._kept > self._limit and one.recording.over:
                self._kept -= one.recording.size
                one.drop()
                del self._shown[flow]
        if self._kept > self._limit:
            self._kept -= size
            return False
        self._wake()
        return True

    def _wake(self) -> None:
        for event in self.waiting:
            event.set()


class LiveCursor:
    """The position of one viewer."""

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self._new = asyncio.Event()
        self._new.set()
        view.waiting.add(self._new)
        self._seen: dict[int, tuple[int, int]] = {}
        """By place of the response, its version, and the number of its events that were sent."""
        self.ended = False
        self.closed = False

    async def next(self, seconds: float) -> list[dict[str, Any]]:
        """The patches since the last call, as soon as there are any; none after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._new.wait()
                await asyncio.sleep(PAUSE)
        if self.closed or not self._new.is_set():
            return []
        self._new.clear()
        return await asyncio.to_thread(self._view.patches, self)

    def seen(self, place: int, shown: Shown) -> dict[str, Any] | None:
        """The patch of a response, which counts as sent then."""
        assert shown.object is not None
        version, count = self._seen.get(place, (0, 0))
        events = shown.object["events"]
        self._seen[place] = shown.version, len(events)
        if version != shown.version:
            return {"response": place, "begin": {**shown.object, "events": [*events]}}
        if len(events) <= count:
            return None
        changing = {key: shown.object[key] for key in ("bytes", "lanes", "calls")}
        return {"response": place, "events": events[count:], **changing}

    def close(self) -> None:
        """The viewer has gone."""
        self.closed = True
        self._view.waiting.discard(self._new)
        self._new.set()
