"""The option `toolstream_view`: starts and stops the live view."""

from __future__ import annotations

import logging
import sys
from typing import Final

from mitmproxy.exceptions import OptionsError

from toolstream_core.proxy.live.server import ViewServer
from toolstream_core.proxy.live.view import LiveView
from toolstream_core.redact import raised_at

logger = logging.getLogger(__name__)

_PORTS: Final = range(65536)


class ServedView:
    """A live view and its server."""

    def __init__(self, text: str) -> None:
        """Listen on the port of this option value. Raises `OptionsError`."""
        if not text.isdecimal() or int(text) not in _PORTS:
            raise OptionsError(f"toolstream_view: {text!r} is not a port. Expected a number, or 0 for any free port")
        self._reported = False
        self.view = LiveView(self._failed)
        self.server = ViewServer(self.view)
        try:
            self.address = self.server.start(int(text))
        except OSError as error:
            why = error.strerror or str(error)
            raise OptionsError(f"toolstream_view: port {text} is not available ({why}). Name another, or 0") from error

    def announce(self) -> None:
        """Print the address. It has a token, so it is not logged."""
        sys.stderr.write(f"toolstream view: {self.address}\n")
        sys.stderr.flush()

    def _failed(self, error: Exception) -> None:
        if not self._reported:
            self._reported = True
            logger.error("toolstream_view: the live view is not complete: %s. Traffic goes on.", raised_at(error))
