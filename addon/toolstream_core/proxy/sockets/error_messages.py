"""Errors that a fault answers a socket's requests with. Knows mitmproxy's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.delivery.schedule import drawn
from toolstream_core.model import Exchange
from toolstream_core.protocols.provider_error import kind_of
from toolstream_core.transit.rows import Moment
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.protocols.socket_wire import SocketLane, SocketRequest
    from toolstream_core.settings import Settings


class Refusal(NamedTuple):
    """The answer to a request that the provider is not asked."""

    message: bytes
    fault: str
    """What made it, as the user wrote it."""


class ErrorMessages:
    """The errors of one run of the proxy."""

    def __init__(self) -> None:
        """Nothing was asked for yet."""
        self._requests = 0

    def instead_of(
        self, socket: http.HTTPFlow, request: SocketRequest, place: SocketLane, settings: Settings
    ) -> Refusal | None:
        """What comes instead of an answer; `None` where the provider is to be asked."""
        self._requests += 1
        exchange = Exchange(host=socket.request.pretty_host, path=socket.request.path, request=request.body)
        for fault, pick in drawn(settings, exchange, self._requests, Moment.MESSAGE):
            status, later = int(str(fault.values["status"])), int(str(fault.values["retry-after"]))
            headers = {"retry-after": str(later)} if later else {}
            return Refusal(encoded(place.error(kind_of(status), status, headers)), pick.fault.spec)
        return None
