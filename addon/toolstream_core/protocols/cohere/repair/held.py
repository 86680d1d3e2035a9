"""Cohere calls that are held until more is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.defects.identity import DOUBLED_CALL, LATE_ID, LATE_NAME
from toolstream_core.protocols.cohere.repair.unknown_calls import UnknownCallRepairer
from toolstream_core.protocols.cohere.wire import (
    CALL_END,
    CALL_START,
    arguments_in,
    entry_of,
    function_of,
    with_entry,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.protocols.cohere.repair.client_call import ClientCall
    from toolstream_core.protocols.cohere.wire import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

type Held = tuple[Event, Sequence[ResolvedFragment]]


class HeldRepairer(UnknownCallRepairer):
    """Holds a call until it is known who it is, or whether it says another one again."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._held: ClientCall | None = None
        """A call of which it is not known yet who it is, or whether it says another one again."""
        self._queue: list[Held] = []
        """Its events so far."""
        self._doubles: set[int] = set()
        """Calls that say others again, and do not go on; by `id(call)`, which live as long as the stream."""
        self._doubled: tuple[ClientCall, list[Held]] | None = None
        """The last of them, and its events."""

    def _one(self, event: Event, resolved: Sequence[ResolvedFragment]) -> None:
        """Deal with an event."""
        raise NotImplementedError

    def _behind(self, event: Event) -> None:
        """Deal with a comment."""
        raise NotImplementedError

    def _may_wait(self, one: ClientCall) -> bool:
        """Whether more has to be known of a call: its id or name, or whether it says another one again."""
        return not one.given_id or not one.name or one.given_id in self.by_id

    def _hold(self, event: Event, resolved: Sequence[ResolvedFragment], kind: str) -> None:
        """More of a call that is held."""
        one, payload = self._held, event.frame.json
        if one is None or not isinstance(payload, dict):
            return
        self._queue.append((event, resolved))
        lacks = (not one.given_id or not one.name) and kind != CALL_START
        if lacks:
            self._late_identity(one, payload)
        if kind == CALL_END or (lacks and one.given_id not in self.by_id):
            self._let_go()

    def _let_go(self) -> None:
        """A call that was held goes on, or goes away where another one is the same."""
        one, queue = self._held, self._queue
        self._held, self._queue = None, []
        if one is None:
            return
        (first, _), *rest = queue
        self.number = first.frame.number
        if self._is_double(one):
            self._started += 1
            self._doubles.add(id(one.call))
            self._doubled = one, [held for held in queue if held[0].frame.data is not None]
            rest = [held for held in rest if held[0].frame.data is None]
        else:
            self._begin(one, first.frame)
        for event, resolved in rest:
            if event.frame.data is None:
                self._behind(event)
            else:
                self._one(event, resolved)

    def _stays_dropped(self, call: OpenCall, payload: Payload) -> bool:
        """Whether an event is of a call that says another one again.

        Where arguments come behind that call's end it did not: it is sent then, before them.
        """
        doubled = self._doubled
        if doubled is not None and doubled[0].call is call and arguments_in(payload):
            (one, [(first, _), *rest]), self._doubled = doubled, None
            self._doubles.discard(id(call))
            self._started -= 1
            one.place, number = len(self.calls), self.number
            self._begin(one, first.frame)
            for event, resolved in rest:
                self._one(event, resolved)
            self.number = number
        return id(call) in self._doubles

    def _is_double(self, one: ClientCall) -> bool:
        """Whether a call that the client has is this one, and it is not to be sent again."""
        twins = self.by_id.get(one.given_id, [])
        if not twins or not (one.call.closed or one.call.arguments.whole):
            return False
        arguments = one.call.meant()[0]
        if not any(twin.says(one.name, arguments) for twin in twins):
            return False
        return self.report(DOUBLED_CALL, self.number, "the call was said before", one.call)

    def _waiting_frames(self) -> list[Frame]:
        unsure, strays = [one.frame for one in self._unsure], [frame for frame, _, _ in self._strays]
        return [*unsure, *strays, *[event.frame for event, _ in self._queue]]

    def _late_identity(self, one: ClientCall, payload: Payload) -> bool:
        """Take from a call's first delta what its start lacks; whether there was any of it."""
        entry, function = entry_of(payload), function_of(entry_of(payload))
        start = entry_of(one.start)
        edits: dict[str, Json] = {}
        if not one.given_id and entry.get("id"):
            if one.judge(LATE_ID, "the id comes after the call's start"):
                edits["id"] = entry["id"]
            one.given_id = str(entry["id"])
        if not one.name and function.get("name"):
            if one.judge(LATE_NAME, "the name comes after the call's start"):
                edits["function"] = {**function_of(start), "name": function["name"]}
            one.name = str(function["name"])
        if one.given_id and one.name:
            one.identified_by = payload
        if edits:
            one.start = with_entry(one.start, {**start, **edits})
        return bool(edits)
