"""Records of requests and responses, for the process that started the proxy. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, override

from mitmproxy import ctx, http
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from toolstream_core.engine.sink import Sink
from toolstream_core.model import BAD_STATUS, Record
from toolstream_core.protocols.registry import SOCKETS, claiming
from toolstream_core.proxy.deliveries import RESENT
from toolstream_core.proxy.flow_facts import REPLAY, opens_socket
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.proxy.verdicts import LiveVerdict
from toolstream_core.redact import HIDDEN, raised_at, redacted
from toolstream_core.redaction.headers import is_secret_header
from toolstream_core.report.columns import Label, plain
from toolstream_core.report.jsonform import record_object
from toolstream_core.report.lines import EndLines
from toolstream_core.report.verdict import ReportedVerdict, advice_text, as_marker
from toolstream_core.saved.flow import content_of, secrets_of
from toolstream_core.saved.flowfile import SOCKET
from toolstream_core.wire.aws_event_stream import EventStreamFramer
from toolstream_core.wire.body import BodyDecoder, BodyFraming
from toolstream_core.wire.frame import Frame

_MOST_UNREACHED: Final = 8
"""Maximum number of remembered servers."""
_COUNTED: Final = ("requests", "others", "refused", "websockets", "unopened", "responses", "calls")


class Tally(Sink):
    """The last addon, which counts for the summary of `toolstream run` (`docs/cli.md`)."""

    name = "toolstream-tally"

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._findings: Counter[str] = Counter()
        self._changes: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._advice: dict[str, str] = {}
        self._unreached: dict[str, str] = {}

    def server_connect_error(self, data: ServerConnectionHookData) -> None:
        """No connection to a server: over TLS, its requests are never seen."""
        if data.server.address is not None and len(self._unreached) < _MOST_UNREACHED:
            host, port = data.server.address[:2]
            self._unreached[f"{host}:{port}"] = data.server.error or "no reason given"

    def request(self, flow: http.HTTPFlow) -> None:
        """Count a request."""
        if RESENT in flow.metadata or (opens_socket(flow.request) and _is_read(flow)):
            return
        self._counts["requests" if claiming(flow.request.path) is not None else "others"] += 1

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """A response begins."""
        assert flow.response is not None
        failed = flow.response.status_code >= BAD_STATUS
        if failed and RESENT not in flow.metadata and claiming(flow.request.path) is not None:
            self._counts["unopened" if opens_socket(flow.request) else "refused"] += 1

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        """A WebSocket to an LLM."""
        if claiming(flow.request.path) is not None:
            self._counts["websockets"] += 1

    toolstream_socket_request = request

    def listeners(self, live: LiveResponse) -> Sequence[Sink]:
        """The reader of each response. The refusal of a WebSocket has none."""
        return () if opens_socket(live.flow.request) else (self,)

    @override
    def ended(self, record: Record) -> None:
        self._counts["responses"] += 1
        self._counts["calls"] += len(record.calls)
        self._findings.update(finding.name for finding in record.findings)
        self._changes.update(record.changes)
        self._faults.update({fault.spec: min(1, fault.changes) for fault in record.faults})

    def judged(self, verdict: LiveVerdict) -> None:
        """Count a verdict, and keep the first advice for each."""
        outcome, advice = verdict.reported.verdict.outcome.value, verdict.reported.explained.advice
        self._verdicts[outcome] += 1
        if advice:
            self._advice.setdefault(outcome, advice[0])

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            **{name: self._counts[name] for name in _COUNTED},
            "findings": dict(self._findings),
            "changes": dict(self._changes),
            "faults": dict(self._faults),
            "verdicts": dict(self._verdicts),
            "advice": self._advice,
            "unreached": self._unreached,
        }


def _is_read(flow: http.HTTPFlow) -> bool:
    """Whether a WebSocket is split into requests and responses."""
    return ctx.options.toolstream_websocket == "read" and any(wire.claims(flow.request.path) for wire in SOCKETS)


MAX_EVENTS: Final = 200
MAX_CHARACTERS: Final = 64 * 1024


class SentEvents(NamedTuple):
    """The events of one response."""

    events: list[str]
    """By their numbers. An event may have several lines; a frame without data is before the event after it."""
    truncated: bool
    """Whether there were more events."""


def sent_events(body: bytes, content_type: str, content_encoding: str, hide: Callable[[str], str]) -> SentEvents:
    """The events of a body: name and data of binary messages; the complete body if it has no events."""
    decoder, framing = BodyDecoder(content_encoding), BodyFraming(content_type)
    data = decoder.decode(body) + decoder.decode(b"") if body else b""
    frames = framing.cut(data)
    if framing.framer is None:
        return _shortened([hide(data.decode("utf-8", "replace"))] if data else [])
    texts = _messages(frames) if isinstance(framing.framer, EventStreamFramer) else _blocks(frames)
    return _shortened(map(hide, texts))


def _messages(frames: Iterable[Frame]) -> Iterator[str]:
    for frame in frames:
        if frame.data is not None:
            yield f"{frame.name} {frame.data.decode('utf-8', 'replace')}"


def _blocks(frames: Iterable[Frame]) -> Iterator[str]:
    before = b""
    for frame in frames:
        before += frame.raw
        if frame.data is not None:
            yield before.decode("utf-8", "replace").strip()
            before = b""
    if before.strip():
        yield before.decode("utf-8", "replace").strip()


def _shortened(texts: Iterable[str]) -> SentEvents:
    events: list[str] = []
    left = MAX_CHARACTERS
    for text in texts:
        if left <= 0 or len(events) == MAX_EVENTS:
            return SentEvents(events, truncated=True)
        events.append(text[:left])
        left -= len(text)
    return SentEvents(events, truncated=left < 0)


MAX_LINES = 2000
"""Lines of the log that are kept."""


@dataclass
class Entry(Sink):
    """A request, and the record of its response."""

    request: dict[str, Any]
    hide: Callable[[str], str]
    """Redacts, the secrets of the request included."""
    sinks: int = 0
    """The number of readers that have not yet seen the end of the response."""
    over: bool = False
    response: dict[str, Any] = field(default_factory=dict)
    reader: LiveResponse | None = None
    """The reader of the response, if there is one."""
    flow: http.HTTPFlow | None = None
    """The response, once it has arrived."""

    @override
    def ended(self, record: Record) -> None:
        self.response["record"] = record_object(record, self.hide)
        self.sinks -= 1
        self.over = True

    def as_json(self, *, bodies: bool = False) -> dict[str, Any]:
        """For the reply; with `bodies`, also the events that the client received."""
        sent = self._sent()._asdict() if bodies else {}
        return {"request": self.request, "over": self.over, **self.response, **sent}

    def _sent(self) -> SentEvents:
        kept = None if self.reader is None else self.reader.sent
        if kept is not None:
            described = kept.exchange
            return sent_events(kept.body or b"", described.content_type, described.content_encoding, self.hide)
        if self.flow is None or self.flow.response is None:
            return SentEvents([], truncated=False)
        return sent_events(
            content_of(self.flow.response), self.flow.response.headers.get("content-type", ""), "", self.hide
        )


class Ledger:
    """The first addon: it keeps the original requests of clients."""

    name = "toolstream-ledger"

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.log: list[str] = []
        self.last = Closing(self)
        """The last addon."""

    def request(self, flow: http.HTTPFlow) -> None:
        """Keep it without its credentials, except for the body, which tests read."""
        if RESENT in flow.metadata:
            return
        headers = [
            [name, HIDDEN if is_secret_header(name) else value]
            for name, value in flow.request.headers.items(multi=True)
        ]
        secrets = secrets_of(flow.request)
        hide = partial(redacted, secrets=secrets)
        self.entries[flow.id] = Entry(
            {
                "number": len(self.entries),
                "method": flow.request.method,
                "url": hide(flow.request.pretty_url),
                "path": hide(flow.request.path),
                "headers": headers,
                "body": content_of(flow.request).decode("utf-8", "replace"),
                "socket": SOCKET in flow.metadata,
                "secrets": secrets,
            },
            hide,
        )

    toolstream_socket_request = request

    def listeners(self, live: LiveResponse) -> Sequence[Sink]:
        """The reader of the response to a request that is kept."""
        entry = self.entries.get(live.flow.id)
        if entry is None:
            return ()
        entry.sinks += 1
        entry.reader = live
        exchange = live.exchange
        label = Label(f"#{entry.request['number'] + 1}", exchange.host, status=exchange.status)
        lines = EndLines(self.line, label, hide=live.hide, syntax=as_marker)
        return (lines, entry)

    def judged(self, verdict: LiveVerdict) -> None:
        """Keep the verdict on a response, with the number of the request that followed."""
        reported = verdict.reported
        entry = self.entries.get(reported.source)
        if entry is not None:
            entry.response["verdict"] = self.verdict(reported)
            label = Label(f"#{entry.request['number'] + 1}")
            advice = advice_text(reported.explained, as_marker)
            for line in reported.short_text.lines(label.begin(), label.tag, plain, advice):
                self.line(line)

    def verdict(self, reported: ReportedVerdict) -> dict[str, Any]:
        """A verdict for the reply."""
        after, hide, explained = self.entries.get(reported.request or ""), reported.hide, reported.explained
        words = {"explanation": hide(explained.text), "fix": hide(explained.fix)}
        number = None if after is None else after.request["number"]
        return {**reported.object, "request": number, **words}

    def line(self, text: str) -> None:
        """Keep a line of the log."""
        if len(self.log) < MAX_LINES:
            self.log.append(text)

    @property
    def waiting(self) -> bool:
        """Whether any response is still in flight."""
        return any(not entry.over for entry in self.entries.values())


class Closing:
    """The last addon: it sees how each flow ended."""

    name = "toolstream-closing"

    def __init__(self, ledger: Ledger) -> None:
        """`ledger` keeps the records."""
        self._ledger = ledger

    def response(self, flow: http.HTTPFlow) -> None:
        """Note a complete response. With a reader, it ends when the reader has seen its end."""
        entry = None if flow.response is None else self._noted(flow)
        if entry is not None:
            entry.over = entry.over or entry.sinks == 0

    def toolstream_socket_response(self, flow: http.HTTPFlow) -> None:
        """Note the end of a response over a WebSocket."""
        if (entry := self._noted(flow)) is not None:
            entry.over = True

    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke."""
        if (entry := self._noted(flow)) is not None:
            entry.response["broken"] = entry.hide(flow.error.msg) if flow.error else "connection lost"
            entry.over = True

    def _noted(self, flow: http.HTTPFlow) -> Entry | None:
        """The entry of a flow that ends, with what is known then."""
        entry = self._ledger.entries.get(flow.id)
        if entry is not None:
            entry.flow = flow
            entry.response["comment"] = entry.hide(flow.comment)
            entry.response["replay"] = flow.metadata.get(REPLAY)
            if flow.response is not None:
                entry.response["status"] = flow.response.status_code
        return entry


class LogKeeper(logging.Handler):
    """Keeps what mitmproxy and the addon log as warnings and errors."""

    def __init__(self, ledger: Ledger) -> None:
        """From level WARNING on."""
        super().__init__(logging.WARNING)
        self.ledger = ledger

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its message; of a traceback only the place where the error was raised."""
        error = record.exc_info[1] if record.exc_info else None
        self.ledger.line(redacted(record.getMessage()) if error is None else f"internal error: {raised_at(error)}")
