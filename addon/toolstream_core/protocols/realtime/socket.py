"""Realtime's socket: which response a message belongs to, its request, and how the API is served.

https://platform.openai.com/docs/guides/realtime-conversations; Azure has the same at `/openai/realtime`. The messages
of a server: https://platform.openai.com/docs/api-reference/realtime-server-events
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, override

from toolstream_core.model import Json
from toolstream_core.protocols.errors import ErrorKind, stray_error
from toolstream_core.protocols.openai_errors import realtime_error
from toolstream_core.protocols.realtime import REALTIME
from toolstream_core.protocols.realtime.api import model_of
from toolstream_core.protocols.realtime.reader import DONE
from toolstream_core.protocols.responses.socket import SentSoFar
from toolstream_core.protocols.socket_wire import (
    Reply,
    SocketError,
    SocketEvent,
    SocketHost,
    SocketRequest,
    SocketTalk,
    SocketWire,
    Start,
)
from toolstream_core.protocols.writing import dictionary
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

MAX_ITEMS: Final = 256
"""The most conversation items kept until the next response, and the most responses that wait to be created."""
_SESSION: Final = frozenset({"session.created", "session.update", "session.updated"})
OF_SESSION: Final = ("model", "instructions", "tools", "tool_choice")
"""Keys of a session that are also keys of a response's request."""
ENDS: Final = frozenset({DONE, "response.completed"})
"""Some providers end a response as Responses does."""
_AUDIO: Final = "audio"
_REFUSED: Final = "refused "
"""Prefix of the lane of a request without a response."""
_TYPE: Final = re.compile(rb'(?<!\\)"type"\s*:\s*"([a-z_.]+)"')
_LANE: Final = re.compile(rb'(?<!\\)"response_id"\s*:\s*"([^"\\]+)"')
_SOUND: Final = re.compile(rb'^\s*\{[^{}\\]*?"type"\s*:\s*"input_audio_buffer\.append"')
_HEAD: Final = 200
"""Bytes of a message in which its type is searched before it is parsed."""


class RealtimeTalk(SocketTalk):
    """A socket with one session and one conversation; each response is a lane."""

    @override
    def __init__(self, path: str) -> None:
        """`path` names the model."""
        model = model_of(path)
        self._session: dict[str, Json] = {} if model is None else {"model": model}
        self._items: deque[Json] = deque(maxlen=MAX_ITEMS)
        self._creates: deque[tuple[Json, dict[str, Json]]] = deque(maxlen=MAX_ITEMS)
        """The requested responses that were not created yet, each with its message's `event_id`."""
        self._open: dict[str, None] = {}
        """The responses in flight."""
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
        """Deltas, especially audio, are not parsed."""
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


_DEFAULT: Final = ""
"""The lane of the responses that belong to the conversation: there is one of them at a time."""
_ECHOED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "conversation.item.delete": ("conversation.item.deleted", ("item_id",)),
    "conversation.item.truncate": ("conversation.item.truncated", ("item_id", "content_index", "audio_end_ms")),
    "input_audio_buffer.clear": ("input_audio_buffer.cleared", ()),
}
"""Events that only confirm a client's message, and the keys of the message that they contain."""
_OF_ITEMS: Final = {
    "response.output_item.added": "conversation.item.added",
    "response.output_item.done": "conversation.item.done",
}


