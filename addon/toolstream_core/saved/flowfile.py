"""The responses in a mitmproxy flow file, those of WebSockets included, and flow files with changed responses."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from mitmproxy import flow, http
from mitmproxy.flow import Error
from mitmproxy.websocket import WebSocketMessage

from toolstream_core.model import ABSENT, Chunk, Json
from toolstream_core.protocols.socket_wire import SocketLane, SocketRequest
from toolstream_core.saved.exchange import Change, Cut, Exchange, chunk_table, was_llm
from toolstream_core.saved.flow import (
    body_note,
    caused_in,
    content_of,
    facts_of,
    flows_in,
    headers_of,
    line_ends_of,
    packed,
    request_json,
    secrets_of,
    sent_in,
    unlabel,
    url_of,
)
from toolstream_core.sockets.lines import line_of
from toolstream_core.sockets.saved import (
    NORMAL,
    STILL_OPEN,
    SavedMessage,
    SavedResponse,
    how_closed,
    is_of_upgrade,
    taken_apart,
    wire_of,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.frame import CONTENT_TYPES, Form, Frame
from toolstream_core.wire.write import encoded

SOCKET: Final = "toolstream_socket"
"""The key in a flow's metadata of the socket of its response."""
REWRITTEN: Final = "rewritten"
"""The note in a flow's `toolstream` metadata that its body was replaced after the client got another one."""


class SocketFlow(NamedTuple):
    """A response of a saved socket."""

    response: SavedResponse
    flow: http.HTTPFlow


def response_flow(socket: http.HTTPFlow, request: SocketRequest, number: int) -> http.HTTPFlow:
    """The flow of the response that is `number` on a socket, from 1 on: its messages are lines of JSON."""
    flow = http.HTTPFlow(socket.client_conn, socket.server_conn, live=True)
    flow.id = f"{socket.id}.{number}"
    flow.request = socket.request.copy()
    flow.request.method = "POST"
    for name in list(flow.request.headers):
        if is_of_upgrade(name):
            del flow.request.headers[name]
    flow.request.headers["content-type"] = CONTENT_TYPES[Form.WHOLE]
    flow.request.content = encoded(request.body)
    flow.request.timestamp_start = flow.request.timestamp_end = time.time()
    flow.response = http.Response.make(200, b"", {"content-type": CONTENT_TYPES[Form.LINES]})
    del flow.response.headers["content-length"]
    flow.response.stream = True
    flow.metadata[SOCKET] = {"flow": socket.id, **({"lane": request.lane} if request.lane else {})}
    return flow


def unfolded(flow: http.HTTPFlow, source: str) -> Iterator[tuple[str, http.HTTPFlow]]:
    """A saved flow with its source; for an LLM's socket the flows of its responses, from `source.1` on."""
    responses = socket_flows(flow)
    if responses is None:
        yield source, flow
        return
    for number, one in enumerate(responses, 1):
        yield f"{source}.{number}", one.flow


def socket_flows(flow: http.HTTPFlow) -> list[SocketFlow] | None:
    """The responses of a saved socket; `None` if the flow is not the socket of an LLM."""
    if flow.websocket is None:
        return None
    original, path = flow.websocket.messages, flow.request.path
    messages = [SavedMessage(one.from_client, one.timestamp, one.content, place) for place, one in enumerate(original)]
    wire = wire_of(path, messages)
    if wire is None:
        return None
    closed = _closed(flow)
    responses = clients = taken_apart(wire, path, [one for one in messages if not original[one.place].injected], closed)
    if any(one.dropped or one.injected for one in original if not one.from_client):
        got = taken_apart(wire, path, [one for one in messages if not _is_kept_back(original[one.place])], closed)
        clients = got if len(got) == len(responses) else responses
    return [
        SocketFlow(response, _flow(flow, number, response, client))
        for number, (response, client) in enumerate(zip(responses, clients, strict=True), 1)
    ]


def note_of(lane: str, begun: float, others: list[SavedMessage]) -> dict[str, Json]:
    """The note in a flow's `toolstream` metadata on the socket of its response.

    `stream_id` if it had one, and `sent`, the client's messages during the response: `[[ms, text], …]`, counted
    from the request.
    """
    sent = [[max(0, round((one.at - begun) * 1000)), one.data.decode("utf-8", "replace")] for one in others]
    return {**({"stream_id": lane} if lane else {}), **({"sent": sent} if sent else {})}


