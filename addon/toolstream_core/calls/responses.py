"""Which call a Responses fragment belongs to: by `call_id`, then `item_id`, then the open item of its index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.book import Calls, OpenCall, known, same_arguments
from toolstream_core.model import Fragment, Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

# Each of the three churns somewhere: item ids rotate on every event behind GitHub Copilot (vercel/ai#18548),
# output_index is missing or always 0 behind converters, call_id differs between `output_item.done` and
# `response.completed`. What only a later phase says fills in; what nothing earlier fits is a call of its own.


class ResponsesCalls(Calls):
    """The calls of a Responses answer, streamed or whole."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._by_call: dict[str, OpenCall] = {}
        self._by_item: dict[str, OpenCall] = {}
        self._told_at = -1
        self._told: set[int] = set()

    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        call = self._find(fragment, event) or self._open(fragment)
        if self.overflowed:
            return call
        if key := known(fragment.id):
            self._by_call[key] = call
        if (key := known(fragment.item_id)) and not (fragment.phase is Phase.MORE and call.item_id):
            self._by_item[key] = call
        if fragment.phase is Phase.WHOLE:
            self._told.add(id(call))
        return call

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        """Arguments that came whole with the item only count until deltas say them again (litellm#30155)."""
        if fragment.phase is Phase.MORE and fragment.arguments and call.start_input is not None:
            call.start_input, call.arguments = None, ArgumentText()
        super()._fill(call, fragment)
        if fragment.phase is Phase.OPEN and call.kind is not Kind.CUSTOM and call.arguments.whole:
            call.start_input = call.arguments.text()

    def _find(self, fragment: Fragment, event: int) -> OpenCall | None:
        key = known(fragment.id)
        by_item = self._by_item.get(known(fragment.item_id))
        if by_item is not None and key and by_item.id == key and fragment.phase is not Phase.OPEN:
            return by_item
        if key and key in self._by_call:
            owner = self._by_call[key]
            return None if fragment.phase is Phase.OPEN and _names_another(owner, fragment) else owner
        match fragment.phase:
            case Phase.OPEN:
                return by_item if by_item is not None and not (key and by_item.id) else None
            case Phase.WHOLE:
                return self._told_again(fragment, event)
            case _:
                return by_item if by_item is not None and not _other_call(by_item, fragment) else self._at(fragment)

    def _at(self, fragment: Fragment) -> OpenCall | None:
        """The open item of the fragment's index, or the only open one where it has none."""
        still_open = [call for call in self._opened if not call.closed and call.kind is fragment.kind]
        if isinstance(fragment.index, int):
            here = [call for call in still_open if call.index == fragment.index or not isinstance(call.index, int)]
            return next((call for call in reversed(here) if not _other_call(call, fragment)), None)
        if not still_open or _other_call(still_open[-1], fragment):
            return None
        still_open[-1].guessed = still_open[-1].guessed or len(still_open) > 1
        return still_open[-1]

    def _told_again(self, fragment: Fragment, event: int) -> OpenCall | None:
        if self._told_at != event:
            self._told_at, self._told = event, set()
        by_item = self._by_item.get(known(fragment.item_id))
        if by_item is not None and not _other_call(by_item, fragment):
            return by_item
        for call in self._opened:
            if id(call) not in self._told and call.kind is fragment.kind and _may_repeat(call, fragment):
                return call
        return None


def _other_call(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment that fits by item id or index contradicts the call there: another call, whole by now."""
    key, name = known(fragment.id), known(fragment.name)
    if not key or not call.id or key == call.id:
        return False
    if name and call.name and name != call.name:
        return True
    said = fragment.arguments
    return call.arguments.whole and isinstance(said, str) and not same_arguments(call.arguments.reading()[0], said)


def _names_another(call: OpenCall, fragment: Fragment) -> bool:
    name = known(fragment.name)
    return bool(name and call.name) and name != call.name


def _may_repeat(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an item of the terminal event says `call` again under ids of its own."""
    name = known(fragment.name)
    if name and call.name and name != call.name:
        return False
    said = fragment.arguments
    if not isinstance(said, str) or not call.arguments.whole:
        return True
    return same_arguments(call.arguments.reading()[0], said)
