"""Counts what passes in one run of the proxy, in memory that does not grow. Knows mitmproxy's flow."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, override

from mitmproxy import ctx

from toolstream_core.engine.sink import Sink
from toolstream_core.protocols.registry import SOCKETS, claiming
from toolstream_core.proxy.exchange import opens_socket
from toolstream_core.proxy.resend import RESENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mitmproxy import http
    from mitmproxy.proxy.server_hooks import ServerConnectionHookData

    from toolstream_core.model import Record
    from toolstream_core.proxy.verdicts import ToldVerdict
    from toolstream_core.proxy.watch import Watch

_MOST_UNREACHED: Final = 8
"""Servers that are remembered, as what is counted must not grow."""
_COUNTED: Final = ("requests", "others", "refused", "websockets", "unopened", "answers", "calls")


class Tally(Sink):
    """The addon behind all others: what it counts is `docs/cli.md`'s summary of `toolstream run`."""

    name = "toolstream-tally"

    def __init__(self) -> None:
        """Nothing has passed."""
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
        """A request came."""
        if RESENT in flow.metadata or (opens_socket(flow.request) and _is_read(flow)):
            return
        self._counts["requests" if claiming(flow.request.path) is not None else "others"] += 1

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """An answer begins."""
        assert flow.response is not None
        failed = flow.response.status_code >= 400  # noqa: PLR2004
        if failed and RESENT not in flow.metadata and claiming(flow.request.path) is not None:
            self._counts["unopened" if opens_socket(flow.request) else "refused"] += 1

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        """A WebSocket to an LLM."""
        if claiming(flow.request.path) is not None:
            self._counts["websockets"] += 1

    def toolstream_socket_request(self, flow: http.HTTPFlow) -> None:
        """A request came over a WebSocket."""
        self.request(flow)

    def listeners(self, watch: Watch) -> Sequence[Sink]:
        """What reads each answer; what refuses a WebSocket is none."""
        return () if opens_socket(watch.flow.request) else (self,)

    @override
    def ended(self, record: Record) -> None:
        self._counts["answers"] += 1
        self._counts["calls"] += len(record.calls)
        self._findings.update(finding.name for finding in record.findings)
        self._changes.update(record.changes)
        self._faults.update({fault.spec: min(1, fault.changes) for fault in record.faults})

    def judged(self, told: ToldVerdict) -> None:
        """Count a verdict, and keep the first advice for each."""
        outcome = told.verdict.outcome.value
        self._verdicts[outcome] += 1
        if told.explained.advice:
            self._advice.setdefault(outcome, told.explained.advice[0])

    def as_json(self) -> dict[str, Any]:
        """For the reply."""
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
    """Whether a WebSocket is taken apart into requests and answers."""
    return ctx.options.toolstream_websocket == "read" and any(wire.claims(flow.request.path) for wire in SOCKETS)