def _is_kept_back(message: WebSocketMessage) -> bool:
    """Whether the client neither sent nor got a message."""
    return message.injected if message.from_client else message.dropped


def _closed(flow: http.HTTPFlow) -> str | None:
    """The error with which a socket ended; none after a normal close."""
    assert flow.websocket is not None
    if flow.error is not None:
        return flow.error.msg
    if flow.websocket.closed_by_client is None:
        return STILL_OPEN
    if not flow.websocket.closed_by_client and flow.websocket.close_code == NORMAL:
        return None
    return how_closed(flow.websocket.close_code, by_client=flow.websocket.closed_by_client)


def _flow(socket: http.HTTPFlow, number: int, response: SavedResponse, client: SavedResponse) -> http.HTTPFlow:
    flow = response_flow(socket, response.request, number)
    assert flow.response is not None
    flow.live = False
    flow.request.timestamp_start = flow.request.timestamp_end = response.request_message.at
    flow.response.timestamp_start = response.messages[0].at if response.messages else response.request_message.at
    flow.response.timestamp_end = response.messages[-1].at if response.messages else response.request_message.at
    chunks = [Chunk(*line) for line in response.lines]
    flow.response.raw_content = b"".join(chunk.data for chunk in chunks)
    if response.broken is not None:
        flow.error = Error(response.broken, flow.response.timestamp_end)
    sent = None if client is response else [Chunk(*line) for line in client.lines]
    noted = body_note(chunks, response.broken, response.line_ends, sent)
    noted["socket"] = note_of(response.request.lane, response.request_message.at, response.others)
    flow.metadata["toolstream"] = noted
    return flow


def socket_lines(chunks: Iterable[Chunk], content_type: str, place: SocketLane) -> list[Chunk]:
    """The events of a stream as lines, each at the time of its last chunk, and on the lane of `place`.

    Events that were on that lane already stay unchanged.
    """
    return [
        Chunk(after, line_of(_placed(frame, place)))
        for after, frame in _frames(chunks, content_type)
        if frame.json is not ABSENT
    ]


def _frames(chunks: Iterable[Chunk], content_type: str) -> Iterator[tuple[int, Frame]]:
    framing, after = BodyFraming(content_type), 0
    for after, data in chunks:
        yield from ((after, frame) for frame in framing.feed(data))
    yield from ((after, frame) for frame in framing.end())


def _with_spaces(frame: Frame) -> bytes:
    """An event's JSON, with the spaces around it if it was a line."""
    line = frame.raw.removesuffix(b"\n")
    return line if b"\n" not in line and line.strip() == frame.data else frame.data or b""


def _placed(frame: Frame, place: SocketLane) -> bytes:
    """The event's JSON, with the lane."""
    key, payload = place.wire.lane_key, frame.json
    lane = json_access.get(payload, key)
    if not key or not isinstance(payload, dict) or (lane if isinstance(lane, str) else "") == place.lane:
        return _with_spaces(frame)
    others = {name: value for name, value in payload.items() if name != key}
    return encoded(others | ({key: place.lane} if place.lane else {}))


# mitmproxy keeps the body of a stream only on request, and never that of a truncated one.
_UNSAVED = "its body was not saved; record streams with --set store_streamed_bodies=true"
_BROKEN = "its body was not saved, because the connection closed early: {}"
_EMPTY = "its body is empty"
_PIECE = 64 * 1024


def responses_in(stream: BinaryIO, source: str) -> Iterator[Exchange]:
    """Each HTTP flow's response, named by the flow's place in the file."""
    for number, one in enumerate(flows_in(stream)):
        if isinstance(one, http.HTTPFlow) and one.response is not None:
            found = socket_flows(one)
            if found is None:
                yield saved_response(one, f"{source}#{number}")
            else:
                for at, (response, saved_flow) in enumerate(found, 1):
                    yield saved_response(saved_flow, f"{source}#{number}.{at}", response.lane)
        del one  # the next flow is read before this name is bound again


