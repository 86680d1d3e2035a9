"""A scripted provider: HTTP/1.1 and HTTP/2, plain and TLS, on a free port."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Self

from tests.e2e.harness.http1 import Http1
from tests.e2e.harness.http2 import Http2
from tests.e2e.harness.plan import Plan
from tests.e2e.harness.script import PATIENCE, Response

if TYPE_CHECKING:
    import ssl


class Connection(asyncio.Protocol):
    """A connection: hands its bytes to the HTTP version that ALPN selected."""

    def __init__(self, plans: dict[str, Plan], connections: set[asyncio.Transport]) -> None:
        """`connections` is the set of open connections."""
        self._plans = plans
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._http: Http1 | Http2 | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the HTTP version that ALPN selected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(transport)
        tls = transport.get_extra_info("ssl_object")
        version = Http2 if tls is not None and tls.selected_alpn_protocol() == "h2" else Http1
        self._http = version(transport, self._plans)

    def data_received(self, data: bytes) -> None:
        """Pass the data on."""
        assert self._http is not None
        self._http.receive(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        if self._http is not None and self._transport is not None:
            self._connections.discard(self._transport)
            self._http.lost()


class Upstream:
    """The server, with its own thread and event loop. With `tls`, ALPN selects the HTTP version; else HTTP/1.1."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """Prepare it; `with` starts it."""
        self.tls = tls
        self.port = 0
        self.plans: dict[str, Plan] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Transport] = set()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def plan(self, response: Response) -> Plan:
        """Send this response to the request with the plan's headers."""
        plan = Plan(response)
        self.plans[plan.key] = plan
        return plan

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(PATIENCE)
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop listening, and end all connections."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(
            lambda: Connection(self.plans, self._connections), "127.0.0.1", 0, ssl=self.tls, backlog=256
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        assert self._server is not None
        self._server.close()
        for transport in tuple(self._connections):
            transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
