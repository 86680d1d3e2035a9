"""Ollama's native chat: NDJSON, each call complete in one line.

https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion
"""

from __future__ import annotations

from toolstream_core.model import ABSENT, NOTHING, EventContent, Finish, Fragment, Json, Phase
from toolstream_core.protocols.errors import error_text
from toolstream_core.protocols.response_content import call_fragment
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import Path
from toolstream_core.wire.json_value import may_hide_letters


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's; see `WireProtocol.recognise`."""
    return isinstance(payload, dict) and "done" in payload and isinstance(payload.get("message"), dict)


def quiet(raw: bytes) -> bool:
    """Whether a frame is a line of text: no call, not the last."""
    find = raw.find
    if find(b"_call") >= 0 or find(b'"error"') >= 0 or may_hide_letters(raw):
        return False
    return raw.count(b'"done":false') == 1


def read(frame: Frame) -> EventContent:
    """The content of a line; see `WireProtocol.read`."""
    return _content(frame.json, Phase.MORE)


def calls(payload: Json) -> list[tuple[Path, Json]]:
    """The path and value of each call of a line; none if one of them is not an object."""
    found = json_access.items_at(payload, "message", "tool_calls")
    usual = [one for one in found if isinstance(one, dict) and isinstance(one.get("function"), dict)]
    return [(("message", "tool_calls", at), one) for at, one in enumerate(found)] if len(usual) == len(found) else []


def read_response(payload: Json) -> EventContent:
    """The content of a complete response, which has the form of a line; see `WireProtocol.read_response`."""
    return _content(payload, Phase.WHOLE)


def _content(payload: Json, phase: Phase) -> EventContent:
    if not isinstance(payload, dict):
        return NOTHING
    done = payload.get("done") is True
    reason = payload.get("done_reason")
    message, model = payload.get("message"), payload.get("model")
    text, thought = (message.get("content"), message.get("thinking")) if isinstance(message, dict) else (None, None)
    return EventContent(
        tuple([_fragment(entry, phase) for entry in json_access.items_at(message, "tool_calls")]),
        (Finish(0, reason if isinstance(reason, str) and reason else "done"),) if done else (),
        text if isinstance(text, str) else "",
        model if isinstance(model, str) else None,
        error_text(payload, ""),
        thought=thought if isinstance(thought, str) else "",
        end=done,
    )


def _fragment(entry: Json, phase: Phase) -> Fragment:
    entry = entry if isinstance(entry, dict) else {}
    function = entry.get("function")
    function = function if isinstance(function, dict) else {}
    index = function.get("index", entry.get("index", ABSENT))
    arguments, was_text = json_access.argument_text(function.get("arguments", ABSENT))
    return call_fragment(
        entry, function, arguments, json_access.integer(index), phase, well_formed=not (was_text and arguments)
    )
