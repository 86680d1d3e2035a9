"""Reports on each stream: to the terminal, the JSON Lines file, and other sinks."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from mitmproxy import ctx, http
from mitmproxy.exceptions import OptionsError

from toolstream_core.engine.sink import Sink
from toolstream_core.model import Call
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.proxy.flow_facts import place_of, report_match
from toolstream_core.proxy.live.view import LiveView
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.proxy.ui.interface import Interface
from toolstream_core.proxy.verdicts import LiveVerdict
from toolstream_core.redact import raised_at, redacted
from toolstream_core.report.columns import MARGIN, WIDTH, Blocks, Label, colour, plain, shortened, wants_colour
from toolstream_core.report.jsonform import JsonLines, call_object, may_append
from toolstream_core.report.lines import EndLines, Lines, delivered_lines
from toolstream_core.report.verdict import advice_text
from toolstream_core.saved.flow import secrets_of
from toolstream_core.saved.flowfile import SOCKET

type Listeners = Callable[[LiveResponse], Sequence[Sink]]
type VerdictListener = Callable[[LiveVerdict], None]


FLUSH_AFTER = 0.02
"""Maximum seconds that a line waits for others before it is written."""
FLUSH_AT = 512
"""Number of lines that are written at once, to limit memory."""

logger = logging.getLogger(__name__)


class Outlet:
    """Collects lines and writes them in batches from mitmproxy's event loop."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` gets complete lines, joined and ended by newlines."""
        self._write = write
        self._lines: list[str] = []
        self._due: asyncio.TimerHandle | None = None

    def line(self, text: str) -> None:
        """Write a line, without its newline."""
        self._lines.append(text)
        if len(self._lines) >= FLUSH_AT:
            self.flush()
        elif self._due is None:
            self._schedule()

    def flush(self) -> None:
        """Write the collected lines."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if self._lines:
            text = "\n".join(self._lines) + "\n"
            self._lines.clear()
            self._write(text)

    def _schedule(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        self._due = loop.call_later(FLUSH_AFTER, self.flush)


def to_stream(stream: TextIO) -> Callable[[str], None]:
    """Write to a text stream. Characters that its encoding lacks are escaped; a closed stream is ignored."""
    open_ = [True]

    def write(text: str) -> None:
        if not open_[0]:
            return
        try:
            stream.write(text.encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8"))
            stream.flush()
        except (OSError, ValueError):
            open_[0] = False

    return write


def to_log(text: str) -> None:
    """Write to mitmproxy's event log, a record for each line (its console and web interface show that)."""
    for line in filter(None, text.splitlines()):
        logger.info("%s", line)


def terminal(*, event_log: bool) -> Outlet:
    """The outlet for people: standard output, or the event log if an interface of mitmproxy owns the screen."""
    return Outlet(to_log if event_log else to_stream(sys.stdout))


