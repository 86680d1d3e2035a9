"""How Ollama's lines are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.ollama.edit import Entry, Payload, entries, with_calls
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.stages.inject.sse import UnterminatedEvent
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Change = Callable[[Context, Entry], Payload | None]
"""What a call becomes; `None` leaves it as it is."""


class CallInjector(Injector):
    """Changes the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, change: Change) -> None:
        """`change` is what is done to each."""
        super().__init__(context, pick)
        self._change = change

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload = event.frame.json
        calls, acted = [], False
        for one in entries(payload, resolved):
            made = self._change(self._context, one) if self._pick.call(one.call) else None
            calls.append(one.entry if made is None else made)
            if made is not None:
                acted = True
                self._pick.acted()
        return [self._context.writer.rewrite(event.frame, with_calls(payload, calls)) if acted else event.frame]


class CallsInDone(Injector):
    """Calls come in the line that says done."""

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._calls: list[Payload] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, frame = event.frame.json, event.frame
        mine = [one.entry for one in entries(payload, resolved)]
        if json_access.get(payload, "done") is not True:
            if not mine or not self._pick.stream():
                return [frame]
            self._calls += mine
            self._pick.acted()
            return [self._context.writer.rewrite(frame, with_calls(payload, []))]
        if not self._calls or not isinstance(json_access.get(payload, "message"), dict):
            return [frame]
        calls, self._calls = [*self._calls, *mine], []
        return [self._context.writer.rewrite(frame, with_calls(payload, calls))]


class InBandError(Injector):
    """An error line comes instead of the first call, and nothing after it."""

    each = True
    _over = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if self._over:
            return []
        if not any(self._pick.call(one.call) for one in entries(event.frame.json, resolved)):
            return [event.frame]
        self._over = True
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, {"error": "error parsing tool call"})]


def _decorated(context: Context, one: Entry) -> Payload | None:
    name = json_access.get(one.entry, "function", "name")
    return one.with_function(name=f"functions.{name}") if json_access.scalar(name) in context.schemas else None


def _text_arguments(context: Context, one: Entry) -> Payload | None:
    del context
    said = json_access.get(one.entry, "function", "arguments")
    return one.with_function(arguments=json.dumps(said, ensure_ascii=False)) if isinstance(said, dict) else None


def _nameless(context: Context, one: Entry) -> Payload | None:
    del context
    return one.with_function(name="")


def _odd_id(context: Context, one: Entry) -> Payload | None:
    del context
    return {**one.entry, "id": f"call {one.call.position}"}


def _reused_id(context: Context, one: Entry) -> Payload | None:
    earlier = min(earlier_ids(context.exchange.request), default=None)
    return {**one.entry, "id": earlier} if earlier else None


def _maker(change: Change) -> InjectorMaker:
    return lambda context, pick: CallInjector(context, pick, change)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "decorated-name": _maker(_decorated),
    "double-encoded-arguments": _maker(_text_arguments),
    "missing-name": _maker(_nameless),
    "odd-id": _maker(_odd_id),
    "reused-id": _maker(_reused_id),
    "in-band-error": InBandError,
    "calls-in-done": CallsInDone,
    "unterminated-event": UnterminatedEvent,
}
"""By the defect's name."""
