"""One response of the session view, without its verdict and its readings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.defects.table import ROWS
from toolstream_core.engine.session import Session
from toolstream_core.protocols.requests import asked
from toolstream_core.report.jsonform import call_object, finding_object
from toolstream_core.view.events import Events, lane_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.engine.sink import Sink
    from toolstream_core.model import Finding, Json, Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.sources.saved import Saved

_PROMPT: Final = 200
"""Characters of a prompt that are shown."""
_FAILED: Final = 400
"""From this status on a response is an error."""
_LANES: Final = ("reasoning", "text")


class ReadResponse:
    """A response as the provider sent it, read chunk by chunk."""

    def __init__(self, saved: Saved, hide: Callable[[str], str] = str) -> None:
        """Nothing is read yet. `hide` redacts text that is shown before the response is complete."""
        self.saved = saved
        self.protocol: WireProtocol | None = None
        """Known once enough was read."""
        self.record: Record | None = None
        """Known at the end, where the response is an LLM's."""
        self._now: int | None = None
        self.events = Events(hide, lambda: self._now)
        self._session = Session(saved.exchange, sinks=self._sinks, fast=False)

    def feed(self, chunk: bytes, ms: int | None) -> None:
        """Read a chunk that came at `ms` milliseconds."""
        self._now = ms
        if chunk:
            self._session.feed(chunk)

    def end(self) -> None:
        """The response is over."""
        self._session.end(broken=self.saved.broken)
        self.record = self._session.record(broken=self.saved.broken)
        if self.record is not None:
            self.record.findings = [*self.saved.findings, *self.record.findings]

    def object(self) -> dict[str, Any]:
        """As the document has it, once it is over."""
        saved, record = self.saved, self.record
        assert record is not None
        exchange = saved.exchange
        made: dict[str, Any] = {
            "source": exchange.source,
            "host": exchange.host,
            "path": exchange.path,
            "status": exchange.status,
            "model": record.model or "",
            "protocol": record.dialect,
            "streamed": record.streamed,
            "transport": "websocket" if saved.socket is not None else "http",
            "state": self._state(record),
            "broken": record.broken,
            "error": record.error,
            "finish": [*record.finish],
            "bytes": record.bytes,
            "timed": bool(saved.times),
            "request": _request(exchange.path, exchange.request),
            "pointers": [] if self.protocol is None else [*self.protocol.pointers],
            "lanes": self.lanes(),
            "calls": [_call(one) for one in record.calls],
            "findings": [_finding(one) for one in record.findings],
            "faults": [{"spec": one.spec, "changes": one.changes} for one in saved.faults],
            "events": self.events.objects,
        }
        if saved.began:
            made["started"] = saved.began
        return made

    def lanes(self) -> list[str]:
        """The lanes of its fragments: reasoning and text first, then calls in their order."""
        used = {one["lane"] for event in self.events.objects for one in event.get("fragments", ())} - {"stream"}
        ordered = [] if self.record is None else [lane_of(call.choice, call.position) for call in self.record.calls]
        rest = sorted(used - {*_LANES, *ordered})
        return [*(lane for lane in _LANES if lane in used), *ordered, *rest]

    def _sinks(self, protocol: WireProtocol) -> Sequence[Sink]:
        self.protocol = protocol
        return [self.events]

    def _state(self, record: Record) -> str:
        if record.broken:
            return "truncated"
        return "error" if record.error or self.saved.exchange.status >= _FAILED else "complete"


def read(saved: Saved) -> ReadResponse:
    """A whole response; its chunks are at hand."""
    response = ReadResponse(saved)
    times = saved.times
    for number, chunk in enumerate(saved.chunks):
        response.feed(chunk, times[number] if number < len(times) else None)
    response.end()
    return response


def _call(call: Any) -> dict[str, Any]:
    made = call_object(call, str)
    return {"lane": lane_of(call.choice, call.position), **{key: made[key] for key in made if key != "events"}}


def _finding(finding: Finding) -> dict[str, Any]:
    keys = next((row.keys for row in ROWS if row.code == finding.code), ())
    return {**finding_object(finding, str), "keys": [*keys]}


def _request(path: str, request: Json) -> dict[str, Any]:
    wanted = asked.read(path, request)
    messages = messages_of(request)
    words = "" if wanted is None else wanted.words
    return {
        "tools": [] if wanted is None else sorted(wanted.tools),
        "messages": len(messages),
        "prompt": words[:_PROMPT],
    }


def messages_of(request: Json) -> list[Json]:
    """The messages of a request, in any protocol."""
    if isinstance(request, dict):
        for key in ("messages", "input", "contents"):
            if isinstance(found := request.get(key), list):
                return found
    return []


def as_received(response: ReadResponse) -> ReadResponse | None:
    """The response as the client got it, where that was recorded and is another one."""
    saved = response.saved
    if saved.sent is None or saved.sent == b"".join(saved.chunks):
        return None
    exchange = replace(saved.exchange, content_encoding="")
    return read(replace(saved, exchange=exchange, chunks=[saved.sent], times=(), sent=None))
