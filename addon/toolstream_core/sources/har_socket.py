"""WebSockets in a HAR file, as Chrome and others export them: `_webSocketMessages`. Knows HAR.

https://developer.chrome.com/blog/new-in-devtools-76#websocket
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.sockets.saved import STILL_OPEN, SavedMessage, is_of_upgrade, taken_apart, wire_of
from toolstream_core.sources.interaction import Interaction, saved_of
from toolstream_core.wire import json_access
from toolstream_core.wire.form import CONTENT_TYPES, Form
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.sockets.saved import SavedAnswer
    from toolstream_core.sources.saved import Saved

MESSAGES: Final = "_webSocketMessages"
_BINARY: Final = 2


def answers(entry: Json, socket: Interaction) -> list[Saved] | None:
    """The answers in an entry, named by the number that each has on its socket; `None` where it is no LLM's socket."""
    found = _taken_apart(entry, socket.path)
    if found is None:
        return None
    return [_saved(one, _interaction(socket, number, one)) for number, one in enumerate(found, 1)]


def interactions(entry: Json, socket: Interaction) -> Iterator[Interaction] | None:
    """The same as `answers`, each as the request over HTTP that it would be."""
    found = _taken_apart(entry, socket.path)
    if found is None:
        return None
    return (_interaction(socket, number, one) for number, one in enumerate(found, 1))


def put(entry: dict[str, Any], socket: Interaction, change: Callable[[Saved], Sequence[bytes]]) -> bool:
    """Give a socket the messages that its answers became; whether it is an LLM's socket."""
    found = _taken_apart(entry, socket.path)
    if found is None:
        return False
    became: dict[int, list[bytes]] = {}
    for number, one in enumerate(found, 1):
        pieces = change(_saved(one, _interaction(socket, number, one)))
        became.update(zip((message.place for message in one.messages), one.become(pieces), strict=True))
    entry[MESSAGES] = [
        changed for place, message in enumerate(entry[MESSAGES]) for changed in _put(message, became.get(place))
    ]
    return True


def _put(message: Json, became: list[bytes] | None) -> list[Json]:
    if became is None or became == [_data(message)]:
        return [message]
    binary = json_access.get(message, "opcode") == _BINARY
    texts = [base64.b64encode(data).decode() if binary else data.decode("utf-8", "replace") for data in became]
    return [{**message, "data": text} for text in texts]


def _taken_apart(entry: Json, path: str) -> list[SavedAnswer] | None:
    listed = json_access.get(entry, MESSAGES)
    if not isinstance(listed, list):
        return None
    messages = [_message(place, one) for place, one in enumerate(listed)]
    wire = wire_of(path, messages)
    return None if wire is None else taken_apart(wire, path, messages, STILL_OPEN)


def _message(place: int, said: Json) -> SavedMessage:
    at = json_access.get(said, "time")
    when = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else 0.0
    return SavedMessage(json_access.get(said, "type") == "send", when, _data(said), place)


def _data(said: Json) -> bytes:
    text = json_access.get(said, "data")
    if not isinstance(text, str):
        return b""
    if json_access.get(said, "opcode") != _BINARY:
        return text.encode(errors="replace")
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def _interaction(socket: Interaction, number: int, answer: SavedAnswer) -> Interaction:
    headers = [(name, value) for name, value in socket.request_headers if not is_of_upgrade(name)]
    return replace(
        socket,
        source=f"{socket.source}.{number}",
        method="POST",
        url=f"http{socket.url.removeprefix('ws')}" if socket.url.startswith("ws") else socket.url,
        request_headers=(*headers, ("content-type", CONTENT_TYPES[Form.WHOLE])),
        request_body=encoded(answer.request.body),
        status=200,
        reason="OK",
        response_headers=(("content-type", CONTENT_TYPES[Form.LINES]),),
        body=b"".join(line for _, line in answer.lines),
        started=answer.asked.at,
        chunks=tuple((when, len(line)) for when, line in answer.lines),
        line_ends=answer.line_ends.places,
        broken=answer.broken,
        missing=None,
    )


def _saved(answer: SavedAnswer, one: Interaction) -> Saved:
    lines = answer.lines
    return replace(
        saved_of(one),
        chunks=[line for _, line in lines],
        times=[when for when, _ in lines],
        began=answer.asked.at,
        ended=answer.messages[-1].at if answer.messages else 0.0,
        socket=answer.lane,
        missing=None,
    )
