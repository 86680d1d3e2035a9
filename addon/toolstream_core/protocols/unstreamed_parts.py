"""Parts that several protocols need to convert complete responses to streams, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.model import Call, Json

type Payload = dict[str, Any]
type Payloads = Sequence[Payload]
type Cut = Callable[[str], Sequence[str]]
"""Cuts the texts and arguments of a complete response into the deltas of a stream."""


def uncut(text: str) -> Sequence[str]:
    """All in one delta."""
    return [text]


def dictionary(value: Json) -> Payload:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def data_event(payload: Json) -> bytes:
    """An SSE event without a name."""
    return b"data: " + encoded(payload) + b"\n\n"


def named_event(payload: Payload) -> bytes:
    """An SSE event named by its `type`."""
    return b"event: " + str(payload["type"]).encode() + b"\n" + data_event(payload)


def add_texts(message: dict[str, Json], delta: Json) -> None:
    """`content`, and the fields that vendors add to it: `reasoning`, `reasoning_content`, `refusal`."""
    for key, value in dictionary(delta).items():
        if isinstance(value, str) and value and key != "role":
            message[key] = message.get(key, "") + value


def merged(payloads: Payloads, *, leaving: tuple[str, ...]) -> dict[str, Json]:
    """The other fields of the payloads; the last value counts, but null is none."""
    return {
        key: value for payload in payloads for key, value in payload.items() if key not in leaving and value is not None
    }


def arguments_object(call: Call) -> Json:
    """A call's arguments as an object; an empty one where they are none."""
    return arguments_value(call.arguments)


def arguments_value(arguments: str) -> Payload:
    """Argument text as an object; an empty one where it is none."""
    return dictionary(parse(arguments.encode("utf-8", "surrogatepass")))
