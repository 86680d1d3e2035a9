"""An interface of mitmproxy with a list of flows, like mitmweb and the console, and the texts that it shows."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mitmproxy import contentviews, http
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.savehar import SaveHar
from mitmproxy.addons.view import View
from mitmproxy.test import taddons

from tests.proxy.flows import flows_in, wait_until
from toolstream_core.proxy.addon import ToolstreamAddon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy.websocket import WebSocketMessage


class Interface:
    """A running addon in a running interface."""

    def __init__(self, addon: ToolstreamAddon, view: View, context: taddons.context) -> None:
        """Store the addon, the list of flows and the context."""
        self.addon, self.view, self.context = addon, view, context

    def load(self, path: Path) -> list[http.HTTPFlow]:
        """Load a flow file as `-r` does."""
        flows = flows_in(path)
        self.pass_through(*flows)
        return flows

    def pass_through(self, *flows: http.HTTPFlow) -> None:
        """Pass flows through all hooks and wait for their verdicts."""

        async def passing() -> None:
            for flow in flows:
                await self.context.master.load_flow(flow)
            await wait_until(lambda: not self.addon.verdicts.waiting)

        asyncio.run(passing())

    def text(self, flow: http.HTTPFlow, message: http.Message | WebSocketMessage | None, view: str = "auto") -> str:
        """Return the text that is shown of a message."""
        return self.result(flow, message, view).text

    def result(self, flow: http.HTTPFlow, message: Any, view: str = "auto") -> contentviews.ContentviewResult:
        """Return the text of a message with the name of its view."""
        return contentviews.prettify_message(message, flow, view)


@contextlib.contextmanager
def interface(**options: Any) -> Iterator[Interface]:
    """Yield a running interface of mitmproxy with toolstream; its content views are removed at the end."""
    addon, view = ToolstreamAddon(), View()
    before = dict(contentviews.registry)
    with taddons.context(Proxyserver(), NextLayer(), SaveHar(), view, addon) as context:
        context.configure(addon, **{"toolstream_log": "off", **options})
        addon.running()
        try:
            yield Interface(addon, view, context)
        finally:
            contentviews.registry._by_name = before
