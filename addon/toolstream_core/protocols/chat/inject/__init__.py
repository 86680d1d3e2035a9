"""How Chat Completions streams are broken: the causes that need more than the shared fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.defects import finish, framing, identity
from toolstream_core.defects.causes.at import Part
from toolstream_core.defects.causes.rule import (
    END,
    EVENT,
    FINISH,
    FRAGMENTS,
    START,
    Cause,
    Emit,
    it,
    new,
    on,
    per_call,
    per_stream,
)
from toolstream_core.defects.causes.what import What
from toolstream_core.defects.causes.words import changed, cut_data, has, has_calls, text
from toolstream_core.model import ABSENT
from toolstream_core.protocols.chat.edit import chunk
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.causes.at import At
    from toolstream_core.model import Json

AROUND: Final = EVENT | FINISH


def has_entries(at: At) -> bool:
    """The event has entries of calls."""
    return len(at.beside) > 1


def of_first_call(at: At) -> list[Part]:
    """The event's entries of the first call."""
    return [one for one in at.beside if one.call is not None and one.call is at.calls[0]]


def has_first_call(at: At) -> bool:
    """The event has an entry of the first call."""
    return bool(of_first_call(at))


def function_call(at: At) -> Json:
    """The event's entries of the first call, as one `function_call`."""
    parts = of_first_call(at)
    texts = [at.protocol.get(one, "arguments") for one in parts]
    function = {key: value for key, value in parts[0].body["function"].items() if key in {"name", "arguments"}}
    return function | {"arguments": "".join(one for one in texts if isinstance(one, str))}


def second_choice(at: At) -> Iterable[Part]:
    """An event with the entries in a second choice."""
    entries = [one.body for one in at.beside if one.call is not None]
    reason = at.get("reason")
    body = chunk(at.part.body, 1, {"tool_calls": entries}, None if reason is ABSENT else reason)
    return [Part(What.EVENT, "", body, None, 1)]


def as_object(at: At) -> Json:
    """The event with its entry, or its entries by number, instead of a list."""
    choices: list[Json] = []
    for choice in json_access.items(json_access.get(at.part.body, "choices")):
        entries = json_access.items(json_access.get(choice, "delta", "tool_calls"))
        tool_calls = entries[0] if len(entries) == 1 else {str(place): entry for place, entry in enumerate(entries)}
        choices.append({**choice, "delta": {**choice["delta"], "tool_calls": tool_calls}} if entries else choice)
    return {**at.part.body, "choices": choices}


def message(at: At) -> Json:
    """A message with all calls."""
    return {"role": "assistant", "content": None, "tool_calls": [_complete(call) for call in at.calls]}


def _complete(call: OpenCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments.reading()[0]}
    return {"id": call.id, "type": "function", "function": function}


def long_name(at: At) -> bool:
    """It has a name of at least two characters."""
    name = at.get("name")
    return isinstance(name, str) and len(name) > 1


def name_half(which: int) -> Any:
    """The first or the second half of the name."""
    return lambda at: (at.call.name[: len(at.call.name) // 2], at.call.name[len(at.call.name) // 2 :])[which]


_SIGNED: Final = {"extra_content": {"google": {"thought_signature": "c2lnbmF0dXJl"}}}
OWN: Final[dict[str, Cause]] = {
    identity.SPLIT_NAME.name: per_call(
        on(
            START & long_name & has("arguments"),
            it(name=name_half(0), arguments=""),
            new(What.DELTA, name=name_half(1)),
            new(What.DELTA, arguments=text()),
        ),
        on(START & long_name, it(name=name_half(0), arguments=""), new(What.DELTA, name=name_half(1))),
    ),
    identity.REPEATED_INDEX.name: per_stream(
        on(START & has("arguments"), it(arguments=""), new(What.DELTA, arguments=text(), joined=True))
    ),
    identity.DETACHED_SIGNATURE.name: per_stream(
        on(EVENT & has_entries, it, new(What.EVENT, delta=_SIGNED), once=True)
    ),
    framing.MISSING_DELTA.name: per_stream(on(AROUND & has_entries, new(What.EVENT, delta=ABSENT), it, once=True)),
    framing.CHANGING_STREAM_ID.name: per_stream(
        on(
            AROUND & has("id") & (lambda at: has_entries(at) or has("reason")(at)),
            it(id=lambda at: f"{at.get('id')}-{at.frame.number}"),
        )
    ),
    framing.TOOL_CALLS_OBJECT.name: per_stream(on(AROUND & has_entries, it(payload=as_object))),
    framing.LEGACY_FUNCTION_CALL.name: per_stream(
        on(FRAGMENTS),
        on(FINISH & has_first_call, it(function_call=function_call, reason="function_call")),
        on(EVENT & has_first_call, it(function_call=function_call)),
        on(FINISH, it(reason="function_call")),
    ),
    framing.SPLIT_CHOICES.name: per_stream(
        on(FRAGMENTS),
        on(AROUND & has_entries, Emit(second_choice), it),
        on(FINISH & has_calls, it, new(What.FINISH, choice=1, reason=changed("reason", str))),
    ),
    framing.UNPARSABLE_DATA.name: per_stream(on(AROUND & has_entries, it(data=cut_data), once=True)),
    framing.DATA_AFTER_END.name: per_stream(on(END, it, new(What.TAIL))),
    finish.UNSTREAMED_CALLS.name: per_stream(on(FINISH & has_calls, it(message=message)), on(FRAGMENTS)),
    finish.EMPTY_FINISH.name: per_stream(on(EVENT & has_entries, it(reason=""))),
    finish.EARLY_FINISH.name: per_stream(on(EVENT & has_entries, it(reason="tool_calls"))),
}
