"""Realtime's socket: which response a message belongs to, and what it was asked for.

https://platform.openai.com/docs/guides/realtime-conversations; Azure has the same at `/openai/realtime`.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.errors import stray_error
from toolstream_core.protocols.openai_errors import realtime_error
from toolstream_core.protocols.realtime import REALTIME
from toolstream_core.protocols.realtime.api import model_of
from toolstream_core.protocols.realtime.reader import DONE
from toolstream_core.protocols.socket_wire import SocketEvent, SocketRequest, SocketTalk, SocketWire, Start, on_demand
from toolstream_core.protocols.writing import dictionary
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

MAX_ITEMS: Final = 256
"""The most conversation items kept until the next response, and the most responses that wait to be created."""
_SESSION: Final = frozenset({"session.created", "session.update", "session.updated"})
OF_SESSION: Final = ("model", "instructions", "tools", "tool_choice")
"""Keys of a session that a response's request has too."""
ENDS: Final = frozenset({DONE, "response.completed"})
"""Some providers end a response as Responses does."""
_AUDIO: Final = "audio"
_REFUSED: Final = "refused "
"""Prefix of the lane of a request without a response."""
_TYPE: Final = re.compile(rb'(?<!\\)"type"\s*:\s*"([a-z_.]+)"')
_LANE: Final = re.compile(rb'(?<!\\)"response_id"\s*:\s*"([^"\\]+)"')
_SOUND: Final = re.compile(rb'^\s*\{[^{}\\]*?"type"\s*:\s*"input_audio_buffer\.append"')
_HEAD: Final = 200
"""Bytes of a message in which its type is looked for before it is parsed."""


class RealtimeTalk(SocketTalk):
    """A socket with one session and one conversation; each response is a lane."""

    @override
    def __init__(self, path: str) -> None:
        """`path` names the model."""
        model = model_of(path)
        self._session: dict[str, Json] = {} if model is None else {"model": model}
        self._items: deque[Json] = deque(maxlen=MAX_ITEMS)
        self._creates: deque[tuple[Json, dict[str, Json]]] = deque(maxlen=MAX_ITEMS)
        """The responses that the client asked for and that were not created yet, each with its message's `event_id`."""
        self._open: dict[str, None] = {}
        """The responses that are under way."""
        self._last: str | None = None
        """The last response that is a part of the conversation."""

    @override
    def read_request(self, message: Json) -> SocketRequest | None:
        """The server announces each response, also one that was not requested.

        A request that is not forwarded to the server has its own lane.
        """
        kind = json_access.get(message, "type")
        if isinstance(kind, str) and kind in _SESSION:
            self._configure(message)
        elif kind == "conversation.item.create":
            self._items.append(_without_audio(json_access.get(message, "item")))
        elif kind == "response.create":
            own = dictionary(json_access.get(message, "response"))
            event_id = json_access.get(message, "event_id")
            self._creates.append((event_id or None, own))
            named = event_id if isinstance(event_id, str) else ""
            return SocketRequest(f"{_REFUSED}{named}", self._body(own), Start.LATER, named)
        return None

    @override
    def withdraw(self) -> None:
        self._creates.pop()

    @override
    def read_event(self, raw: bytes) -> SocketEvent | None:
        """Deltas, audio above all, are not parsed."""
        found = _TYPE.search(raw)
        kind = found[1] if found else b""
        if kind.endswith(b".delta") and (lane := _LANE.search(raw)):
            return SocketEvent(lane[1].decode("utf-8", "replace")) if kind.startswith(b"response.") else None
        payload = parse(raw)
        named = json_access.get(payload, "type")
        if not isinstance(named, str):
            return None
        if named in _SESSION:
            self._configure(payload)
        if named == "error":
            return self._refused(json_access.get(payload, "error", "event_id"))
        if not named.startswith("response."):
            return None
        response = json_access.get(payload, "response")
        own = json_access.get(payload, "response_id") or json_access.get(response, "id")
        own = own or json_access.get(payload, "id")
        if not isinstance(own, str):
            return None
        if named != "response.created" or own in self._open:
            ends = named in ENDS
            if ends:
                self._open.pop(own, None)
            return SocketEvent(own, ends=ends)
        return SocketEvent(own, new_request=self._begun(own, dictionary(response)))

    def _configure(self, message: Json) -> None:
        session = dictionary(json_access.get(message, "session"))
        self._session |= {key: session[key] for key in OF_SESSION if session.get(key) is not None}

    def _begun(self, response_id: str, response: Mapping[str, Json]) -> SocketRequest:
        """The request of a response, in the form of the Responses API."""
        self._open[response_id] = None
        if len(self._open) > MAX_ITEMS:
            self._open.pop(next(iter(self._open)))
        own = self._taken(response)
        request = SocketRequest(response_id, self._body(own), Start.ANNOUNCED)
        if not isinstance(own.get("input"), list):
            self._items.clear()
        if own.get("conversation") != "none":
            self._last = response_id
        return request

    def _refused(self, event_id: Json) -> SocketEvent | None:
        """An error message: the complete reply to the `response.create` that it names, if it names one."""
        create = next((one for one in self._creates if isinstance(event_id, str) and one[0] == event_id), None)
        if create is None:
            return None
        self._creates.remove(create)
        lane = f"{_REFUSED}{create[0]}"
        return SocketEvent(lane, ends=True, new_request=SocketRequest(lane, self._body(create[1]), Start.ANNOUNCED))

    def _body(self, own: Mapping[str, Json]) -> dict[str, Json]:
        """The request in a `response.create`, in the form of the Responses API."""
        body: dict[str, Json] = {**self._session, **{key: own[key] for key in OF_SESSION if key in own}}
        given = own.get("input")
        if isinstance(given, list):
            body["input"] = [_without_audio(item) for item in given]
        else:
            body["input"] = [*self._items]
            body |= {"previous_response_id": self._last} if self._last else {}
        return {**body, "stream": True}

    def _taken(self, response: Mapping[str, Json]) -> Mapping[str, Json]:
        """The client's `response.create` for a response; empty for a response that the server started by itself."""
        metadata = response.get("metadata") or None
        create = next((one for one in self._creates if (one[1].get("metadata") or None) == metadata), None)
        if create is None:
            return {}
        self._creates.remove(create)
        return create[1]


def _without_audio(item: Json) -> Json:
    """An item without the sound in it, which may be long."""
    content = json_access.items_at(item, "content")
    if not isinstance(item, dict) or not content:
        return item
    return {**item, "content": [_silent(part) for part in content]}


def _silent(part: Json) -> Json:
    return {key: value for key, value in part.items() if key != _AUDIO} if isinstance(part, dict) else part


def _is_realtime(message: Json) -> bool:
    kind = json_access.get(message, "type")
    return isinstance(kind, str) and (kind.startswith("conversation.item.") or kind == "session.update")


def is_sound(message: bytes) -> bool:
    """Whether a client's message certainly is a chunk of audio; see `SocketWire.is_media`."""
    return _SOUND.search(message, 0, _HEAD) is not None


REALTIME_SOCKET: Final = SocketWire(
    dialect=REALTIME.name,
    claims=REALTIME.claims,
    recognise=_is_realtime,
    talk=RealtimeTalk,
    falls_back=False,
    lane_key="",
    error=realtime_error,
    stray_error=stray_error,
    is_media=is_sound,
    host=on_demand("toolstream_core.protocols.realtime.host", "RealtimeHost"),
)
