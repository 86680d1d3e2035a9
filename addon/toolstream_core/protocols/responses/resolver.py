"""Which call a Responses fragment belongs to: by `call_id`, then `item_id`, then the open item of its index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import merge
from itertools import islice
from typing import Final, override

from toolstream_core.calls import Parameters
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import canonical, is_object, same_arguments, unwrapped
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import Calls
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, EventContent, Fragment, Kind, Phase, Seen


def is_other_call(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment belongs to another call than the one of its item id or index.

    It does if its `call_id` differs, and its name or the call's complete arguments differ too.
    """
    key = "" if fragment.id is ABSENT else nonblank(fragment.id)
    if not key or not call.id or key == call.id:
        return False
    if _names_another(call, fragment):
        return True
    if fragment.phase is Phase.CLOSE and closes_fragment(call, fragment):
        return False
    return call.arguments.is_complete and contradicts(call, fragment)


def _names_another(call: OpenCall, fragment: Fragment) -> bool:
    name = nonblank(fragment.name)
    return bool(name and call.name) and name != call.name


def contradicts(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment's complete arguments differ from a call's complete arguments; `""` does not count."""
    text, arguments = fragment.arguments, call.arguments
    if not (isinstance(text, str) and text and arguments.is_complete):
        return False
    return not (arguments.is_json and text == arguments.text()) and not has_same_arguments(call, fragment)


def continues_start(head: str, delta: object) -> bool:
    """Whether a delta continues the arguments that an item was added with, and does not start them again."""
    text = ArgumentText()
    text.add(head)
    begun = text.viable and not text.ended and head.lstrip(WHITE).startswith(("{", '"'))
    text.add(delta if isinstance(delta, str) else "")
    return begun and text.viable


def opens_again(call: OpenCall, fragment: Fragment) -> bool:
    """Whether the event that adds an item repeats the arguments with which the item was added before."""
    return call.start_input is not None and fragment.arguments == call.start_input


def opens_late(call: OpenCall, fragment: Fragment) -> bool:
    """Whether the event that adds an item has arguments after deltas brought some: then the deltas count."""
    if call.arguments.empty or call.start_input is not None or call.kind is Kind.CUSTOM:
        return False
    return not of_other_item(call, fragment)


def corrects(call: OpenCall, fragment: Fragment) -> bool:
    """Whether the complete arguments differ from the deltas'. Some deltas were lost then: the complete ones count."""
    if call.kind is not Kind.FUNCTION or not has_other_object(call, fragment) or of_other_item(call, fragment):
        return False
    return isinstance(fragment.arguments, str) and not same_arguments(fragment.arguments, "{}")


def has_same_arguments(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment's complete arguments equal those of a call as JSON."""
    text = fragment.arguments
    return isinstance(text, str) and call.arguments.canonical == _canonical(text)


@lru_cache(maxsize=1)
def _canonical(arguments: str) -> str:
    """The canonical form of complete arguments; cached, because a text is compared with those of several calls."""
    text = ArgumentText()
    text.add(arguments)
    return text.canonical if arguments.lstrip(WHITE).startswith('"') else canonical(arguments)


def may_repeat(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an item of the terminal event repeats `call` under other ids."""
    return not _names_another(call, fragment) and not contradicts(call, fragment)


def is_another(owner: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment under a call's id begins another call, or closes one that no event added."""
    if fragment.phase is Phase.OPEN and _names_another(owner, fragment):
        return True
    if not of_other_item(owner, fragment):
        return False
    if fragment.phase is Phase.OPEN:
        if owner.kind is Kind.CUSTOM:
            return owner.closed
        if owner.arguments.empty:
            return not owner.closed
        return owner.arguments.is_complete and owner.arguments.canonical != "{}"  # which may be a placeholder
    return fragment.phase is Phase.CLOSE and _begins_other_object(owner, fragment)


def has_other_object(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment has a complete JSON object that differs from the call's."""
    text = fragment.arguments
    return isinstance(text, str) and contradicts(call, fragment) and is_object(unwrapped(text))


def closes_another(owner: OpenCall, fragment: Fragment) -> bool:
    """Whether an item that was treated as a fragment of a call has other arguments when it closes."""
    item = nonblank(fragment.item_id)
    if fragment.phase is not Phase.CLOSE or item in {"", owner.item_id} or closes_fragment(owner, fragment):
        return False
    return _begins_other_object(owner, fragment)


def _begins_other_object(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment starts with a complete JSON object that differs from the call's."""
    arguments = fragment.arguments
    if not isinstance(arguments, str):
        return False
    text = ArgumentText()
    text.add(arguments)
    return has_other_object(call, fragment._replace(arguments=text.ended_object() or arguments))


def of_other_item(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment belongs to another item than the one that began the call, by item id and index."""
    if isinstance(call.index, int) and isinstance(fragment.index, int) and call.index == fragment.index:
        return False
    item = nonblank(fragment.item_id)
    if item and call.item_id:
        return item != call.item_id
    return isinstance(call.index, int) and isinstance(fragment.index, int)


def closes_fragment(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment closes the item of a call's last fragment and repeats that fragment."""
    text = fragment.arguments
    return isinstance(text, str) and of_other_item(call, fragment) and call.arguments.ends_in(text)


# Closed calls are removed from the lists when they are found, each once.


class OpenCalls:
    """The calls that no event has closed, the newest first."""

    def __init__(self) -> None:
        self._by_kind: dict[Kind, list[OpenCall]] = {}
        self._by_index: dict[tuple[Kind, int | None], list[OpenCall]] = {}

    def add(self, call: OpenCall) -> None:
        """Add a call that was opened."""
        index = call.index if isinstance(call.index, int) else None
        self._by_kind.setdefault(call.kind, []).append(call)
        self._by_index.setdefault((call.kind, index), []).append(call)

    def newest(self, kind: Kind) -> Iterator[OpenCall]:
        """All of a kind."""
        return _open(self._by_kind.get(kind, []))

    def newest_at(self, index: int, kind: Kind) -> OpenCall | None:
        """The newest of a kind at an index, where it is open and all of the kind have an index."""
        here = self._by_index.get((kind, index))
        if not here or here[-1].closed or self._by_index.get((kind, None)):
            return None
        return here[-1]

    def at(self, index: int, kind: Kind) -> Iterator[OpenCall]:
        """Items of a kind at an index, and items without an index."""
        both = [_open(self._by_index.get((kind, place), [])) for place in (index, None)]
        return merge(*both, key=lambda call: call.position, reverse=True)


class CallsOfEvent:
    """The calls that were already matched to items in the `output` of a terminal event."""

    def __init__(self) -> None:
        self._event = -1
        self._calls: set[int] = set()
        self._first: dict[str, int] = {}
        """By key: how many of its calls, from the first on, the event has had."""

    def add(self, call: OpenCall, event: int) -> None:
        """The event has a call."""
        self._begin(event)
        self._calls.add(id(call))

    def others(self, key: str, calls: Sequence[OpenCall], event: int) -> Iterator[OpenCall]:
        """The calls of `calls` that were not matched; `calls` may only grow between two questions for one `key`."""
        self._begin(event)
        first = self._first.get(key, 0)
        while first < len(calls) and id(calls[first]) in self._calls:
            first += 1
        self._first[key] = first
        return (calls[at] for at in range(first, len(calls)) if id(calls[at]) not in self._calls)

    def _begin(self, event: int) -> None:
        if self._event != event:
            self._event, self._calls, self._first = event, set(), {}


def _open(calls: list[OpenCall]) -> Iterator[OpenCall]:
    """The open calls from the end; closed ones are removed."""
    at = len(calls) - 1
    while at >= 0:
        if calls[at].closed:
            del calls[at]
        else:
            yield calls[at]
        at -= 1


# None of the three is stable everywhere: item ids change with every event of GitHub Copilot (vercel/ai#18548),
# output_index is missing or always 0 after converters, call_id differs between `output_item.done` and
# `response.completed`. A later event fills in what earlier ones lack; a fragment that fits no call opens one. Several
# calls may share a call_id. An item with a known call_id is another call if the known one has complete arguments, or is
# open and has none; if it has a part of them, the item is its next fragment (some converters make an item for each).

MAX_ALIKE: Final = 64
"""Calls of one id, or at one index, that one fragment is compared with: bounds the cost of an event."""


class ResponsesCalls(Calls):
    """The calls of a response, streamed or not."""

    def __init__(self, tools: Mapping[str, Parameters] | None = None) -> None:
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
        )  # Without that event a complete call would be lost.

    @override
    def conclude(self, content: EventContent) -> None:
        super().conclude(content)
        self._at_end = self._at_end or content.end  # Clients stop reading here.

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
        if fragment.phase is Phase.OPEN and call.ended:
            self._reopen(call)
        if call.name and fragment.name and not nonblank(fragment.name).startswith(call.name):
            fragment = fragment._replace(name=ABSENT)
        if call.start_input is not None and fragment.phase is Phase.MORE and fragment.arguments and not call.ended:
            if not continues_start(call.start_input, fragment.arguments):
                call.arguments = call.arguments.renewed()
            call.start_input = None
        elif fragment.phase is Phase.OPEN and (opens_again(call, fragment) or opens_late(call, fragment)):
            fragment = fragment._replace(arguments=ABSENT)
        known_already = closes_fragment(call, fragment) if fragment.phase is Phase.CLOSE else call.ended
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
        """End the call at the event that closes its item, unless the item's `status` is `incomplete`."""
        if fragment.cut:
            call.cut, call.ended = True, False
        elif fragment.phase is not Phase.WHOLE:
            call.ended = not call.cut

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
        """The open call at an index that shares its item's id with this one, or had deltas under it, or this one.

        If this one has ended, its id is a former one, and the open call counts.
        """
        under, rotated = self._rotated.get(index, (ABSENT, None))
        if rotated is not None and under == item_id and not (rotated.closed or rotated.arguments.is_complete):
            return rotated
        if not isinstance(index, int) or index == call.index:
            return call
        here = self._open_calls.newest_at(index, call.kind)
        return here if here is not None and (call.ended or here.item_id == call.item_id) else call

    def _of_id(
        self, sharing: list[OpenCall], by_item: OpenCall | None, fragment: Fragment, event: int
    ) -> OpenCall | None:
        """The call of the fragment's `call_id`, which several may share; `None` if it opens one more."""
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
        """The open item of the fragment's index, or the only open one if it has none."""
        if isinstance(fragment.index, int):
            newest = self._open_calls.newest_at(fragment.index, fragment.kind)
            if newest is not None and not is_other_call(newest, fragment):
                return newest
            here = islice(self._open_calls.at(fragment.index, fragment.kind), MAX_ALIKE)
            return next((call for call in here if not is_other_call(call, fragment)), None)
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
