"""Realtime responses that toolstream writes: those of the Responses API in the form of Realtime.

https://platform.openai.com/docs/api-reference/realtime-server-events
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from toolstream_core.model import Call, Json
from toolstream_core.protocols import openai_errors
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.realtime.reader import DONE, RESPONSE
from toolstream_core.protocols.responses import responses
from toolstream_core.protocols.socket_wire import SocketError
from toolstream_core.protocols.writing import Cut, HealthyResponse, Payloads, deltas, dictionary, uncut
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import encoded

_ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})
_ARGUMENTS: Final = "response.function_call_arguments."
_OF_RESPONSE: Final = ("id", "status", "output", "usage", "metadata")
"""Keys that a response has in both APIs."""


def streamed(response: Payload, request: Json, cut: Cut = uncut) -> Iterator[bytes]:
    """The messages, one a line; see `WireProtocol.streamed`."""
    if response.get("object") == RESPONSE:
        for event in realtime_events(responses.events(responses_response(response), cut)):
            yield encoded(event) + b"\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The complete response of a stream; see `WireProtocol.assembled`."""
    return realtime_response(dictionary(responses.assembled(payloads, calls)))


def healthy_stream(response: HealthyResponse) -> Iterator[bytes]:
    """The messages, one a line."""
    return streamed(healthy_unstreamed(response), response.request, deltas)


def healthy_unstreamed(response: HealthyResponse) -> dict[str, Any]:
    """The response that the last message has."""
    return realtime_response(responses.healthy_unstreamed(response))


def realtime_events(events: Iterable[Payload]) -> Iterator[Payload]:
    """The same response's events; those that Realtime does not have are left out."""
    response_id = ""
    calls: dict[str, Payload] = {}
    for number, event in enumerate(events):
        if event["type"] == "response.in_progress":
            continue
        kind = str(event["type"])
        head: Payload = {"type": kind, "event_id": f"event_{response_id.removeprefix('resp_')}{number}"}
        kept = {key: value for key, value in event.items() if key not in {"type", "sequence_number", "logprobs"}}
        if "response" in event:
            response = realtime_response(event["response"])
            response_id = str(response.get("id"))
            yield {**head, "type": DONE if kind in _ENDS else kind, "response": response}
            continue
        item = kept.get("item")
        if isinstance(item, dict):
            calls[str(item.get("id"))] = item
            kept["item"] = {**item, "object": "realtime.item"}
        if kind.startswith(_ARGUMENTS):
            call = calls.get(str(event.get("item_id")), {})
            named = {"name": call.get("name")} if kind.endswith("done") else {}
            kept = {"call_id": call.get("call_id"), **named, **kept}
        yield {**head, "response_id": response_id, **kept}


def realtime_response(response: Payload) -> Payload:
    """A response object of Responses as one of Realtime."""
    kept: Payload = {key: response[key] for key in _OF_RESPONSE if key in response}
    output = [{**dictionary(item), "object": "realtime.item"} for item in json_access.items(response.get("output"))]
    return {"object": RESPONSE, **kept, "status_details": None, "conversation_id": None, "output": output}


def responses_response(response: Payload) -> Payload:
    """A response object of Realtime as one of Responses."""
    items = [dictionary(item) for item in json_access.items(response.get("output"))]
    output = [{key: value for key, value in item.items() if key != "object"} for item in items]
    return {**{key: response[key] for key in _OF_RESPONSE if key in response}, "object": "response", "output": output}


def error_event(kind: ErrorKind, number: int) -> bytes:
    """An error as a line; see `WireProtocol.error_event`."""
    error = openai_errors.realtime_error(SocketError(kind, kind.status))
    return encoded({**error, "event_id": f"event_error_{number}"}) + b"\n"


error_body = openai_errors.body
