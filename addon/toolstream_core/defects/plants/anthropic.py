"""How Anthropic streams are broken."""

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
type Edit = Callable[[BlockPlant, Payload, str, OpenCall], Iterable[Payload] | None]
"""What an event of a picked call becomes, given its type; `None` leaves it as it is."""

START, DELTA, STOP = "content_block_start", "content_block_delta", "content_block_stop"


class BlockPlant(Plant):
    """Changes the events of the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, edit: Edit) -> None:
        """`edit` is what is done to each event."""
        super().__init__(context, pick)
        self._edit = edit
        self.calls: list[OpenCall] = []
        self.kept: dict[int, Any] = {}
        """For edits that remember something by call."""
        self.late: list[Payload] = []
        """Events that go on before the next one that is of no call."""

    @property
    def context(self) -> Context:
        """What is known of the stream."""
        return self._context

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        kind = payload.get("type") if isinstance(payload, dict) else None
        one = heard[0] if heard and heard[0].call.kind is Kind.FUNCTION else None
        if one is None or kind not in {START, DELTA, STOP} or not isinstance(payload, dict):
            late, self.late = self.late, []
            return [*(self._make(event, each) for each in late), event.frame]
        if one.fragment.phase is Phase.OPEN:
            self.calls.append(one.call)
        if not self._pick.call(one.call):
            return [event.frame]
        edited = self._edit(self, payload, kind, one.call)
        if edited is None:
            return [event.frame]
        self._pick.acted()
        made = list(edited)
        if len(made) == 1 and made[0].get("type") == kind:
            return [self._context.writer.rewrite(event.frame, made[0])]
        return [self._make(event, each) for each in made]

    def _make(self, event: Event, payload: Payload) -> Frame:
        return self._context.writer.make(payload, event.frame.number, str(payload["type"]))


def _said(payload: Payload) -> str:
    said = look.get(payload, "delta", "partial_json")
    return said if isinstance(said, str) else ""


def _with(payload: Payload, text: Json) -> Payload:
    return {**payload, "delta": {**payload["delta"], "partial_json": text}}


def _block(payload: Payload, **fields: Json) -> Payload:
    return {**payload, "content_block": {**payload["content_block"], **fields}}


def _missing_input(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    if kind != START or "input" not in payload["content_block"]:
        return None
    return [{**payload, "content_block": {k: v for k, v in payload["content_block"].items() if k != "input"}}]


def _missing_id(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_block(payload, id="")] if kind == START else None


def _duplicate_id(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call is plant.calls[0]:
        return None
    return [_block(payload, id=plant.calls[0].id)]


def _decorated(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != START or call.name not in plant.context.schemas:
        return None
    return [_block(payload, name=f"functions.{call.name}")]


def _missing_name(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_block(payload, name="")] if kind == START else None


def _odd_id(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    return [_block(payload, id=f"{call.id}{'x' * 400}")] if kind == START else None


def _reused_index(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del kind
    first = plant.calls[0]
    return None if call is first or not isinstance(first.index, int) else [{**payload, "index": first.index}]


def _offset_index(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, kind, call
    index = payload.get("index")
    return [{**payload, "index": index + 1}] if isinstance(index, int) else None


def _unknown_block(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Deltas and stop carry an index that was never started."""
    del plant
    return None if kind == START else [{**payload, "index": 100 + call.position}]


