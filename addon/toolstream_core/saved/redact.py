"""Flows without secrets, and flow files of them. Knows mitmproxy's flow files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from mitmproxy import http
from mitmproxy.websocket import WebSocketData, WebSocketMessage

from toolstream_core.model import Chunk, Json
from toolstream_core.redaction import (
    Redaction,
    TextMode,
    known_secrets,
    redacted_body,
    redacted_fields,
    redacted_path,
    redacted_text,
)
from toolstream_core.saved.exchange import Cut
from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.flow import body_note, chunks_of, content_of, packed
from toolstream_core.saved.flowfile import socket_flows
from toolstream_core.sockets.saved import SavedResponse
from toolstream_core.wire import json_access


def redacted_messages(flow: http.HTTPFlow, redaction: Redaction, known: Sequence[str]) -> WebSocketData | None:
    """The messages of a flow without secrets; `None` if it is not the socket of an LLM.

    The messages of one response are searched together, because a secret may be split into deltas.
    """
    responses = socket_flows(flow)
    if responses is None or flow.websocket is None:
        return None
    clean = WebSocketData(
        [_with(one, redacted_body(one.content, redaction, known)) for one in flow.websocket.messages],
        closed_by_client=flow.websocket.closed_by_client,
        close_code=flow.websocket.close_code,
        close_reason=redacted_text(flow.websocket.close_reason or "", redaction, known) or None,
        timestamp_end=flow.websocket.timestamp_end,
    )
    for response, _ in responses:
        for place, content in _clean(response, redaction, known):
            clean.messages[place] = _with(clean.messages[place], content)
    return clean


def _clean(response: SavedResponse, redaction: Redaction, known: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """The changed messages of the response, each with its place."""
    lines = [line for _, line in response.lines]
    body = redacted_body(b"".join(lines), redaction, known)
    for message, line, clean in zip(response.messages, lines, Cut(body, [*map(len, lines)]), strict=True):
        if clean != line:
            yield message.place, clean.removesuffix(b"\n")


def _with(message: WebSocketMessage, content: bytes) -> WebSocketMessage:
    if content == message.content:
        return message
    clean = copy(message)
    clean.content = content
    return clean


_SECRETS = Redaction()
_METADATA = "toolstream"
_CODING = b"content-encoding"


def save(flows: Iterable[http.HTTPFlow], path: Path, redaction: Redaction = _SECRETS) -> None:
    """Write flows, redacted, to a file of mode 0600, instead of an existing one."""
    write_atomic(path, packed(redact(flow, redaction) for flow in flows), replace=True)


def redact(flow: http.HTTPFlow, redaction: Redaction = _SECRETS) -> http.HTTPFlow:
    """A copy without secrets: same id, same sizes and times of chunks.

    It lacks the version before an edit in mitmproxy, the messages of other WebSockets than an LLM's, and the notes of
    other addons (`proxyauth` notes a password). A body that cannot be decoded is emptied.
    """
    messages = redacted_messages(flow, redaction, tuple(_carried(flow.get_state())))
    state = {**flow.get_state(), "backup": None, "websocket": None}
    clean = http.HTTPFlow.from_state(redacted_state(state, redaction, chunks_of(flow)))
    assert isinstance(clean, http.HTTPFlow)
    clean.websocket = messages
    return clean


def redacted_state(
    state: Mapping[str, Any], redaction: Redaction = _SECRETS, chunks: Sequence[Chunk] = ()
) -> dict[str, Any]:
    """A flow's state without secrets: it has no backup and no WebSocket messages. `chunks` are those of its body.

    It stays plain data, because building objects costs more than the search.
    """
    work = _Redactor(redaction, tuple(_carried(state)))
    noted = state["metadata"].get(_METADATA)
    clean = {
        **state,
        "metadata": {} if noted is None else {_METADATA: work.metadata(noted)},
        "comment": work.text(state["comment"]),
        "error": state["error"] and {**state["error"], "msg": work.text(state["error"]["msg"])},
    }
    request = work.body(http.Request, state["request"], _plain(state["request"]))
    path = redacted_path(_native(request["path"]), redaction, work.known)
    clean["request"] = work.fields({**request, "path": path.encode("utf-8", "surrogateescape")})
    if state["response"] is not None:
        response = work.body(http.Response, state["response"], b"".join(chunk.data for chunk in chunks))
        if noted is not None and response is not state["response"]:
            clean["metadata"][_METADATA]["chunks"] = body_note(chunks)["chunks"]
        reason = work.text(response["reason"].decode("latin-1")).encode("latin-1")
        clean["response"] = work.fields({**response, "reason": reason})
    return clean


def _carried(state: Mapping[str, Any]) -> Iterator[str]:
    """The secrets of this flow, by the names of headers and parameters."""
    headers = [(_native(name), _native(value)) for name, value in state["request"]["headers"]]
    if state["response"] is not None:
        header_values = ((_native(name), _native(value)) for name, value in state["response"]["headers"])
        headers += [(name, value) for name, value in header_values if name.lower() == "set-cookie"]
    yield from known_secrets(headers, _native(state["request"]["path"]))


def _native(data: bytes) -> str:
    """Text as mitmproxy decodes it."""
    return data.decode("utf-8", "surrogateescape")


def _plain(request: Mapping[str, Any]) -> bytes:
    """A request's body, its coding undone."""
    if any(name.lower() == _CODING for name, _ in request["headers"]):
        return content_of(http.Request.from_state(request))
    body: bytes | None = request["content"]
    return body or b""


class _Redactor:
    """One flow's parts, redacted alike."""

    def __init__(self, redaction: Redaction, known: tuple[str, ...]) -> None:
        self.known = known
        self._redaction = redaction

    def text(self, text: str) -> str:
        return redacted_text(text, self._redaction, self.known)

    def metadata(self, noted: Json) -> Json:
        """The metadata of toolstream: the bytes sent in place of the response, and the record."""
        if not isinstance(noted, dict):
            return None
        clean = dict(noted)
        sent = json_access.get(noted, "sent", "body")
        if isinstance(sent, bytes):
            clean["sent"] = {**noted["sent"], "body": redacted_body(sent, self._redaction, self.known)}
        for name in ("record", "broken", "socket"):
            if name in noted:
                plain = json.dumps(noted[name]).encode()
                clean[name] = json.loads(redacted_body(plain, self._redaction, self.known))
        if self._redaction.text is not TextMode.KEEP:
            clean["text"] = str(self._redaction.text)
        return clean

    def fields(self, message: dict[str, Any]) -> dict[str, Any]:
        for part in ("headers", "trailers"):
            if message[part] is not None:
                message[part] = redacted_fields(message[part], self._redaction, self.known)
        return message

    def body(self, kind: type[http.Message], message: dict[str, Any], plain: bytes) -> dict[str, Any]:
        """A message with a redacted body; `plain` is the body without coding. The same object if nothing changes."""
        if not message["content"]:
            return message
        clean = redacted_body(plain, self._redaction, self.known)
        if plain and clean == plain:
            return message
        changed = kind.from_state(message)
        # Without a coding, to have sizes of chunks.
        changed.headers.pop("content-encoding", None)
        changed.content = clean
        state: dict[str, Any] = changed.get_state()
        return state
