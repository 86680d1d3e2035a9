"""What mitmweb and the console get: content views. Nothing is done where neither is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mitmproxy import contentviews, ctx

from toolstream_core.proxy.ui.known import Known
from toolstream_core.proxy.ui.views import Events, ToolCalls
from toolstream_core.report.judging import SavedVerdict

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.proxy.kept import KeptWatch
    from toolstream_core.proxy.verdicts import ToldVerdict


class Interface:
    """Knows the responses that pass, and shows them where a user looks at flows."""

    def __init__(self) -> None:
        """Off until `run`."""
        self.on = False
        """Whether mitmweb or the console is there."""
        self.known = Known()

    def run(self) -> None:
        """The addons of mitmproxy are there; its list of flows is one of them in mitmweb and in the console."""
        self.on = ctx.master.addons.get("view") is not None
        if self.on:
            contentviews.add(ToolCalls(self.known))
            contentviews.add(Events(self.known))

    def closed(self, flow: http.HTTPFlow, watch: KeptWatch) -> None:
        """Nothing more of a response goes to the client."""
        if self.on and watch.record is not None:
            seen = self.known.note(flow.id)
            seen.record, seen.hide = watch.record, watch.hide

    def judged(self, told: ToldVerdict) -> None:
        """A verdict came."""
        if self.on:
            calls = told.answer.calls
            verdict = SavedVerdict(told.flow, told.verdict, calls, told.request, told.hide, told.explained)
            self.known.note(told.flow).judged = verdict
