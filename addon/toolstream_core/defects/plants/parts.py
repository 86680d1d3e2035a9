"""How streams that say each call whole are broken: Gemini's parts, Ollama's lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.defects.plants.plant import Pick, Plant
from toolstream_core.defects.plants.sse import UnterminatedEvent
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.defects.plants.plant import Planter
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

type Payload = dict[str, Any]
type Change = Callable[[Context, Payload], list[Payload] | None]
"""What an event with calls becomes: one event or several; `None` leaves it as it is."""


class EventPlant(Plant):
    """Changes events with calls, in streams that are picked."""

    def __init__(self, context: Context, pick: Pick, change: Change) -> None:
        """`change` is what is done to each."""
        super().__init__(context, pick)
        self._change = change

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        if not heard or not isinstance(payload, dict) or not all(self._pick.call(one.call) for one in heard):
            return [event.frame]
        made = self._change(self._context, payload)
        if made is None:
            return [event.frame]
        self._pick.acted()
        writer = self._context.writer
        if not made:
            return []
        return [
            writer.rewrite(event.frame, made[0]),
            *(writer.make(each, event.frame.number, event.frame.name) for each in made[1:]),
        ]


def _gemini(payload: Payload, change: Callable[[Payload], Json]) -> Payload:
    """The payload with each of its calls changed."""
    candidates = [
        {
            **candidate,
            "content": {
                **candidate["content"],
                "parts": [
                    {**part, "functionCall": change(part["functionCall"])} if "functionCall" in part else part
                    for part in candidate["content"]["parts"]
                ],
            },
        }
        for candidate in payload["candidates"]
    ]
    return {**payload, "candidates": candidates}


def _names(payload: Payload) -> list[str]:
    return [
        str(look.get(part, "functionCall", "name"))
        for candidate in look.items(payload.get("candidates"))
        for part in look.items(look.get(candidate, "content", "parts"))
        if "functionCall" in part
    ]


def _gemini_placeholder(context: Context, payload: Payload) -> list[Payload] | None:
    """The name comes with empty arguments, and a nameless part brings them."""
    names = _names(payload)
    if len(names) != 1 or context.takes_none(names[0]) or payload["candidates"][0].get("finishReason"):
        return None
    first = _gemini(payload, lambda call: {**call, "args": {}})
    return [first, _gemini(payload, lambda call: {"args": call.get("args", {})})]


def _gemini_decorated(context: Context, payload: Payload) -> list[Payload] | None:
    if not all(name in context.schemas for name in _names(payload)):
        return None
    return [_gemini(payload, lambda call: {**call, "name": f"functions.{call['name']}"})]


def _gemini_nameless(context: Context, payload: Payload) -> list[Payload] | None:
    del context
    return [_gemini(payload, lambda call: {**call, "name": ""})]


def _gemini_malformed(context: Context, payload: Payload) -> list[Payload] | None:
    del context
    candidates = [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"} for _ in payload["candidates"]]
    return [{**payload, "candidates": candidates}]


def _ollama(payload: Payload, change: Callable[[Payload], Payload]) -> Payload:
    entries = [{**entry, "function": change(entry["function"])} for entry in payload["message"]["tool_calls"]]
    return {**payload, "message": {**payload["message"], "tool_calls": entries}}


def _ollama_decorated(context: Context, payload: Payload) -> list[Payload] | None:
    names = [str(look.get(entry, "function", "name")) for entry in payload["message"]["tool_calls"]]
    if not all(name in context.schemas for name in names):
        return None
    return [_ollama(payload, lambda function: {**function, "name": f"functions.{function['name']}"})]


def _ollama_nameless(context: Context, payload: Payload) -> list[Payload] | None:
    del context
    return [_ollama(payload, lambda function: {**function, "name": ""})]


def _ollama_error(context: Context, payload: Payload) -> list[Payload] | None:
    del context, payload
    return [{"error": "error parsing tool call"}]


class CallsInDone(Plant):
    """Calls come in the line that says done."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Plant`."""
        super().__init__(context, pick)
        self._entries: list[Json] = []

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        if not isinstance(payload, dict) or not self._pick.stream():
            return [event.frame]
        done = payload.get("done") is True
        if heard and not done:
            self._entries += look.items(look.get(payload, "message", "tool_calls"))
            self._pick.acted()
            return []
        if not done or not self._entries:
            return [event.frame]
        message = {**payload["message"], "tool_calls": self._entries}
        return [self._context.writer.rewrite(event.frame, {**payload, "message": message})]


def _planter(change: Change) -> Planter:
    return lambda context, pick: EventPlant(context, pick, change)


GEMINI_PLANTS: Final[dict[str, Planter]] = {
    "placeholder-arguments": _planter(_gemini_placeholder),
    "decorated-name": _planter(_gemini_decorated),
    "missing-name": _planter(_gemini_nameless),
    "in-band-error": _planter(_gemini_malformed),
}
OLLAMA_PLANTS: Final[dict[str, Planter]] = {
    "decorated-name": _planter(_ollama_decorated),
    "missing-name": _planter(_ollama_nameless),
    "in-band-error": _planter(_ollama_error),
    "calls-in-done": CallsInDone,
    "unterminated-event": UnterminatedEvent,
}
