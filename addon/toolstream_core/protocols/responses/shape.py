"""Other valid streams of the same Responses calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, override

from toolstream_core.model import Kind
from toolstream_core.stages.shape import sse
from toolstream_core.stages.shape.small_fragments import SplitFragments
from toolstream_core.stages.shape.whole_calls import MergedFragments
from toolstream_core.stages.shape.wholeness import is_whole, turn_over
from toolstream_core.stages.stage import Holds, Stage
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, EventContent, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.stage import StageMaker
    from toolstream_core.wire.frame import Frame

_DELTA = "response.function_call_arguments.delta"
_KNOWN: Final = frozenset(
    {
        *("type", "event_id", "response_id", "sequence_number", "item_id", "output_index", "content_index"),
        *("call_id", "name", "delta", "obfuscation"),
    }
)
"""The keys of a fragment's event, in Realtime too."""


class Numbers:
    """Gives events sequence numbers that rise, where the stream has any; those that fit stay."""

    def __init__(self) -> None:
        """Before the first event."""
        self._last: int | None = None

    def of(self, payload: dict[str, Json]) -> dict[str, Json]:
        """The event with its number."""
        number = json_access.integer(payload.get("sequence_number"))
        if not isinstance(number, int):
            return payload
        last, self._last = self._last, number
        if last is None or number > last:
            return payload
        self._last = last + 1
        return {**payload, "sequence_number": self._last}

    def frame(self, frame: Frame, context: Context) -> Frame:
        """The frame with its number."""
        payload = frame.json
        if not isinstance(payload, dict):
            return frame
        numbered = self.of(payload)
        return frame if numbered is payload else context.writer.rewrite(frame, numbered)


class WholeCalls(MergedFragments):
    """Sends each call's arguments in one delta, and leaves out incomplete calls, in the completed response too."""

    place = "output_index"
    known = _KNOWN

    def __init__(self, context: Context, *, identified: bool = False) -> None:
        """For one stream; `identified`: the delta has the call's id and name too."""
        super().__init__(context)
        self._identified = identified

    @override
    def delta(self, frame: Frame, text: str, call: OpenCall) -> dict[str, Json]:
        identity = {"call_id": call.id, "name": call.name} if self._identified else {}
        return _with_delta(frame, text) | identity

    @override
    def status(self, payload: Json) -> str:
        return _status(json_access.get(payload, "item"))

    @override
    def without(
        self, payload: dict[str, Json], content: EventContent, resolved: Sequence[ResolvedFragment]
    ) -> dict[str, Json]:
        inside = payload.get("response", payload)
        output = json_access.items(json_access.get(inside, "output"))
        calls = iter([one.call for one in resolved])
        over = turn_over(content)
        kept = [item for item in output if not _is_call(item) or self._stays(item, next(calls, None), over=over)]
        if len(kept) == len(output) or len(resolved) != sum(map(_is_call, output)):
            return payload
        changed = {**inside, "output": kept}
        return {**payload, "response": changed} if "response" in payload else changed

    def _stays(self, item: Json, call: OpenCall | None, *, over: bool) -> bool:
        if call is None or call.kind is Kind.SERVER:
            return True
        over = (over or _status(item) == "completed") and _status(item) != "incomplete"
        return is_whole(call, self._context, over=over and not self.is_left_out(call))


def _with_delta(frame: Frame, text: str) -> dict[str, Json]:
    """An argument delta with another text, and without padding."""
    payload = frame.json
    assert isinstance(payload, dict)  # as its fragment was read from it
    return {key: value for key, value in payload.items() if key != "obfuscation"} | {"delta": text}


def _is_call(item: Json) -> bool:
    """Whether an item of the output is a call."""
    kind = json_access.get(item, "type")
    return isinstance(kind, str) and kind.endswith("_call")


def _status(item: Json) -> str:
    status = json_access.get(item, "status")
    return status if isinstance(status, str) else ""


class BareDeltas(Stage):
    """Argument deltas carry the item's id alone, neither call_id nor name."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload = event.frame.json
        if not isinstance(payload, dict) or payload.get("type") != _DELTA or not {"call_id", "name"} & payload.keys():
            return [event.frame]
        bare = {key: value for key, value in payload.items() if key not in {"call_id", "name"}}
        if resolved and "item_id" not in bare and resolved[0].call.item_id:
            bare["item_id"] = resolved[0].call.item_id
        return [self._context.writer.rewrite(event.frame, bare)]


class TinyFragments(SplitFragments, Holds):
    """Arguments come a few characters at a time."""

    known = _KNOWN

    def __init__(self, context: Context) -> None:
        """For one stream, from its start."""
        super().__init__(context)
        self._numbers = Numbers()
        self._counting = False

    @property
    @override
    def holding(self) -> bool:
        # Added events shift the numbers of all that follow.
        return self._counting

    @override
    def delta(self, frame: Frame, text: str) -> dict[str, Json]:
        payload = _with_delta(frame, text)
        self._counting = self._counting or "sequence_number" in payload
        return self._numbers.of(payload)

    @override
    def other(self, frame: Frame) -> Frame:
        return self._numbers.frame(frame, self._context)


class Sequential(Stage, Holds):
    """One item after the other: events of a later one wait until the one before it is closed."""

    def __init__(self, context: Context) -> None:
        """For one stream, from its start."""
        super().__init__(context)
        self._current: OpenCall | None = None
        self._waiting: list[tuple[Event, OpenCall]] = []
        self._numbers = Numbers()

    @property
    @override
    def holding(self) -> bool:
        return bool(self._waiting)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        call = resolved[0].call if len(resolved) == 1 else None
        if event.content.end or event.content.error or event.content.finishes:
            return [*self.release(), self._numbered(event.frame)]
        if call is None:
            return [self._numbered(event.frame)]
        if self._current is None or self._current.closed:
            self._current = call
        if call is not self._current:
            self._waiting.append((event, call))
            return []
        out = [self._numbered(event.frame)]
        if self._current.closed and self._waiting:
            out += self._next()
        return out

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        del clean
        return self.release()

    @override
    def release(self) -> Iterable[Frame]:
        waiting, self._waiting = self._waiting, []
        return [self._numbered(event.frame) for event, _ in waiting]

    def _next(self) -> list[Frame]:
        """The held events of the items whose turn it is, up to one that is not closed."""
        out: list[Frame] = []
        while self._waiting:
            self._current = self._waiting[0][1]
            mine = [event for event, call in self._waiting if call is self._current]
            self._waiting = [one for one in self._waiting if one[1] is not self._current]
            out += [self._numbered(event.frame) for event in mine]
            if not self._current.closed:
                break
        return out

    def _numbered(self, frame: Frame) -> Frame:
        return self._numbers.frame(frame, self._context)


SHAPES: Final[dict[str, StageMaker]] = {
    "whole-calls": WholeCalls,
    "self-contained-deltas": partial(WholeCalls, identified=True),
    "bare-deltas": BareDeltas,
    "tiny-fragments": TinyFragments,
    "sequential": Sequential,
    **sse.SHAPES,
}
