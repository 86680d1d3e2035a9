"""A WebSocket server that answers as it was told, and a client that says what it was told. Knows websockets."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect
from websockets.sync.server import serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from websockets.sync.server import ServerConnection

    from toolstream_core.sockets.saved import SavedMessage


@contextmanager
def provider(sockets: Sequence[Sequence[SavedMessage]]) -> Iterator[int]:
    """A server that plays each of these sockets once, in order: it waits for its client's messages; the port."""
    waiting = list(sockets)

    def play(connection: ServerConnection) -> None:
        for message in waiting.pop(0):
            if message.from_client:
                connection.recv()
            else:
                connection.send(message.data.decode())
        connection.recv()

    with serve(play, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.socket.getsockname()[1]
        server.shutdown()
        thread.join()


def talk(url: str, requests: Sequence[dict[str, Any]], answers: int, **more: Any) -> list[bytes]:
    """What a client gets that sends one request after the last event of the answer before, until all have ended.

    Requests on lanes are sent at once. `answers` is how many end.
    """
    got: list[bytes] = []
    with connect(url, **more) as connection:
        waiting = list(requests)
        at_once = [one for one in waiting if "stream_id" in one] or waiting[:1]
        for request in at_once:
            waiting.remove(request)
            connection.send(json.dumps(request))
        while answers:
            message = connection.recv(10)
            got.append(message.encode() if isinstance(message, str) else message)
            if json.loads(message)["type"] in {"response.completed", "error"}:
                answers -= 1
                if waiting:
                    connection.send(json.dumps(waiting.pop(0)))
    return got
