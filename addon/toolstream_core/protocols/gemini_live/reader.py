"""Gemini Live: the messages of one response, which ends with its tool calls, the turn, or an interruption.

https://ai.google.dev/api/live#BidiGenerateContentServerMessage. Because of `quiet`, audio is never parsed.
"""

from __future__ import annotations

from typing import Final

from toolstream_core.model import ABSENT, NOTHING, EventContent, Finish, Fragment, Json, Phase
from toolstream_core.protocols.errors import error_text
from toolstream_core.protocols.writing import dictionary
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import may_hide_letters

_WITH_CONTENT: Final = (b"toolCall", b"turnComplete", b'"interrupted"', b'"error"')
"""Text in each message with a call, an end or an error."""


def quiet(raw: bytes) -> bool:
    """Whether a frame only has text or audio of the model; see `WireProtocol.quiet`."""
    if any(sign in raw for sign in _WITH_CONTENT) or may_hide_letters(raw):
        return False
    return raw.count(b'"serverContent"') == 1


def read(frame: Frame) -> EventContent:
    """The content of a message; see `WireProtocol.read`."""
    return _content(frame.json, frame.name)


def read_response(payload: Json) -> EventContent:
    """The content of a complete response, which has the form of its messages; see `WireProtocol.read_response`."""
    return _content(payload, "")._replace(end=True)


def finish_reason(payload: Json) -> str:
    """The reason for which a response ends with a message; `""` if it continues.

    `turnCompleteReason` if there is one, else the key that ends it.
    """
    content = dictionary(json_access.get(payload, "serverContent"))
    if content.get("interrupted") is True:
        return "interrupted"
    if content.get("turnComplete") is True:
        reason = content.get("turnCompleteReason")
        return reason if reason and isinstance(reason, str) else "turnComplete"
    return "toolCall" if isinstance(json_access.get(payload, "toolCall"), dict) else ""


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's; see `WireProtocol.recognise`."""
    objects = (json_access.get(payload, "serverContent"), json_access.get(payload, "setupComplete"))
    return any(isinstance(one, dict) for one in objects) or isinstance(
        json_access.get(payload, "toolCall", "functionCalls"), list
    )


def _content(payload: Json, event: str) -> EventContent:
    if not isinstance(payload, dict):
        return NOTHING
    content = payload.get("serverContent")
    parts = [
        json_access.get(part, "text")
        for part in json_access.items_at(content, "modelTurn", "parts")
        if not json_access.get(part, "thought")
    ]
    texts = [*parts, json_access.get(content, "outputTranscription", "text")]
    reason = finish_reason(payload)
    return EventContent(
        tuple(map(_call, json_access.items_at(payload, "toolCall", "functionCalls"))),
        (Finish(0, reason),) if reason else (),
        "".join(text for text in texts if isinstance(text, str)),
        error=error_text(payload, event),
        end=bool(reason),
    )


def _call(entry: Json) -> Fragment:
    """An entry of `functionCalls`, which is a complete call."""
    arguments, was_text = json_access.argument_text(json_access.get(entry, "args"))
    return Fragment(
        id=json_access.text(json_access.get(entry, "id")),
        name=json_access.text(json_access.get(entry, "name")),
        arguments=arguments,
        type="functionCall",
        phase=Phase.WHOLE,
        well_formed=arguments is ABSENT or not was_text,
    )
