"""Which call a Responses fragment belongs to: by `call_id`, then `item_id`, then the open item of its index."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, override

from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import Calls
from toolstream_core.model import ABSENT, Fragment, Kind, Phase
from toolstream_core.protocols.responses.evidence import (
    closes_another,
    closes_fragment,
    contradicts,
    corrects,
    goes_on,
    has_other_object,
    has_same_arguments,
    is_another,
    is_other_call,
    may_be_at,
    may_repeat,
    of_other_item,
    opens_again,
    opens_late,
)
from toolstream_core.protocols.responses.open_items import CallsOfEvent, OpenCalls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import EventContent, Seen

# None of the three is stable everywhere: item ids change with every event behind GitHub Copilot (vercel/ai#18548),
# output_index is missing or always 0 behind converters, call_id differs between `output_item.done` and
# `response.completed`. A later event fills in what earlier ones lack; a fragment that fits no call opens one. Several
# calls may share a call_id. An item under a known call_id is another call if the known one has whole arguments, or is
# open and has none; if it has a part of them, the item is its next piece (some converters give each fragment an item).

MAX_ALIKE: Final = 64
"""Calls of one id, or at one index, that one fragment is compared with: bounds the cost of an event."""


class ResponsesCalls(Calls):
    """The calls of a response, streamed or not."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._by_call: dict[str, list[OpenCall]] = {}
        self._indexed: set[tuple[str, int]] = set()
        self._by_item: dict[Seen[str], OpenCall] = {}
        """By item id; `ABSENT` is not a key."""
        self._rotated: dict[Seen[int], tuple[Seen[str], OpenCall]] = {}
        """By index: the item id and the call of the last delta whose index or id differs from its call's."""
        self._open_calls = OpenCalls()
        self._in_event = CallsOfEvent()
        self._end_completes = False
        """Whether the terminal event completed a call."""

    @override
    def incomplete_calls(self) -> list[OpenCall]:
        return (
            [] if self._end_completes else super().incomplete_calls()
        )  # Without that event a whole call would be lost.

    @override
    def conclude(self, content: EventContent) -> None:
        super().conclude(content)
        self._at_end = self._at_end or content.end  # Clients stop reading there.

    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        call = self._find(fragment, event) or self._open(fragment)
        if self.overflowed:
            return call
        if fragment.id is not ABSENT and (key := nonblank(fragment.id)) and (key, id(call)) not in self._indexed:
            self._indexed.add((key, id(call)))
            self._by_call.setdefault(key, []).append(call)
        if not (fragment.phase is Phase.MORE and call.item_id) and (key := nonblank(fragment.item_id)):
            self._by_item[key] = call
        elif fragment.phase is Phase.MORE and not (fragment.item_id == call.item_id and fragment.index == call.index):
            self._rotated[fragment.index] = fragment.item_id, call
        if fragment.phase is Phase.WHOLE:
            self._in_event.add(call, event)
        return call

    def _open(self, fragment: Fragment) -> OpenCall:
        call = super()._open(fragment)
        if not self.overflowed:
            self._open_calls.add(call)
        return call

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        """Arguments in the event that adds an item count until deltas repeat them (litellm#30155).

        Deltas after an event with the complete arguments add nothing.
        """
        if fragment.phase is Phase.OPEN and call.over:
            self._reopen(call)
        if call.name and fragment.name and not nonblank(fragment.name).startswith(call.name):
            fragment = fragment._replace(name=ABSENT)
        if call.start_input is not None and fragment.phase is Phase.MORE and fragment.arguments and not call.over:
            if not goes_on(call.start_input, fragment.arguments):
                call.arguments = call.arguments.renewed()
            call.start_input = None
        elif fragment.phase is Phase.OPEN and (opens_again(call, fragment) or opens_late(call, fragment)):
            fragment = fragment._replace(arguments=ABSENT)
        known_already = closes_fragment(call, fragment) if fragment.phase is Phase.CLOSE else call.over
        if known_already and fragment.phase in {Phase.MORE, Phase.CLOSE}:
            fragment = fragment._replace(arguments=ABSENT)
        elif fragment.phase in {Phase.ARGUMENTS, Phase.CLOSE} and corrects(call, fragment):
            call.arguments = call.arguments.renewed()
        complete = call.arguments.is_complete
        super()._fill(call, fragment)
        if fragment.phase is Phase.WHOLE and not complete:
            self._end_completes |= call.arguments.is_complete
        if fragment.phase is Phase.OPEN and fragment.arguments and call.kind is not Kind.CUSTOM:
            call.start_input = call.arguments.text()

    def _reopen(self, call: OpenCall) -> None:
        if not call.arguments.is_complete:
            super()._reopen(call)

    def _note_end(self, call: OpenCall, fragment: Fragment) -> None:
        """The call is over with an event that closes its item, unless the item's `status` is `incomplete`."""
        if fragment.cut:
            call.cut, call.over = True, False
        elif fragment.phase is not Phase.WHOLE:
            call.over = not call.cut

    def _find(self, fragment: Fragment, event: int) -> OpenCall | None:
        key = "" if fragment.id is ABSENT else nonblank(fragment.id)
        by_item = self._by_item.get(fragment.item_id)
        if by_item is not None and key and by_item.id == key and fragment.phase is not Phase.OPEN:
            return None if closes_another(by_item, fragment) else by_item
        if fragment.phase is Phase.OPEN and by_item is not None and not (by_item.id or by_item.name):
            return by_item
        if key and (sharing := self._by_call.get(key)):
            return self._of_id(sharing, by_item, fragment, event)
        match fragment.phase:
            case Phase.OPEN:
                return by_item if by_item is not None and not (key and by_item.id) else None
            case Phase.WHOLE:
                return self._in_terminal_event(fragment, event)
            case _:
                if by_item is not None and (by_item.index != fragment.index or fragment.index in self._rotated):
                    by_item = self._with_id_at(fragment.index, fragment.item_id, by_item)
                other = by_item is None or (key != "" and is_other_call(by_item, fragment))
                return self._at(fragment) if other else by_item

    def _with_id_at(self, index: Seen[int], item_id: Seen[str], call: OpenCall) -> OpenCall:
        """The open call at an index that shares its item's id with this one, or had deltas under it, or this one."""
        under, rotated = self._rotated.get(index, (ABSENT, None))
        if rotated is not None and under == item_id and not (rotated.closed or rotated.arguments.is_complete):
            return rotated
        if not isinstance(index, int) or index == call.index:
            return call
        here = self._open_calls.newest_at(index, call.kind)
        return call if here is None or here.item_id != call.item_id else here

    def _of_id(
        self, sharing: list[OpenCall], by_item: OpenCall | None, fragment: Fragment, event: int
    ) -> OpenCall | None:
        """The call of the fragment's `call_id`, which several may share; `None` where it opens one more."""
        if fragment.phase is Phase.WHOLE:
            return self._of_id_complete(sharing, fragment, event)
        newest = islice(reversed(sharing), MAX_ALIKE)
        owner = next((call for call in newest if not of_other_item(call, fragment)), None)
        if owner is None and by_item is not None and fragment.phase is not Phase.OPEN:
            return None if is_other_call(by_item, fragment) else by_item
        owner = owner or sharing[-1]
        return None if is_another(owner, fragment) else owner

    def _of_id_complete(self, sharing: list[OpenCall], fragment: Fragment, event: int) -> OpenCall | None:
        """The call that an item of the terminal event has: not in it yet, or repeated."""
        unmatched = list(islice(self._in_event.others(nonblank(fragment.id), sharing, event), MAX_ALIKE))
        fitting = next((call for call in unmatched if not contradicts(call, fragment)), None)
        again = (call for call in islice(reversed(sharing), MAX_ALIKE) if has_same_arguments(call, fragment))
        others = (
            call for call in unmatched if not (has_other_object(call, fragment) and of_other_item(call, fragment))
        )
        return fitting or next(again, None) or next(others, None)

    def _at(self, fragment: Fragment) -> OpenCall | None:
        """The open item of the fragment's index, or the only open one where it has none."""
        if isinstance(fragment.index, int):
            newest = self._open_calls.newest_at(fragment.index, fragment.kind)
            if newest is not None and not is_other_call(newest, fragment):
                return newest
            here = islice(self._open_calls.at(fragment.index, fragment.kind), MAX_ALIKE)
            return next((call for call in here if may_be_at(call, fragment)), None)
        recent = islice(self._open_calls.newest(fragment.kind), MAX_ALIKE)
        call = next(recent, None)
        if call is None or is_other_call(call, fragment):
            return None
        call.guessed = call.guessed or any(not (one.arguments.is_complete or one.arguments.ended) for one in recent)
        return call

    def _in_terminal_event(self, fragment: Fragment, event: int) -> OpenCall | None:
        by_item = self._by_item.get(fragment.item_id)
        if by_item is not None and not is_other_call(by_item, fragment):
            return by_item
        unmatched = islice(self._in_event.others("", self._opened, event), MAX_ALIKE)
        return next((call for call in unmatched if call.kind is fragment.kind and may_repeat(call, fragment)), None)
