"""A conversation over a Responses socket, as its messages. Knows no mitmproxy."""

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
    """A `response.create`."""
    wanted = {"model": "gpt-5", "input": [{"role": "user", "content": "hi"}], "tools": TOOLS}
    return {"type": "response.create", **wanted, **more}


def answered(asked: dict[str, Any], calls: str = 'get_weather {"city": "Oslo"}') -> list[dict[str, Any]]:
    """What a healthy provider says to that, each event on the lane of its request."""
    lane = {"stream_id": asked["stream_id"]} if "stream_id" in asked else {}
    body = {key: value for key, value in asked.items() if key not in {"type", "stream_id"}} | {"stream": True}
    written = SyntheticProvider(parse_calls([calls])).respond(PATH, json.dumps(body).encode())
    assert written is not None
    return [{**json.loads(event.partition(b"data: ")[2]), **lane} for event in written.events]


def response_id(events: list[dict[str, Any]]) -> str:
    """The id by which the next request names an answer."""
    return str(events[0]["response"]["id"])


def results(events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The request that brings the results of all calls of an answer."""
    output = events[-1]["response"]["output"]
    brought = [{"type": "function_call_output", "call_id": one["call_id"], "output": "sunny"} for one in output]
    return request(input=brought, previous_response_id=response_id(events), **more)


def messages(*said: dict[str, Any], each: float = 0.01) -> list[SavedMessage]:
    """These payloads as messages of one socket, `each` seconds after the other."""
    return [
        SavedMessage(_is_clients(payload), BEGUN + each * at, json.dumps(payload).encode(), at)
        for at, payload in enumerate(said)
    ]


def two_answers() -> list[SavedMessage]:
    """A call, and the text that follows its result."""
    first = request()
    calls = answered(first)
    second = results(calls)
    return messages(first, *calls, second, *answered(second))


def pretty(messages: list[SavedMessage]) -> list[SavedMessage]:
    """The same with each other message of the provider's over several lines, as some write them."""
    return [
        one if one.from_client or at % 2 else one._replace(data=_indented(one.data)) for at, one in enumerate(messages)
    ]


def two_lanes() -> list[SavedMessage]:
    """Two answers under way at once, their events alternating; the second is asked to be steered."""
    lanes = [request(stream_id=lane, input=[{"role": "user", "content": f"on {lane}"}]) for lane in ("a", "b")]
    one, other = answered(lanes[0]), answered(lanes[1], "get_time {}")
    steer = {"type": "response.steer", "stream_id": "b", "input": "shorter"}
    mixed = [event for pair in zip(one, other, strict=False) for event in pair]
    rest = [*one[len(other) :], *other[len(one) :]]
    return messages(*lanes, *mixed[:4], steer, *mixed[4:], *rest)


def _indented(data: bytes) -> bytes:
    return b" " + json.dumps(json.loads(data), indent=1).replace("\n", "\r\n").encode() + b"\n"


def _is_clients(payload: dict[str, Any]) -> bool:
    return payload["type"] in {"response.create", "response.steer", "response.cancel"}
