"""OpenAI Realtime: the events of one response, which are those of Responses with another envelope.

https://platform.openai.com/docs/api-reference/realtime-server-events. Azure and the beta version send `response.text`
and `response.audio` in place of today's `response.output_text` and `response.output_audio`.
"""

from __future__ import annotations

import re
from typing import Final

from toolstream_core.model import NOTHING, EventContent, Json
from toolstream_core.protocols.errors import error_text
from toolstream_core.protocols.response_content import finishes
from toolstream_core.protocols.responses import reader as responses
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import may_hide_letters

DONE: Final = "response.done"
RESPONSE: Final = "realtime.response"
"""The type of a response object."""
_TEXT: Final = frozenset(
    {
        "response.output_text.delta",
        "response.text.delta",
        "response.output_audio_transcript.delta",
        "response.audio_transcript.delta",
    }
)
_QUIET: Final = re.compile(rb'"response\.(?:output_)?(?:text|audio|audio_transcript)\.delta"')


def quiet(raw: bytes) -> bool:
    """Whether a frame is only a delta of text, of audio or of its transcript; see `WireProtocol.quiet`."""
    find = raw.find
    if find(b"_call") >= 0 or find(b"error") >= 0 or find(b'"response"') >= 0 or may_hide_letters(raw):
        return False
    return len(_QUIET.findall(raw)) == 1 and raw.count(b"response.") == 1


def read(frame: Frame) -> EventContent:
    """The content of an event; see `WireProtocol.read`."""
    payload = frame.json
    kind = json_access.get(payload, "type")
    if isinstance(kind, str) and kind in _TEXT:
        text = json_access.get(payload, "delta")
        return EventContent(text=text) if isinstance(text, str) else NOTHING
    content = responses.read(frame)
    if kind == DONE and isinstance(payload, dict):
        return _ended(content, payload.get("response", payload))
    return content


def read_response(payload: Json) -> EventContent:
    """The content of a complete response; see `WireProtocol.read_response`."""
    return _ended(responses.read_response(payload), payload)


def _ended(content: EventContent, response: Json) -> EventContent:
    """The content with the reason for an incomplete response, which this API has under other keys, and with speech."""
    details = json_access.get(response, "status_details")
    reason, status = json_access.get(details, "reason"), json_access.get(response, "status")
    parts = [
        part for item in json_access.items_at(response, "output") for part in json_access.items_at(item, "content")
    ]
    spoken = [text for part in parts if isinstance(text := json_access.get(part, "transcript"), str)]
    return content._replace(
        finishes=finishes(f"{status}: {reason}") if isinstance(reason, str) else content.finishes,
        error=content.error or error_text(details if isinstance(details, dict) else None, ""),
        text=content.text or "".join(spoken),
    )


def recognise(name: str, payload: Json) -> bool:
    """Whether a frame can only be this protocol's; see `WireProtocol.recognise`."""
    if not isinstance(payload, dict):
        return False
    if RESPONSE in [payload.get("object"), json_access.get(payload, "response", "object")]:
        return True
    kind = payload.get("type", name)
    return isinstance(kind, str) and kind.startswith("response.") and "event_id" in payload and "response_id" in payload
