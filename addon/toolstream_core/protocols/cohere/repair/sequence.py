"""Cohere calls on their way to the client: started, filled and ended one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.defects.arguments import PREFILLED_ARGUMENTS
from toolstream_core.defects.finish import OVERLAPPING_BLOCKS, REPEATED_START, UNCLOSED_CALL
from toolstream_core.defects.framing import TOOL_CALLS_OBJECT
from toolstream_core.defects.identity import UNKNOWN_BLOCK
from toolstream_core.model import ABSENT
from toolstream_core.protocols.cohere.repair.calls import Unsure
from toolstream_core.protocols.cohere.repair.ends import EndRepairer
from toolstream_core.protocols.cohere.repair.identity import continued, header, place
from toolstream_core.protocols.cohere.wire import (
    CALL_START,
    NOBODYS,
    argument_text,
    arguments_in,
    call_delta,
    entries,
    index_of,
    with_arguments,
    with_entry,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Json
    from toolstream_core.protocols.cohere.repair.client_call import ClientCall
    from toolstream_core.protocols.cohere.wire import Payload
    from toolstream_core.wire.frame import Frame

# The client gets calls one after the other, each at the next place, whatever indexes the wire gives them.

MAX_TWINS: Final = 16
"""Calls of one id with which a further one is compared."""


class CallRepairer(EndRepairer):
    """Judges and repairs calls; which of them have to wait is decided in the class made on it."""

    def _begin(self, one: ClientCall, frame: Frame | None) -> None:
        """Give the client a call; `frame` is the one that started it, `None` where that goes on otherwise."""
        place(one, self, self._started)
        self._started += 1
        self._know(one)
        self.calls.append(one)
        self.last = one
        payload = header(one, self)
        payload = {**payload, "index": one.place} if one.moved else payload
        text = argument_text(payload)
        one.indexed = bool(text.strip(WHITE))
        prefilled = one.indexed and one.judge(PREFILLED_ARGUMENTS, "the call starts with its arguments")
        if prefilled:
            payload = with_arguments(payload, "")
        elif arguments_in(payload) is not ABSENT:
            payload = self._beginning(one, payload)
        original = frame.json if frame is not None else None
        if frame is None or not isinstance(original, dict):
            self.put({"type": CALL_START, **payload})
        else:
            self._pass(frame, original, payload)
        if prefilled:
            self._put_delta(one, one.take(text))
        if one.given_id:
            twins = self.by_id.setdefault(one.given_id, [])
            twins.append(one)
            del twins[:-MAX_TWINS]

    def _put_delta(self, one: ClientCall, text: str) -> None:
        """Send a new delta of a call's arguments, or hold it where the next event decides what it becomes."""
        payload = call_delta(one.shown, text)
        self.put(payload)
        if one.waiting:
            self._unsure.append(Unsure(self._out.pop(), payload, payload, one.emitted))

    def _beginning(self, one: ClientCall, payload: Payload) -> Payload:
        """What a start says of arguments, which stays where it is."""
        changed = one.delta(payload)
        one.settle()
        return changed

    def _know(self, one: ClientCall) -> None:
        self._by_call[id(one.call)] = one
        index = index_of(one.start)
        before = self.indexes.get(index)
        if before is not None:
            before.followed = True
        self.indexes[index] = one

    def _starts(self, payload: Payload, resolved: Sequence[ResolvedFragment]) -> list[tuple[Payload, OpenCall]]:
        """The starts that an event says, one for each entry."""
        found = entries(payload)
        if not isinstance(_raw(payload), list):
            return [(payload, resolved[0].call)]
        split = []
        for entry, (_, call) in zip(found, resolved, strict=False):
            message = "tool_calls is a list where an object belongs"
            if not self.report(TOOL_CALLS_OBJECT, self.number, message, call):
                return []
            split.append((with_entry(payload, entry), call))
        return split

    def _start_again(self, frame: Frame, payload: Payload, one: ClientCall) -> None:
        """A start of the call that is open comes again; arguments that it says count.

        Behind whole arguments, or such as cannot become any, nobody knows what it is for: clients forget them there.
        Behind half of them it is sent after all where the next delta begins anew.
        """
        gone = self.report(REPEATED_START, self.number, "the call starts again", one.call)
        arguments = arguments_in(payload)
        if not (gone and one.call.at_most_begun):
            if not one.call.at_most_begun:
                self._settled()
                self._forget(one)
            self._pass(frame, payload, self._moved(one, payload))
            return
        one.left_out = None if arguments else frame
        if isinstance(arguments, str) and arguments:
            self.put(call_delta(one.shown, one.take(arguments)))

    def _forget(self, one: ClientCall) -> None:
        """The client is given the start of a call once more, and forgets its arguments."""
        self.flush(one)
        one.begin_anew()

    def _bring_start(self, one: ClientCall, *, anew: bool) -> None:
        """Send a start that was left out, where `anew`: behind half of the arguments they begin once more."""
        left_out, one.left_out = one.left_out, None
        start = left_out.json if left_out is not None and anew else None
        if left_out is not None and isinstance(start, dict):
            self._forget(one)
            self._pass(left_out, start, self._moved(one, start))

    def _overlaps(self, one: ClientCall) -> None:
        """A call starts while another one is open, which is ended first where it can be."""
        before = self.last
        if before is None or not before.open or before is one:
            return
        self.report(OVERLAPPING_BLOCKS, self.number, "a call starts before the one before it has ended", one.call)
        if before.whole and (self.on(OVERLAPPING_BLOCKS) or self.on(UNCLOSED_CALL)):
            self._close(before)

    def _filled(self, frame: Frame, payload: Payload, one: ClientCall) -> None:
        """A delta of a call that the client has."""
        changed = self._indexed(one, payload, continued(one, payload))
        if one.torn and not (one.moved or one.adopts) and changed.get("index") != payload.get("index"):
            self._astray = True
            self._pass(frame, payload, payload)
            return
        if one.left_out is not None and (piece := arguments_in(payload)):
            self._bring_start(one, anew=one.is_restarted_by(piece))
        over = one.is_over
        changed = one.delta(changed)
        if over and (piece := arguments_in(changed)):
            if one.judged is not None:
                self.because(one.judged)
            self._nobodys(frame, payload if piece == arguments_in(payload) else with_arguments(payload, piece))
            return
        first = self._unsure[0] if self._unsure else None
        if one.waiting or (first is not None and one.placeholder):
            self._unsure.append(Unsure(frame, payload, changed, one.emitted))
            return
        if self._unsure:
            self._settle_unsure()
        self._pass(frame, payload, changed)

    def _nobodys(self, frame: Frame, payload: Payload) -> None:
        """Arguments of no call go on as they came: to the call that clients take them for, unless that is over."""
        self._astray = self._astray or arguments_in(payload) is not ABSENT
        index = index_of(payload)
        meant = self.indexes.get(index)
        if meant is not None and not meant.is_over:
            self._pass(frame, payload, self._moved(meant, payload))
            return
        taken = self.on(UNKNOWN_BLOCK) and any(one.shown == index for one in self.calls)
        self._pass(frame, payload, {**payload, "index": NOBODYS + (index or 0)} if taken else payload)


def _raw(payload: Payload) -> Json:
    """What stands under `tool_calls`."""
    delta = payload.get("delta")
    message = delta.get("message") if isinstance(delta, dict) else None
    return message.get("tool_calls") if isinstance(message, dict) else None
