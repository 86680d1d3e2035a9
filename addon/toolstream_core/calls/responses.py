"""Which call a Responses fragment belongs to: by `call_id`, then `item_id`, then the open item of its index."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.book import Calls, same_arguments
from toolstream_core.calls.json_text import is_object, meaning, unwrapped
from toolstream_core.calls.open_items import StillOpen, Told
from toolstream_core.calls.opened import OpenCall, known
from toolstream_core.model import ABSENT, Fragment, Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

# Each of the three churns somewhere: item ids rotate on every event behind GitHub Copilot (vercel/ai#18548),
# output_index is missing or always 0 behind converters, call_id differs between `output_item.done` and
# `response.completed`. What only a later phase says fills in; what nothing earlier fits is a call of its own. Calls
# may also share one call_id: an item under a known one is another call where that one's has whole arguments, or is open
# and has none; where it has a part of them it is the next piece (converters give each fragment an item of its own).

MAX_ALIKE: Final = 64
"""Calls of one id, or at one index, that are looked at for one fragment: each event costs the same then."""


class ResponsesCalls(Calls):
    """The calls of a Responses answer, streamed or whole."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._by_call: dict[str, list[OpenCall]] = {}
        self._under: set[tuple[str, int]] = set()
        self._by_item: dict[str, OpenCall] = {}
        self._still_open = StillOpen()
        self._told = Told()

    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        call = self._find(fragment, event) or self._open(fragment)
        if self.overflowed:
            return call
        if (key := known(fragment.id)) and (key, id(call)) not in self._under:
            self._under.add((key, id(call)))
            self._by_call.setdefault(key, []).append(call)
        if (key := known(fragment.item_id)) and not (fragment.phase is Phase.MORE and call.item_id):
            self._by_item[key] = call
        if fragment.phase is Phase.WHOLE:
            self._told.add(call, event)
        return call

    def _open(self, fragment: Fragment) -> OpenCall:
        call = super()._open(fragment)
        if not self.overflowed:
            self._still_open.add(call)
        return call

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        """Arguments that came whole with the item only count until deltas say them again (litellm#30155).

        Deltas that come after an event has said the call whole say nothing new.
        """
        if fragment.phase is Phase.OPEN and call.over:
            self._reopen(call)
        if call.name and fragment.name and not known(fragment.name).startswith(call.name):
            fragment = fragment._replace(name=ABSENT)
        if call.start_input is not None and fragment.phase is Phase.MORE and fragment.arguments and not call.over:
            if not goes_on(call.start_input, fragment.arguments):
                call.arguments = ArgumentText()
            call.start_input = None
        elif fragment.phase is Phase.OPEN and _comes_late(call, fragment):
            fragment = fragment._replace(arguments=ABSENT)
        known_already = _closes_piece(call, fragment) if fragment.phase is Phase.CLOSE else call.over
        if known_already and fragment.phase in {Phase.MORE, Phase.CLOSE}:
            fragment = fragment._replace(arguments=ABSENT)
        elif fragment.phase in {Phase.ARGUMENTS, Phase.CLOSE} and _corrects(call, fragment):
            call.arguments = ArgumentText()
        super()._fill(call, fragment)
        if fragment.phase is Phase.OPEN and fragment.arguments and call.kind is not Kind.CUSTOM:
            call.start_input = call.arguments.text()

    def _reopen(self, call: OpenCall) -> None:
        if not call.arguments.whole:
            super()._reopen(call)

    def _said_over(self, call: OpenCall, fragment: Fragment) -> None:
        """The events that close an item say so, unless the item's `status` says otherwise."""
        if fragment.cut:
            call.cut, call.over = True, False
        elif fragment.phase is not Phase.WHOLE:
            call.over = not call.cut

    def _find(self, fragment: Fragment, event: int) -> OpenCall | None:
        key = known(fragment.id)
        by_item = self._by_item.get(known(fragment.item_id))
        if by_item is not None and key and by_item.id == key and fragment.phase is not Phase.OPEN:
            return None if _closes_another(by_item, fragment) else by_item
        if fragment.phase is Phase.OPEN and by_item is not None and not (by_item.id or by_item.name):
            return by_item
        if sharing := self._by_call.get(key):
            return self._of_id(sharing, by_item, fragment, event)
        match fragment.phase:
            case Phase.OPEN:
                return by_item if by_item is not None and not (key and by_item.id) else None
            case Phase.WHOLE:
                return self._told_again(fragment, event)
            case _:
                return by_item if by_item is not None and not _other_call(by_item, fragment) else self._at(fragment)

    def _of_id(
        self, sharing: list[OpenCall], by_item: OpenCall | None, fragment: Fragment, event: int
    ) -> OpenCall | None:
        """The call of the fragment's `call_id`, which several may share; `None` where it opens one more."""
        if fragment.phase is Phase.WHOLE:
            return self._of_id_whole(sharing, fragment, event)
        newest = islice(reversed(sharing), MAX_ALIKE)
        owner = next((call for call in newest if not _elsewhere(call, fragment)), None)
        if owner is None and by_item is not None and fragment.phase is not Phase.OPEN:
            return None if _other_call(by_item, fragment) else by_item
        owner = owner or sharing[-1]
        return None if _is_another(owner, fragment) else owner

    def _of_id_whole(self, sharing: list[OpenCall], fragment: Fragment, event: int) -> OpenCall | None:
        """The call that is said whole: one that the event has not said yet, or that it says once more."""
        untold = list(islice(self._told.others(known(fragment.id), sharing, event), MAX_ALIKE))
        fitting = next((call for call in untold if not contradicts(call, fragment)), None)
        again = (call for call in islice(reversed(sharing), MAX_ALIKE) if _says_same(call, fragment))
        others = (call for call in untold if not (_says_other(call, fragment) and _elsewhere(call, fragment)))
        return fitting or next(again, None) or next(others, None)

    def _at(self, fragment: Fragment) -> OpenCall | None:
        """The open item of the fragment's index, or the only open one where it has none."""
        if isinstance(fragment.index, int):
            here = islice(self._still_open.at(fragment.index, fragment.kind), MAX_ALIKE)
            return next((call for call in here if not _other_call(call, fragment)), None)
        newest = list(islice(self._still_open.newest(fragment.kind), 2))
        if not newest or _other_call(newest[0], fragment):
            return None
        newest[0].guessed = newest[0].guessed or len(newest) > 1
        return newest[0]

    def _told_again(self, fragment: Fragment, event: int) -> OpenCall | None:
        by_item = self._by_item.get(known(fragment.item_id))
        if by_item is not None and not _other_call(by_item, fragment):
            return by_item
        untold = islice(self._told.others("", self._opened, event), MAX_ALIKE)
        return next((call for call in untold if call.kind is fragment.kind and _may_repeat(call, fragment)), None)


