"""Responses in HAR files (HTTP Archive), as browsers and proxies export them, WebSocket messages included.

https://w3c.github.io/web-performance/specs/HAR/Overview.html
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from toolstream_core.model import Chunk, Json
from toolstream_core.saved.exchange import Change, Exchange, UnreadableError, from_base64, plain_body, read_headers
from toolstream_core.sockets.saved import STILL_OPEN, SavedMessage, SavedResponse, is_of_upgrade, taken_apart, wire_of
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import CONTENT_TYPES, Form, parse
from toolstream_core.wire.write import encoded

MESSAGES: Final = "_webSocketMessages"
_BINARY: Final = 2


def rewritten(data: bytes, source: str, change: Change) -> bytes:
    """The file with its responses changed. Raises `UnreadableError`."""
    document = parse(data.removeprefix(_BOM))
    for entry, one in _read(document, source):
        over_socket = _over_socket(entry, one)
        if over_socket is not None:
            became: dict[int, list[bytes]] = {}
            for response, saved in over_socket:
                became |= response.become(change(saved).chunks)
            listed = enumerate(entry[MESSAGES])
            entry[MESSAGES] = [new for place, message in listed for new in _put_message(message, became.get(place))]
        elif not one.missing and (body := change(one).body) != one.body:
            _put_body(entry["response"], body)
    return encoded(document)


def _put_body(response: dict[str, Json], body: bytes) -> None:
    before = response.get("content")
    content = dict(before) if isinstance(before, dict) else {}
    try:
        content.update(text=body.decode(), size=len(body))
        content.pop("encoding", None)
    except UnicodeDecodeError:
        content.update(text=base64.b64encode(body).decode(), size=len(body), encoding="base64")
    response["content"] = content


def _put_message(message: Json, became: list[bytes] | None) -> list[Json]:
    if became is None or became == [_data(message)]:
        return [message]
    binary = json_access.get(message, "opcode") == _BINARY
    texts = [base64.b64encode(data).decode() if binary else data.decode("utf-8", "replace") for data in became]
    return [{**message, "data": text} for text in texts]


def _over_socket(entry: Json, socket: Exchange) -> list[tuple[SavedResponse, Exchange]] | None:
    """The responses of an entry that is the socket of an LLM; `None` if it is not."""
    listed = json_access.get(entry, MESSAGES)
    if not isinstance(listed, list):
        return None
    messages = [_message(place, one) for place, one in enumerate(listed)]
    path = socket.facts.path
    if (wire := wire_of(path, messages)) is None:
        return None
    found = taken_apart(wire, path, messages, STILL_OPEN)
    return [(one, _socket_exchange(socket, number, one)) for number, one in enumerate(found, 1)]


def _message(place: int, entry: Json) -> SavedMessage:
    at = json_access.get(entry, "time")
    when = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else 0.0
    return SavedMessage(json_access.get(entry, "type") == "send", when, _data(entry), place)


def _data(entry: Json) -> bytes:
    return _bytes_of(json_access.get(entry, "data"), coded=json_access.get(entry, "opcode") == _BINARY)


def _bytes_of(text: Json, *, coded: bool) -> bytes:
    """The bytes of a text, which may be in base64."""
    if not isinstance(text, str):
        return b""
    return from_base64(text) if coded else text.encode(errors="replace")


def _socket_exchange(socket: Exchange, number: int, response: SavedResponse) -> Exchange:
    headers = [(name, value) for name, value in socket.request_headers if not is_of_upgrade(name)]
    return Exchange.of(
        source=f"{socket.source}.{number}",
        method="POST",
        url=f"http{socket.url.removeprefix('ws')}" if socket.url.startswith("ws") else socket.url,
        request_headers=(*headers, ("content-type", CONTENT_TYPES[Form.WHOLE])),
        request_body=encoded(response.request.body),
        status=200,
        reason="OK",
        response_headers=(("content-type", CONTENT_TYPES[Form.LINES]),),
        chunks=[Chunk(*line) for line in response.lines],
        began=response.request_message.at,
        line_ends=response.line_ends.places,
        broken=response.broken,
        ended=response.messages[-1].at if response.messages else 0.0,
        socket=response.lane,
    )


_BOM = b"\xef\xbb\xbf"
_NO_BODY = "its body is not in the HAR file; browsers call it “Save all as HAR with content”"


def exchanges(data: bytes, source: str) -> Iterator[Exchange]:
    """Each entry, named by its place in the file; `#2.1` is the first response on the socket `#2`.

    Raises `UnreadableError`.
    """
    for entry, one in _read(parse(data.removeprefix(_BOM)), source):
        over_socket = _over_socket(entry, one)
        yield from [one] if over_socket is None else (response for _, response in over_socket)


def _read(document: Json, source: str) -> Iterator[tuple[dict[str, Json], Exchange]]:
    for number, entry in enumerate(_entries(document)):
        if isinstance(entry, dict) and isinstance(entry.get("response"), dict):
            yield entry, _exchange(entry, f"{source}#{number}")


def _entries(document: Json) -> list[Json]:
    """The entries of a HAR file. Raises `UnreadableError`."""
    found = json_access.get(document, "log", "entries")
    if not isinstance(found, list):
        raise UnreadableError('is not a HAR file: expected JSON with "log" and, in it, "entries"')
    return found


def _exchange(entry: Json, source: str) -> Exchange:
    """One entry, which has a response. Its text has no coding: `content-encoding` belongs to the transferred bytes."""
    request, response = entry.get("request"), entry["response"]
    text, error = json_access.get(request, "postData", "text"), json_access.get(response, "_error")
    headers = [*read_headers(json_access.get(response, "headers"))]
    named = {name.lower(): value for name, value in reversed(headers)}
    content = json_access.get(response, "content")
    mime = json_access.get(content, "mimeType")
    if "content-type" not in named and isinstance(mime, str) and mime:
        headers.append(("content-type", mime))
    data = _bytes_of(json_access.get(content, "text"), coded=json_access.get(content, "encoding") == "base64")
    body = plain_body(data, named.get("content-encoding", ""))
    status = json_access.integer(json_access.get(response, "status"))
    return Exchange.of(
        source=source,
        method=str(json_access.get(request, "method") or "POST").upper(),
        url=str(json_access.get(request, "url") or ""),
        request_headers=read_headers(json_access.get(request, "headers")),
        request_body=text.encode(errors="replace") if isinstance(text, str) else b"",
        status=status if isinstance(status, int) else 0,
        reason=str(json_access.get(response, "statusText") or ""),
        response_headers=tuple(headers),
        body=body,
        began=_time(entry.get("startedDateTime")),
        broken=error if error and isinstance(error, str) else None,
        missing=_NO_BODY,
    )


def _time(text: Json) -> float:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else 0.0
    except ValueError:
        return 0.0
