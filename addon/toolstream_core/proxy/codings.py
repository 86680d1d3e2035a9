"""Which content codings of answers can be read here; one that cannot is told once, not once an answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from mitmproxy import http

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
