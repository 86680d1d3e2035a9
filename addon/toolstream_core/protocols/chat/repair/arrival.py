"""Chat Completions fragments on their arrival: each is judged against what came before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.chat.repair import placeholders
from toolstream_core.protocols.chat.repair.arguments import Arguments
from toolstream_core.protocols.chat.repair.other_forms import Form, form_of
from toolstream_core.protocols.chat.repair.waiting import Part, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Fragment, SkippedRun
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.finish import FinishOrder
    from toolstream_core.protocols.chat.repair.stream import ChatStream


class Arrivals:
    """The arrivals of one stream's fragments."""

    def __init__(self, stream: ChatStream, order: FinishOrder) -> None:
        """For one stream."""
        self._stream = stream
        self._order = order
        self._arguments = Arguments(stream.reporter)

    def bare_call(self, one: ResolvedFragment) -> ClientCall | None:
        """The call of nearly every fragment: bare arguments of a call that the client knows; `None` for others."""
        client_call = self._stream.calls.get(id(one.call))
        if client_call is None or self._stream.done or not client_call.goes_on_with(one.fragment):
            return None
        return client_call if self._stream.choices[client_call.choice].finish is None else None

    def bare(self, fragment: Fragment, client_call: ClientCall, event: Event) -> Waiting | None:
        """Take bare arguments of a call; the event where it may not go on as it came."""
        text, choice = str(fragment.arguments), self._stream.choices[client_call.choice]
        client_call.event = event.frame.number
        emitted = self._arguments.bare(text, choice, client_call)
        if (emitted.text == text or self._stream.context.judging) and not client_call.spelling.waiting:
            client_call.has_arguments = client_call.has_arguments or bool(emitted.text)
            self._order.resolved(client_call.event, choice, client_call)
            return None
        placeholders.waits(choice, client_call)
        choice.unfinished.touch(client_call)
        return Waiting(event, [Part(fragment, choice, client_call, emitted)])

    def skipped(self, client_call: ClientCall, passed: SkippedRun) -> None:
        """Take the arguments of events that went by."""
        client_call.event = self._stream.last = passed.first + passed.events - 1
        self._arguments.on_skipped(self._stream.choices[client_call.choice], client_call, passed)

    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> list[Part]:
        """The entries of an event."""
        parts: list[Part] = []
        places: dict[tuple[int, Phase], int] = {}
        if self._stream.speaks_legacy:
            self._stream.legacy_calls.update(call.choice for _, call in resolved)
            return parts
        for fragment, call in resolved:
            if call.kind is not Kind.FUNCTION:
                self._stream.choice(call.choice).pass_custom(fragment.index)
                continue
            client_call = self._stream.calls.get(id(call)) or self._opened(fragment, call)
            choice = self._stream.choices[client_call.choice]
            client_call.event = event.frame.number
            key = (fragment.choice, fragment.phase)
            place = places[key] = places.get(key, -1) + 1
            fresh, client_call.resolved_as = client_call.resolved_as != (call.id, call.name), (call.id, call.name)
            form = Form.PLAIN if fragment.well_formed else form_of(event.frame, fragment, place)
            if fragment.index != call.index and _is_elsewhere(fragment, client_call):
                form = Form.FOREIGN
            emitted = self._arguments.take(fragment, choice, client_call, form)
            parts.append(Part(fragment, choice, client_call, emitted, place, form, fresh=fresh))
            self._order.resolved(client_call.event, choice, client_call)
        return parts

    def _opened(self, fragment: Fragment, call: OpenCall) -> ClientCall:
        choice = self._stream.choice(call.choice)
        placeholders.opens(fragment, choice)
        return self._stream.open(call, choice)


def _is_elsewhere(fragment: Fragment, client_call: ClientCall) -> bool:
    """Whether an entry of a call has another index than that, or none, and does not go on with its arguments.

    To clients that go by the index it is no part of the call. The first of them decides for all.
    """
    forms, given = client_call.forms, fragment.arguments
    if not isinstance(client_call.call.index, int) or fragment.phase is not Phase.MORE:
        return False
    if forms.joins is None and given and isinstance(given, str) and forms.first is Form.PLAIN and not forms.mixed:
        call = client_call.call
        unfit = client_call.spelling.is_broken_by(given) or (call.guessed and not call.arguments.viable)
        forms.joins = not unfit
    return not forms.joins
