"""A client of a Responses socket that sends prepared requests. Uses websockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Sequence


def exchange(
    url: str, requests: Sequence[dict[str, Any]], responses: int, *, also: Sequence[dict[str, Any]] = (), **more: Any
) -> list[bytes]:
    """Send each request after the previous response has ended. Returns all received messages.

    Requests on lanes are sent at once, and after them the messages in `also`. `responses` is the number of responses
    to wait for.
    """
    received: list[bytes] = []
    with connect(url, **more) as connection:
        waiting = list(requests)
        at_once = [request for request in waiting if "stream_id" in request] or waiting[:1]
        for request in at_once:
            waiting.remove(request)
            connection.send(json.dumps(request))
        for message in also:
            connection.send(json.dumps(message))
        while responses:
            message = connection.recv(10)
            received.append(message.encode() if isinstance(message, str) else message)
            if json.loads(message)["type"] in {"response.completed", "error"}:
                responses -= 1
                if waiting:
                    connection.send(json.dumps(waiting.pop(0)))
    return received
