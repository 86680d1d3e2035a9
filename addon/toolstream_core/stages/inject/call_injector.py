"""The base of the injectors that change the events of single calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.inject.injector import EditingInjector, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.inject.wire_event import Reader, WireEvent
    from toolstream_core.wire.frame import Frame

type Edited = Iterable[WireEvent] | None
"""The events in place of one; `None` leaves it as it is."""
type Edit = Callable[[CallInjector, WireEvent, OpenCall], Edited]
"""What an event of a picked call becomes."""


class CallInjector(EditingInjector):
    """Changes the events of the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, read: Reader, edit: Edit, *, steady: bool = False) -> None:
        """`read` is the protocol's, `edit` is what is done to each event; `steady`: as in `EditingInjector`."""
        super().__init__(context, pick, steady=steady)
        self._read = read
        self._edit = edit
        self.late: list[WireEvent] = []
        """Events that go on before the next one that is of no call."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        self.acts = False
        frame, one = event.frame, resolved[0] if resolved and resolved[0].call.kind is Kind.FUNCTION else None
        wire_event = self._read(frame)
        if one is None or wire_event is None or wire_event.phase is None:
            late, self.late = self.late, []
            return [*(each.made(frame.number, self._context.writer) for each in late), frame]
        if one.fragment.phase is Phase.OPEN:
            self.calls.append(one.call)
        edited = self._edit(self, wire_event, one.call) if self._pick.call(one.call) else None
        if edited is None:
            return [frame]
        self.acts = True
        self._pick.acted()
        return self._frames(frame, wire_event.kind, list(edited))

    def _frames(self, frame: Frame, kind: str, edited: list[WireEvent]) -> list[Frame]:
        writer = self._context.writer
        if len(edited) == 1 and edited[0].kind == kind:
            return [edited[0].rewritten(frame, writer)]
        return [each.made(frame.number, writer) for each in edited]


def makers(read: Reader, edits: Mapping[str, Edit], *, steady: bool = False) -> dict[str, InjectorMaker]:
    """An injector for each edit, by the same name; `steady`: as in `EditingInjector`."""

    def maker(edit: Edit) -> InjectorMaker:
        return lambda context, pick: CallInjector(context, pick, read, edit, steady=steady)

    return {name: maker(edit) for name, edit in edits.items()}
