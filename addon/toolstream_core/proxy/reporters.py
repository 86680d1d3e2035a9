"""What is told of each stream, and where: the terminal, the JSON Lines file, and sinks that others give."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx

from toolstream_core.fixtures.sockets import SOCKET
from toolstream_core.proxy import replay
from toolstream_core.proxy.exchange import place_of, secrets_of
from toolstream_core.proxy.heading import Heading
from toolstream_core.proxy.outlet import FileOutlet, Outlet, jsonl_outlet, terminal
from toolstream_core.redact import raised_at, redacted
from toolstream_core.report.jsonform import call_object
from toolstream_core.report.jsonl import JsonLines
from toolstream_core.report.layout import MARGIN, WIDTH, Blocks, Label, shortened
from toolstream_core.report.paint import colour, plain, wants_colour
from toolstream_core.report.summary import delivered_lines
from toolstream_core.report.text import EndLines, Lines
from toolstream_core.report.verdict import advice_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mitmproxy import http

    from toolstream_core.engine.sink import Sink
    from toolstream_core.model import Call
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.proxy.kept import KeptWatch
    from toolstream_core.proxy.live.view import LiveView
    from toolstream_core.proxy.ui import Interface
    from toolstream_core.proxy.verdicts import ToldVerdict
    from toolstream_core.proxy.watch import Watch

    type Listeners = Callable[[Watch], Sequence[Sink]]
    type VerdictListener = Callable[[ToldVerdict], None]

logger = logging.getLogger(__name__)


class Reporters:
    """Gives each stream its number and its sinks."""

    def __init__(
        self,
        interface: Interface,
        listeners: Listeners | None,
        judged: VerdictListener | None = None,
        syntax: Callable[[str], str] = str,
    ) -> None:
        """Nothing is written before `run`. `interface` shows flows. `listeners` gives further sinks for each stream.

        `judged` is told of each verdict too. `syntax` writes options as the command in use takes them.
        """
        self._syntax = syntax
        self.interface = interface
        self._listeners = listeners
        self._judged = judged
        self._streams = 0
        self._terminal: Outlet | None = None
        self._log = Blocks(lambda line: self._terminal.line(line) if self._terminal else None)
        self._jsonl: FileOutlet | None = None
        self.view: LiveView | None = None
        """Shows responses live, where that is on."""
        self._paint = plain

    @property
    def running(self) -> bool:
        """Whether `run` was called."""
        return self._terminal is not None

    @property
    def on(self) -> bool:
        """Whether anybody wants to know of a stream."""
        told = self._jsonl is not None or self._listeners is not None or self.view is not None
        return told or self.interface.on or ctx.options.toolstream_log != "off"

    def run(self) -> None:
        """Find out where lines go, once mitmproxy's own addons are there."""
        event_log = ctx.master.addons.get("eventstore") is not None
        self._terminal = terminal(event_log=event_log)
        coloured = not event_log and wants_colour(terminal=sys.stdout.isatty(), environment=dict(os.environ))
        self._paint = colour if coloured else plain

    def write_jsonl(self, path: str) -> None:
        """Write JSON Lines to `path` from now on; to no file where it is empty. Raises `OptionsError`."""
        if self._jsonl is not None:
            self._jsonl.close()
            self._jsonl = None
        self._jsonl = jsonl_outlet(path) if path else None

    def sinks(self, watch: Watch, protocol: WireProtocol) -> Sequence[Sink]:
        """Everything that wants to know of one stream."""
        self._streams += 1
        model = protocol.requests.model(watch.exchange.path, watch.exchange.request)
        heading = watch.heading = Heading(self._streams, watch.exchange.host, protocol.name, model)
        sinks: list[Sink] = [] if self._listeners is None else [*self._listeners(watch)]
        elapsed = watch.elapsed if watch.flow.live else None
        level = ctx.options.toolstream_log
        if level != "off" and self._terminal is not None:
            make = Lines if level == "chunks" else EndLines
            request = f"{_method(watch.flow)} {place_of(watch.flow)}{watch.exchange.path.partition('?')[0]}"
            label = Label(f"#{self._streams}", watch.hide(request), watch.flow.id, watch.exchange.status)
            sinks.append(
                make(
                    self._log.line,
                    label,
                    elapsed=elapsed,
                    paint=self._paint,
                    hide=watch.hide,
                    syntax=self._syntax,
                    repaired=watch.repairs,
                )
            )
        if self._jsonl is not None:
            head = _head(watch.flow.id, heading)
            sinks.append(JsonLines(self._jsonl.line, head, elapsed=elapsed, hide=watch.hide))
        return sinks

    def judged(self, told: ToldVerdict) -> None:
        """Tell what a client made of a stream."""
        self.interface.judged(told)
        if self._judged is not None:
            self._judged(told)
        if self.view is not None:
            self.view.judged(told)
        if self._terminal is not None and ctx.options.toolstream_log != "off":
            label = Label(f"#{told.heading.number}")
            advice = advice_text(told.explained, self._syntax)
            self._log.block(told.text.lines(label.begin(), label.tag, self._paint, advice))
        if self._jsonl is not None:
            head = _head(told.flow, told.heading)
            self._jsonl.line(json.dumps({"type": "verdict", **head, "verdict": told.object}, separators=(",", ":")))

    def closed(self, flow: http.HTTPFlow, watch: KeptWatch) -> None:
        """Nothing more of a response goes to the client."""
        self.interface.closed(flow, watch)

    def delivered(self, watch: Watch, calls: Sequence[Call]) -> None:
        """Tell the calls as the client got them, where these are not those that the provider meant."""
        assert watch.heading is not None
        if self._terminal is not None and ctx.options.toolstream_log != "off":
            begin = Label(f"#{watch.heading.number}").begin()
            for line in delivered_lines(calls, self._paint, watch.hide, WIDTH - len(begin)):
                self._log.line(begin + line)
        if self._jsonl is not None:
            head = _head(watch.flow.id, watch.heading)
            objects = [call_object(call, watch.hide) for call in calls]
            self._jsonl.line(json.dumps({"type": "delivered", **head, "calls": objects}, separators=(",", ":")))

    def replayed(self, flow: http.HTTPFlow) -> None:
        """Tell which saved flow answered, if one did."""
        line = self._log.line if self._terminal is not None and ctx.options.toolstream_log != "off" else None
        replay.report(flow, line=line, jsonl=self._jsonl.line if self._jsonl is not None else None)

    def strayed(self, flow: http.HTTPFlow, dialect: str, error: str) -> None:
        """Tell an error that came on a socket and belongs to no answer."""
        error = redacted(error, secrets_of(flow.request))
        if self._terminal is not None and ctx.options.toolstream_log != "off":
            label = Label("error", f"WS {place_of(flow)}{flow.request.path.partition('?')[0]}", flow.id)
            self._log.line(label.head(None, dialect))
            begin = f"{'':{MARGIN}}"
            self._log.line(begin + self._paint("error", shortened(error, WIDTH - MARGIN, count=True)))
        if self._jsonl is not None:
            said = {
                "type": "error",
                "flow": flow.id,
                "host": flow.request.pretty_host,
                "dialect": dialect,
                "protocol": dialect,
                "error": error,
            }
            self._jsonl.line(json.dumps(said, separators=(",", ":")))

    def failed(self, watch: Watch, error: Exception) -> None:
        """One clear error for a bug of ours; the bytes went on."""
        self.broke(watch.flow, error)

    def broke(self, flow: http.HTTPFlow, error: Exception) -> None:
        """As `failed`, of a flow."""
        logger.error("toolstream stopped reading flow %s and forwards it unchanged: %s", flow.id, raised_at(error))

    def unjudged(self, flow: str, error: Exception) -> None:
        """As `failed`, where what the client made of an answer cannot be told."""
        logger.error("toolstream has no verdict on flow %s: %s", flow, raised_at(error))

    def close(self) -> None:
        """Write what is left."""
        if self._terminal is not None:
            self._terminal.flush()
        if self._jsonl is not None:
            self._jsonl.close()
            self._jsonl = None


def _method(flow: http.HTTPFlow) -> str:
    """How an answer was asked for: an HTTP method, or `WS` for a message on a WebSocket."""
    return "WS" if SOCKET in flow.metadata else flow.request.method


def _head(flow: str, heading: Heading) -> dict[str, Any]:
    protocol = heading.protocol
    return {
        "flow": flow,
        "stream": heading.number,
        "host": heading.host,
        "dialect": protocol,
        "protocol": protocol,
    }
