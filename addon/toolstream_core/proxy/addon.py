"""The mitmproxy addon: options, hooks, and which flows are watched."""

from __future__ import annotations

import asyncio
import gc
import logging
from functools import partial, wraps
from typing import TYPE_CHECKING

from mitmproxy import ctx, exceptions, flowfilter, http

from toolstream_core.protocols.registry import claiming
from toolstream_core.protocols.requests.match_key import looks_like_llm, wants_stream
from toolstream_core.proxy.capture.capture import Capture
from toolstream_core.proxy.deliveries import RESENT, Deliveries
from toolstream_core.proxy.flow_facts import breaks, is_stream, relabel
from toolstream_core.proxy.live_response import chunks, through
from toolstream_core.proxy.live_responses import LiveResponses
from toolstream_core.proxy.options import (
    CAPTURE,
    CHANGES,
    PROVIDER_OPTIONS,
    changes_of,
    check_choices,
    declare,
    filter_of,
    malformed,
    normalize_config,
    provider_of,
    refuse_misspelt,
    speed_of,
)
from toolstream_core.proxy.own_ids import is_signed, restore
from toolstream_core.proxy.provider import OPTIONS, AnyProvider
from toolstream_core.proxy.report import Reporters
from toolstream_core.proxy.sockets.provider import SocketProvider
from toolstream_core.proxy.sockets.sockets import REFUSED, Sockets
from toolstream_core.proxy.ui.interface import Interface
from toolstream_core.proxy.verdicts import Verdicts
from toolstream_core.saved.flow import content_of
from toolstream_core.stages.response_ids import Ids
from toolstream_core.wire.frame import parse, read_ahead
from toolstream_core.wire.long_json import LONG

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mitmproxy.addonmanager import Loader

    from toolstream_core.proxy.live.server import ServedView
    from toolstream_core.proxy.report import Listeners, VerdictListener

logger = logging.getLogger(__name__)

_EXPANDS = 16
"""The usual maximum ratio of JSON to its coded form, in bytes."""


def _guarded[R](
    hook: Callable[[ToolstreamAddon, http.HTTPFlow], R],
) -> Callable[[ToolstreamAddon, http.HTTPFlow], R | None]:
    """A hook that raises nothing, since mitmproxy would log a traceback. After an internal error the flow passes."""

    @wraps(hook)
    def run(addon: ToolstreamAddon, flow: http.HTTPFlow) -> R | None:
        try:
            return hook(addon, flow)
        except Exception as error:  # noqa: BLE001 - after any error, the flow continues
            addon.failed(flow, error)
            return None

    return run


