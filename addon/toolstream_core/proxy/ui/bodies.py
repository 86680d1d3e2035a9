"""Bodies of streamed LLM responses, kept in memory for mitmweb and the console."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from dataclasses import replace
from functools import partial

from mitmproxy import ctx, http
from mitmproxy.coretypes.serializable import State
from mitmproxy.flow import Flow

from toolstream_core.model import Chunk, Json
from toolstream_core.proxy.live.recording import LiveRecording
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.proxy.ui.facts import cannot_show
from toolstream_core.saved.exchange import Cut, Exchange
from toolstream_core.saved.flow import body_note
from toolstream_core.saved.flowfile import SOCKET


class KeptResponse(http.Response):
    """A response with a kept body, which saved and copied flows lack unless streamed bodies are stored."""

    kept: bytes | None = None
    """The body. A body that a user sets instead is saved as usual."""

    def get_state(self) -> State:
        """Mitmproxy writes this to files."""
        state: dict[str, State] = super().get_state()  # type: ignore[no-untyped-call]
        if state["content"] is self.kept and not ctx.options.store_streamed_bodies:
            state["content"] = None
        return state


def as_saved(flow: Flow) -> Flow:
    """A flow as mitmproxy writes it to a file; the same one if it has no kept body."""
    if not isinstance(flow, http.HTTPFlow) or not isinstance(flow.response, KeptResponse):
        return flow
    return http.HTTPFlow.from_state(flow.get_state())


class _Body:
    """The kept bytes of one response."""

    def __init__(self, live: LiveResponse) -> None:
        """Empty. A flow that mitmproxy drops is dropped here too."""
        self.flow = weakref.ref(live.flow)
        self.live: LiveResponse | None = live
        self.recording: LiveRecording | None = None
        """The body while it arrives."""
        self.saved: Exchange | None = None
        """The complete body."""
        self.size = 0

    def drop(self) -> http.HTTPFlow | None:
        """Drop the bytes. Returns the flow, if it has lost its body."""
        self.recording, self.saved, flow = None, None, self.flow()
        response = None if flow is None else flow.response
        if not isinstance(response, KeptResponse) or response.raw_content is not response.kept:
            return None
        response.raw_content = response.kept = None
        return flow


class Bodies:
    """The newest bodies, up to a limit."""

    def __init__(self) -> None:
        """Nothing is kept until `limit` is set."""
        self.limit = 0
        """Bytes that are kept."""
        self._bodies: OrderedDict[str, _Body] = OrderedDict()
        self.size = 0
        """Bytes that are kept now."""
        self.dropped: list[http.HTTPFlow] = []
        """Flows that have lost their bodies; a refresh of the list removes them."""

    def begin(self, live: LiveResponse, request: Json) -> LiveRecording | None:
        """The recording of a streamed response; `None` if its bytes are not kept, or in mitmproxy."""
        flow = live.flow
        assert flow.response is not None
        if not self.limit or ctx.options.store_streamed_bodies or SOCKET in flow.metadata:
            return None
        if (flow.response.raw_content or b"").strip():
            return None
        body = self._bodies[flow.id] = _Body(live)
        body.recording = LiveRecording(flow, request, partial(self._keep, body), partial(cannot_show, flow.id))
        return body.recording

    def end(self, flow: http.HTTPFlow) -> None:
        """Show the body of an ended response."""
        body = self._bodies.get(flow.id)
        if body is None or flow.response is None:
            return
        recording, is_llm = body.recording, body.live is not None and body.live.record is not None
        body.live = body.recording = None
        if recording is None or not is_llm:
            self._forget(flow.id)
            return
        body.saved = _joined(recording)
        size = sum(len(data) for _, data in recording.chunks) + len(body.saved.sent or b"")
        self.size += size - body.size
        body.size = size
        shown = b"".join(body.saved.chunks) if body.saved.sent is None else body.saved.sent
        flow.response.__class__ = KeptResponse
        flow.response.raw_content = flow.response.kept = shown  # type: ignore[attr-defined]

    def saved(self, flow: http.HTTPFlow) -> Exchange | None:
        """A kept response, with the provider's bytes and their times."""
        body = self._bodies.get(flow.id)
        shown = isinstance(flow.response, KeptResponse) and flow.response.raw_content is flow.response.kept
        return body.saved if shown and body is not None else None

    def complete(self, flow: http.HTTPFlow) -> http.HTTPFlow:
        """A copy of a flow with its kept body, as a capture has it. The same flow if its body is not kept."""
        saved = self.saved(flow)
        if saved is None:
            return flow
        new = http.HTTPFlow.from_state(flow.get_state())
        assert isinstance(new, http.HTTPFlow)
        assert new.response is not None
        new.response.raw_content = saved.body
        if saved.facts.content_encoding:
            new.response.headers["content-encoding"] = saved.facts.content_encoding
        sent = None if saved.sent is None else [Chunk(0, saved.sent)]
        new.metadata["toolstream"] = body_note(saved.timed_chunks, saved.broken, sent=sent)
        return new

    def limit_to(self, limit: int) -> None:
        """Keep at most `limit` bytes from now on."""
        self.limit = limit
        self._make_room()

    def close(self) -> None:
        """Drop all bodies: mitmproxy's files at its end do not have them."""
        self.limit_to(0)

    def _keep(self, body: _Body, size: int) -> bool:
        """Whether `size` more bytes of a response are kept; never if it is not an LLM's."""
        if body.recording is None or (body.live is not None and body.live.foreign):
            return False
        body.size += size
        self.size += size
        self._make_room()
        return body.recording is not None

    def _make_room(self) -> None:
        """Drop bodies without a flow, then the oldest."""
        if self.size <= self.limit:
            return
        for name in [name for name, body in self._bodies.items() if body.flow() is None]:
            self._forget(name)
        while self._bodies and self.size > self.limit:
            self._forget(next(iter(self._bodies)))

    def _forget(self, name: str) -> None:
        body = self._bodies.pop(name)
        self.size -= body.size
        flow = body.drop()
        if flow is not None:
            self.dropped.append(flow)


def _joined(recording: LiveRecording) -> Exchange:
    """The response as one body for the provider's bytes, and one for the client's if they differ."""
    saved = recording.saved()
    provided = b"".join(saved.chunks)
    sent = None if saved.sent == provided else saved.sent
    return replace(saved, chunks=Cut(provided, [len(data) for data in saved.chunks]), sent=sent)
