"""Gemini Live: a whole answer made messages, and messages made the whole answer that they amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import arguments_object, dictionary, merged
from toolstream_core.wire import json_access
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.model import Call, Json
    from toolstream_core.protocols.answers import Payload, Payloads

_KINDS = ("serverContent", "toolCall")
"""A message has one of these."""


def streamed(answer: Payload, request: Json) -> Iterator[bytes]:
    """The messages, one a line; see `WireProtocol.streamed`."""
    del request
    kinds = [key for key in _KINDS if isinstance(answer.get(key), dict)]
    others = {key: value for key, value in answer.items() if key not in _KINDS}
    for kind in kinds:
        yield encoded({kind: answer[kind], **(others if kind == kinds[-1] else {})}) + b"\n"


def assembled(payloads: Payloads, calls: Sequence[Call]) -> Json:
    """The whole answer that messages amount to; see `WireProtocol.assembled`."""
    contents = [dictionary(payload.get("serverContent")) for payload in payloads]
    content = merged(contents, leaving=("modelTurn",))
    parts = [part for one in contents for part in json_access.items_at(one, "modelTurn", "parts")]
    if parts:
        content = {"modelTurn": {"role": "model", "parts": parts}, **content}
    whole = merged(payloads, leaving=_KINDS)
    functions = [{"id": call.id, "name": call.name, "args": arguments_object(call)} for call in calls]
    return {
        **({"serverContent": content} if content else {}),
        **({"toolCall": {"functionCalls": functions}} if functions else {}),
        **whole,
    }
