"""Serves the live view on loopback: the page, and what it grows by. Needs tornado, which mitmproxy brings."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any, Final, Protocol, override

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from tornado.web import _HandlerDelegate

HOST: Final = "127.0.0.1"
ALIVE: Final = 15.0
"""Seconds after which a comment is sent, so that a viewer that has gone is noticed."""


class Cursor(Protocol):
    """How far one viewer has got."""

    closed: bool
    """Whether the viewer has gone."""

    async def next(self, seconds: float) -> list[dict[str, Any]]:
        """The patches since the last call, as soon as there are any; none after so many seconds."""
        ...

    def close(self) -> None:
        """The viewer has gone."""
        ...


class Feed(Protocol):
    """The source of the served document and its patches."""

    failed: Callable[[Exception], None]
    """Reports an internal error."""

    def page(self) -> str:
        """The page, without responses."""
        ...

    def document(self) -> dict[str, Any]:
        """The document so far. Called in a thread."""
        ...

    def follow(self) -> Cursor:
        """A viewer that has seen nothing."""
        ...


class ViewServer:
    """One server on one port. Only pages with its token get what the view shows."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._token = secrets.token_urlsafe(24)
        self._server: HTTPServer | None = None
        self._viewers = 0
        self._changed = asyncio.Event()
        """Set when a viewer comes or goes."""

    def start(self, port: int) -> str:
        """Listen on `port` of loopback, 0 for any; the address, with the token in its fragment. Raises `OSError`."""
        sockets = bind_sockets(port, HOST)
        number: int = sockets[0].getsockname()[1]
        routes = [(r"/", _Page), (r"/updates", _Updates), (r"/document", _Document)]
        hosts = frozenset({f"{HOST}:{number}", f"localhost:{number}"})
        settings = {"feed": self._feed, "server": self, "hosts": hosts, "token": self._token}
        app = Application([(path, handler, settings) for path, handler in routes], log_function=_no_log)
        self._server = HTTPServer(app)
        self._server.add_sockets(sockets)
        return f"http://{HOST}:{number}/#token={self._token}"

    def stop(self) -> None:
        """Listen no more; viewers are disconnected when the loop ends."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    async def unwatched(self, seconds: float) -> None:
        """Wait until no viewer has been connected for so long."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(None if self._viewers else seconds):
                    await self._changed.wait()
            except TimeoutError:
                return

    def connected(self) -> None:
        """A viewer connected."""
        self._viewers += 1
        self._changed.set()

    def disconnected(self) -> None:
        """A viewer disconnected."""
        self._viewers -= 1
        self._changed.set()


def _no_log(handler: RequestHandler | _HandlerDelegate) -> None:
    """The address holds a token, and nothing of it is logged."""


class _Handler(RequestHandler):
    """Refuses requests under another name (DNS rebinding) and from other pages."""

    def initialize(self, feed: Feed, server: ViewServer, hosts: frozenset[str], token: str) -> None:
        """What `Application` hands on."""
        self.feed, self.server, self._hosts, self._token = feed, server, hosts, token

    @override
    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("X-Frame-Options", "DENY")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")

    @override
    def prepare(self) -> None:
        host, origin = self.request.host, self.request.headers.get("Origin")
        if host not in self._hosts or origin not in (None, f"http://{host}"):
            raise HTTPError(403)

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.finish(f"{status_code}\n")

    def check_token(self) -> None:
        """Raise `HTTPError` without the token."""
        given = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            raise HTTPError(401)


class _Page(_Handler):
    def get(self) -> None:
        """The page, without any response: it asks for them with the token of its address."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(self.feed.page())


class _Document(_Handler):
    async def get(self) -> None:
        """The document so far."""
        self.check_token()
        self.set_header("Content-Type", "application/json")
        await self.finish(json.dumps(await asyncio.to_thread(self.feed.document), ensure_ascii=False))


class _Updates(_Handler):
    _cursor: Cursor | None = None

    async def get(self) -> None:
        """Patches as an event stream, until the viewer goes. Patches that a slow viewer has not read are not queued."""
        self.check_token()
        self.set_header("Content-Type", "text/event-stream")
        cursor = self._cursor = self.feed.follow()
        self.server.connected()
        try:
            while not cursor.closed:
                patches = await cursor.next(ALIVE)
                lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in patches]
                self.write("".join(f"data: {line}\n\n" for line in lines) or ": alive\n\n")
                await self.flush()
        except StreamClosedError:
            return
        except Exception as error:  # noqa: BLE001 - the viewer is disconnected, and the traffic goes on
            self.feed.failed(error)
        finally:
            cursor.close()
            self.server.disconnected()

    @override
    def on_connection_close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
