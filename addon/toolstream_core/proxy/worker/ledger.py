"""What clients sent and what they were answered, kept for who started the proxy. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from toolstream_core.engine.sink import Sink
from toolstream_core.fixtures import content_of
from toolstream_core.fixtures.sockets import SOCKET
from toolstream_core.proxy.exchange import secrets_of
from toolstream_core.proxy.kept import KeptWatch
from toolstream_core.proxy.replay import REPLAY
from toolstream_core.proxy.resend import RESENT
from toolstream_core.proxy.worker.sent_events import SentEvents, sent_events
from toolstream_core.redact import HIDDEN, is_secret_header, raised_at, redacted
from toolstream_core.report.jsonform import record_object
from toolstream_core.report.layout import Label
from toolstream_core.report.paint import plain
from toolstream_core.report.text import EndLines
from toolstream_core.report.verdict import advice_text, as_marker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mitmproxy import http

    from toolstream_core.model import Record
    from toolstream_core.proxy.verdicts import ToldVerdict
    from toolstream_core.proxy.watch import Watch

MAX_LINES = 2000
"""Lines of the log that are kept."""


@dataclass(slots=True)
class Entry:
    """One request and its answer."""

    request: dict[str, Any]
    hide: Callable[[str], str]
    """Redacts, the secrets of the request included."""
    sinks: int = 0
    """How many readers of the answer have not yet seen its end."""
    over: bool = False
    answer: dict[str, Any] = field(default_factory=dict)
    watch: Watch | None = None
    """What reads the answer, where somebody does."""
    flow: http.HTTPFlow | None = None
    """Where the answer is, once it came."""

    def as_json(self, *, bodies: bool = False) -> dict[str, Any]:
        """For the reply; with `bodies`, also what the client got, event by event."""
        sent = self._sent()._asdict() if bodies else {}
        return {"request": self.request, "over": self.over, **self.answer, **sent}

    def _sent(self) -> SentEvents:
        kept = self.watch.sent if isinstance(self.watch, KeptWatch) else None
        if kept is not None:
            described = kept.exchange
            return sent_events(kept.body or b"", described.content_type, described.content_encoding, self.hide)
        if self.flow is None or self.flow.response is None:
            return SentEvents([], truncated=False)
        return sent_events(
            content_of(self.flow.response), self.flow.response.headers.get("content-type", ""), "", self.hide
        )


class Ledger:
    """The addon before all others: a request is kept as its client sent it."""

    name = "toolstream-ledger"

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self.entries: dict[str, Entry] = {}
        self.log: list[str] = []
        self.last = Closing(self)
        """The addon behind all others."""

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

    def toolstream_socket_request(self, flow: http.HTTPFlow) -> None:
        """Keep what a client asks over a socket as a request of its own."""
        self.request(flow)

    def listeners(self, watch: Watch) -> Sequence[Sink]:
        """What reads the answer of a request that is kept."""
        entry = self.entries.get(watch.flow.id)
        if entry is None:
            return ()
        entry.sinks += 1
        entry.watch = watch
        exchange = watch.exchange
        label = Label(f"#{entry.request['number'] + 1}", exchange.host, status=exchange.status)
        lines = EndLines(self.line, label, hide=watch.hide, syntax=as_marker)
        return (lines, Answer(entry, watch))

    def judged(self, told: ToldVerdict) -> None:
        """Keep the verdict on an answer, with the number of the request that followed."""
        entry = self.entries.get(told.flow)
        if entry is not None:
            entry.answer["verdict"] = self.verdict(told)
            label = Label(f"#{entry.request['number'] + 1}")
            for line in told.text.lines(label.begin(), label.tag, plain, advice_text(told.explained, as_marker)):
                self.line(line)

    def verdict(self, told: ToldVerdict) -> dict[str, Any]:
        """A verdict for the reply."""
        after = self.entries.get(told.request or "")
        words = {"explanation": told.hide(told.explained.text), "fix": told.hide(told.explained.fix)}
        number = None if after is None else after.request["number"]
        return {**told.object, "request": number, **words}

    def line(self, text: str) -> None:
        """Keep a line of the log."""
        if len(self.log) < MAX_LINES:
            self.log.append(text)

    @property
    def waiting(self) -> bool:
        """Whether any answer is still on its way."""
        return any(not entry.over for entry in self.entries.values())


class Answer(Sink):
    """Keeps the record of one answer."""

    def __init__(self, entry: Entry, watch: Watch) -> None:
        """`entry` gets the record, without the request's secrets."""
        self._entry = entry
        self._hide = watch.hide

    def ended(self, record: Record) -> None:
        """The answer is over."""
        self._entry.answer["record"] = record_object(record, self._hide)
        self._entry.sinks -= 1
        self._entry.over = True


class Closing:
    """The addon behind all others: it sees how each flow went."""

    name = "toolstream-closing"

    def __init__(self, ledger: Ledger) -> None:
        """What it sees is kept in `ledger`."""
        self._ledger = ledger

    def response(self, flow: http.HTTPFlow) -> None:
        """The answer is whole; where somebody reads it, it is over when that is."""
        entry = self._ledger.entries.get(flow.id)
        if entry is not None and flow.response is not None:
            self._note(entry, flow)
            entry.over = entry.over or entry.sinks == 0

    def toolstream_socket_response(self, flow: http.HTTPFlow) -> None:
        """An answer that came over a socket is over."""
        entry = self._ledger.entries.get(flow.id)
        if entry is not None:
            self._note(entry, flow)
            entry.over = True

    def error(self, flow: http.HTTPFlow) -> None:
        """The connection broke."""
        entry = self._ledger.entries.get(flow.id)
        if entry is not None:
            self._note(entry, flow)
            entry.answer["broken"] = entry.hide(flow.error.msg) if flow.error else "connection lost"
            entry.over = True

    def _note(self, entry: Entry, flow: http.HTTPFlow) -> None:
        entry.flow = flow
        entry.answer["comment"] = entry.hide(flow.comment)
        entry.answer["replay"] = flow.metadata.get(REPLAY)
        if flow.response is not None:
            entry.answer["status"] = flow.response.status_code


class LogKeeper(logging.Handler):
    """Keeps what mitmproxy and the addon log as warnings and errors."""

    def __init__(self, ledger: Ledger) -> None:
        """From level WARNING on."""
        super().__init__(logging.WARNING)
        self.ledger = ledger

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its message; of an error with a traceback only where it was raised."""
        error = record.exc_info[1] if record.exc_info else None
        self.ledger.line(redacted(record.getMessage()) if error is None else f"internal error: {raised_at(error)}")
