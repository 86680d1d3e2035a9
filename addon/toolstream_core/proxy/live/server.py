"""Serves the live view on loopback: the page, and its updates. Needs tornado, which mitmproxy brings."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import sys
from typing import Any, Final, override

from mitmproxy.exceptions import OptionsError
from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from toolstream_core.proxy.live.view import LiveCursor, LiveView
from toolstream_core.redact import raised_at

logger = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
ALIVE: Final = 15.0
"""Seconds after which a comment is sent, which fails if the viewer has gone."""
_PORTS: Final = range(65536)


class ServedView:
    """A live view and its server on one port. Only pages with its token get data."""

    def __init__(self, text: str) -> None:
        """Listen on the port of this option value, 0 for any. Raises `OptionsError`."""
        if not text.isdecimal() or int(text) not in _PORTS:
            raise OptionsError(f"toolstream_view: {text!r} is not a port. Expected a number, or 0 for any free port")
        try:
            sockets = bind_sockets(int(text), HOST)
        except OSError as error:
            why = error.strerror or str(error)
            raise OptionsError(f"toolstream_view: port {text} is not available ({why}). Name another, or 0") from error
        number: int = sockets[0].getsockname()[1]
        self.hosts = frozenset({f"{HOST}:{number}", f"localhost:{number}"})
        self.token = secrets.token_urlsafe(24)
        self.address = f"http://{HOST}:{number}/#token={self.token}"
        self.view = LiveView(self._failed)
        self._reported = False
        self._viewers = 0
        self._changed = asyncio.Event()
        """Set when a viewer connects or disconnects."""
        routes = [(r"/", _Page), (r"/updates", _Updates), (r"/document", _Document)]
        # The address contains a token, and is not logged.
        handlers = [(path, handler, {"served": self}) for path, handler in routes]
        app = Application(handlers, log_function=lambda _: None)
        self._server = HTTPServer(app)
        self._server.add_sockets(sockets)

    def stop(self) -> None:
        """Stop listening; viewers are disconnected when the loop ends."""
        self._server.stop()

    async def unwatched(self, seconds: float) -> None:
        """Wait until no viewer has been connected for `seconds`."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(None if self._viewers else seconds):
                    await self._changed.wait()
            except TimeoutError:
                return

    def connected(self, change: int) -> None:
        """A viewer connected (1) or disconnected (-1)."""
        self._viewers += change
        self._changed.set()

    def announce(self) -> None:
        """Print the address. It has a token, so it is not logged."""
        sys.stderr.write(f"toolstream view: {self.address}\n")
        sys.stderr.flush()

    def _failed(self, error: Exception) -> None:
        if not self._reported:
            self._reported = True
            logger.error("toolstream_view: the live view is not complete: %s. Traffic continues.", raised_at(error))


class _Handler(RequestHandler):
    """Refuses requests under another name (DNS rebinding) and from other pages."""

    def initialize(self, served: ServedView) -> None:
        """Take the arguments of `Application`."""
        self.served, self.view = served, served.view

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
        if host not in self.served.hosts or origin not in (None, f"http://{host}"):
            raise HTTPError(403)

    @override
    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.finish(f"{status_code}\n")

    def check_token(self) -> None:
        """Raise `HTTPError` without the token."""
        given = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self.served.token.encode()):
            raise HTTPError(401)


class _Page(_Handler):
    def get(self) -> None:
        """The page, without any response: it asks for them with the token of its address."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(self.view.page())


class _Document(_Handler):
    async def get(self) -> None:
        """The document so far."""
        self.check_token()
        self.set_header("Content-Type", "application/json")
        await self.finish(json.dumps(await asyncio.to_thread(self.view.document), ensure_ascii=False))


class _Updates(_Handler):
    _cursor: LiveCursor | None = None

    async def get(self) -> None:
        """Patches as an event stream, until the viewer disconnects. Unread patches of slow viewers are not queued."""
        self.check_token()
        self.set_header("Content-Type", "text/event-stream")
        cursor = self._cursor = LiveCursor(self.view)
        self.served.connected(1)
        try:
            while not cursor.closed:
                patches = await cursor.next(ALIVE)
                lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in patches]
                self.write("".join(f"data: {line}\n\n" for line in lines) or ": alive\n\n")
                await self.flush()
        except StreamClosedError:
            return
        except Exception as error:  # noqa: BLE001 - the viewer is disconnected, and the traffic continues
            self.view.failed(error)
        finally:
            cursor.close()
            self.served.connected(-1)

    @override
    def on_connection_close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
