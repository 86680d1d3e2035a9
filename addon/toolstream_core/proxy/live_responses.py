"""The answers that are under way, each with what watches it. Knows mitmproxy's flow."""

from __future__ import annotations

import logging
from functools import reduce
from typing import TYPE_CHECKING

from toolstream_core.delivery.schedule import drawn
from toolstream_core.proxy.flow_facts import facts_of, noted_faults, request_json
from toolstream_core.proxy.live.recording import Both
from toolstream_core.proxy.live_response import CapturedWatch, KeptWatch
from toolstream_core.proxy.own_ids import answer_ids
from toolstream_core.settings import NOTHING
from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.delivery.schedule import Drawn
    from toolstream_core.model import Json
    from toolstream_core.proxy.capture import Capture
    from toolstream_core.proxy.live.recording import Recorder
    from toolstream_core.proxy.report import Reporters
    from toolstream_core.proxy.verdicts import Verdicts
    from toolstream_core.settings import Settings
    from toolstream_core.stages.answer_ids import Ids


logger = logging.getLogger(__name__)


class Codings:
    """Looks at how the bodies of answers are coded."""

    def __init__(self) -> None:
        """Nothing has been told."""
        self._told: set[str] = set()

    def reads(self, response: http.Response) -> bool:
        """Whether the body's coding can be undone as it comes; why not is told."""
        try:
            Decoder(response.headers.get("content-encoding", ""))
        except CodingError as error:
            why = str(error)
            if why not in self._told:
                self._told.add(why)
                logger.warning("toolstream forwards responses with this coding unread: %s", why)
            return False
        return True


class Answers:
    """Begins to watch answers, and closes them."""

    def __init__(self, reporters: Reporters, verdicts: Verdicts, capture: Capture, ids: Ids) -> None:
        """Nothing is to be done to answers until `settings` say so."""
        self.settings = NOTHING
        """What is to be done to the answers that begin from now on."""
        self._reporters = reporters
        self._verdicts = verdicts
        self._capture = capture
        self._ids = ids
        self._codings = Codings()
        self._watches: dict[str, KeptWatch] = {}
        self._requests: dict[str, tuple[bytes | None, Json]] = {}
        """The bodies of requests without an answer yet, as they came and as JSON."""
        self._begun = 0

    def asked(self, flow: http.HTTPFlow) -> None:
        """A request came, of which nothing was changed yet: it tells what its client made of an earlier answer."""
        if self._reporters.on:
            self._verdicts.asked(flow, self.request_of(flow))

    def request_of(self, flow: http.HTTPFlow) -> Json:
        """A request's body as JSON, or `ABSENT`; it is read once until its answer begins, unless it changes."""
        raw = flow.request.raw_content
        known = self._requests.get(flow.id)
        if known is None or known[0] is not raw:
            known = self._requests[flow.id] = (raw, request_json(flow.request))
        return known[1]

    def begin(
        self, flow: http.HTTPFlow, request: Json, *, delivering: bool, settings: Settings | None = None
    ) -> tuple[KeptWatch, Drawn]:
        """Watch a flow's answer, whose headers have come; the faults of time that act on it.

        `delivering`: whether it goes on as it comes, so that something may be done to it. `settings` for this answer
        alone.
        """
        assert flow.response is not None
        self._requests.pop(flow.id, None)
        self._begun += 1
        wanted = self.settings if settings is None else settings
        settings = wanted if delivering and self._codings.reads(flow.response) else NOTHING
        faults = drawn(settings, facts_of(flow, request), self._begun) if settings.transit else ()
        picks = [*noted_faults(flow), *(pick for _, pick in faults)]
        ids = answer_ids(flow, self._ids)
        reporters = self._reporters
        watched = (flow, request, reporters.sinks, reporters.failed, settings, ids, self._begun, picks)
        recording = self._recorder(flow, request, delivering=delivering)
        watch = KeptWatch(*watched) if recording is None else CapturedWatch(recording, *watched)
        self._watches[flow.id] = watch
        if reporters.on:
            watch.keep_sent()
        reporters.interface.watched(flow, watch)
        return watch, faults

    def _recorder(self, flow: http.HTTPFlow, request: Json, *, delivering: bool) -> Recorder | None:
        """What takes the bytes of a response, if anything does."""
        view = self._reporters.view
        taking: list[Recorder | None] = [
            self._capture.begin(flow),
            None if view is None else view.begin(flow, request),
            self._reporters.interface.begin(flow, request) if delivering else None,
        ]
        found = [one for one in taking if one is not None]
        return reduce(Both, found) if found else None

    def strayed(self, flow: http.HTTPFlow, dialect: str, error: str) -> None:
        """A socket's message says an error that belongs to no answer."""
        if self._reporters.on:
            self._reporters.strayed(flow, dialect, error)

    def reads(self, flow_id: str) -> bool:
        """Whether a response is watched that has not been read so far."""
        return flow_id in self._watches and not self._watches[flow_id].over

    def take(self, flow_id: str) -> KeptWatch | None:
        """What watches a flow, which is about to end."""
        return self._watches.pop(flow_id, None)

    def close(self, flow: http.HTTPFlow, watch: KeptWatch | None) -> None:
        """Nothing more goes to the client."""
        self._requests.pop(flow.id, None)
        if watch is None:
            self._verdicts.unanswered(flow)
        else:
            watch.close()
            self._reporters.closed(flow, watch)
            self._verdicts.answered(flow, watch)

    def stop(self) -> None:
        """The proxy ends."""
        for watch in self._watches.values():
            watch.finish(broken="the proxy was stopped")
            watch.close()
        self._watches.clear()
