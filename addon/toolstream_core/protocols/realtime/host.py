"""Realtime's socket, served: the session, and the items of its conversation.

https://platform.openai.com/docs/api-reference/realtime-server-events
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, override

from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.openai_errors import realtime_error
from toolstream_core.protocols.realtime.reader import DONE
from toolstream_core.protocols.realtime.socket import ENDS, OF_SESSION, RealtimeTalk
from toolstream_core.protocols.responses.host import SentSoFar
from toolstream_core.protocols.socket_wire import Reply, SocketError, SocketHost, SocketRequest
from toolstream_core.protocols.writing import dictionary
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from toolstream_core.model import Json

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
        """A session as the one was in which the request was recorded."""
        given = {key: value for key, value in dictionary(request).items() if key in OF_SESSION and key != "model"}
        self._session |= given
        self._described |= given
        return [self._event("session.created", session=self._described)]

    @override
    def read_request(self, message: Json) -> SocketRequest | None:
        """A response begins with what asks for it."""
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
        """An item of the response is one of the conversation."""
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
    def over(self, lane: str) -> None:
        self._under_way.pop(lane, None)

    def _cancelled(self, message: Json, lanes: Collection[str]) -> Reply:
        """The end of the response that is named, or of the conversation's; an error where there is none."""
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

    def _event(self, kind: str, **said: Json) -> dict[str, Any]:
        return {"type": kind, "event_id": f"event_toolstream_{self._next()}", **said}

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers
