"""How Responses streams are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.defects.plants.markup import MARKUP
from toolstream_core.defects.plants.plant import Pick, Plant
from toolstream_core.model import Kind, Phase
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.defects.plants.plant import Planter
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

type Payload = dict[str, Any]
type Edit = Callable[[ItemPlant, Payload, str, OpenCall], Iterable[Payload] | None]
"""What an event of a picked call becomes, given its type; `None` leaves it as it is."""

ADDED, CLOSED = "response.output_item.added", "response.output_item.done"
DELTA, DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
COMPLETED = "response.completed"


class _Counting(Plant):
    """Gives events that are put in numbers of their own, and moves those behind them."""

    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._shift = 0
        self._last = -1

    @property
    def holding(self) -> bool:
        """As `Stage.holding`: later events are counted on."""
        return self._shift > 0

    def frames(self, event: Event, made: list[Payload]) -> list[Frame]:
        """The events that go on for one."""
        number = look.integer(look.get(event.frame.json, "sequence_number"))
        out: list[Frame] = []
        for at, payload in enumerate(made):
            if isinstance(number, int) and "sequence_number" in payload:
                payload = {**payload, "sequence_number": max(number + self._shift, self._last + 1)}  # noqa: PLW2901
                self._last = payload["sequence_number"]
            last = at == len(made) - 1
            if last and payload == event.frame.json:
                out.append(event.frame)
            elif last and payload.get("type") == look.get(event.frame.json, "type"):
                out.append(self._context.writer.rewrite(event.frame, payload))
            else:
                name = str(payload.get("type", event.frame.name))
                out.append(self._context.writer.make(payload, event.frame.number, name))
        self._shift += max(len(made) - 1, 0)
        return out


class ItemPlant(_Counting):
    """Changes the events of the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, edit: Edit, *, completed: bool = False) -> None:
        """`edit` is what is done to each event; `completed`: to the completed response's items too."""
        super().__init__(context, pick)
        self._edit = edit
        self._completed = completed
        self.calls: list[OpenCall] = []
        self.kept: dict[int, Any] = {}
        """For edits that remember something by call."""

    @property
    def context(self) -> Context:
        """What is known of the stream."""
        return self._context

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        if not isinstance(payload, dict):
            return [event.frame]
        kind = str(payload.get("type"))
        one = heard[0] if len(heard) == 1 and heard[0].call.kind is Kind.FUNCTION else None
        if kind == COMPLETED:
            return self.frames(event, [self._in_response(payload, heard)])
        if one is None or one.fragment.phase is Phase.WHOLE:
            return self.frames(event, [payload])
        if one.call not in self.calls:
            self.calls.append(one.call)
        edited = self._edit(self, payload, kind, one.call) if self._pick.call(one.call) else None
        if edited is None:
            return self.frames(event, [payload])
        self._pick.acted()
        return self.frames(event, list(edited))

    def _in_response(self, payload: Payload, heard: Sequence[Heard]) -> Payload:
        """The completed response with its items edited as `output_item.done` would be."""
        output = look.items(look.get(payload, "response", "output"))
        if not self._completed or len(output) != len(heard):
            return payload
        items: list[Json] = []
        for item, (_, call) in zip(output, heard, strict=True):
            edited = self._edit(self, {"type": CLOSED, "item": item}, CLOSED, call) if self._pick.call(call) else None
            items.append(item if edited is None else next(iter(edited), {"item": item})["item"])
        return {**payload, "response": {**payload["response"], "output": items}}


def _item(payload: Payload, **fields: Json) -> Payload:
    return {**payload, "item": {**payload["item"], **fields}}


def _said(payload: Payload) -> str:
    said = payload.get("delta")
    return said if isinstance(said, str) else ""


def _missing_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind not in {ADDED, CLOSED}:
        return None
    return [{**payload, "item": {key: value for key, value in payload["item"].items() if key != "call_id"}}]