class FileOutlet(Outlet):
    """Appends to a file of mode 0600."""

    def __init__(self, path: Path) -> None:
        """Open `path` for appending. Raises `OSError`."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if path.is_file():
            path.chmod(0o600)
        self._file = os.fdopen(descriptor, "ab", buffering=0)
        self._path, self._failed = path, False
        super().__init__(self._append)

    def close(self) -> None:
        """Write the rest and close."""
        self.flush()
        self._file.close()

    def _append(self, text: str) -> None:
        if self._failed:
            return
        left = text.encode("utf-8", "backslashreplace")
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._failed = True
            message = "toolstream_jsonl: %s cannot be written: %s. It gets no more lines; traffic goes on."
            logger.error(message, self._path, error.strerror)


def jsonl_outlet(path: str) -> FileOutlet:
    """The outlet of `toolstream_jsonl`. Raises `OptionsError`."""
    file = Path(path).expanduser()
    try:
        if file.is_file() and not may_append(file):
            raise OptionsError(
                f"toolstream_jsonl: {path!r} is not a file of toolstream, and was not changed. Name another."
            )
        return FileOutlet(file)
    except OSError as error:
        message = (
            f"toolstream_jsonl: {path!r} is not writable ({error.strerror}). Expected a file in an existing folder."
        )
        raise OptionsError(message) from error


class Reporters:
    """Assigns a number and sinks to each stream."""

    def __init__(
        self,
        interface: Interface,
        listeners: Listeners | None,
        judged: VerdictListener | None = None,
        syntax: Callable[[str], str] = str,
    ) -> None:
        """Writes nothing before `run`. `interface` shows flows. `listeners` returns further sinks for each stream.

        `judged` receives each verdict too. `syntax` writes options for the command in use.
        """
        self._syntax = syntax
        self.interface = interface
        self._listeners = listeners
        self._judged = judged
        self._streams = 0
        self._terminal: Outlet | None = None
        self._log = Blocks(str)
        self._jsonl: FileOutlet | None = None
        self.view: LiveView | None = None
        """Shows responses live, if that is on."""
        self._paint = plain

    @property
    def running(self) -> bool:
        """Whether `run` was called."""
        return self._terminal is not None

    @property
    def on(self) -> bool:
        """Whether there is any sink for streams."""
        wanted = self._jsonl is not None or self._listeners is not None or self.view is not None
        return wanted or self.interface.on or ctx.options.toolstream_log != "off"

    @property
    def _logs(self) -> bool:
        """Whether responses are logged."""
        return self._terminal is not None and ctx.options.toolstream_log != "off"

    def run(self) -> None:
        """Choose the outlet, once mitmproxy's own addons are loaded."""
        event_log = ctx.master.addons.get("eventstore") is not None
        self._terminal = terminal(event_log=event_log)
        self._log = Blocks(self._terminal.line)
        coloured = not event_log and wants_colour(terminal=sys.stdout.isatty(), environment=dict(os.environ))
        self._paint = colour if coloured else plain

    def write_jsonl(self, path: str) -> None:
        """Write JSON Lines to `path` from now on; to no file if it is empty. Raises `OptionsError`."""
        if self._jsonl is not None:
            self._jsonl.close()
            self._jsonl = None
        self._jsonl = jsonl_outlet(path) if path else None

    def sinks(self, live: LiveResponse, protocol: WireProtocol) -> Sequence[Sink]:
        """All sinks of one stream."""
        self._streams += 1
        name = protocol.name
        head = {"flow": live.flow.id, "stream": self._streams, "host": live.exchange.host}
        head = live.head = {**head, "dialect": name, "protocol": name}
        sinks: list[Sink] = [] if self._listeners is None else [*self._listeners(live)]
        elapsed = live.elapsed if live.flow.live else None
        if self._logs:
            make = Lines if ctx.options.toolstream_log == "chunks" else EndLines
            method = "WS" if SOCKET in live.flow.metadata else live.flow.request.method
            request = f"{method} {place_of(live.flow, live.exchange.host)}{live.exchange.path.partition('?')[0]}"
            label = Label(f"#{self._streams}", live.hide(request), live.flow.id, live.exchange.status)
            sinks.append(
                make(
                    self._log.line,
                    label,
                    elapsed=elapsed,
                    paint=self._paint,
                    hide=live.hide,
                    syntax=self._syntax,
                    repaired=live.repairs,
                )
            )
        if self._jsonl is not None:
            sinks.append(JsonLines(self._jsonl.line, head, elapsed=elapsed, hide=live.hide))
        return sinks

    def judged(self, verdict: LiveVerdict) -> None:
        """Report how a client interpreted a stream."""
        self.interface.judged(verdict)
        if self._judged is not None:
            self._judged(verdict)
        if self.view is not None:
            self.view.judged(verdict)
        if self._logs:
            label = Label(f"#{verdict.response.head['stream']}")
            advice = advice_text(verdict.reported.explained, self._syntax)
            self._log.block(verdict.reported.short_text.lines(label.begin(), label.tag, self._paint, advice))
        if self._jsonl is not None:
            line = {"type": "verdict", **verdict.response.head, "verdict": verdict.reported.object}
            self._jsonl.line(json.dumps(line, separators=(",", ":")))

    def delivered(self, live: LiveResponse, calls: Sequence[Call]) -> None:
        """Report the calls that the client got, if they differ from the intended calls."""
        assert live.head is not None
        if self._logs:
            begin = Label(f"#{live.head['stream']}").begin()
            for line in delivered_lines(calls, self._paint, live.hide, WIDTH - len(begin)):
                self._log.line(begin + line)
        if self._jsonl is not None:
            objects = [call_object(call, live.hide) for call in calls]
            self._jsonl.line(json.dumps({"type": "delivered", **live.head, "calls": objects}, separators=(",", ":")))

    def replayed(self, flow: http.HTTPFlow) -> None:
        """Report which saved flow responded, if one did."""
        line = self._log.line if self._logs else None
        report_match(flow, line=line, jsonl=self._jsonl.line if self._jsonl is not None else None)

    def strayed(self, flow: http.HTTPFlow, protocol: str, error: str) -> None:
        """Report a socket's error that belongs to no response."""
        error, host = redacted(error, secrets_of(flow.request)), flow.request.pretty_host
        if self._logs:
            label = Label("error", f"WS {place_of(flow, host)}{flow.request.path.partition('?')[0]}", flow.id)
            self._log.line(label.head(None, protocol))
            begin = f"{'':{MARGIN}}"
            self._log.line(begin + self._paint("error", shortened(error, WIDTH - MARGIN, count=True)))
        if self._jsonl is not None:
            fields = {
                "type": "error",
                "flow": flow.id,
                "host": host,
                "dialect": protocol,
                "protocol": protocol,
                "error": error,
            }
            self._jsonl.line(json.dumps(fields, separators=(",", ":")))

    def failed(self, flow: http.HTTPFlow, error: Exception) -> None:
        """Log an internal error; the bytes were forwarded."""
        logger.error("toolstream stopped reading flow %s and forwards it unchanged: %s", flow.id, raised_at(error))

    def unjudged(self, flow: str, error: Exception) -> None:
        """As `failed`, if there is no verdict on the client."""
        logger.error("toolstream has no verdict on flow %s: %s", flow, raised_at(error))

    def close(self) -> None:
        """Write the remaining lines."""
        if self._terminal is not None:
            self._terminal.flush()
        if self._jsonl is not None:
            self._jsonl.close()
            self._jsonl = None
