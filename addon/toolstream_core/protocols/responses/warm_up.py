"""Responses over a WebSocket: the response to a request that only warms up the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.healthy_response import HealthyResponse
from toolstream_core.protocols.responses import responses
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json


def warmed_up(request: Json, token: str) -> list[bytes]:
    """As `SocketWire.warm_up`: a response without output, which the next request may name.

    https://developers.openai.com/api/docs/guides/websocket-mode
    """
    if json_access.get(request, "generate") is not False:
        return []
    model = json_access.get(request, "model")
    response = HealthyResponse(model=model if isinstance(model, str) else "toolstream", request=request, token=token)
    return list(responses.streamed({**responses.healthy_unstreamed(response), "output": []}, request))