def _rotating(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    count = plant.kept[id(call)] = plant.kept.get(id(call), 0) + 1
    if kind == ADDED:
        return None
    if kind == CLOSED:
        return [_item(payload, id=f"{payload['item'].get('id')}_{count}")]
    return [{**payload, "item_id": f"{payload.get('item_id')}_{count}"}]


def _duplicate_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind not in {ADDED, CLOSED} or call is plant.calls[0] or call.name == plant.calls[0].name:
        return None
    return [_item(payload, call_id=plant.calls[0].id)]


def _empty_name(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_item(payload, name="")] if kind == CLOSED else None


def _decorated(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind not in {ADDED, CLOSED} or call.name not in plant.context.schemas:
        return None
    return [_item(payload, name=f"functions.{call.name}")]


def _missing_index(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, kind, call
    return [{key: value for key, value in payload.items() if key != "output_index"}]


def _reused_index(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del kind
    first = plant.calls[0]
    return None if call is first or not isinstance(first.index, int) else [{**payload, "output_index": first.index}]


def _changing_call_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    return [_item(payload, call_id=f"{call.id}_2")] if kind == CLOSED else None


def _missing_start(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == ADDED else None


def _missing_name(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_item(payload, name="")] if kind in {ADDED, CLOSED} else None


def _odd_id(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind not in {ADDED, CLOSED}:
        return None
    return [_item(payload, call_id=f"{payload['item'].get('call_id')}{'x' * 400}")]


def _object(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind == DONE:
        return [{**payload, "arguments": _value(call)}]
    return [_item(payload, arguments=_value(call))] if kind == CLOSED else None


def _cumulative(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not _said(payload):
        return None
    before = plant.kept.get(id(call), "")
    plant.kept[id(call)] = before + _said(payload)
    return [{**payload, "delta": before + _said(payload)}] if before else None


def _replayed(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not call.arguments.whole or id(call) in plant.kept:
        return None
    plant.kept[id(call)] = True
    return [payload, {**payload, "delta": call.arguments.reading()[0]}]


def _double_encoded(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind == DONE:
        return [{**payload, "arguments": json.dumps(call.arguments.reading()[0], ensure_ascii=False)}]
    if kind == CLOSED:
        return [_item(payload, arguments=json.dumps(call.arguments.reading()[0], ensure_ascii=False))]
    if kind != DELTA:
        return None
    begun = id(call) in plant.kept
    plant.kept[id(call)] = True
    text = json.dumps(_said(payload), ensure_ascii=False)[1:-1]
    return [{**payload, "delta": f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}"}]


def _invalid(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind == DELTA and '"}' in _said(payload):
        return [{**payload, "delta": _said(payload).replace('"}', '\n"}', 1)}]
    if kind == DONE:
        return [{**payload, "arguments": payload["arguments"].replace('"}', '\n"}', 1)}]
    if kind == CLOSED:
        return [_item(payload, arguments=payload["item"]["arguments"].replace('"}', '\n"}', 1))]
    return None


def _garbage(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    tail = "<|endoftext|>"
    if kind == DELTA and call.arguments.whole:
        return [{**payload, "delta": f"{_said(payload)}{tail}"}]
    if kind == DONE:
        return [{**payload, "arguments": f"{payload['arguments']}{tail}"}]
    return [_item(payload, arguments=f"{payload['item']['arguments']}{tail}")] if kind == CLOSED else None


def _split_surrogate(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    text = _said(payload) if kind == DELTA else ""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    first = {**payload, "delta": text[:at] + chr(0xD800 + high)}
    return [first, {**payload, "delta": chr(0xDC00 + low) + text[at + 1 :]}]


def _prefilled(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The event that adds the item waits for the arguments, and the deltas come behind it once more."""
    if kind == ADDED:
        plant.kept[id(call)] = [payload]
        return []
    held = plant.kept.get(id(call))
    if held is None:
        return None
    if kind == DELTA:
        held.append(payload)
        return []
    del plant.kept[id(call)]
    return [_item(held[0], arguments=call.arguments.reading()[0]), *held[1:], payload]


def _missing_deltas(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == DELTA else None


def _short_deltas(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind != DELTA or not call.arguments.whole or len(_said(payload)) < 2:  # noqa: PLR2004
        return None
    return [{**payload, "delta": _said(payload)[:-1]}]


def _lost(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind == DELTA:
        return []
    if kind == DONE:
        return [{**payload, "arguments": ""}]
    return [_item(payload, arguments="")] if kind == CLOSED else None


def _unclosed(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == CLOSED else None


def _doubled(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The whole item once more, at a place of its own, right behind it."""
    if kind == ADDED:
        plant.kept[id(call)] = payload
        return None
    if kind != CLOSED or id(call) not in plant.kept:
        return None
    added = plant.kept.pop(id(call))
    place = {"output_index": 100 + call.position}
    other = f"{payload['item'].get('id')}_again"
    text = call.arguments.reading()[0]
    number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
    return [
        payload,
        {**_item(added, id=other), **place},
        {"type": DELTA, "item_id": other, **place, **number, "delta": text},
        {"type": DONE, "item_id": other, **place, **number, "arguments": text},
        {**_item(payload, id=other), **place},
    ]


def _per_fragment(plant: ItemPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Each delta has an item of its own, added and closed around it."""
    if kind == ADDED:
        plant.kept[id(call)] = (payload["item"], 0)
        return []
    if kind != DELTA or id(call) not in plant.kept:
        return [] if kind in {DONE, CLOSED} else None
    item, count = plant.kept[id(call)]
    plant.kept[id(call)] = (item, count + 1)
    own = {**item, "id": f"{item.get('id')}_{count}"}
    place = {"output_index": 10 * call.position + count}
    number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
    return [
        {"type": ADDED, **number, **place, "item": own},
        {**payload, **place, "item_id": own["id"]},
        {"type": CLOSED, **number, **place, "item": {**own, "status": "completed", "arguments": _said(payload)}},
    ]


def _value(call: OpenCall) -> Json:
    try:
        return json.loads(call.arguments.reading()[0])
    except (ValueError, RecursionError):
        return {}


class _ResponsePlant(_Counting):
    """Changes the events around the items."""

    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self.calls: list[OpenCall] = []

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        for _, other in heard:
            if other.kind is Kind.FUNCTION and other not in self.calls:
                self.calls.append(other)
        payload = event.frame.json
        if not isinstance(payload, dict) or not self._pick.stream():
            return [event.frame]
        call = heard[0].call if heard and heard[0].call.kind is Kind.FUNCTION else None
        frames = self.frames(event, list(self.changed(payload, str(payload.get("type")), call)))
        if len(frames) != 1 or frames[0] is not event.frame:
            self._pick.acted()
        return frames

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """What the event becomes."""
        raise NotImplementedError


class BareResponse(_ResponsePlant):
    """The terminal event holds the response's fields without their envelope."""

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        del call
        if kind != COMPLETED or "response" not in payload:
            return [payload]
        kept = {key: value for key, value in payload.items() if key != "response"}
        return [{**kept, **{key: value for key, value in payload["response"].items() if key != "type"}}]


class SequenceNumbers(_ResponsePlant):
    """Every event has the same sequence number."""

    each = True

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        if not isinstance(payload, dict) or not payload.get("sequence_number") or not self._pick.stream():
            return [event.frame]
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, {**payload, "sequence_number": 1})]


class MissingFinish(_ResponsePlant):
    """No terminal event comes."""

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        del call
        return [] if kind == COMPLETED and self.calls else [payload]


class EmptyOutput(_ResponsePlant):
    """The completed response has no output."""

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        del call
        if kind != COMPLETED or not self.calls or "response" not in payload:
            return [payload]
        return [{**payload, "response": {**payload["response"], "output": []}}]


class UnstreamedCalls(_ResponsePlant):
    """Calls come only in the completed response."""

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        return [] if call is not None and kind != COMPLETED else [payload]


class RestartedStream(_ResponsePlant):
    """A second response begins behind the first call."""

    _created: Payload | None = None

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        del call
        if kind == "response.created":
            self._created = payload
        if kind != CLOSED or self._created is None:
            return [payload]
        created, self._created = self._created, None
        return [payload, created]


class TruncatedStream(_ResponsePlant):
    """The body ends, in good order, inside the first call's arguments."""

    _over = False

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        if self._over:
            return []
        if kind != DELTA or call is None or not call.arguments.whole:
            return [payload]
        self._over = True
        return [{**payload, "delta": _said(payload).rstrip()[:-1]}]


class InBandError(TruncatedStream):
    """An error event comes instead of the rest of the first call."""

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        before = self._over
        made = list(super().changed(payload, kind, call))
        if before or not self._over:
            return made
        number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
        return [*made, {"type": "error", **number, "code": "server_error", "message": "Provider disconnected"}]


class UnparsableData(_ResponsePlant):
    """The first event with arguments lacks its last byte."""

    _done = False

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        if self._done or look.get(event.frame.json, "type") != DELTA or not self._pick.stream():
            return [event.frame]
        self._done = True
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, (event.frame.data or b"")[:-1])]


class Leaked(_ResponsePlant):
    """Calls come as text, in a syntax of some model."""

    def __init__(self, context: Context, pick: Pick, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick)
        self._row = row

    def changed(self, payload: Payload, kind: str, call: OpenCall | None) -> Iterable[Payload]:
        """As `_ResponsePlant.changed`."""
        if kind != COMPLETED:
            return [] if call is not None else [payload]
        if not self.calls:
            return [payload]
        text = "\n".join(
            MARKUP[self._row](one.name, value) for one in self.calls if isinstance(value := _value(one), dict)
        )
        place: Payload = {"item_id": "msg_leak", "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_leak", "role": "assistant", "status": "completed", "content": [part]}
        number = {"sequence_number": payload["sequence_number"]} if "sequence_number" in payload else {}
        empty = {**item, "status": "in_progress", "content": []}
        said: list[Payload] = [
            {"type": ADDED, "output_index": 0, "item": empty},
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **place, "delta": text},
            {"type": "response.output_text.done", **place, "text": text},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": CLOSED, "output_index": 0, "item": item},
        ]
        response = payload.get("response")
        ending = {**payload, "response": {**response, "output": [item]}} if isinstance(response, dict) else payload
        return [*({**one, **number} for one in said), ending]


def _planter(edit: Edit, *, completed: bool = False) -> Planter:
    return lambda context, pick: ItemPlant(context, pick, edit, completed=completed)


def _leaked(row: str) -> Planter:
    return lambda context, pick: Leaked(context, pick, row)


PLANTS: Final[dict[str, Planter]] = {
    "unparsable-data": UnparsableData,
    "bare-response": BareResponse,
    "sequence-numbers": SequenceNumbers,
    "restarted-stream": RestartedStream,
    "missing-id": _planter(_missing_id, completed=True),
    "rotating-item-id": _planter(_rotating),
    "duplicate-id": _planter(_duplicate_id, completed=True),
    "empty-name": _planter(_empty_name),
    "decorated-name": _planter(_decorated, completed=True),
    "missing-index": _planter(_missing_index),
    "reused-index": _planter(_reused_index),
    "doubled-call": _planter(_doubled),
    "changing-call-id": _planter(_changing_call_id),
    "item-per-fragment": _planter(_per_fragment),
    "odd-id": _planter(_odd_id, completed=True),
    "missing-name": _planter(_missing_name, completed=True),
    "missing-start": _planter(_missing_start),
    "lost-arguments": _planter(_lost, completed=True),
    "object-arguments": _planter(_object, completed=True),
    "cumulative-arguments": _planter(_cumulative),
    "replayed-arguments": _planter(_replayed),
    "double-encoded-arguments": _planter(_double_encoded, completed=True),
    "invalid-arguments": _planter(_invalid, completed=True),
    "trailing-garbage": _planter(_garbage, completed=True),
    "split-surrogate": _planter(_split_surrogate),
    "prefilled-arguments": _planter(_prefilled),
    "missing-deltas": _planter(_missing_deltas),
    "short-deltas": _planter(_short_deltas),
    "truncated-stream": TruncatedStream,
    "missing-finish": MissingFinish,
    "unstreamed-calls": UnstreamedCalls,
    "in-band-error": InBandError,
    "unclosed-call": _planter(_unclosed),
    "empty-output": EmptyOutput,
    **{row: _leaked(row) for row in MARKUP},
}
