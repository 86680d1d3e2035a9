"""Conversations over a Responses socket, as messages."""

from __future__ import annotations

import json
from typing import Any, Final

from toolstream_core.sockets.saved import SavedMessage
from toolstream_core.synthetic.responses import SyntheticProvider, parse_calls

PATH: Final = "/v1/responses"
BEGUN: Final = 1_700_000_000.0
TOOLS: Final = [
    {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {}}}},
    {"type": "function", "name": "get_time", "parameters": {"type": "object", "properties": {}}},
]


def request(**more: Any) -> dict[str, Any]:
    """A `response.create` message."""
    body = {"model": "gpt-5", "input": [{"role": "user", "content": "hi"}], "tools": TOOLS}
    return {"type": "response.create", **body, **more}


def response_to(request: dict[str, Any], calls: str = 'get_weather {"city": "Oslo"}') -> list[dict[str, Any]]:
    """The events of a healthy response to a request, on its lane."""
    lane = {"stream_id": request["stream_id"]} if "stream_id" in request else {}
    body = {key: value for key, value in request.items() if key not in {"type", "stream_id"}} | {"stream": True}
    response = SyntheticProvider(parse_calls([calls])).respond(PATH, json.dumps(body).encode())
    assert response is not None
    return [{**json.loads(event.partition(b"data: ")[2]), **lane} for event in response.events]


def response_id(events: list[dict[str, Any]]) -> str:
    """The id of a response."""
    return str(events[0]["response"]["id"])


def results(events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The request with the results of all calls of a response."""
    output = events[-1]["response"]["output"]
    outputs = [{"type": "function_call_output", "call_id": one["call_id"], "output": "sunny"} for one in output]
    return request(input=outputs, previous_response_id=response_id(events), **more)


def messages(*payloads: dict[str, Any], each: float = 0.01) -> list[SavedMessage]:
    """These payloads as messages of a socket, with `each` seconds between them."""
    return [
        SavedMessage(_is_from_client(payload), BEGUN + each * at, json.dumps(payload).encode(), at)
        for at, payload in enumerate(payloads)
    ]


def two_responses() -> list[SavedMessage]:
    """A response with a call, and a response to its result."""
    first = request()
    calls = response_to(first)
    second = results(calls)
    return messages(first, *calls, second, *response_to(second))


def pretty(messages: list[SavedMessage]) -> list[SavedMessage]:
    """The same messages, with every other message of the provider indented over several lines."""
    return [
        one if one.from_client or at % 2 else one._replace(data=_indented(one.data)) for at, one in enumerate(messages)
    ]


def two_lanes() -> list[SavedMessage]:
    """Two concurrent responses with interleaved events, and a steer request for the second."""
    lanes = [request(stream_id=lane, input=[{"role": "user", "content": f"on {lane}"}]) for lane in ("a", "b")]
    one, other = response_to(lanes[0]), response_to(lanes[1], "get_time {}")
    steer = {"type": "response.steer", "stream_id": "b", "input": "shorter"}
    mixed = [event for pair in zip(one, other, strict=False) for event in pair]
    rest = [*one[len(other) :], *other[len(one) :]]
    return messages(*lanes, *mixed[:4], steer, *mixed[4:], *rest)


def _indented(data: bytes) -> bytes:
    return b" " + json.dumps(json.loads(data), indent=1).replace("\n", "\r\n").encode() + b"\n"


def _is_from_client(payload: dict[str, Any]) -> bool:
    return payload["type"] in {"response.create", "response.steer", "response.cancel"}
