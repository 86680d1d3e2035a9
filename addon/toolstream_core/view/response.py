"""One response of the session view, without its verdict and its readings; secrets are overwritten as in captures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from toolstream_core.clients.stepping import reported_places
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, BAD_STATUS, Call, Finding, Json, Record
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.requests import match_key
from toolstream_core.redact import redacted
from toolstream_core.redaction import Redaction, redacted_body, redacted_path
from toolstream_core.report.jsonform import call_object, message_object
from toolstream_core.saved.exchange import Cut, Exchange, messages_of
from toolstream_core.view.events import Events, shortened
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded


def without_secrets(saved: Exchange) -> Exchange:
    """As `Exchange.decoded`, with secrets overwritten in the request, in both bodies and in reports on the response."""
    plain, hide = saved.decoded(), partial(redacted, secrets=saved.secrets)
    body = redacted_body(b"".join(plain.chunks), known=saved.secrets)
    exchange = replace(
        plain.facts,
        path=redacted_path(plain.facts.path, Redaction(), saved.secrets),
        request=_without(plain.facts.request, saved.secrets),
    )
    sent = None if saved.sent is None else redacted_body(saved.sent, known=saved.secrets)
    return replace(
        plain,
        facts=exchange,
        chunks=[*Cut(body, [*map(len, plain.chunks)])],
        sent=sent,
        broken=None if saved.broken is None else hide(saved.broken),
        findings=[one._replace(message=hide(one.message)) for one in saved.findings],
    )


def _without(request: Json, secrets: tuple[str, ...]) -> Json:
    if request is ABSENT:
        return request
    return parse(redacted_body(encoded(request), known=secrets))


NONE: Final = "none"
"""The verdict on a response without calls."""
UNKNOWN: Final = "unknown"
"""The verdict on a response after which no request was recorded."""
_PROMPT: Final = 200
"""Characters of a prompt that are shown."""


class ReadResponse:
    """A response as the provider sent it, read chunk by chunk."""

    def __init__(self, saved: Exchange, hide: Callable[[str], str] = str) -> None:
        """Nothing is read yet. `hide` redacts text that is shown before the response is complete."""
        self.saved = saved
        self.protocol: WireProtocol | None = None
        """`None` until it is recognised."""
        self.record: Record | None = None
        """Known at the end, if it is an LLM's response."""
        self._now: int | None = None
        self.places: dict[int, int | None] = {}
        """By the identity of an open call, its place among the calls of the record."""
        self.events = Events(hide, lambda: self._now)
        self._session = Session(saved.facts, sinks=self._sinks, fast=False)

    def feed(self, chunk: bytes, ms: int | None) -> None:
        """Read a chunk that arrived at `ms` milliseconds."""
        self._now = ms
        if chunk:
            self._session.feed(chunk)

    def end(self) -> None:
        self._session.end(broken=self.saved.broken)
        self.record = self._session.record(broken=self.saved.broken)
        if self.record is not None:
            self.saved.complete(self.record)
            self.places = reported_places(self.record.calls, self.events.resolved_events)
            self.events.move(self.places, len(self.record.calls))

    def object(self, received: Mapping[int, dict[str, Any]] = MappingProxyType({})) -> dict[str, Any]:
        """The object of the complete response; `received`: the frames that the client got, if other ones."""
        saved, record = self.saved, self.record
        assert record is not None
        return {
            **self._head(),
            "model": record.model or "",
            "protocol": record.dialect,
            "streamed": record.streamed,
            "choices": self._choices(),
            "state": self._state(record),
            "broken": record.broken,
            "error": record.error,
            "finish": [*record.finish],
            "bytes": record.bytes,
            "lanes": self.events.lanes(len(record.calls)),
            "calls": [_call(one) for one in record.calls],
            "findings": [self._finding(one) for one in record.findings],
            "faults": [{"spec": one.spec, "changes": one.changes} for one in saved.faults],
            "events": [*shortened(self.events.objects, received)],
            "changed": len(received),
        }

    def live_object(self) -> dict[str, Any]:
        """The document's object during the response, once its protocol is known."""
        exchange, protocol, reader = self.saved.facts, self.protocol, self._session.reader
        assert protocol is not None
        assert reader is not None
        return {
            **self._head(),
            "model": protocol.api.model(exchange.path, exchange.request) or "",
            "protocol": protocol.name,
            "streamed": True,
            "choices": 1,
            "state": "live",
            "broken": None,
            "error": None,
            "finish": [],
            "bytes": self.events.bytes,
            "lanes": self.events.lanes(),
            "calls": [_call(one) for one in reader.calls()],
            "findings": [],
            "faults": [],
            "changed": 0,
            "verdict": {"verdict": UNKNOWN, "understood": None, "headline": "The response is not complete yet"},
        }

    def _head(self) -> dict[str, Any]:
        """The parts that do not change while it arrives, and the events, which grow."""
        saved, exchange = self.saved, self.saved.facts
        return {
            "source": exchange.source,
            "host": exchange.host,
            "path": exchange.path,
            "status": exchange.status,
            "transport": "websocket" if saved.socket is not None else "http",
            "timed": bool(saved.times),
            "request": _request(exchange.path, exchange.request),
            "pointers": [] if self.protocol is None else [*self.protocol.pointers],
            "events": self.events.objects,
            **({"started": saved.began} if saved.began else {}),
        }

    def _choices(self) -> int:
        contents = [one.content for one in self.events.resolved_events]
        named = {one.choice for content in contents for one in content.fragments}
        named |= {one.choice for content in contents for one in content.finishes}
        return max(1, len(named))

    def _finding(self, finding: Finding) -> dict[str, Any]:
        keys = next((defect.keys for defect in DEFECTS if defect.code == finding.code), ())
        return {**message_object(finding, str), "call": self._call_of(finding), "keys": [*keys]}

    def _call_of(self, finding: Finding) -> int | None:
        """The place of the call that a finding is about. Several choices count their calls separately."""
        events = self.events.resolved_events
        calls = {
            id(one.call): one.call for event in events for one in event.resolved if one.call.position == finding.call
        }
        there = [key for key, call in calls.items() if finding.event in call.runs]
        return next((self.places[key] for key in [*there, *calls]), None)

    def _sinks(self, protocol: WireProtocol) -> Sequence[Sink]:
        self.protocol = protocol
        return [self.events]

    def _state(self, record: Record) -> str:
        if record.broken:
            return "truncated"
        return "error" if record.error or self.saved.facts.status >= BAD_STATUS else "complete"


def read(saved: Exchange) -> ReadResponse:
    """A complete response, with its chunks in memory."""
    response = ReadResponse(saved)
    times = saved.times
    for number, chunk in enumerate(saved.chunks):
        response.feed(chunk, times[number] if number < len(times) else None)
    response.end()
    return response


def _call(call: Call) -> dict[str, Any]:
    return {key: value for key, value in call_object(call, str).items() if key != "events"}


def _request(path: str, request: Json) -> dict[str, Any]:
    wanted = match_key.read(path, request)
    messages = messages_of(request)
    words = "" if wanted is None else wanted.words
    return {
        "tools": [] if wanted is None else sorted(wanted.tools),
        "messages": len(messages),
        "prompt": words[:_PROMPT],
    }


def as_received(response: ReadResponse) -> ReadResponse | None:
    """The response as the client got it, if that was recorded and differs."""
    saved = response.saved
    return None if saved.sent in {None, saved.body} else read(saved.as_client_got())
