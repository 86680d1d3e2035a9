"""Responses events in the form of Realtime.

https://platform.openai.com/docs/api-reference/realtime-server-events
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.realtime.reader import DONE, RESPONSE
from toolstream_core.protocols.unstreamed_parts import dictionary
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.protocols.unstreamed_parts import Payload

_ENDS: Final = frozenset({"response.completed", "response.failed", "response.incomplete"})
_ARGUMENTS: Final = "response.function_call_arguments."
_OF_RESPONSE: Final = ("id", "status", "output", "usage", "metadata")
"""Keys that a response has in both APIs."""


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
