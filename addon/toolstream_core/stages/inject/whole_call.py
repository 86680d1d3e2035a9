"""How calls are broken that come whole, each in one event."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, override

from toolstream_core.stages.inject.injector import Injector, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Payload = dict[str, Any]


class WholeCall(Protocol):
    """A call of an event. What changes it gives the entry that stands in its place."""

    @property
    def call(self) -> OpenCall:
        """The call that the entry was put into."""
        ...

    @property
    def name(self) -> str:
        """The name; `""` where the entry has none."""
        ...

    @property
    def arguments(self) -> Payload | None:
        """The arguments that may come as text instead; `None` where there are none."""
        ...

    def with_name(self, name: str) -> Payload:
        """The entry with another name."""
        ...

    def with_id(self, identity: str) -> Payload:
        """The entry with another id."""
        ...

    def with_arguments(self, arguments: Json) -> Payload:
        """The entry with other arguments."""
        ...


class WholeCallWire[C: WholeCall](ABC):
    """Where a protocol has the calls of an event."""

    FAILURE: ClassVar[Payload]
    """What the provider sends when it gives up on a call."""

    @abstractmethod
    def calls(self, payload: Json, resolved: Sequence[ResolvedFragment]) -> Sequence[C]:
        """The calls of an event."""

    @abstractmethod
    def with_entries(self, payload: Json, calls: Sequence[C], entries: Mapping[int, Payload]) -> Json:
        """The event with other entries in the place of some of its `calls`, by their position there."""


type Edit = Callable[[Context, WholeCall], Payload | None]
"""What a call becomes; `None` leaves it as it is."""


class WholeCallInjector[C: WholeCall](Injector):
    """Changes the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, wire: WholeCallWire[C], edit: Edit) -> None:
        """`wire` is the protocol's, `edit` is what is done to each call."""
        super().__init__(context, pick)
        self._wire = wire
        self._edit = edit

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        calls = self._wire.calls(event.frame.json, resolved)
        edited = {at: self._edit(self._context, one) for at, one in enumerate(calls) if self._pick.call(one.call)}
        entries = {at: entry for at, entry in edited.items() if entry is not None}
        if not entries:
            return [event.frame]
        self._pick.acted(len(entries))
        return [self._context.writer.rewrite(event.frame, self._wire.with_entries(event.frame.json, calls, entries))]


class InBandError[C: WholeCall](Injector):
    """An error comes instead of the first call, and nothing after it."""

    each = True
    _over = False

    def __init__(self, context: Context, pick: Pick, wire: WholeCallWire[C]) -> None:
        """`wire` is the protocol's."""
        super().__init__(context, pick)
        self._wire = wire

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if self._over:
            return [event.frame] if event.frame.data is None else []
        if not any(self._pick.call(one.call) for one in self._wire.calls(event.frame.json, resolved)):
            return [event.frame]
        self._over = True
        self._pick.acted()
        return [self._context.writer.rewrite(event.frame, self._wire.FAILURE)]


def _decorated(context: Context, one: WholeCall) -> Payload | None:
    """Models put the namespace in which their provider shows them the tools before the name."""
    return one.with_name(f"functions.{one.name}") if one.name in context.schemas else None


def _text_arguments(context: Context, one: WholeCall) -> Payload | None:
    del context
    arguments = one.arguments
    return None if arguments is None else one.with_arguments(json.dumps(arguments, ensure_ascii=False))


def _nameless(context: Context, one: WholeCall) -> Payload | None:
    del context
    return one.with_name("") if one.name else None


def _odd_id(context: Context, one: WholeCall) -> Payload | None:
    del context
    return one.with_id(f"call {one.call.position}") if one.name else None


def _reused_id(earlier_ids: Callable[[Json], frozenset[str]]) -> Edit:
    def edit(context: Context, one: WholeCall) -> Payload | None:
        earlier = min(earlier_ids(context.exchange.request), default=None)
        return one.with_id(earlier) if earlier and one.name else None

    return edit


_EDITS: Final[dict[str, Edit]] = {
    "double-encoded-arguments": _text_arguments,
    "decorated-name": _decorated,
    "missing-name": _nameless,
    "odd-id": _odd_id,
}


def makers[C: WholeCall](
    wire: WholeCallWire[C], earlier_ids: Callable[[Json], frozenset[str]]
) -> dict[str, InjectorMaker]:
    """The injectors by the defect's name; `earlier_ids` reads the ids of the request's earlier calls."""

    def maker(edit: Edit) -> InjectorMaker:
        return lambda context, pick: WholeCallInjector(context, pick, wire, edit)

    edits = {**_EDITS, "reused-id": _reused_id(earlier_ids)}
    return {
        **{name: maker(edit) for name, edit in edits.items()},
        "in-band-error": lambda context, pick: InBandError(context, pick, wire),
    }
