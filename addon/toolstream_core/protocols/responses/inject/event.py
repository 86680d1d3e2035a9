"""How the events around Responses output items are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Kind
from toolstream_core.protocols.responses.inject.base import (
    ADDED,
    CLOSED,
    COMPLETED,
    DELTA,
    NumberedInjector,
    Payload,
    delta_text,
)
from toolstream_core.stages.inject.argument_text import without_end
from toolstream_core.stages.inject.markup import as_markup
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import Pick
    from toolstream_core.wire.frame import Frame


class ResponseInjector(NumberedInjector):
    """Changes the events around the items."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        for _, other in resolved:
            if other.kind is Kind.FUNCTION and other not in self.calls:
                self.calls.append(other)
        payload = event.frame.json
        if not isinstance(payload, dict) or not self._pick.stream():
            return [event.frame]
        call = resolved[0].call if resolved and resolved[0].call.kind is Kind.FUNCTION else None
        changed = self.changed(payload, str(payload.get("type")), call)
        return self._counted(event.frame, self.frames(event, list(changed)))

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """What the event becomes."""
        raise NotImplementedError


class BareResponse(ResponseInjector):
    """The terminal event holds the response's fields without their envelope."""

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        del call
        response = payload.get("response")
        if kind not in COMPLETED or not isinstance(response, dict):
            return [payload]
        kept = {key: value for key, value in payload.items() if key != "response"}
        return [{**kept, **{key: value for key, value in response.items() if key != "type"}}]


class SequenceNumbers(ResponseInjector):
    """Every event has the same sequence number."""

    each = True

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload = event.frame.json
        if not isinstance(payload, dict) or not payload.get("sequence_number") or not self._pick.stream():
            return [event.frame]
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, {**payload, "sequence_number": 1})]


class MissingHead(ResponseInjector):
    """The stream begins with `response.in_progress`."""

    _renamed = False

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        del call
        if kind == "response.created":
            self._renamed = True
            return [{**payload, "type": "response.in_progress"}]
        again, self._renamed = self._renamed and kind == "response.in_progress", False
        return [] if again else [payload]


class MissingFinish(ResponseInjector):
    """No terminal event comes."""

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        del call
        return [] if kind in COMPLETED and self.calls else [payload]


class ForeignFinish(ResponseInjector):
    """The terminal event has the name that the Realtime API has, or there the name that Responses has."""

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        del call
        if kind not in COMPLETED or not self.calls:
            return [payload]
        [other] = COMPLETED - {kind}
        return [{**payload, "type": other}]


class EmptyOutput(ResponseInjector):
    """The completed response has no output."""

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        del call
        if kind not in COMPLETED or not self.calls or "response" not in payload:
            return [payload]
        return [{**payload, "response": {**payload["response"], "output": []}}]


class UnstreamedCalls(ResponseInjector):
    """Calls come only in the completed response."""

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        of_item = kind.startswith(("response.output_item", "response.function_call"))
        return [] if call is not None and of_item else [payload]


class RestartedStream(ResponseInjector):
    """A second response begins behind the first call."""

    _created: Payload | None = None

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        del call
        if kind == "response.created":
            self._created = payload
        if kind != CLOSED or self._created is None:
            return [payload]
        created, self._created = self._created, None
        return [payload, created]


class TruncatedStream(ResponseInjector):
    """The body ends, in good order, inside the first call's arguments."""

    _over = False

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        if self._over:
            return []
        if kind != DELTA or call is None or not call.arguments.whole:
            return [payload]
        self._over = True
        return [{**payload, "delta": without_end(delta_text(payload))}]


class InBandError(TruncatedStream):
    """An error event comes instead of the rest of the first call."""

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        before = self._over
        made = list(super().changed(payload, kind, call))
        if before or not self._over:
            return made
        number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
        return [*made, {"type": "error", **number, "code": "server_error", "message": "Provider disconnected"}]


class UnparsableData(ResponseInjector):
    """The first event with arguments lacks its last byte."""

    _done = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if self._done or json_access.get(event.frame.json, "type") != DELTA or not self._pick.stream():
            return [event.frame]
        self._done = True
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, (event.frame.data or b"")[:-1])]


class Leaked(ResponseInjector):
    """Calls come as text, in a syntax of some model."""

    def __init__(self, context: Context, pick: Pick, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick)
        self._row = row

    @override
    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        if kind not in COMPLETED:
            return [] if call is not None else [payload]
        if not self.calls:
            return [payload]
        text = "\n".join(as_markup(self._row, one) for one in self.calls)
        place: Payload = {"item_id": "msg_leak", "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_leak", "role": "assistant", "status": "completed", "content": [part]}
        number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
        empty = {**item, "status": "in_progress", "content": []}
        made: list[Payload] = [
            {"type": ADDED, "output_index": 0, "item": empty},
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **place, "delta": text},
            {"type": "response.output_text.done", **place, "text": text},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": CLOSED, "output_index": 0, "item": item},
        ]
        response = payload.get("response")
        ending = {**payload, "response": {**response, "output": [item]}} if isinstance(response, dict) else payload
        return [*({**one, **number} for one in made), ending]
