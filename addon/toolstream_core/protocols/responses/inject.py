"""Faults of Responses streams: their events as faults change them, and causes that need more than the shared fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.defects import framing, identity
from toolstream_core.defects.defect import Defect
from toolstream_core.model import ABSENT, Event, Json, Kind, Phase
from toolstream_core.protocols.responses.responses import item_events
from toolstream_core.stages.inject.codec import EventCodec, Part, Path, Replaced, What
from toolstream_core.stages.inject.markup import MARKUP, as_markup, leaked
from toolstream_core.stages.inject.rule import (
    DELTA,
    FINISH,
    ITEM,
    START,
    STOP,
    STREAMED_ITEM,
    WHOLE,
    At,
    Cause,
    Value,
    it,
    new,
    on,
    per_call,
    per_stream,
    start,
)
from toolstream_core.stages.inject.words import as_json, changed, continues, equals, has, has_calls
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import Writer

KINDS: Final = {
    "response.created": What.HEAD,
    "response.output_item.added": What.START,
    "response.function_call_arguments.delta": What.DELTA,
    "response.custom_tool_call_input.delta": What.DELTA,
    "response.function_call_arguments.done": What.WHOLE,
    "response.custom_tool_call_input.done": What.WHOLE,
    "response.output_item.done": What.STOP,
    "response.completed": What.FINISH,
    "response.done": What.FINISH,
}
_OF_CALLS: Final = frozenset({What.START, What.DELTA, What.WHOLE, What.STOP})
_PLACE: Final = {"index": ("output_index",)}
_OF_ITEM: Final[dict[str, Path]] = {
    "id": ("item", "call_id"),
    "name": ("item", "name"),
    "namespace": ("item", "namespace"),
    "arguments": ("item", "arguments"),
    "item_id": ("item", "id"),
}
_BESIDE: Final[dict[str, Path]] = {"id": ("call_id",), "item_id": ("item_id",)}
PATHS: Final[dict[What, dict[str, Path]]] = {
    What.START: {**_PLACE, **_OF_ITEM},
    What.STOP: {**_PLACE, **_OF_ITEM},
    What.DELTA: {**_PLACE, **_BESIDE, "arguments": ("delta",)},
    What.WHOLE: {**_PLACE, **_BESIDE, "arguments": ("arguments",)},
    What.ITEM: {"id": ("call_id",), "item_id": ("id",)},
    What.FINISH: {"output": ("response", "output")},
}
NEW: Final[dict[What, Payload]] = {
    What.DELTA: {"type": "response.function_call_arguments.delta", "item_id": "", "output_index": 0},
    What.WHOLE: {"type": "response.function_call_arguments.done", "item_id": "", "output_index": 0},
    What.STOP: {"type": "response.output_item.done", "output_index": 0},
    What.ERROR: {"type": "error", "code": "server_error", "message": "Provider disconnected"},
}
_OPENINGS: Final = frozenset({What.HEAD, What.START})
"""The events that causes send again later."""
_RECEIVED: Final = "came"


class ResponsesCodec(EventCodec):
    """One stream."""

    paths = PATHS

    def __init__(self) -> None:
        self._shift = 0
        self._last = -1

    @property
    @override
    def renumbers(self) -> bool:  # type: ignore[override]
        return self._shift > 0

    @override
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        payload = event.frame.json
        if not isinstance(payload, dict):
            return ()
        what = KINDS.get(str(payload.get("type")), What.OTHER)
        if what is What.FINISH:
            return [*_items(payload, resolved), Part(what, _RECEIVED, payload)]
        one = resolved[0] if len(resolved) == 1 and resolved[0].fragment.phase is not Phase.WHOLE else None
        call = one.call if one is not None and one.call.kind in {Kind.FUNCTION, Kind.CUSTOM} else None
        return [Part(What.OTHER if call is None and what in _OF_CALLS else what, _RECEIVED, payload, call)]

    @override
    def new(self, part: Part, what: What) -> Part:
        number = part.body.get("sequence_number", ABSENT)
        replaced = Part(what, "", NEW[what], part.call)
        return replaced if number is ABSENT else self.put(replaced, "sequence_number", number)

    @override
    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        number = {"sequence_number": part.body["sequence_number"]} if "sequence_number" in part.body else {}
        events = item_events(message("\n".join(texts)), 0)
        return [Part(What.OTHER, "", {key: one[key] for key in one if key != "logprobs"} | number) for one in events]

    @override
    def frames(self, event: Event, replaced: Sequence[Replaced], writer: Writer, *, ends_stream: bool) -> list[Frame]:
        items = {id(part.body): one.body for part, new in replaced[:-1] for one in new}
        received: Json = event.frame.json
        number = json_access.integer(json_access.get(received, "sequence_number"))
        parts = replaced[-1][1]
        bodies = [_with_event_id(_with_items(one, items), one.what, received, at) for at, one in enumerate(parts)]
        out: list[Frame] = []
        for at, body in enumerate(bodies):
            payload = body
            own = payload.get("sequence_number", ABSENT) if isinstance(payload, dict) else ABSENT
            if (
                isinstance(number, int)
                and own is not ABSENT
                and (len(bodies) > 1 or own == received["sequence_number"])
            ):
                payload = {**payload, "sequence_number": max(number + self._shift, self._last + 1)}
                self._last = payload["sequence_number"]
            last = at == len(bodies) - 1
            if last and payload == received:
                out.append(event.frame)
            elif last and (isinstance(payload, bytes) or payload.get("type") == received.get("type")):
                out.append(writer.rewrite(event.frame, payload))
            else:
                out.append(writer.make(payload, event.frame.number, str(payload.get("type", event.frame.name))))
        self._shift += max(len(bodies) - 1, 0)
        return out


def message(text: str) -> Payload:
    """An item with visible text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_leak", "role": "assistant", "status": "completed", "content": [part]}


