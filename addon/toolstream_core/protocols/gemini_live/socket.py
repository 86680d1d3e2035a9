"""Gemini Live's socket: which answer a message belongs to, and what it was asked for.

https://ai.google.dev/api/live; Vertex AI has the same as `LlmBidiService`. google-genai writes some keys of what a
client says in snake case.
"""

from __future__ import annotations

import re
from collections import deque
from importlib import import_module
from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.answers import dictionary
from toolstream_core.protocols.gemini_live.reader import finish_reason, quiet
from toolstream_core.protocols.gemini_live.row import GEMINI_LIVE
from toolstream_core.protocols.in_band_errors import stray_error
from toolstream_core.protocols.socket_wire import SocketEvent, SocketRequest, SocketWire, Start
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json
    from toolstream_core.protocols.socket_wire import SocketError, SocketHost

MAX_CONTENTS: Final = 256
"""Contents that are kept until an answer comes; the oldest go first."""
_BEGINS: Final = ("modelTurn", "outputTranscription", "turnCompleteReason")
"""Keys of `serverContent` that an answer may begin with. An end by itself is that of an answer that is over already."""
_BEGINS_RAW: Final = tuple(f'"{key}"'.encode() for key in _BEGINS)
_OF_ANSWERS: Final = frozenset({"serverContent", "toolCall", "usageMetadata"})
_OF_SETUP: Final = {"model": "model", "tools": "tools", "systemInstruction": "system_instruction"}
_MEDIA: Final = re.compile(
    rb'\s*\{\s*"(?:realtimeInput|realtime_input)"\s*:\s*\{\s*"(?:audio|video|media|mediaChunks|media_chunks)"'
)


class GeminiLiveTalk:
    """A socket with one session, which has one answer at a time."""

    def __init__(self, path: str) -> None:
        """`path` says nothing: the client's first message has the model."""
        del path
        self._setup: dict[str, Json] = {}
        self._contents: deque[Json] = deque(maxlen=MAX_CONTENTS)
        """What the client said since the last answer began."""
        self._open = False
        """Whether an answer is under way."""

    def asked(self, message: Json) -> SocketRequest | None:
        """See `SocketTalk.asked`: the server says when an answer begins, also to what was spoken."""
        setup = dictionary(first(message, "setup"))
        update = dictionary(first(message, "contextUpdate", "context_update"))
        if update:
            setup = {**update, **dictionary(update.get("tools"))}
        for key, other in _OF_SETUP.items():
            if (value := first(setup, key, other)) is not None:
                self._setup[key] = value
        self._contents.extend(_contents(message))
        return None

    def withdraw(self) -> None:
        """See `SocketTalk.withdraw`: no message of a client asks for an answer by itself."""

    def answered(self, raw: bytes) -> SocketEvent | None:
        """See `SocketTalk.answered`. What the model says, sound above all, is not parsed."""
        ends = False
        if quiet(raw, 1):
            may_begin = any(key in raw for key in _BEGINS_RAW)
        else:
            payload = dictionary(parse(raw))
            if _OF_ANSWERS.isdisjoint(payload):
                return None
            ends = finish_reason(payload) != ""
            content = dictionary(payload.get("serverContent"))
            may_begin = "toolCall" in payload or any(key in content for key in _BEGINS)
        if not (self._open or may_begin):
            return None
        begins = None if self._open else self._request()
        self._open = not ends
        return SocketEvent("", ends=ends, begins=begins)

    def _request(self) -> SocketRequest:
        """What the answer that begins was asked for."""
        body: dict[str, Json] = {**self._setup, "contents": [*self._contents], "stream": True}
        self._contents.clear()
        return SocketRequest("", body, Start.SAID)


def is_media(message: bytes) -> bool:
    """Whether a client's message has only sound or pictures: they come many times a second."""
    return _MEDIA.match(message) is not None and b'"text"' not in message


def _contents(message: Json) -> Iterator[Json]:
    """What a client's message adds to the conversation, as contents of a request to Gemini."""
    for turn in json_access.items(json_access.get(first(message, "clientContent", "client_content"), "turns")):
        yield _without_media(turn)
    text = json_access.get(first(message, "realtimeInput", "realtime_input"), "text")
    if isinstance(text, str):
        yield {"role": "user", "parts": [{"text": text}]}
    given = first(message, "toolResponse", "tool_response")
    responses = json_access.items(first(given, "functionResponses", "function_responses"))
    if responses:
        yield {"role": "user", "parts": [{"functionResponse": _without_media(one)} for one in responses]}


def _without_media(owner: Json) -> Json:
    """A turn, or what a tool gave, without the sound and pictures among its parts."""
    parts = json_access.items_at(owner, "parts")
    return {**owner, "parts": [_silent(part) for part in parts]} if isinstance(owner, dict) and parts else owner


def _silent(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    inline = {key: dictionary(part[key]) for key in ("inlineData", "inline_data") if key in part}
    return part | {key: {name: value for name, value in data.items() if name != "data"} for key, data in inline.items()}


def first(owner: Json, *keys: str) -> Json:
    """The value under the first of the keys that is there."""
    return next((owner[key] for key in keys if isinstance(owner, dict) and key in owner), None)


def _is_live(message: Json) -> bool:
    """Whether a client's message is the `setup` of a session."""
    return isinstance(json_access.get(message, "setup", "model"), str)


def _error(wrong: SocketError) -> Json:
    """See `SocketWire.error`. The API itself has no such message: it says why as it closes the socket."""
    return GEMINI_LIVE.error_body(wrong.kind, wrong.status)


def _host(path: str) -> SocketHost:
    """See `SocketWire.host`; a program that only reads does not load what serves."""
    host: SocketHost = import_module("toolstream_core.protocols.gemini_live.host").GeminiLiveHost(path)
    return host


GEMINI_LIVE_SOCKET: Final = SocketWire(
    dialect=GEMINI_LIVE.name,
    claims=GEMINI_LIVE.claims,
    recognise=_is_live,
    talk=GeminiLiveTalk,
    falls_back=False,
    lane_key="",
    error=_error,
    stray_error=stray_error,
    is_media=is_media,
    host=_host,
)