def _is_long(message: http.Message) -> bool:
    """Whether a body may be long JSON, also once its coding is undone."""
    coded = message.headers.get("content-encoding", "identity") != "identity"
    return len(message.raw_content or b"") > (LONG // _EXPANDS if coded else LONG)


async def _after_reading(content: Callable[[], bytes], then: Callable[[], None]) -> None:
    """Call `then` after the JSON of long content was parsed in a thread."""
    data = await asyncio.to_thread(content)
    with read_ahead(data, await asyncio.to_thread(parse, data)):
        then()


class ToolstreamAddon:
    """Shows how LLM providers stream tool calls."""

    def __init__(
        self,
        listeners: Listeners | None = None,
        judged: VerdictListener | None = None,
        *,
        syntax: Callable[[str], str] = str,
        ids_kept: bool = False,
        gated: bool = False,
        understood: int = 0,
    ) -> None:
        """Nothing is on until mitmproxy has read the options.

        `listeners` gives further sinks for each response, and all LLM responses are read then. `judged` receives each
        verdict. `syntax` writes options in the log for the command in use. With `ids_kept`, clients must return the ids
        that they got, and verdicts are reported at once. With `gated`, a change of options also reaches open
        connections. `understood`: as for `Explainer`.
        """
        self._filter: flowfilter.TFilter | None = None
        self.interface = Interface()
        self._reporters = Reporters(self.interface, listeners, judged, syntax)
        self.verdicts = Verdicts(
            self._reporters.judged,
            self._reporters.unjudged,
            self._reporters.delivered,
            ids_kept=ids_kept,
            understood=understood,
        )
        self._provider: AnyProvider | None = None
        self.capture = Capture()
        self.served: ServedView | None = None
        """The live view, if it is on."""
        self._announces = not gated
        self._ids = Ids()
        self._responses = LiveResponses(self._reporters, self.verdicts, self.capture, self._ids)
        self._deliveries = Deliveries(self._closed, self._responses.request_of, always=gated)
        self._sockets = Sockets(
            self._responses, self._ids, self._deliveries.orders, self._replayed, self._reporters.strayed
        )

    def load(self, loader: Loader) -> None:
        """Declare the options; an error that is logged now keeps mitmdump from starting."""
        wrong = [*normalize_config(ctx.options)]
        declare(loader)
        for message in (*wrong, *malformed(ctx.options)):
            logger.error("Addon error: %s", message)

    def configure(self, updated: set[str]) -> None:
        """Check the options that changed; a wrong one keeps mitmproxy from starting, and is reported in one line.

        mitmproxy exits if an error was logged during its start, and logs exceptions with their traceback.
        """
        try:
            self._configure(updated)
        except exceptions.OptionsError as error:
            if self._reporters.running or ctx.master.addons.get("errorcheck") is None:
                raise
            logger.error("Addon error: %s", error)

    def _configure(self, updated: set[str]) -> None:
        refuse_misspelt(ctx.options.deferred)
        check_choices(ctx.options, updated)
        if "toolstream_websocket" in updated:
            self._sockets.mode = ctx.options.toolstream_websocket
        if "toolstream_filter" in updated:
            self._filter = filter_of(ctx.options.toolstream_filter)
        if "toolstream_jsonl" in updated:
            self._reporters.write_jsonl(ctx.options.toolstream_jsonl)
        if "toolstream_view" in updated:
            self._configure_view(ctx.options.toolstream_view)
        if "toolstream_keep_bodies" in updated:
            self.interface.configure()
        if updated & PROVIDER_OPTIONS:
            self._configure_provider()
        if updated & CAPTURE:
            self.capture.configure(ctx.options)
        if updated & CHANGES:
            self._responses.settings = changes_of(ctx.options)
        if updated & (CHANGES | {"toolstream_provider", "toolstream_speed"}):
            speed = speed_of(ctx.options.toolstream_speed)
            self._sockets.provider = None if self._provider is None else SocketProvider(self._provider, speed)
            self._deliveries.configure(self._responses.settings, speed if self._provider is not None else None)

    def running(self) -> None:
        """Choose the outlets and the interface, once mitmproxy's own addons are loaded.

        All that is loaded stays: a full collection takes 50 ms with it, in which no stream is forwarded.
        """
        if ctx.master.addons.get("errorcheck") is not None:
            gc.freeze()
        self.interface.run()
        self._reporters.run()
        self._deliveries.run()
        if self.served is not None and self._announces:
            self.served.announce()

    @_guarded
    def request(self, flow: http.HTTPFlow) -> Coroutine[None, None, None] | None:
        """Respond from saved flows, if a provider is set; prepare requests whose response is rewritten.

        A long request is parsed in a thread; mitmproxy awaits the result, and other streams continue.
        """
        if _is_long(flow.request) and RESENT not in flow.metadata and self._watched(flow):
            return self._long_request(flow)
        self._on_request(flow)
        self._prepared(flow)
        self._respond(flow)
        return None

    async def _long_request(self, flow: http.HTTPFlow) -> None:
        await asyncio.to_thread(self._read, flow)
        self._on_request(flow)
        await asyncio.to_thread(self._prepared, flow)
        await asyncio.to_thread(self._read, flow)  # ids may have changed
        self._respond(flow)

    @_guarded
    def _read(self, flow: http.HTTPFlow) -> None:
        self._responses.request_of(flow)

    @_guarded
    def _on_request(self, flow: http.HTTPFlow) -> None:
        if RESENT not in flow.metadata and self._filtered(flow):
            self._responses.on_request(flow)

    @_guarded
    def _prepared(self, flow: http.HTTPFlow) -> None:
        """Restore the ids that the provider sent, and request a coding that can be decoded as it arrives."""
        rewrites = self._responses.settings.rewrites
        if RESENT in flow.metadata or not (rewrites or self._ids):
            return
        if not self._filtered(flow) or is_signed(flow.request):
            return
        restore(flow, self._ids)
        if rewrites and looks_like_llm(flow.request.path, self._responses.request_of(flow)):
            flow.request.headers["accept-encoding"] = "identity"

    @_guarded
    def _respond(self, flow: http.HTTPFlow) -> None:
        if flow.response is None and RESENT not in flow.metadata and self._filtered(flow):
            if self._sockets.refuses(flow) or self._deliveries.refuses(flow):
                return
            if self._responses.settings.destream:
                self._deliveries.destreams(flow)
        if self._provider is not None and flow.response is None:
            if self._deliveries.has(flow) and self._sockets.serves(flow):
                return
            self._provider.respond(flow)
            self._replayed(flow)

    @_guarded
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Forward a streamed response as it arrives, and read it if it may be an LLM's."""
        assert flow.response is not None
        if RESENT in flow.metadata or REFUSED in flow.metadata:
            return  # not streamed, or without a response
        streamed = is_stream(flow.response)
        claimed = claiming(flow.request.path) is not None
        if streamed and not flow.response.stream:
            flow.response.stream = True
        if not self._watched(flow):
            return
        request = self._responses.request_of(flow)
        if not (streamed or claimed or looks_like_llm(flow.request.path, request)):
            return
        delivering = streamed or (claimed and wants_stream(flow.request.path, request)) or breaks(flow)
        live, faults = self._responses.begin(flow, request, delivering=delivering)
        if delivering:
            if self._deliveries.begin(flow, live, faults) or live.rewrites:
                relabel(flow)
            flow.response.stream = through(live, flow.response.stream)

    @_guarded
    def response(self, flow: http.HTTPFlow) -> Coroutine[None, None, None] | None:
        """Read a response that was not streamed through this addon: `stream: false`, or one that an addon made."""
        if flow.response is not None and self._responses.reads(flow.id) and _is_long(flow.response):
            return _after_reading(partial(content_of, flow.response), partial(self._responded, flow))
        self._responded(flow)
        return None

    @_guarded
    def _responded(self, flow: http.HTTPFlow) -> None:
        if self._deliveries.provides(flow):
            return
        live = self._responses.take(flow.id)
        self._deliveries.forget(flow)
        if live is None or live.over:
            self._responses.close(flow, live)
            return
        assert flow.response is not None
        out: list[bytes] = []
        if flow.response.raw_content:
            out += chunks(live.stream(flow.response.raw_content))
        if flow.error is not None and not flow.live:  # a saved flow; mitmproxy calls the hook for its error last
            live.finish(broken=flow.error.msg)
        out += chunks(live.stream(b""))
        self._responses.close(flow, live)
        if live.rewrites:
            flow.response.raw_content = b"".join(out)
            flow.response.headers.pop("transfer-encoding", None)
            flow.response.headers["content-length"] = str(len(flow.response.raw_content))

    @_guarded
    def error(self, flow: http.HTTPFlow) -> None:
        """Report a truncated response: it has no final, empty chunk."""
        live = self._responses.take(flow.id)
        self._deliveries.forget(flow)
        if live is not None:
            live.finish(broken=flow.error.msg if flow.error else "connection lost")
        elif self._filtered(flow) and RESENT not in flow.metadata:
            self.capture.unanswered(flow)
        self._responses.close(flow, live)

    @_guarded
    def websocket_start(self, flow: http.HTTPFlow) -> None:
        """Read a socket that may be an LLM's."""
        if self._sockets.served(flow) or self._watched(flow):
            self._sockets.start(flow)

    @_guarded
    def websocket_message(self, flow: http.HTTPFlow) -> Coroutine[None, None, None] | None:
        """Read a message of a WebSocket of an LLM."""
        content = flow.websocket.messages[-1].content if flow.websocket and self._sockets.reads(flow) else b""
        if len(content) > LONG:
            return _after_reading(lambda: content, partial(self._message, flow))
        self._message(flow)
        return None

    @_guarded
    def _message(self, flow: http.HTTPFlow) -> None:
        self._sockets.message(flow)

    @_guarded
    def websocket_end(self, flow: http.HTTPFlow) -> None:
        """Report the responses that were truncated by the end of a socket."""
        self._sockets.end(flow)

    def failed(self, flow: http.HTTPFlow, error: Exception) -> None:
        """Report an internal error in a hook, and leave the flow alone."""
        self._reporters.failed(flow, error)
        self._responses.take(flow.id)
        self._deliveries.forget(flow)

    def disconnected(self) -> None:
        """All clients have left, which mitmproxy does not notice while it waits to send."""
        for flow_id in self._responses.in_flight:
            self._closed(flow_id)

    def done(self) -> None:
        """Report the remaining responses."""
        self._responses.stop()
        self.interface.close()
        self.capture.close()
        self.verdicts.close()
        self._reporters.close()

    def _closed(self, flow_id: str) -> None:
        """End a response whose delivery has ended."""
        live = self._responses.take(flow_id)
        if live is not None:
            live.finish(broken="Client disconnected.")  # nothing, if the end was seen
            self._responses.close(live.flow, live)

    def _watched(self, flow: http.HTTPFlow) -> bool:
        return (self._reporters.on or self._responses.settings.rewrites or self.capture.on) and self._filtered(flow)

    def _filtered(self, flow: http.HTTPFlow) -> bool:
        return self._filter is None or bool(flowfilter.match(self._filter, flow))

    def _replayed(self, flow: http.HTTPFlow) -> None:
        if self._filtered(flow):
            self._reporters.replayed(flow)

    def _configure_view(self, text: str) -> None:
        """Start the live view, or stop it. Raises `OptionsError`."""
        if self.served is not None:
            self.served.stop()
            self.served = self._reporters.view = None
        if text:
            from toolstream_core.proxy.live.server import ServedView  # noqa: PLC0415 - tornado takes time to import

            self.served = ServedView(text)
            self._reporters.view = self.served.view

    def _configure_provider(self) -> None:
        self._provider = provider_of(ctx.options)
        if self._provider is not None:
            ctx.options.update(**OPTIONS)
