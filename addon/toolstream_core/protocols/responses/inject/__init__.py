"""How Responses streams are broken: the causes that need more than the shared fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.defects import framing, identity
from toolstream_core.defects.causes.injection import STREAMED_ITEM
from toolstream_core.defects.causes.markup import MARKUP, as_markup
from toolstream_core.defects.causes.rule import (
    DELTA,
    FINISH,
    ITEM,
    START,
    STOP,
    WHOLE,
    Cause,
    it,
    new,
    on,
    per_call,
    per_stream,
    start,
)
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import as_json, changed, continues, has, has_calls, leaked
from toolstream_core.model import ABSENT, Kind
from toolstream_core.protocols.responses.inject.codec import message

if TYPE_CHECKING:
    from toolstream_core.defects.causes.at import At
    from toolstream_core.defects.causes.rule import Value
    from toolstream_core.model import Json


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


def output_of(syntax: str) -> Value:
    """The output of a response whose calls are text."""
    return lambda at: [message("\n".join(as_markup(syntax, one) for one in at.calls))]


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
_PLACE: Final = {"index": changed("index", int), "item_id": changed("item_id", str)}
CUSTOM_AS_FUNCTION: Final = Cause(
    (
        on((START | STOP) & is_custom, it(item=as_function)),
        on(ITEM & (lambda at: at.get("type") == "custom_tool_call"), it(payload=as_function)),
        on(
            DELTA,
            it(
                type="response.function_call_arguments.delta",
                delta=lambda at: f"{'' if continues(at) else _FIRST}{as_json(at.text)[1:-1]}",
            ),
        ),
        on(
            WHOLE,
            new(What.DELTA, **_PLACE, arguments=lambda at: f'{"" if at.call.arguments.size else _FIRST}"}}'),
            new(What.WHOLE, **_PLACE, arguments=lambda at: input_object(at.get("input"))),
        ),
    ),
    kind=Kind.CUSTOM,
)
OWN: Final[dict[str, Cause]] = {
    identity.CUSTOM_AS_FUNCTION.name: CUSTOM_AS_FUNCTION,
    identity.ITEM_PER_FRAGMENT.name: per_call(
        on(START),
        on(
            DELTA,
            start(index=fragment_index, item_id=fragment_id),
            it(index=fragment_index, item_id=fragment_id),
            new(What.STOP, index=fragment_index, item=fragment_item),
        ),
        on(WHOLE | STOP),
    ),
    identity.FUNCTION_AS_CUSTOM.name: per_call(
        on(DELTA, it(type="response.custom_tool_call_input.delta")),
        on(
            WHOLE,
            it(
                type="response.custom_tool_call_input.done",
                arguments=ABSENT,
                input=lambda at: at.get("arguments"),
            ),
        ),
    ),
    framing.BARE_RESPONSE.name: per_stream(on(FINISH & has("response"), it(payload=without_envelope))),
    **{
        syntax: per_stream(on(FINISH & has_calls, leaked(syntax), it(output=output_of(syntax))), on(STREAMED_ITEM))
        for syntax in MARKUP
    },
}