def _other_call(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment that fits by item id or index contradicts the call there: another call, whole by now."""
    key = known(fragment.id)
    if not key or not call.id or key == call.id:
        return False
    if _names_another(call, fragment):
        return True
    if fragment.phase is Phase.CLOSE and _closes_piece(call, fragment):
        return False
    return call.arguments.whole and contradicts(call, fragment)


def _names_another(call: OpenCall, fragment: Fragment) -> bool:
    name = known(fragment.name)
    return bool(name and call.name) and name != call.name


def contradicts(call: OpenCall, fragment: Fragment) -> bool:
    """Whether arguments that are said whole are not those of a call that has its own; `""` says none."""
    said = fragment.arguments
    return call.arguments.whole and isinstance(said, str) and said != "" and not _says_same(call, fragment)


def goes_on(head: str, delta: object) -> bool:
    """Whether a delta is the next part of the arguments that an item was added with, and does not say them anew."""
    text = ArgumentText()
    text.add(head)
    begun = text.viable and not text.ended and head.lstrip().startswith(("{", '"'))
    text.add(delta if isinstance(delta, str) else "")
    return begun and text.viable


def _comes_late(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an item is added with arguments of which deltas have come: these count."""
    if call.arguments.empty or call.start_input is not None or call.kind is Kind.CUSTOM:
        return False
    return not _elsewhere(call, fragment)


def _corrects(call: OpenCall, fragment: Fragment) -> bool:
    """Whether arguments that are said whole are other ones than those of deltas: of these some were lost."""
    if call.kind is not Kind.FUNCTION or _elsewhere(call, fragment) or not _says_other(call, fragment):
        return False
    return isinstance(fragment.arguments, str) and not same_arguments(fragment.arguments, "{}")


def _says_same(call: OpenCall, fragment: Fragment) -> bool:
    said = fragment.arguments
    return isinstance(said, str) and call.arguments.meaning == _meant(said)


@lru_cache(maxsize=1)
def _meant(said: str) -> str:
    """What arguments mean that are said at once, and then compared with those of several calls."""
    text = ArgumentText()
    text.add(said)
    return text.meaning if said.lstrip().startswith('"') else meaning(said)


def _may_repeat(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an item of the terminal event says `call` again under ids of its own."""
    return not _names_another(call, fragment) and not contradicts(call, fragment)


def _is_another(owner: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment under a call's id begins another call, or closes another that nothing began."""
    if fragment.phase is Phase.OPEN and _names_another(owner, fragment):
        return True
    if not _elsewhere(owner, fragment):
        return False
    if fragment.phase is Phase.OPEN:
        if owner.arguments.empty:
            return not owner.closed
        return owner.arguments.whole and not _is_nothing(owner)
    return fragment.phase is Phase.CLOSE and _says_other(owner, fragment)


def _says_other(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment says a whole object that is not a call's own."""
    said = fragment.arguments
    return isinstance(said, str) and is_object(unwrapped(said)) and contradicts(call, fragment)


def _closes_another(owner: OpenCall, fragment: Fragment) -> bool:
    """Whether an item that seemed to be a piece of a whole call turns out to say other arguments than that."""
    item = known(fragment.item_id)
    return fragment.phase is Phase.CLOSE and item not in {"", owner.item_id} and _says_other(owner, fragment)


def _elsewhere(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment is of another item than the one that began the call, as far as ids and indexes say."""
    if isinstance(call.index, int) and isinstance(fragment.index, int) and call.index == fragment.index:
        return False
    item = known(fragment.item_id)
    if item and call.item_id:
        return item != call.item_id
    return isinstance(call.index, int) and isinstance(fragment.index, int)


def _closes_piece(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an item of its own closes that brought the last piece of a call, and says this piece again."""
    said = fragment.arguments
    return isinstance(said, str) and _elsewhere(call, fragment) and call.arguments.ends_in(said)


def _is_nothing(call: OpenCall) -> bool:
    """Whether the arguments so far may be a placeholder."""
    return call.arguments.meaning == "{}"