def rewritten_flows(stream: BinaryIO, source: str, change: Change) -> bytes:
    """The flow file with the responses that `change` returns; unchanged ones keep their bytes."""
    return packed(_rewritten(stream, source, change))


def _rewritten(stream: BinaryIO, source: str, change: Change) -> Iterator[flow.Flow]:
    for number, one in enumerate(flows_in(stream)):
        if isinstance(one, http.HTTPFlow) and (responses := socket_flows(one)) is not None:
            _put_messages(one, responses, f"{source}#{number}", change)
        elif isinstance(one, http.HTTPFlow) and one.response is not None and one.response.raw_content:
            _put(one, saved_response(one, f"{source}#{number}"), change)
        yield one


def _put_messages(http_flow: http.HTTPFlow, responses: Sequence[SocketFlow], source: str, change: Change) -> None:
    """Set the messages of a socket to those of its changed responses, with the original times."""
    assert http_flow.websocket is not None
    became: dict[int, list[bytes]] = {}
    for number, (response, saved_flow) in enumerate(responses, 1):
        became |= response.become(change(saved_response(saved_flow, f"{source}.{number}", response.lane)).chunks)
    messages = http_flow.websocket.messages
    if all(contents == [messages[place].content] for place, contents in became.items()):
        return
    http_flow.websocket.messages = []
    for place, message in enumerate(messages):
        if place in became:
            http_flow.websocket.messages += [
                WebSocketMessage(message.type, from_client=False, content=data, timestamp=message.timestamp)
                for data in became[place]
            ]
        elif message.from_client or not message.injected:
            http_flow.websocket.messages.append(message)


def _put(http_flow: http.HTTPFlow, saved: Exchange, change: Change) -> None:
    """Set the body and the end of a flow; an unchanged one keeps its coding and its chunks."""
    assert http_flow.response is not None
    new = change(saved)
    if new.broken is not None and http_flow.error is None:
        http_flow.error = flow.Error(new.broken, http_flow.response.timestamp_end or http_flow.request.timestamp_start)
    if new.body in {http_flow.response.raw_content, http_flow.response.get_content(strict=False)}:
        return
    unlabel(http_flow.response)
    http_flow.response.raw_content = new.body
    http_flow.response.headers["content-length"] = str(len(new.body))
    http_flow.metadata["toolstream"] = {REWRITTEN: True}


def saved_response(http_flow: http.HTTPFlow, source: str, socket: SocketLane | None = None) -> Exchange:
    """The response of a flow; `socket` is its place on a WebSocket, if it has one."""
    assert http_flow.response is not None
    facts = facts_of(http_flow, request_json(http_flow.request), source)
    body = http_flow.response.raw_content
    chunks, times = _chunks(body or b"", json_access.get(http_flow.metadata, "toolstream", "chunks"))
    return Exchange(
        facts=facts,
        chunks=chunks,
        times=times,
        broken=http_flow.error.msg if http_flow.error else None,
        secrets=secrets_of(http_flow.request),
        sent=sent_in(http_flow),
        is_rewritten=json_access.get(http_flow.metadata, "toolstream", REWRITTEN) is True,
        faults=caused_in(http_flow).faults,
        began=http_flow.request.timestamp_start,
        ended=http_flow.response.timestamp_end or 0.0,
        socket=socket,
        missing=None if body or socket or not was_llm(facts, http_flow.request.method) else _why(http_flow),
        method=http_flow.request.method,
        url=url_of(http_flow.request),
        request_headers=headers_of(http_flow.request),
        request_body=content_of(http_flow.request),
        reason=http_flow.response.reason,
        response_headers=headers_of(http_flow.response),
        line_ends=line_ends_of(http_flow).places,
    )


def _why(http_flow: http.HTTPFlow) -> str:
    assert http_flow.response is not None
    if http_flow.response.raw_content is not None:
        return _EMPTY
    return _BROKEN.format(http_flow.error.msg) if http_flow.error else _UNSAVED


def _chunks(body: bytes, noted: Json) -> tuple[Iterable[bytes], list[int]]:
    """The body in the received chunks, with their times, if the flow has them."""
    if table := chunk_table(noted, len(body)):
        return Cut(body, [size for _, size in table]), [when for when, _ in table]
    return Cut(body, [_PIECE] * -(-len(body) // _PIECE)), []
