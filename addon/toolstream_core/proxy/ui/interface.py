"""Content views, bodies, marks and commands for mitmweb and the console. Without these, nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from mitmproxy import contentviews, ctx, http
from mitmproxy.flow import Flow
from mitmproxy.hooks import UpdateHook

from toolstream_core.model import Json, Record
from toolstream_core.proxy.live.recording import LiveRecording
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.proxy.options import filter_of, size_of
from toolstream_core.proxy.ui import written
from toolstream_core.proxy.ui.bodies import Bodies
from toolstream_core.proxy.ui.commands import Commands
from toolstream_core.proxy.ui.facts import cannot_show, note_loaded, read_saved
from toolstream_core.proxy.ui.known import Known
from toolstream_core.proxy.ui.marks import clear, put
from toolstream_core.proxy.ui.views import Events, ToolCalls
from toolstream_core.proxy.verdicts import LiveVerdict
from toolstream_core.redact import redacted
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.flow import secrets_of


class Interface:
    """Shows forwarded responses in mitmproxy's interfaces."""

    def __init__(self) -> None:
        """Off until `run`."""
        self.on = False
        """Whether mitmweb or the console runs."""
        self.bodies = Bodies()
        self.known = Known(self.bodies.saved)
        self.commands = Commands(self.known, self.bodies)
        self._views = (ToolCalls(self.known), Events(self.known))
        self.loading: set[asyncio.Task[None]] = set()
        """Flows that are being read."""

    def run(self) -> None:
        """Called when mitmproxy's addons are loaded; its list of flows is one of them in mitmweb and the console."""
        self.on = ctx.master.addons.get("view") is not None
        if self.on:
            self.configure()
            for view in self._views:
                contentviews.add(view)
            self.commands.add_to(ctx.master.commands)
            note_loaded(ctx.master.commands, self.load)

    def configure(self) -> None:
        """Take the options. Raises `OptionsError`."""
        limit = size_of("toolstream_keep_bodies", ctx.options.toolstream_keep_bodies, least=0)
        if self.on:
            self.bodies.limit_to(limit)
            self._refresh()

    def begin(self, live: LiveResponse, request: Json) -> LiveRecording | None:
        """The recording of a streamed response, if its bytes are kept for display."""
        return self.bodies.begin(live, request) if self.on else None

    def closed(self, flow: http.HTTPFlow, live: LiveResponse) -> None:
        """Show an ended response."""
        if self.on:
            try:
                self._close(flow, live)
            except Exception as error:  # noqa: BLE001 - the display does not affect the traffic
                cannot_show(flow.id, error)

    def _close(self, flow: http.HTTPFlow, live: LiveResponse) -> None:
        self.bodies.end(flow)
        shown = self._shown(flow.id) or flow
        if live.record is not None:
            self._note(shown, flow.id, live.record, secrets_of(flow.request))
            self.known.prepare(flow)
        self._refresh(shown)

    def judged(self, live_verdict: LiveVerdict) -> None:
        """Take a verdict."""
        if self.on:
            verdict = live_verdict.reported
            flow, request = self._judge(verdict), verdict.request and self._shown(verdict.request)
            if flow is not None:
                self._refresh(flow)
                self._show_again(flow, flow.response)
            if request:
                self._show_again(request, request.request)
            contentviews.registry.on_change.send(self._views[0])  # the console shows flows again then

    def load(self, flows: Sequence[Flow]) -> None:
        """The console loaded flows from a file. They are read in a thread."""
        matches = filter_of(ctx.options.toolstream_filter) or bool
        chosen = [one for one in flows if isinstance(one, http.HTTPFlow) and one.response is not None and matches(one)]
        task = asyncio.get_running_loop().create_task(self._load(chosen))
        self.loading.add(task)
        task.add_done_callback(self.loading.discard)

    async def _load(self, flows: Sequence[http.HTTPFlow]) -> None:
        found = [(flow, saved) for flow in flows for saved in self._saved(flow)]
        records, verdicts = await asyncio.to_thread(read_saved, [saved for _, saved in found])
        if not self.on:
            return
        for (flow, saved), record in zip(found, records, strict=True):
            if record is not None:
                self._note(flow, saved.facts.source, record, saved.secrets)
        for verdict in verdicts:
            self._judge(verdict)
        self._refresh(*flows)
        contentviews.registry.on_change.send(self._views[0])

    def _saved(self, flow: http.HTTPFlow) -> Sequence[Exchange]:
        try:
            return [*written.saved_in(flow, self.bodies)]
        except Exception as error:  # noqa: BLE001 - the other flows are read
            cannot_show(flow.id, error)
            return ()

    def close(self) -> None:
        """The proxy ends; later verdicts are only logged."""
        self.on = False
        self.bodies.close()
        self.known.close()

    def _note(self, shown: http.HTTPFlow, token: str, record: Record, secrets: tuple[str, ...]) -> None:
        """A response was read."""
        if shown.websocket is None:
            clear(shown)
        seen = self.known.note(token)
        seen.record, seen.hide, seen.judged = record, partial(redacted, secrets=secrets), None
        put(shown, seen)

    def _judge(self, verdict: ReportedVerdict) -> http.HTTPFlow | None:
        """Add a verdict to its response. Returns the flow that shows it."""
        seen, flow = self.known.note(verdict.source), self._shown(verdict.source)
        seen.judged = verdict
        if flow is not None:
            put(flow, seen)
        return flow

    def _show_again(self, flow: http.HTTPFlow, message: http.Message | None) -> None:
        """Let mitmweb reload an open message, which it does when the hash of the body changes."""
        body = None if message is None else message.raw_content
        if not body or message is None or ctx.master.addons.get("webaddon") is None:
            return
        message.raw_content = body + b"\n"
        try:
            ctx.master.addons.trigger(UpdateHook([flow]))
        finally:
            message.raw_content = body
        ctx.master.addons.trigger(UpdateHook([flow]))

    def _shown(self, token: str) -> http.HTTPFlow | None:
        """The flow of a response in mitmproxy's list; responses of a WebSocket share a flow."""
        view = ctx.master.addons.get("view")
        found: http.HTTPFlow | None = view.get_by_id(token) or view.get_by_id(token.partition(".")[0])
        return found

    def _refresh(self, *flows: http.HTTPFlow) -> None:
        """Let mitmproxy show the changes."""
        dropped, self.bodies.dropped = self.bodies.dropped, []
        for flow in dropped:
            self.known.forget(flow)
        changed = [*flows, *dropped]
        if changed:
            ctx.master.addons.trigger(UpdateHook(changed))
