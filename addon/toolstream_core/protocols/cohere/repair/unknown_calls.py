"""Cohere deltas that do not carry their call's index: held until it shows whether they are that call's."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.strays import MAX_STRAYS, go_on
from toolstream_core.defects.identity import UNKNOWN_BLOCK
from toolstream_core.protocols.cohere.repair.identity import index_repaired
from toolstream_core.protocols.cohere.repair.sequence import CallRepairer
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    MESSAGE_END,
    MESSAGE_START,
    arguments_in,
    index_of,
    kind_of,
)

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Json
    from toolstream_core.protocols.cohere.repair.client_call import ClientCall
    from toolstream_core.protocols.cohere.wire import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# Such arguments are taken for those of the one open call only while that call gets none under its own index. So they
# wait until it has ended and the next one starts, or until a delta of its own comes: that one goes on with them, or it
# shows that they are not the call's, and they go on as they came. The call's end waits with them.

type Stray = tuple[Frame, Payload, ClientCall]


class UnknownCallRepairer(CallRepairer):
    """Sends the argument deltas of all calls."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._strays: list[Stray] = []

    def _delta(self, frame: Frame, payload: Payload, call: OpenCall) -> None:
        one = self._by_call.get(id(call))
        if one is None:
            self._of_nobody(frame, payload, call)
            return
        if self.last is not one:
            self._refuse_strays()
            self._settle_first()
        if payload.get("index") == one.index or one.carries_index(payload):
            if one.followed and arguments_in(payload):
                self._nobodys(frame, payload)
                return
            if self._strays or not one.indexed:
                self._begins(payload, one)
        elif arguments_in(payload):
            anothers = index_of(payload) is not None and (one.indexed or self.last is not one)
            anothers = anothers or ((one.torn or one.indexed) and not one.adopts)
            if anothers or one.came_whole or not one.open:
                index_repaired(one, self, payload)
                self._nobodys(frame, payload)
                return
            if not one.indexed:
                self._wait(frame, payload, one)
                return
            one.adopts = True
        self._filled(frame, payload, one)

    @override
    def _end(self, frame: Frame, payload: Payload, call: OpenCall | None) -> None:
        """The end of a call of which arguments wait, waits with them."""
        one = self._end_of(payload, call)
        if one is not None and any(waited is one for _, _, waited in self._strays):
            self._strays.append((frame, payload, one))
        else:
            super()._end(frame, payload, call)

    def _wait(self, frame: Frame, payload: Payload, one: ClientCall) -> None:
        index_repaired(one, self, payload)
        self._strays.append((frame, payload, one))
        if len(self._strays) >= MAX_STRAYS:
            one.indexed = True
            self._settled()

    def _begins(self, payload: Payload, one: ClientCall) -> None:
        """The call's own arguments begin: they go on with what waits, or that is not the call's."""
        piece = arguments_in(payload)
        waiting = [arguments_in(waited) for _, waited, _ in self._strays]
        if piece and waiting and not self._numbered and go_on(waiting, piece):
            self._settled()
        elif piece and self._strays:
            self._refuse_strays()
        one.indexed = one.indexed or bool(piece)

    def _decide_by(self, payload: Json, kind: str, *, unread: bool) -> None:
        """An event comes that may decide what waits: not whose it is, where it is of no call."""
        if self._strays and (unread or kind in {CALL_START, MESSAGE_START} or (kind == MESSAGE_END and self._numbered)):
            taken = isinstance(payload, dict) and index_of(payload) in {index_of(one) for _, one, _ in self._strays}
            ended = any(kind_of(one, frame.name) == CALL_END for frame, one, _ in self._strays)
            if unread or taken or not ended:
                self._refuse_strays()
        if kind in {CALL_START, MESSAGE_START, MESSAGE_END, ""}:
            self._settled()
        elif kind != CALL_DELTA:
            self._settle_first()

    @property
    def _numbered(self) -> bool:
        """Whether any of what waits came under a number, which may be that of another call."""
        return any(index_of(payload) is not None for _, payload, _ in self._strays)

    @override
    def _settled(self) -> None:
        self._settle_first()
        strays, self._strays = self._strays, []
        number = self.number
        for frame, payload, one in strays:
            self.number = frame.number
            if kind_of(payload, frame.name) == CALL_END:
                self._settle_first()
                super()._end(frame, payload, one.call)
            else:
                one.adopts = True
                self._filled(frame, payload, one)
        self.number = number
        if strays:
            self._settle_first()

    def _refuse_strays(self) -> None:
        strays, self._strays = self._strays, []
        for frame, payload, one in strays:
            if kind_of(payload, frame.name) != CALL_END:
                self._nobodys(frame, payload)
            elif one.carries_index(payload):
                super()._end(frame, payload, one.call)
            else:
                self._pass(frame, payload, payload)

    def _of_nobody(self, frame: Frame, payload: Payload, call: OpenCall) -> None:
        """A delta of a call that was never started."""
        self.report(UNKNOWN_BLOCK, self.number, f"no call {payload.get('index')} was started", call)
        self._nobodys(frame, payload)
