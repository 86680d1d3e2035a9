"""Gemini generateContent: `functionCall` parts of candidates, over SSE or as a streamed JSON array.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT, NOTHING, EventContent, Finish, Fragment, Phase
from toolstream_core.protocols.in_band_errors import error_text, unread_error
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.raw_json import may_hide_letters

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame


# https://github.com/googleapis/googleapis/blob/master/google/ai/generativelanguage/v1beta/generative_service.proto
_FINISH_REASONS = dict(
    enumerate(
        (
            *("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT"),
            *("SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL"),
        ),
        start=1,
    )
)
_LIVE = frozenset(
    ("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "goAway", "sessionResumptionUpdate")
)
"""What a message of the Live API holds one of: https://ai.google.dev/api/live#BidiGenerateContentServerMessage."""


def quiet(raw: bytes, frames: int) -> bool:
    """A chunk of text: no call part, no finish reason, no error."""
    find = raw.find
    if find(b"unction") >= 0 or find(b"inishReason") >= 0 or find(b'"error"') >= 0 or may_hide_letters(raw):
        return False
    return raw.count(b'"candidates"') == frames


def read(frame: Frame) -> EventContent:
    """What a frame says, as `WireProtocol.read`."""
    payload = frame.json
    if frame.name == "error" and not isinstance(payload, dict | list):
        return EventContent(error=unread_error(frame))
    return _content(payload, frame.name)


def _content(payload: Json, event: str) -> EventContent:
    if isinstance(payload, list) and len(payload) == 1:
        payload = payload[0]
    if not isinstance(payload, dict):
        return NOTHING
    payload = payload.get("response", payload) if "candidates" not in payload else payload
    fragments: list[Fragment] = []
    finishes: list[Finish] = []
    texts: list[str] = []
    for place, candidate in enumerate(json_access.items_at(payload, "candidates")):
        if not isinstance(candidate, dict):
            continue
        number = candidate.get("index")
        if type(number) is not int:
            number = json_access.integer(number)
        number = number if isinstance(number, int) else place
        for part in json_access.items_at(candidate, "content", "parts"):
            if not isinstance(part, dict):
                continue
            fragments += _call(part, number)
            if isinstance(text := part.get("text"), str) and not part.get("thought"):
                texts.append(text)
        if "finishReason" in candidate and (reason := finish_reason(candidate)):
            finishes.append(Finish(number, reason))
    model = payload.get("modelVersion") if isinstance(payload, dict) else None
    return EventContent(
        tuple(fragments),
        tuple(finishes),
        "".join(texts),
        model if isinstance(model, str) else None,
        error_text(payload, event),
    )


def finish_reason(candidate: Json) -> str:
    """Why a candidate is over, `""` where it is not; some gateways say the enum's number."""
    reason = json_access.get(candidate, "finishReason")
    if isinstance(reason, str):
        return reason
    return _FINISH_REASONS.get(reason, str(reason)) if type(reason) is int and reason > 0 else ""


def _call(part: dict[str, Json], number: int) -> tuple[Fragment, ...]:
    """What a part says of a call; the last one of partial arguments also closes it."""
    call = part.get("functionCall", ABSENT)
    if call is ABSENT:
        call = part.get("function_call")
    if not isinstance(call, dict):
        return ()
    goes_on = call.get("willContinue") is True
    phase = Phase.OPEN if goes_on else Phase.CLOSE
    identity, name = call.get("id", ABSENT), call.get("name", ABSENT)
    identity = identity if type(identity) in json_access.SIMPLE else json_access.text(identity)
    name = name if type(name) in json_access.SIMPLE else json_access.text(name)
    if "partialArgs" in call:
        patches = numbers.dumps(call["partialArgs"])
        more = Fragment(number, ABSENT, identity, ABSENT, name, patches, "functionCall", Phase.MORE)
        return (more,) if goes_on else (more, Fragment(number, type="functionCall", phase=phase))
    args, was_text = json_access.argument_text(call.get("args", ABSENT))
    well_formed = not (was_text and args)
    return (Fragment(number, ABSENT, identity, ABSENT, name, args, "functionCall", phase, well_formed=well_formed),)


def answer(payload: Json) -> EventContent:
    """What a whole answer says, as `WireProtocol.answer`."""
    return _content(payload, "")._replace(end=True)


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's, as `WireProtocol.recognise`."""
    del name
    if isinstance(payload, list) and len(payload) == 1:
        payload = payload[0]
    if not isinstance(payload, dict):
        return False
    inner = payload.get("response", payload) if "candidates" not in payload else payload
    if not isinstance(inner, dict):
        return False
    if not _LIVE.isdisjoint(inner) or inner.keys() == {"usageMetadata"}:  # which a live session says by itself, too
        return False
    return isinstance(inner.get("candidates"), list) or "promptFeedback" in inner or "usageMetadata" in inner
