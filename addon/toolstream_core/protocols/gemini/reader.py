"""Gemini generateContent: `functionCall` parts of candidates, over SSE or as a streamed JSON array.

https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

from toolstream_core.model import ABSENT, NOTHING, EventContent, Finish, Fragment, Json, Phase
from toolstream_core.protocols.errors import error_text, unread_error
from toolstream_core.protocols.response_content import requires_signatures
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import Path
from toolstream_core.wire.json_value import may_hide_letters

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
"""A message of the Live API has one of these: https://ai.google.dev/api/live#BidiGenerateContentServerMessage."""


def quiet(raw: bytes) -> bool:
    """Whether a frame is a chunk of text: no call part, no finish reason, no error."""
    find = raw.find
    if (
        find(b"unction") >= 0
        or find(b"inishReason") >= 0
        or find(b"inish_reason") >= 0
        or find(b'"error"') >= 0
        or may_hide_letters(raw)
    ):
        return False
    return raw.count(b'"candidates"') == 1


def read(frame: Frame) -> EventContent:
    """The content of a frame; see `WireProtocol.read`."""
    payload = frame.json
    if frame.name == "error" and not isinstance(payload, dict | list):
        return EventContent(error=unread_error(frame))
    return _content(payload, frame.name)


def unwrapped(payload: Json) -> tuple[Path, Json]:
    """The path and value of the event itself: Code Assist puts it into `response`, an array may put it into a list."""
    prefix: Path = ()
    if isinstance(payload, list) and len(payload) == 1:
        prefix, payload = (0,), payload[0]
    if isinstance(payload, dict) and "candidates" not in payload and "response" in payload:
        return (*prefix, "response"), payload["response"]
    return prefix, payload


def calls(payload: Json) -> list[tuple[Path, Json]]:
    """The path and value of each call of an event: an item for each fragment that `_call` makes."""
    found: list[tuple[Path, Json]] = []
    prefix, inner = unwrapped(payload)
    for at, candidate in enumerate(json_access.items_at(inner, "candidates")):
        for within, part in enumerate(json_access.items_at(candidate, "content", "parts")):
            if not isinstance(part, dict):
                continue
            key = "functionCall" if "functionCall" in part else "function_call"
            if isinstance(call := part.get(key), dict):
                one = (*prefix, "candidates", at, "content", "parts", within, key), call
                closes = "partialArgs" in call and call.get("willContinue") is not True
                found += [one, one] if closes else [one]
    return found


def _content(payload: Json, event: str) -> EventContent:
    payload = unwrapped(payload)[1]
    if not isinstance(payload, dict):
        return NOTHING
    fragments: list[Fragment] = []
    finishes: list[Finish] = []
    texts: list[str] = []
    thoughts: list[str] = []
    model = payload.get("modelVersion")
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
            fragments += _call(part, number, model)
            if isinstance(text := part.get("text"), str):
                (thoughts if part.get("thought") else texts).append(text)
        if ("finishReason" in candidate or "finish_reason" in candidate) and (reason := finish_reason(candidate)):
            finishes.append(Finish(number, reason))
    if "promptFeedback" in payload and not finishes:
        blocked = json_access.get(payload, "promptFeedback", "blockReason")
        finishes += [Finish(0, blocked)] if isinstance(blocked, str) else []  # such a response has no candidates
    return EventContent(
        tuple(fragments),
        tuple(finishes),
        "".join(texts),
        model if isinstance(model, str) else None,
        error_text(payload, event),
        thought="".join(thoughts),
    )


def finish_reason(candidate: dict[str, Json]) -> str:
    """The finish reason of a candidate, `""` if it has none; some gateways send the enum's number.

    google-genai prints its objects with the names of their attributes.
    """
    reason = json_access.get(candidate, "finishReason" if "finishReason" in candidate else "finish_reason")
    if isinstance(reason, str):
        return reason
    return _FINISH_REASONS.get(reason, str(reason)) if type(reason) is int and reason > 0 else ""


def _call(part: dict[str, Json], number: int, model: Json) -> tuple[Fragment, ...]:
    """The fragments of a part with a call; the last one of partial arguments also closes it.

    `model`: that of the event.
    """
    call = part.get("functionCall", ABSENT)
    if call is ABSENT:
        call = part.get("function_call")
    if not isinstance(call, dict):
        return ()
    goes_on = call.get("willContinue") is True
    phase = Phase.OPEN if goes_on else Phase.CLOSE
    identity = json_access.text(call.get("id", ABSENT))
    name = json_access.text(call.get("name", ABSENT))
    signed = ("thoughtSignature" in part or "thought_signature" in part) and requires_signatures(model)
    if "partialArgs" in call:
        patches = numbers.dumps(call["partialArgs"])
        more = Fragment(number, ABSENT, identity, ABSENT, name, patches, "functionCall", Phase.MORE, signed=signed)
        return (more,) if goes_on else (more, Fragment(number, type="functionCall", phase=phase))
    args, was_text = json_access.argument_text(call.get("args", ABSENT))
    well_formed = not (was_text and args)
    call_type = "functionCall"
    whole = Fragment(number, ABSENT, identity, ABSENT, name, args, call_type, phase, well_formed=well_formed)
    return (whole._replace(signed=True) if signed else whole,)


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    return _content(payload, "")._replace(end=True)


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's; see `WireProtocol.recognise`."""
    inner = unwrapped(payload)[1]
    if not isinstance(inner, dict):
        return False
    if not _LIVE.isdisjoint(inner) or inner.keys() == {"usageMetadata"}:  # which a live session may also send alone
        return False
    return isinstance(inner.get("candidates"), list) or "promptFeedback" in inner or "usageMetadata" in inner