def _object(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind != DELTA or not _said(payload):
        return None
    value = _value(call)
    return [_with(payload, value)] if isinstance(value, dict) else []


def _cumulative(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not _said(payload):
        return None
    before = plant.kept.get(id(call), "")
    plant.kept[id(call)] = before + _said(payload)
    return [_with(payload, before + _said(payload))] if before else None


def _replayed(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not _said(payload) or not call.arguments.whole or id(call) in plant.kept:
        return None
    plant.kept[id(call)] = True
    return [payload, _with(payload, call.arguments.reading()[0])]


def _placeholder(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or not _said(payload) or plant.context.takes_none(call.name):
        return None
    plant.kept[id(call)] = True
    return [_with(payload, "{}"), payload]


def _double_encoded(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or not _said(payload):
        return None
    begun = id(call) in plant.kept
    plant.kept[id(call)] = True
    text = json.dumps(_said(payload), ensure_ascii=False)[1:-1]
    return [_with(payload, f"{'' if begun else chr(34)}{text}{chr(34) if call.arguments.whole else ''}")]


def _invalid(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or '"}' not in _said(payload):
        return None
    plant.kept[id(call)] = True
    return [_with(payload, _said(payload).replace('"}', '\n"}', 1))]


def _garbage(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept or not call.arguments.whole or not _said(payload):
        return None
    plant.kept[id(call)] = True
    return [_with(payload, f"{_said(payload)}<|endoftext|>")]


def _split_surrogate(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    text = _said(payload) if kind == DELTA else ""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    return [
        _with(payload, text[:at] + chr(0xD800 + high)),
        _with(payload, chr(0xDC00 + low) + text[at + 1 :]),
    ]


def _lost(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [_with(payload, "")] if kind == DELTA and _said(payload) else None


def _cut_off(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant
    if kind != DELTA or not call.arguments.whole or not _said(payload):
        return None
    return [_with(payload, _said(payload).rstrip()[:-1])]


def _prefilled(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The start waits for the arguments, carries them, and no delta comes."""
    if kind == START:
        plant.kept[id(call)] = payload
        return []
    if kind == DELTA:
        return []
    value = _value(call)
    return [_block(plant.kept[id(call)], input=value if isinstance(value, dict) else {}), payload]


def _foreign_delta(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind != DELTA or id(call) in plant.kept:
        return None
    plant.kept[id(call)] = True
    return [payload, {**payload, "delta": {"type": "text_delta", "text": "\n"}}]


def _unclosed(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, payload, call
    return [] if kind == STOP else None


def _repeated_stop(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del plant, call
    return [payload, payload] if kind == STOP else None


def _repeated_start(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    if kind == START:
        plant.kept[id(call)] = payload
        return None
    start = plant.kept.pop(id(call), None)
    return [start, payload] if kind == DELTA and start is not None else None


def _overlapping(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """Stops come only when all blocks are over."""
    del call
    if kind != STOP:
        return None
    plant.late.append(payload)
    return []


def _doubled(plant: BlockPlant, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    """The whole call once more, in a block of its own, right behind it."""
    if kind == START:
        plant.kept[id(call)] = payload
        return None
    if kind != STOP or id(call) not in plant.kept:
        return None
    place = {"index": 100 + call.position}
    delta = {"type": "input_json_delta", "partial_json": call.arguments.reading()[0]}
    return [
        payload,
        {**plant.kept.pop(id(call)), **place},
        {"type": DELTA, **place, "delta": delta},
        {"type": STOP, **place},
    ]


def _value(call: OpenCall) -> Json:
    if call.arguments.empty:
        return {}
    try:
        return json.loads(call.arguments.reading()[0]) if call.arguments.whole else None
    except (ValueError, RecursionError):
        return None


class _MessagePlant(Plant):
    """Changes the events around the blocks."""

    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self.calls: list[OpenCall] = []

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        for fragment, call in heard:
            if fragment.phase is Phase.OPEN and call.kind is Kind.FUNCTION:
                self.calls.append(call)
        payload = event.frame.json
        if not isinstance(payload, dict) or not self._pick.stream():
            return [event.frame]
        frames = list(self.changed(event, payload, heard[0].call if heard else None))
        if len(frames) != 1 or frames[0] is not event.frame:
            self._pick.acted()
        return frames

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """What the event becomes."""
        raise NotImplementedError

    def rewrite(self, event: Event, payload: Payload) -> Frame:
        """The event with another payload."""
        return self._context.writer.rewrite(event.frame, payload)

    def make(self, event: Event, payload: Payload) -> Frame:
        """A new event."""
        return self._context.writer.make(payload, event.frame.number, str(payload["type"]))


class MissingEventName(_MessagePlant):
    """Events have no event line."""

    each = True

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        del call
        if not event.frame.name:
            return [event.frame]
        return [self._context.writer.rewrite(event.frame, payload, "")]


class NullUsage(_MessagePlant):
    """Usage is null."""

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        del call
        if payload.get("type") == "message_delta":
            return [self.rewrite(event, {**payload, "usage": None})]
        return [event.frame]


class _Reason(_MessagePlant):
    """Changes the event that says the stop reason."""

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        del call
        if payload.get("type") != "message_delta" or not self.calls:
            return [event.frame]
        return self.reason(event, payload)

    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        """What that event becomes."""
        raise NotImplementedError


class WrongFinish(_Reason):
    """The stop reason is `end_turn`."""

    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        """As `_Reason.reason`."""
        return [self.rewrite(event, {**payload, "delta": {**payload["delta"], "stop_reason": "end_turn"}})]


class MissingFinish(_Reason):
    """No event says a stop reason."""

    def reason(self, event: Event, payload: Payload) -> Iterable[Frame]:
        """As `_Reason.reason`."""
        return []


class MissingDone(_MessagePlant):
    """`message_stop` does not come."""

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        del call
        return [] if payload.get("type") == "message_stop" else [event.frame]


class RestartedStream(_MessagePlant):
    """A second message begins behind the first call."""

    _start: Payload | None = None

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        if payload.get("type") == "message_start":
            self._start = payload
        if payload.get("type") != STOP or call is None or self._start is None:
            return [event.frame]
        start, self._start = self._start, None
        return [event.frame, self.make(event, start)]


class MissingCalls(_MessagePlant):
    """No block is a call; the stop reason is as it was."""

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        return [] if call is not None and call.kind is Kind.FUNCTION else [event.frame]


class TruncatedStream(_MessagePlant):
    """The body ends, in good order, inside the first call's arguments."""

    _over = False

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        if self._over:
            return []
        if call is None or not call.arguments.whole or not _said(payload):
            return [event.frame]
        self._over = True
        return [self.rewrite(event, _with(payload, _said(payload).rstrip()[:-1]))]


class InBandError(TruncatedStream):
    """An error event comes instead of the rest of the first call."""

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        before = self._over
        frames = list(super().changed(event, payload, call))
        if before or not self._over:
            return frames
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return [*frames, self.make(event, error)]


class UnparsableData(_MessagePlant):
    """The first event with arguments lacks its last byte."""

    _done = False

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        del call
        if self._done or not _said(payload):
            return [event.frame]
        self._done = True
        return [self._context.writer.rewrite(event.frame, (event.frame.data or b"")[:-1])]


class Leaked(MissingCalls):
    """Calls come as text, in a syntax of some model; the stop reason says that the turn is over."""

    def __init__(self, context: Context, pick: Pick, row: str) -> None:
        """`row` is the name of the syntax's row."""
        super().__init__(context, pick)
        self._row = row

    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        """As `_MessagePlant.changed`."""
        if payload.get("type") != "message_delta" or not self.calls:
            return super().changed(event, payload, call)
        place = {"index": self.calls[0].index}
        text = "\n".join(self._text(one) for one in self.calls)
        ending = {**payload, "delta": {**payload["delta"], "stop_reason": "end_turn"}}
        return [
            self.make(event, {"type": START, **place, "content_block": {"type": "text", "text": ""}}),
            self.make(event, {"type": DELTA, **place, "delta": {"type": "text_delta", "text": text}}),
            self.make(event, {"type": STOP, **place}),
            self.rewrite(event, ending),
        ]

    def _text(self, call: OpenCall) -> str:
        value = _value(call)
        return MARKUP[self._row](call.name, value if isinstance(value, dict) else {})


def _planter(edit: Edit) -> Planter:
    return lambda context, pick: BlockPlant(context, pick, edit)


def _leaked(row: str) -> Planter:
    return lambda context, pick: Leaked(context, pick, row)


PLANTS: Final[dict[str, Planter]] = {
    "unparsable-data": UnparsableData,
    "missing-event-name": MissingEventName,
    "null-usage": NullUsage,
    "missing-input": _planter(_missing_input),
    "foreign-delta": _planter(_foreign_delta),
    "restarted-stream": RestartedStream,
    "missing-id": _planter(_missing_id),
    "duplicate-id": _planter(_duplicate_id),
    "decorated-name": _planter(_decorated),
    "reused-index": _planter(_reused_index),
    "offset-index": _planter(_offset_index),
    "doubled-call": _planter(_doubled),
    "unknown-block": _planter(_unknown_block),
    "odd-id": _planter(_odd_id),
    "missing-name": _planter(_missing_name),
    "lost-arguments": _planter(_lost),
    "object-arguments": _planter(_object),
    "cumulative-arguments": _planter(_cumulative),
    "replayed-arguments": _planter(_replayed),
    "placeholder-arguments": _planter(_placeholder),
    "double-encoded-arguments": _planter(_double_encoded),
    "invalid-arguments": _planter(_invalid),
    "trailing-garbage": _planter(_garbage),
    "split-surrogate": _planter(_split_surrogate),
    "prefilled-arguments": _planter(_prefilled),
    "truncated-stream": TruncatedStream,
    "cut-off-call": _planter(_cut_off),
    "missing-done": MissingDone,
    "missing-finish": MissingFinish,
    "wrong-finish": WrongFinish,
    "missing-calls": MissingCalls,
    "in-band-error": InBandError,
    "unclosed-call": _planter(_unclosed),
    "repeated-stop": _planter(_repeated_stop),
    "repeated-start": _planter(_repeated_start),
    "overlapping-blocks": _planter(_overlapping),
    **{row: _leaked(row) for row in MARKUP},
}