class RealtimeHost(RealtimeTalk, SocketHost):
    """One socket that is served."""

    def __init__(self, path: str) -> None:
        """`path` names the model."""
        super().__init__(path)
        self._numbers = 0
        self._described: dict[str, Json] = {"type": "realtime", "object": "realtime.session", "id": "sess_toolstream"}
        self._described |= {**self._session, "output_modalities": ["text"], "tools": [], "tool_choice": "auto"}
        self._last_item: Json = None
        self._under_way: dict[str, SentSoFar] = {}

    @override
    def opened(self, request: Json) -> Sequence[Json]:
        """A session like the one in which the request was recorded."""
        given = {key: value for key, value in dictionary(request).items() if key in OF_SESSION and key != "model"}
        self._session |= given
        self._described |= given
        return [self._event("session.created", session=self._described)]

    @override
    def read_request(self, message: Json) -> SocketRequest | None:
        """A response begins with the message that requests it."""
        if super().read_request(message) is None:
            return None
        event, own = self._creates.pop()
        body = self._body(own)
        if isinstance(own.get("metadata"), dict):
            body["metadata"] = own["metadata"]
        if not isinstance(own.get("input"), list):
            self._items.clear()
        lane = f"beside {self._next()}" if own.get("conversation") == "none" else _DEFAULT
        return SocketRequest(lane, body, event=event if isinstance(event, str) else "")

    @override
    def replied(self, message: Json, lanes: Collection[str]) -> Reply:
        kind = json_access.get(message, "type")
        if kind == "session.update":
            self._described |= dictionary(json_access.get(message, "session"))
            return Reply([self._event("session.updated", session=self._described)])
        if kind == "conversation.item.create":
            return Reply(self._added(json_access.get(message, "item")))
        if kind == "input_audio_buffer.commit":
            item = {"type": "message", "role": "user", "content": [{"type": "input_audio", "transcript": None}]}
            added = self._added(item)
            before, own = added[0]["previous_item_id"], added[0]["item"]["id"]
            return Reply([self._event("input_audio_buffer.committed", previous_item_id=before, item_id=own), *added])
        if kind == "response.cancel":
            return self._cancelled(message, lanes)
        name, keys = _ECHOED.get(kind, ("", ())) if isinstance(kind, str) else ("", ())
        return Reply([self._event(name, **{key: json_access.get(message, key) for key in keys})] if name else ())

    @override
    def sent(self, lane: str, raw: bytes) -> Sequence[Json]:
        """An item of the response becomes part of the conversation."""
        event = parse(raw)
        kind = json_access.get(event, "type")
        response = self._under_way.setdefault(lane, SentSoFar())
        response.take(event, ends=kind in ENDS)
        if lane != _DEFAULT:
            return ()
        if kind == "response.created" and isinstance(response.id, str):
            self._last = response.id
        if not isinstance(kind, str) or kind not in _OF_ITEMS:
            return ()
        item = dictionary(json_access.get(event, "item"))
        added = self._event(_OF_ITEMS[kind], previous_item_id=self._last_item, item=item)
        if kind.endswith(".done"):
            self._last_item = item.get("id")
        return [added]

    @override
    def response_ended(self, lane: str) -> None:
        self._under_way.pop(lane, None)

    def _cancelled(self, message: Json, lanes: Collection[str]) -> Reply:
        """The end of the response that is named, or of the conversation's; an error if there is none."""
        named = json_access.get(message, "response_id")
        lane = _DEFAULT if _DEFAULT in lanes else None
        if isinstance(named, str):
            lane = next((lane for lane, response in self._under_way.items() if response.id == named), None)
        response = SentSoFar() if lane is None else self._under_way.get(lane, SentSoFar())
        if lane is None or response.ended:
            kind, why = "invalid_request_error", "Cancellation failed: no active response found"
            event = json_access.get(message, "event_id")
            error = {"type": kind, "code": "response_cancel_not_active", "message": why}
            wrong = SocketError(ErrorKind.INVALID, 400, given=error, event=event if isinstance(event, str) else "")
            return Reply([realtime_error(wrong)])
        details = {"type": "cancelled", "reason": "client_cancelled"}
        cancelled = {"object": "realtime.response", **response.cancelled("cancelled"), "status_details": details}
        return Reply(cancelled=lane, last=self._event(DONE, response=cancelled))

    def _added(self, item: Json) -> list[dict[str, Any]]:
        """Events that confirm that an item is complete and part of the conversation."""
        own = {"object": "realtime.item", "id": f"item_{self._next()}", "status": "completed", **dictionary(item)}
        before, self._last_item = self._last_item, own["id"]
        names = ("conversation.item.added", "conversation.item.done")
        return [self._event(name, previous_item_id=before, item=own) for name in names]

    def _event(self, kind: str, **fields: Json) -> dict[str, Any]:
        return {"type": kind, "event_id": f"event_toolstream_{self._next()}", **fields}

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers


REALTIME_SOCKET: Final = SocketWire(
    protocol=REALTIME.name,
    claims=REALTIME.claims,
    recognise=_is_realtime,
    talk=RealtimeTalk,
    falls_back=False,
    lane_key="",
    error=realtime_error,
    stray_error=stray_error,
    is_media=is_sound,
    host=RealtimeHost,
)
