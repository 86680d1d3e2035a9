"""The records and verdicts of the flows that mitmproxy shows. Knows its flow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

from toolstream_core.model import Record
from toolstream_core.protocols.registry import claiming
from toolstream_core.protocols.requests.match_key import looks_like_llm
from toolstream_core.proxy.flow_facts import is_stream
from toolstream_core.proxy.ui.facts import Facts, cannot_show, facts_of
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.flow import request_json
from toolstream_core.saved.flowfile import saved_response, socket_flows
from toolstream_core.view.response import TimedEvent

LONG_BODY: Final = 64 * 1024
"""Bytes from which on a response is read before it is shown."""
MOST_READ: Final = 8
"""Number of flows whose responses are shown without reading them again."""
MOST_JUDGED: Final = 4096
"""Number of responses whose record and verdict are kept."""


@dataclass(slots=True)
class Seen:
    """The record of a forwarded response."""

    record: Record | None = None
    """It has the faults, repairs and notes that reading the body again does not show."""
    hide: Callable[[str], str] = str
    """Redacts the texts of the record."""
    judged: ReportedVerdict | None = None


class SocketPart(NamedTuple):
    """A message of a WebSocket and the response that it belongs to."""

    token: str
    """The id of that response's flow."""
    facts: Facts
    is_request: bool
    """Whether the message requested the response."""
    event: TimedEvent | None = None
    """The place of the message in the response, if it is read."""
    is_last: bool = False
    """Whether no message of the response follows."""


class Known:
    """Records and verdicts by flow, and responses that were read for display."""

    def __init__(self, saved: Callable[[http.HTTPFlow], Exchange | None] = lambda _: None) -> None:
        """`saved` gives a response with facts apart from the flow: the provider's bytes, and times."""
        self._saved = saved
        self._seen: OrderedDict[str, Seen] = OrderedDict()
        self._read: dict[str, tuple[Hashable, Facts | None]] = {}
        self._reader = ThreadPoolExecutor(1, "toolstream-reads")
        self._parts: dict[str, tuple[Hashable, dict[int, list[SocketPart]]]] = {}

    def note(self, token: str) -> Seen:
        """The facts of a response so far; they can be added to."""
        seen = self._seen.setdefault(token, Seen())
        self._seen.move_to_end(token)
        while len(self._seen) > MOST_JUDGED:
            self._seen.popitem(last=False)
        return seen

    def seen(self, token: str) -> Seen:
        """The proxy's record of a response."""
        return self._seen.get(token) or Seen()

    def answered_by(self, token: str) -> Sequence[ReportedVerdict]:
        """The verdicts that a request decided."""
        verdicts = (one.judged for one in self._seen.values())
        return [one for one in verdicts if one is not None and one.request == token]

    def forget(self, flow: http.HTTPFlow) -> None:
        """The flow has lost its body."""
        self._read.pop(flow.id, None)

    def facts(self, flow: http.HTTPFlow) -> Facts | None:
        """The response of a flow; `None` if it has none of an LLM's, or no body."""
        if flow.response is None or not flow.response.raw_content:
            return None
        return _cached(self._read, flow.id, flow.response.raw_content, lambda: self._facts_of(flow))

    def prepare(self, flow: http.HTTPFlow) -> None:
        """Read a long response in a thread, before it is shown: the proxy does not wait for it then."""
        body = None if flow.response is None else flow.response.raw_content
        if body is not None and len(body) >= LONG_BODY:
            self._reader.submit(self.facts, flow)

    def close(self) -> None:
        """The proxy ends."""
        self._reader.shutdown(wait=False, cancel_futures=True)

    def parts(self, flow: http.HTTPFlow, message: WebSocketMessage) -> Sequence[SocketPart]:
        """The responses that a message of a WebSocket belongs to."""
        assert flow.websocket is not None
        count = len(flow.websocket.messages)
        return _cached(self._parts, flow.id, count, lambda: _parts_of(flow)).get(id(message), ())

    def _facts_of(self, flow: http.HTTPFlow) -> Facts | None:
        try:
            return facts_of(self._saved(flow) or saved_response(flow, flow.id)) if _may_be_llm(flow) else None
        except Exception as error:  # noqa: BLE001 - mitmproxy's own views are there
            cannot_show(flow.id, error)
            return None


def _may_be_llm(flow: http.HTTPFlow) -> bool:
    assert flow.response is not None
    path = flow.request.path
    return is_stream(flow.response) or claiming(path) is not None or looks_like_llm(path, request_json(flow.request))


def _parts_of(flow: http.HTTPFlow) -> dict[int, list[SocketPart]]:
    """The parts by the identity of a message."""
    assert flow.websocket is not None
    messages, found = flow.websocket.messages, dict[int, list[SocketPart]]()
    for response, socket_response in socket_flows(flow) or ():
        facts = facts_of(saved_response(socket_response, socket_response.id, response.lane))
        if facts is not None:
            events = {event.number: event for event in facts.events}
            parts = (
                [(response.request_message, SocketPart(socket_response.id, facts, is_request=True))]
                if response.request_message.from_client
                else []
            )
            for number, message in enumerate(response.messages, 1):
                last = number == len(response.messages)
                event = events.get(number - 1)
                part = SocketPart(socket_response.id, facts, is_request=False, event=event, is_last=last)
                parts.append((message, part))
            for message, part in parts:
                found.setdefault(id(messages[message.place]), []).append(part)
    return found


def _cached[Value](
    cache: dict[str, tuple[Hashable, Value]], name: str, state: Hashable, make: Callable[[], Value]
) -> Value:
    """The value of a name, made again if its state has changed. The least recently used one is dropped."""
    kept = cache.pop(name, None)
    if kept is None or kept[0] != state:
        kept = (state, make())
    cache[name] = kept
    if len(cache) > MOST_READ:
        del cache[next(iter(cache))]
    return kept[1]
