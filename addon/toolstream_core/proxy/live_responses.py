"""The responses in flight. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Thread

from mitmproxy import http

from toolstream_core.delivery.schedule import Drawn, drawn
from toolstream_core.model import Json
from toolstream_core.protocols.registry import claiming
from toolstream_core.proxy.backlog import Backlog
from toolstream_core.proxy.capture.capture import Capture
from toolstream_core.proxy.flow_facts import noted_faults
from toolstream_core.proxy.live.recording import Recorder
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.proxy.own_ids import response_ids
from toolstream_core.proxy.report import Reporters
from toolstream_core.proxy.verdicts import Verdicts
from toolstream_core.saved.flow import facts_of, request_json
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.stages.response_ids import Ids
from toolstream_core.wire.body import BodyDecoder

logger = logging.getLogger(__name__)


class LiveResponses:
    """Begins live responses, and closes them."""

    def __init__(self, reporters: Reporters, verdicts: Verdicts, capture: Capture, ids: Ids) -> None:
        """Nothing is done to responses until `settings` are set."""
        self.settings = NOTHING
        """The settings of responses that begin from now on."""
        self._reporters = reporters
        self._verdicts = verdicts
        self._capture = capture
        self._ids = ids
        self._undecodable: set[str] = set()
        """The reasons why bodies cannot be decoded, each logged once."""
        self._responses: dict[str, LiveResponse] = {}
        self._requests: dict[str, tuple[bytes | None, Json]] = {}
        """The bodies of requests without a response yet, as bytes and as JSON."""
        self._begun = 0
        self._backlog = Backlog()
        self._loaded: set[str] = set()
        """The protocols whose stages were loaded, or are being loaded."""

    def on_request(self, flow: http.HTTPFlow) -> None:
        """Receive a request before any change: it shows how its client interpreted an earlier response.

        The first request of a protocol loads its stages in a thread, because that takes longer than a stream may wait.
        """
        protocol = claiming(flow.request.path)
        if protocol is not None and protocol.name not in self._loaded:
            self._loaded.add(protocol.name)
            Thread(target=protocol.load_stages, name="toolstream-loads", daemon=True).start()
        if self._reporters.on:
            self._verdicts.on_request(flow, self.request_of(flow))

    def request_of(self, flow: http.HTTPFlow) -> Json:
        """A request's body as JSON, or `ABSENT`; it is parsed once until the response begins, unless it changes."""
        raw = flow.request.raw_content
        known = self._requests.get(flow.id)
        if known is None or known[0] is not raw:
            known = self._requests[flow.id] = (raw, request_json(flow.request))
        return known[1]

    def begin(
        self, flow: http.HTTPFlow, request: Json, *, delivering: bool, settings: Settings | None = None
    ) -> tuple[LiveResponse, Drawn]:
        """Begin a flow's response after its headers, and return the timing faults that act on it too.

        `delivering`: whether it is forwarded while it arrives, and can be changed. `settings` for this
        response only.
        """
        assert flow.response is not None
        self._requests.pop(flow.id, None)
        self._begun += 1
        wanted = self.settings if settings is None else settings
        settings = wanted if delivering and self._decodes(flow.response) else NOTHING
        exchange = facts_of(flow, request)
        faults = drawn(settings, exchange, self._begun) if settings.transit else ()
        picks = [*noted_faults(flow), *(pick for _, pick in faults)]
        ids = response_ids(flow, exchange.host, self._ids)
        reporters = self._reporters
        live = LiveResponse(flow, exchange, reporters.sinks, reporters.failed, settings, ids, self._begun, picks)
        live.backlog = self._backlog
        live.record_with(self._recorders(live, request, delivering=delivering))
        self._responses[flow.id] = live
        if reporters.on:
            live.keep_sent()
        return live, faults

    def _decodes(self, response: http.Response) -> bool:
        """Whether the body can be decoded as it arrives."""
        failure = BodyDecoder(response.headers.get("content-encoding", "")).failure
        if failure is not None and failure not in self._undecodable:
            self._undecodable.add(failure)
            logger.warning("toolstream forwards responses with this coding unread: %s", failure)
        return failure is None

    def _recorders(self, live: LiveResponse, request: Json, *, delivering: bool) -> Sequence[Recorder]:
        """The recorders of a response."""
        view = self._reporters.view
        wanted: list[Recorder | None] = [
            self._capture.begin(live.flow),
            None if view is None else view.begin(live.flow, request),
            self._reporters.interface.begin(live, request) if delivering else None,
        ]
        return [one for one in wanted if one is not None]

    def reads(self, flow_id: str) -> bool:
        """Whether a response has begun and not ended."""
        return flow_id in self._responses and not self._responses[flow_id].over

    @property
    def in_flight(self) -> list[str]:
        """The flows of responses that have not ended for the client."""
        return list(self._responses)

    def take(self, flow_id: str) -> LiveResponse | None:
        """The response of a flow that is about to end."""
        return self._responses.pop(flow_id, None)

    def close(self, flow: http.HTTPFlow, live: LiveResponse | None) -> None:
        """Close an ended response."""
        self._requests.pop(flow.id, None)
        if live is None:
            self._verdicts.unanswered(flow)
        else:
            live.close()
            self._reporters.interface.closed(flow, live)
            self._verdicts.responded(flow, live)

    def stop(self) -> None:
        """The proxy stops."""
        for live in self._responses.values():
            live.finish(broken="the proxy was stopped")
            live.close()
        self._responses.clear()
