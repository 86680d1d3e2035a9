"""How Cohere calls end on their way to the client, and what of them waits until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import MISSING_DELTAS, REPLAYED_ARGUMENTS
from toolstream_core.defects.finish import REPEATED_STOP, UNCLOSED_CALL
from toolstream_core.defects.identity import UNKNOWN_BLOCK
from toolstream_core.protocols.cohere.repair.calls import ClientCalls
from toolstream_core.protocols.cohere.repair.identity import continued, index_repaired
from toolstream_core.protocols.cohere.wire import (
    argument_text,
    arguments_in,
    call_delta,
    call_end,
    index_of,
    with_arguments,
)

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.protocols.cohere.repair.client_call import ClientCall
    from toolstream_core.protocols.cohere.wire import Payload
    from toolstream_core.wire.frame import Frame

_OF_AN_END: Final = frozenset({"type", "index"})
"""All that an event says that ends a call."""


class EndRepairer(ClientCalls):
    """Judges and repairs the ends of calls."""

    def _indexed(self, one: ClientCall, payload: Payload, changed: Payload) -> Payload:
        """An event of a call under the index that the client knows."""
        other = index_repaired(one, self, payload)
        return {**changed, "index": one.shown} if other or one.moved else changed

    def _moved(self, one: ClientCall, payload: Payload) -> Payload:
        return {**payload, "index": one.place} if one.moved else payload

    def _settle_unsure(self) -> None:
        """What waited for the next event goes on as that has decided."""
        unsure, self._unsure = self._unsure, []
        for frame, payload, changed, emitted in unsure:
            if frame.data is None:
                self._send(frame)
            elif emitted is not None and arguments_in(changed) != emitted.text:
                self._pass(frame, payload, with_arguments(changed, emitted.text))
            else:
                self._pass(frame, payload, changed)

    def _settled(self) -> None:
        """Nothing comes any more that could change what waits."""
        self._settle_first()

    def _settle_first(self) -> None:
        """Nothing comes any more that could change what a first `{}` means."""
        if self.last is not None:
            self.last.settle()
        self._settle_unsure()

    def _end_of(self, payload: Payload, call: OpenCall | None) -> ClientCall | None:
        if call is not None:
            return self._by_call.get(id(call))
        index = index_of(payload)
        return self.last if index is None else self.indexes.get(index)

    def _end(self, frame: Frame, payload: Payload, call: OpenCall | None) -> None:
        """The end of a call."""
        one = self._end_of(payload, call)
        if one is None and self.overflowed:
            self._pass(frame, payload, payload)
            return
        if one is None:
            gone = self.report(UNKNOWN_BLOCK, self.number, f"no call {payload.get('index')} was started")
            if not (gone and payload.keys() <= _OF_AN_END):
                self._pass(frame, payload, payload)
            return
        if not one.open:
            gone = one.ended_early or self.report(REPEATED_STOP, self.number, "the call ends twice", one.call)
            one.ended_early = False
            if not (gone and self._says_nothing_new(one, payload)):
                self._pass(frame, payload, self._moved(one, payload))
            return
        changed = self._from_end(one, continued(one, payload))
        changed = self._indexed(one, payload, changed)
        self._closing(one)
        self._pass(frame, payload, changed)

    def _says_nothing_new(self, one: ClientCall, payload: Payload) -> bool:
        """Whether an end that comes again brings nothing that the call does not have."""
        arguments = arguments_in(payload)
        same = isinstance(arguments, str) and same_arguments(arguments, one.call.meant()[0])
        return payload.keys() <= _OF_AN_END or (same and payload.keys() - {"delta"} <= _OF_AN_END)

    def _from_end(self, one: ClientCall, payload: Payload) -> Payload:
        """The end without arguments: where no delta brought them, one does."""
        text = argument_text(payload)
        if not text.strip():
            return payload
        if one.given:
            again = same_arguments(text, one.call.meant()[0])
            if not (again and one.judge(REPLAYED_ARGUMENTS, "the event that ends the call says its arguments again")):
                return payload
        elif one.judge(MISSING_DELTAS, "the arguments come only with the event that ends the call"):
            self.put(call_delta(one.shown, one.take(text)))
        else:
            return payload
        return {key: value for key, value in payload.items() if key != "delta"}

    def _close(self, one: ClientCall) -> None:
        """End a call whose end has not come."""
        one.ended_early = True
        self._closing(one)
        self.put(call_end(one.shown))

    def _closing(self, one: ClientCall) -> None:
        """Send what has to come of a call before its end."""
        self.flush(one)
        one.check_lost()
        one.open = False

    def flush(self, one: ClientCall) -> None:
        """Say what was kept of a call: nothing of it may be lost."""
        rest = one.rest()
        if rest:
            self.put(call_delta(one.shown, rest))

    def close_whole(self, *, failed: bool) -> None:
        """The message is over: end calls that are whole, and say what was kept of the others."""
        for one in self.calls:
            if not one.open:
                continue
            if failed or not one.whole:
                self.flush(one)
            elif self.report(UNCLOSED_CALL, self.number, "no tool-call-end came for the call", one.call):
                self._close(one)
