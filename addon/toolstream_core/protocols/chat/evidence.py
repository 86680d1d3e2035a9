"""Evidence for the call of a Chat Completions fragment: calls that it names, and calls that are impossible."""

from __future__ import annotations

from toolstream_core.calls.json_text import same_arguments
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, Fragment, Phase


class ChoiceCalls:
    """The calls of one choice, as fragments may name them."""

    def __init__(self) -> None:
        self.all: list[OpenCall] = []
        self.unindexed: list[OpenCall] = []
        """The calls that opened without an index."""
        self.by_index: dict[int, list[OpenCall]] = {}
        self.by_id: dict[str, OpenCall] = {}
        self.last: OpenCall | None = None
        self.in_messages: set[int] = set()
        """Calls that were opened by an entry of `message`; by `id`."""
        self.message_event = -1
        """The last event that had entries of `message`."""
        self.message_calls: set[int] = set()
        """The calls that its entries belong to so far; by `id`."""
        self._home: dict[int, int] = {}
        """By `id`, the index under which a call is found."""
        self._open: dict[int, OpenCall] = {}
        """By `id`, the incomplete calls; the last one may have become complete since."""
        self._open_at: dict[int | None, dict[int, OpenCall]] = {}
        """The same by index."""

    def note_index(self, index: int, call: OpenCall) -> bool:
        """A call is found under an index from now on. Returns whether others are."""
        here = self.by_index.setdefault(index, [])
        here.append(call)
        self._open_at.get(self._home.get(id(call)), {}).pop(id(call), None)
        self._home[id(call)] = index
        return len(here) > 1

    def is_found(self, call: OpenCall) -> bool:
        """Whether a call is found under an index."""
        return id(call) in self._home

    def set_last(self, call: OpenCall) -> None:
        """The next fragment is this call's: the state of the call before is final."""
        self._note_last()
        self.last = call

    def several_open(self, index: int | None = None) -> bool:
        """Whether more than one call (of an index, or in all) is incomplete."""
        self._note_last()
        return len(self._open if index is None else self._open_at.get(index, ())) > 1

    def _note_last(self) -> None:
        """Record whether the last call is complete: no other one can have changed."""
        last = self.last
        if last is None:
            return
        complete = last.arguments.is_complete
        for calls in (self._open, self._open_at.setdefault(self._home.get(id(last)), {})):
            if complete:
                calls.pop(id(last), None)
            else:
                calls[id(last)] = last


def _fresh(fragment: Fragment) -> bool:
    return isinstance(fragment.arguments, str) and fragment.arguments.strip(WHITE) != ""


def announces_next(newest: OpenCall, fragment: Fragment) -> bool:
    """An id-less entry on a known index that can only be the next call."""
    if not nonblank(fragment.name) or not newest.arguments.is_complete:
        return False
    return _fresh(fragment) or names_another(newest, fragment)


def _is_another(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an entry of a complete message is another call than an earlier entry with the same id."""
    name, arguments = nonblank(fragment.name), fragment.arguments
    if not call.arguments.is_complete or not isinstance(arguments, str):
        return False
    return name not in {"", call.name} or not same_arguments(call.arguments.reading()[0], arguments)


def names_another(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a name after complete arguments is neither the call's nor a longer form of it."""
    name = nonblank(fragment.name)
    return bool(name and call.name) and call.arguments.is_complete and not name.startswith(call.name)


def id_changed(newest: OpenCall, fragment: Fragment) -> bool:
    """Whether another id at a known index still belongs to the newest call there."""
    name = "" if fragment.name is ABSENT else nonblank(fragment.name)
    if newest.arguments.is_complete:
        return not name and not _fresh(fragment)
    if not name:
        return True
    return name == newest.name and not newest.arguments.empty and not newest.arguments.restarted_by(fragment.arguments)


def index_changed(state: ChoiceCalls, fragment: Fragment) -> OpenCall | None:
    """An id seen under another index, without a name, while its call is unfinished: only the index moved."""
    owner = state.by_id.get(nonblank(fragment.id)) if fragment.id else None
    return None if owner is None or owner.arguments.is_complete else owner


def announced_before(state: ChoiceCalls, fragment: Fragment) -> OpenCall | None:
    """The call whose header is repeated at another index, with its first arguments (mudler/LocalAI#9722)."""
    owner = state.by_id.get(nonblank(fragment.id))
    if owner is None or fragment.phase is not Phase.MORE or not (owner.arguments.empty and _fresh(fragment)):
        return None
    return owner if owner.name == nonblank(fragment.name) else None


def given_index(state: ChoiceCalls, fragment: Fragment, index: int) -> OpenCall | None:
    """The call that opened without an index of its own, if a continuation, which has no name, is the first with one.

    It had no index, or that of an earlier call and is the call of this place.
    """
    if fragment.phase is not Phase.MORE or nonblank(fragment.id):
        return None
    here = state.all[index] if 0 <= index < len(state.all) else None
    moved = here is not None and here.shared and (here is state.last or here.arguments.empty)
    call = here if moved or (here is not None and not isinstance(here.index, int)) else state.last
    if call is None or call.arguments.is_complete or not call.arguments.viable:
        return None
    if not moved and (isinstance(call.index, int) or state.is_found(call)):
        return None
    state.note_index(index, call)
    return call


def repeated_in_message(state: ChoiceCalls, fragment: Fragment, event: int) -> OpenCall | None:
    """The streamed call that an entry of `message.tool_calls` repeats."""
    if state.message_event != event:
        state.message_event, state.message_calls = event, set()
    key, name = nonblank(fragment.id), nonblank(fragment.name)
    owner = state.by_id.get(key)
    if owner is not None and not (id(owner) in state.message_calls and _is_another(owner, fragment)):
        return owner
    for call in state.all:
        if id(call) not in state.message_calls and (not name or call.name in {"", name}):
            another = key and call.id and id(call) in state.in_messages
            return None if another else call
    return None
