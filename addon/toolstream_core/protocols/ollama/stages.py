"""Repairs, faults and shapes of Ollama streams, whose lines contain complete calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.defects.defect import OLLAMA
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults import Picker
from toolstream_core.model import ABSENT, Event, Json
from toolstream_core.protocols.ollama.reader import calls
from toolstream_core.protocols.ollama.responses import line
from toolstream_core.repair.complete_form import CompleteCallForm, CompleteCodec
from toolstream_core.repair.complete_stage import CompleteCallStage, incomplete_calls
from toolstream_core.repair.shapes import ONE_CALL_PER_EVENT
from toolstream_core.stages.context import Context, Promotion
from toolstream_core.stages.inject.injector import Injector, InjectorMaker, UnterminatedEvent, injectors
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import changed

_CALLS: Final = ("message", "tool_calls")
_TEXTS: Final = ("content", "thinking")
_OF_LINE: Final = frozenset({"model", "created_at", "message", "done"})
_OF_MESSAGE: Final = frozenset({"role", "content", "thinking", "tool_calls"})


def split_end(payload: Json) -> tuple[Json, Json] | None:
    """Splits the line with `done` into its message and the rest; `None` if the message is empty."""
    message = json_access.get(payload, "message")
    if not isinstance(message, dict) or not any(message.get(key) for key in (*_TEXTS, "tool_calls")):
        return None
    texts = {key: message[key] for key in message if key in _TEXTS}
    entries = json_access.items(message.get("tool_calls"))
    content = line(payload, {"content": "", **texts, **({"tool_calls": entries} if entries else {})})
    rest = {key: "" if key in texts else value for key, value in message.items() if key != "tool_calls"}
    return content, {**payload, "message": rest}


def apart(payload: Json) -> list[Json]:
    """A line with several calls as one for each; everything else stays with the first."""
    entries = [one for _, one in calls(payload)]
    if len(entries) < 2 or json_access.get(payload, "done") is True:  # noqa: PLR2004
        return [payload]
    first, *others = entries
    return [_with_calls(payload, [first]), *(line(payload, {"content": "", "tool_calls": [one]}) for one in others)]


def emptied(payload: Json) -> Json:
    """A line without an empty list of calls."""
    return payload if json_access.items_at(payload, *_CALLS) else _with_calls(payload, [])


def is_empty(payload: Json) -> bool:
    """Whether a line has no text, no call and no other key, and is not the last."""
    message = json_access.get(payload, "message")
    if not (isinstance(payload, dict) and isinstance(message, dict)) or payload.get("done") is not False:
        return False
    has = any(message.get(key) for key in (*_TEXTS, "tool_calls"))
    return not has and _OF_LINE.issuperset(payload) and _OF_MESSAGE.issuperset(message)


FORM: Final = CompleteCallForm(
    calls=calls,
    fields={"id": ("id",), "name": ("function", "name"), "arguments": ("function", "arguments")},
    defects=frozenset(defect.name for defect in DEFECTS if OLLAMA in defect.protocols),
    split_end=split_end,
    failure={"error": "error parsing tool call"},
    emptied=emptied,
    is_empty=is_empty,
    joins_text=True,
    apart=apart,
    is_lines=True,
)


class CallsInDone(Injector):
    """Moves all calls to the line with `done`."""

    @override
    def __init__(self, context: Context, pick: Picker) -> None:
        super().__init__(context, pick)
        self._calls: list[Json] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, frame, writer = event.frame.json, event.frame, self._context.writer
        entries = json_access.items_at(payload, *_CALLS) if FORM.entries(payload, resolved) else []
        if not event.content.end:
            if not entries or not self._pick.stream():
                return [frame]
            self._calls += entries
            self._pick.acted()
            return [writer.rewrite(frame, _with_calls(payload, []))]
        if not self._calls or not isinstance(json_access.get(payload, "message"), dict):
            return [frame]
        moved, self._calls = [*self._calls, *entries], []
        return [writer.rewrite(frame, _with_calls(payload, moved))]


def _with_calls(payload: Json, entries: list[Json]) -> Json:
    return changed(payload, {_CALLS: entries or ABSENT})


def promoted(promotion: Promotion) -> list[Frame]:
    """A line with the calls, before the line of the finish."""
    calls = [
        {"function": {"name": leaked.name, "arguments": numbers.loads(leaked.arguments)}}
        for _, leaked in promotion.calls
    ]
    frame = promotion.event.frame
    return [promotion.writer.make(line(frame.json, {"content": "", "tool_calls": calls}), frame.number), frame]


REPAIRS: Final = (partial(CompleteCallStage, FORM),)
AT_END: Final = partial(incomplete_calls, FORM)
INJECTORS: Final[dict[str, InjectorMaker]] = {
    **injectors(OLLAMA, lambda: CompleteCodec(FORM)),
    "calls-in-done": CallsInDone,
    "unterminated-event": UnterminatedEvent,
}
SHAPES: Final = {"one-call-per-event": ONE_CALL_PER_EVENT}
