"""Gemini's Interactions API: steps, `arguments_delta`. The revision of 2026-05-20, which is the only one since June.

Events: https://ai.google.dev/gemini-api/docs/streaming; fields: the types of google-genai 2 and 3,
https://github.com/googleapis/python-genai. Earlier revisions:
https://ai.google.dev/gemini-api/docs/interactions-breaking-changes-may-2026
"""

from __future__ import annotations

from typing import Final

from toolstream_core.model import NOTHING, EventContent, Fragment, Json, Kind, Phase
from toolstream_core.protocols.errors import error_text, unread_error
from toolstream_core.protocols.response_content import (
    finishes,
    kind_of,
    place_of,
    started_call,
    text_content,
    unstreamed_content,
)
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import may_hide_letters

CREATED: Final = "interaction.created"
STATUS: Final = "interaction.status_update"
START: Final = "step.start"
DELTA: Final = "step.delta"
STOP: Final = "step.stop"
COMPLETED: Final = "interaction.completed"
EVENTS: Final = frozenset({CREATED, STATUS, START, DELTA, STOP, COMPLETED})
DONE: Final = b"[DONE]"
"""The data of the last event, `done`."""
CALL: Final = "function_call"
ARGUMENTS_DELTA: Final = "arguments_delta"
_RESULT: Final = "function_result"
_QUIET: Final = b"event: step.delta\ndata: {"
"""The beginning of a frame with text."""


def quiet(raw: bytes) -> bool:
    """Whether a frame is a delta of text or thinking with its event line. A delta without one is reported."""
    find = raw.find
    if find(b"arguments") >= 0 or find(b"step.st") >= 0 or find(b"interaction") >= 0 or find(b"error") >= 0:
        return False
    if find(b"_call") >= 0 or find(b"_result") >= 0 or may_hide_letters(raw):
        return False
    return raw.count(b'"step.delta"') == raw.count(b"\n" + _QUIET) + raw.startswith(_QUIET) == 1


def read(frame: Frame) -> EventContent:
    """The content of a frame; see `WireProtocol.read`."""
    payload = frame.json
    if not isinstance(payload, dict):
        if frame.data is not None and frame.data.strip() == DONE:
            return EventContent(end=True)
        return EventContent(error=unread_error(frame)) if frame.name == "error" else NOTHING
    match kind_of(payload, frame.name, "event_type"):
        case "step.start":
            return _start(payload)
        case "step.delta":
            return _delta(payload)
        case "step.stop":
            return EventContent((Fragment(index=place_of(payload.get("index")), phase=Phase.CLOSE),))
        case "interaction.created":
            return EventContent(model=_text(payload, "interaction", "model"))
        case "interaction.completed":
            return EventContent(finishes=finishes(json_access.get(payload, "interaction", "status")))
        case "" if _is_response(payload):
            return read_response(payload)
    error = error_text(payload, frame.name)
    return EventContent(error=error) if error else NOTHING


def _start(payload: dict[str, Json]) -> EventContent:
    step, place = payload.get("step"), place_of(payload.get("index"))
    if not isinstance(step, dict):
        return EventContent(begins=(place,))
    if (kind := _kind(step)) is not None:
        return EventContent((started_call(_named(step), "arguments", place, Phase.OPEN, kind),))
    text, thought = _texts(step.get("content")), _texts(step.get("summary"))
    return EventContent(text=text, thought=thought, begins=(place,), cancels=step.get("type") == _RESULT)


def _kind(step: dict[str, Json]) -> Kind | None:
    """The side that runs the call of a step: the client only a `function_call`, the provider every other call."""
    kind = step.get("type")
    if kind == CALL:
        return Kind.FUNCTION
    return Kind.SERVER if isinstance(kind, str) and kind.endswith("_call") else None


def _named(step: dict[str, Json]) -> dict[str, Json]:
    """A step with the name of its tool; calls of the provider's own tools are named by their type."""
    return step if "name" in step or step["type"] == CALL else {**step, "name": str(step["type"]).removesuffix("_call")}


def _delta(payload: dict[str, Json]) -> EventContent:
    delta = payload.get("delta")
    if not isinstance(delta, dict):
        return NOTHING
    if "arguments" in delta:
        arguments, was_text = json_access.argument_delta(delta["arguments"])
        well_formed = was_text and delta.get("type", ARGUMENTS_DELTA) == ARGUMENTS_DELTA
        index = place_of(payload.get("index"))
        return EventContent((Fragment(index=index, arguments=arguments, phase=Phase.MORE, well_formed=well_formed),))
    return text_content(delta.get("text"), json_access.get(delta, "content", "text"))


def _texts(parts: Json) -> str:
    return "".join(text for part in json_access.items(parts) if isinstance(text := json_access.get(part, "text"), str))


def _text(payload: Json, *path: str) -> str | None:
    found = json_access.get(payload, *path)
    return found if isinstance(found, str) else None


def _is_response(payload: dict[str, Json]) -> bool:
    return payload.get("object") == "interaction" or ("status" in payload and isinstance(payload.get("steps"), list))


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    fragments: list[Fragment] = []
    texts: list[str] = []
    for place, step in enumerate(json_access.items(json_access.get(payload, "steps"))):
        if not isinstance(step, dict):
            continue
        if step.get("type") == _RESULT:
            fragments.clear()  # the provider ran them
        elif (kind := _kind(step)) is not None:
            fragments.append(started_call(_named(step), "arguments", place, Phase.WHOLE, kind))
        elif step.get("type") == "model_output":
            texts.append(_texts(step.get("content")))
    return unstreamed_content(payload, fragments, texts, json_access.get(payload, "status"))


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's, as `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    kind = kind_of(payload, name, "event_type")
    return kind in EVENTS if kind else _is_response(payload)
