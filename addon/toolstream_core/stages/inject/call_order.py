"""How the order of calls, and what stands beside them, is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Phase
from toolstream_core.stages.inject.argument_text import pieces
from toolstream_core.stages.inject.markup import as_markup
from toolstream_core.stages.inject.message_injector import FinishInjector, MessageInjector, maker
from toolstream_core.stages.stage import Holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.inject.wire_event import Reader, WireEvent
    from toolstream_core.wire.frame import Frame

_SYNTAX = "leaked-hermes"


class MergedCalls(MessageInjector, Holds):
    """The arguments of later calls come behind the first one's, and those calls do not."""

    _end: Frame | None = None
    """The end of the first call, held until an event comes that is of no call."""

    @property
    @override
    def holding(self) -> bool:
        return self._end is not None

    @override
    def _counted(self, frame: Frame, frames: Iterable[Frame]) -> list[Frame]:
        return list(frames)  # what is only held is no change

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if call is None or call not in self.calls:
            return [*self.release(), frame]
        if call is self.calls[0]:
            self._end = frame if event.phase is Phase.CLOSE else None
            return [] if event.phase is Phase.CLOSE else [frame]
        self._pick.acted()
        index = self.calls[0].index
        if not event.text or not isinstance(index, int):
            return []
        return [self.made(frame, event.arguments_delta(index, event.text))]

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        del clean
        return self.release()

    @override
    def release(self) -> list[Frame]:
        end, self._end = self._end, None
        return [] if end is None else [end]


class LeakedTwice(FinishInjector):
    """The calls come as text, too."""

    @override
    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        text = "\n".join(as_markup(_SYNTAX, one) for one in self.calls)
        last = self.calls[-1].index
        block = event.text_block(last + 1 if isinstance(last, int) else None, pieces(text))
        return [*(self.made(frame, each) for each in block), frame]


def reused_id(earlier_ids: Callable[[Json], frozenset[str]]) -> Edit:
    """A start has the id of a call of an earlier turn; `earlier_ids` reads them from the request."""

    def edit(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
        del call
        earlier = min(earlier_ids(injector.context.exchange.request), default=None)
        return [event.with_id(earlier)] if earlier and event.phase is Phase.OPEN else None

    return edit


def makers(read: Reader) -> dict[str, InjectorMaker]:
    """The injectors that every protocol shares whose answers are messages with a beginning and an end."""
    return {"merged-calls": maker(MergedCalls, read), "leaked-twice": maker(LeakedTwice, read)}
