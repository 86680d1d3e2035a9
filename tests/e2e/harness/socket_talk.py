"""A client of a Responses socket that says what it was told. Knows websockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Sequence


def talk(
    url: str, requests: Sequence[dict[str, Any]], responses: int, *, also: Sequence[dict[str, Any]] = (), **more: Any
) -> list[bytes]:
    """What a client gets that sends one request after the last event of the answer before, until all have ended.

    Requests on lanes are sent at once, and behind them what is `also` to be said. `responses` is how many end.
    """
    got: list[bytes] = []
    with connect(url, **more) as connection:
        waiting = list(requests)
        at_once = [one for one in waiting if "stream_id" in one] or waiting[:1]
        for request in at_once:
            waiting.remove(request)
            connection.send(json.dumps(request))
        for message in also:
            connection.send(json.dumps(message))
        while responses:
            message = connection.recv(10)
            got.append(message.encode() if isinstance(message, str) else message)
            if json.loads(message)["type"] in {"response.completed", "error"}:
                responses -= 1
                if waiting:
                    connection.send(json.dumps(waiting.pop(0)))
    return got