def _items(payload: Payload, resolved: Sequence[ResolvedFragment]) -> list[Part]:
    """The calls of a completed response."""
    calls = iter(resolved)
    return [
        Part(What.ITEM, _RECEIVED, item, one.call)
        for item in json_access.items(json_access.get(payload, "response", "output"))
        if str(json_access.get(item, "type")).endswith("_call") and (one := next(calls, None)) is not None
    ]


def _with_items(part: Part, items: dict[int, Json]) -> Json:
    """The body of an event, with items of its response replaced."""
    output = json_access.get(part.body, "response", "output") if part.what is What.FINISH else None
    if not isinstance(output, list) or all(items.get(id(one), one) is one for one in output):
        return part.body
    return put(part.body, ("response", "output"), [items.get(id(one), one) for one in output])


def _with_event_id(body: Json, what: What, received: Json, at: int) -> Json:
    """An event in place of one of the Realtime API, which has its own id, unless it is the event itself."""
    if not isinstance(received, dict) or "event_id" not in received or not isinstance(body, dict):
        return body
    again = what in _OPENINGS and body.get("event_id") != received["event_id"]
    if "event_id" in body and not again:
        return body
    response = received.get("response_id", json_access.get(received, "response", "id"))
    place = {} if "response" in body or response is ABSENT else {"response_id": response}
    return {"event_id": "", **place, **body} | {"event_id": f"{received['event_id']}_{at}"}


def is_custom(at: At) -> bool:
    """Its item is the call of a custom tool."""
    return isinstance(item := at.get("item"), dict) and item.get("type") == "custom_tool_call"


def without_envelope(at: At) -> Json:
    """The event with the fields of its response."""
    kept = {key: value for key, value in at.part.body.items() if key != "response"}
    response = at.get("response")
    if not isinstance(response, dict):
        return at.part.body
    return {**kept, **{key: value for key, value in response.items() if key != "type"}}


def output_of(defect: Defect) -> Value:
    """The output of a response whose calls are text."""
    return lambda at: [message("\n".join(as_markup(defect, one) for one in at.calls))]


def fragment_index(at: At) -> int:
    """An index for each delta."""
    return 10 * at.call.position + at.acted - 1


def fragment_id(at: At) -> str:
    """An item id for each delta."""
    return f"{at.protocol.get(at.start, 'item_id')}_{at.acted - 1}" if at.start else ""


def fragment_item(at: At) -> Json:
    """The completed item of a delta."""
    item = at.protocol.get(at.start, "item") if at.start else {}
    fields = item if isinstance(item, dict) else {}
    return {**fields, "id": fragment_id(at), "status": "completed", "arguments": at.text}


def input_object(value: Json) -> str:
    """The input of a custom tool as the arguments of a function."""
    return json.dumps({"input": value}, ensure_ascii=False, separators=(",", ":"))


def as_function(at: At) -> Json:
    """The item of a custom tool as a function's."""
    item = at.part.body if at.part.what is What.ITEM else at.get("item")
    kept = {key: value for key, value in item.items() if key not in {"type", "input"}}
    arguments = "" if at.part.what is What.START else input_object(item.get("input"))
    return {"type": "function_call", **kept, "arguments": arguments}


_FIRST: Final = '{"input":"'
_SAME_PLACE: Final = {"index": changed("index", int), "item_id": changed("item_id", str)}
OWN: Final[tuple[Cause, ...]] = (
    per_call(
        identity.CUSTOM_AS_FUNCTION,
        on((START | STOP) & is_custom, it(item=as_function)),
        on(ITEM & equals("type", "custom_tool_call"), it(payload=as_function)),
        on(
            DELTA,
            it(
                type="response.function_call_arguments.delta",
                delta=lambda at: f"{'' if continues(at) else _FIRST}{as_json(at.text)[1:-1]}",
            ),
        ),
        on(
            WHOLE,
            new(What.DELTA, **_SAME_PLACE, arguments=lambda at: f'{"" if at.call.arguments.size else _FIRST}"}}'),
            new(What.WHOLE, **_SAME_PLACE, arguments=lambda at: input_object(at.get("input"))),
        ),
        kind=Kind.CUSTOM,
    ),
    per_call(
        identity.ITEM_PER_FRAGMENT,
        on(START),
        on(
            DELTA,
            start(index=fragment_index, item_id=fragment_id),
            it(index=fragment_index, item_id=fragment_id),
            new(What.STOP, index=fragment_index, item=fragment_item),
        ),
        on(WHOLE | STOP),
    ),
    per_call(
        identity.FUNCTION_AS_CUSTOM,
        on(DELTA, it(type="response.custom_tool_call_input.delta")),
        on(
            WHOLE,
            it(type="response.custom_tool_call_input.done", arguments=ABSENT, input=lambda at: at.get("arguments")),
        ),
    ),
    per_stream(framing.BARE_RESPONSE, on(FINISH & has("response"), it(payload=without_envelope))),
    *(
        per_stream(one, on(FINISH & has_calls, leaked(one), it(output=output_of(one))), on(STREAMED_ITEM))
        for one in MARKUP
    ),
)
