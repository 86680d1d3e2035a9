"""Answers in a mitmproxy flow file. Knows mitmproxy's format by way of mitmproxy."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from mitmproxy import flow, http
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.websocket import WebSocketMessage

from toolstream_core.delivery.sent_bytes import response_id
from toolstream_core.proxy.flow_facts import facts_of, request_json, secrets_of, unlabel
from toolstream_core.saved.exchange import Saved, UnreadableError, was_llm
from toolstream_core.saved.flow import caused_in, not_whole, sent_in
from toolstream_core.saved.sockets import socket_flows
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.socket_wire import SocketLane
    from toolstream_core.saved.rewrite import NewBody
    from toolstream_core.saved.sockets import SocketFlow

# mitmproxy keeps no body of a stream unless told to, and none at all of one that broke off.
_UNSAVED = "its body was not saved; record streams with --set store_streamed_bodies=true"
_BROKEN = "its body was not saved, because the connection closed early: {}"
_EMPTY = "its body is empty"
_PIECE = 64 * 1024


def answers(stream: BinaryIO, source: str) -> Iterator[Saved]:
    """Each HTTP flow's answer, named by the flow's place in the file."""
    for number, one in enumerate(_flows(stream)):
        if isinstance(one, http.HTTPFlow) and one.response is not None:
            found = socket_flows(one)
            if found is None:
                yield saved_response(one, f"{source}#{number}")
            else:
                for at, (answer, answered) in enumerate(found, 1):
                    yield saved_response(answered, f"{source}#{number}.{at}", answer.lane)
        del one  # the next flow is read before this name is bound again


def rewritten(stream: BinaryIO, source: str, change: Callable[[Saved], NewBody]) -> bytes:
    """The flow file with the answers that `change` gives; what it leaves as it is stays as it is."""
    out = io.BytesIO()
    writer = FlowWriter(out)
    for number, one in enumerate(_flows(stream)):
        if isinstance(one, http.HTTPFlow) and (answers := socket_flows(one)) is not None:
            _put_messages(one, answers, f"{source}#{number}", change)
        elif isinstance(one, http.HTTPFlow) and one.response is not None and one.response.raw_content:
            _put(one, saved_response(one, f"{source}#{number}"), change)
        writer.add(one)
    return out.getvalue()


def _put_messages(
    one: http.HTTPFlow, answers: Sequence[SocketFlow], source: str, change: Callable[[Saved], NewBody]
) -> None:
    """Give a socket the messages that its answers became, each at the time of what it was."""
    assert one.websocket is not None
    became: dict[int, list[bytes]] = {}
    for number, (answer, answered) in enumerate(answers, 1):
        pieces = change(saved_response(answered, f"{source}.{number}", answer.lane)).pieces
        places = [message.place for message in answer.messages]
        became.update(zip(places, answer.become(pieces), strict=True))
    messages = one.websocket.messages
    if all(made == [messages[place].content] for place, made in became.items()):
        return
    one.websocket.messages = []
    for place, message in enumerate(messages):
        if place in became:
            one.websocket.messages += [
                WebSocketMessage(message.type, from_client=False, content=data, timestamp=message.timestamp)
                for data in became[place]
            ]
        elif message.from_client or not message.injected:
            one.websocket.messages.append(message)


def _put(one: http.HTTPFlow, saved: Saved, change: Callable[[Saved], NewBody]) -> None:
    """Give a flow its new body and end; one of which nothing was changed keeps its coding and its chunks."""
    assert one.response is not None
    new = change(saved)
    if new.broken is not None and one.error is None:
        one.error = flow.Error(new.broken, one.response.timestamp_end or one.request.timestamp_start)
    if new.body in {one.response.raw_content, one.response.get_content(strict=False)}:
        return
    unlabel(one.response)
    one.response.raw_content = new.body
    one.response.headers["content-length"] = str(len(new.body))
    one.metadata.pop("toolstream", None)


def _flows(stream: BinaryIO) -> Iterator[flow.Flow]:
    count = 0
    try:
        for one in FlowReader(stream).stream():
            yield one
            count += 1
            del one  # as in `answers`
    except OSError:
        raise
    except Exception as error:  # on foreign bytes mitmproxy raises more than its own exceptions
        raise UnreadableError(not_whole(count, error)) from error


def saved_response(one: http.HTTPFlow, source: str, socket: SocketLane | None = None) -> Saved:
    """The response of a flow; `socket` says where on a WebSocket it came, where it did."""
    assert one.response is not None
    exchange = replace(facts_of(one, request_json(one.request)), source=source)
    body = one.response.raw_content
    chunks, times = _pieces(body or b"", json_access.get(one.metadata, "toolstream", "chunks"))
    return Saved(
        exchange=exchange,
        chunks=chunks,
        times=times,
        broken=one.error.msg if one.error else None,
        secrets=secrets_of(one.request),
        sent=sent_in(one),
        faults=caused_in(one).faults,
        began=one.request.timestamp_start,
        ended=one.response.timestamp_end or 0.0,
        response=response_id([body or b""], exchange),
        socket=socket,
        missing=None if body or socket or not was_llm(exchange, one.request.method) else _why(one),
    )


def _why(one: http.HTTPFlow) -> str:
    assert one.response is not None
    if one.response.raw_content is not None:
        return _EMPTY
    return _BROKEN.format(one.error.msg) if one.error else _UNSAVED


class Cut:
    """A body in pieces, each copied only while it is read."""

    def __init__(self, body: bytes, sizes: Sequence[int]) -> None:
        """`sizes` are those of the pieces."""
        self._body, self._sizes = body, sizes

    def __iter__(self) -> Iterator[bytes]:
        """Each piece."""
        at = 0
        for size in self._sizes:
            yield self._body[at : at + size]
            at += size


def _pieces(body: bytes, noted: Json) -> tuple[Iterable[bytes], list[int]]:
    """The body as it was cut on the wire and when each piece came, where the flow has that and it fits."""
    cuts = [
        (json_access.integer(json_access.get(cut, 0)), json_access.integer(json_access.get(cut, 1)))
        for cut in json_access.items(noted)
    ]
    known = [(when, size) for when, size in cuts if isinstance(when, int) and isinstance(size, int) and size >= 0]
    if cuts and len(known) == len(cuts) and sum(size for _, size in known) == len(body):
        return Cut(body, [size for _, size in known]), [when for when, _ in known]
    return Cut(body, [_PIECE] * -(-len(body) // _PIECE)), []
