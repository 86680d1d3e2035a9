"""Which call a Chat Completions fragment belongs to. Also serves Ollama, whose calls are said alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import Calls, ResolvedFragment, same_arguments
from toolstream_core.model import Call, Fragment, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import EventContent

# `index`, `id` and `name` are each wrong for some provider, so they are weighed together, per choice:
#
#   index   id                       and                                          -> call
#   new     not seen                                                              -> a new one
#   new     of another index         a name comes, or that call is whole          -> a new one for now; dropped
#                                                                                    in the end if it only says
#                                                                                    the same call again
#   new     of another index         no name, that call unfinished                -> that call (index churns)
#   new     nothing                  no name, and an unfinished call opened       -> that call: the one of that place,
#                                    without an index                                else the last
#   known   nothing                                                               -> the newest of that index
#   known   nothing                  a name comes after whole arguments, with     -> a new one
#                                    fresh arguments or as another name
#   known   of a call of that index                                               -> that call
#   known   of a call of that index  another name comes after whole arguments     -> a new one
#   known   other                    a name comes, or fresh arguments after       -> a new one
#                                    whole ones
#   known   other                    the open call's name again amid its          -> the same (id churns)
#                                    arguments, which do not begin anew; or no
#                                    name, arguments unfinished
#   none    known                                                                 -> that call, or a new one as above
#   none    new                      a name comes, or nothing is open             -> a new one
#   none    new                      no name, arguments unfinished                -> the last (id churns)
#   none    nothing                  a name                                       -> a new one, unless it repeats
#                                                                                    the open call's, unfinished
#   none    nothing                  no name                                      -> the last touched; a guess
#                                                                                    where several are open
#
# Reports behind the rows: index reused (dynamo#4723), index absent (openai-python#2806), id churning
# (poolsideai/pool#9), id repeated (spring-ai#5974), id empty (opencode#40969), name repeated (llama.cpp#13774).


class _Choice:
    """The open calls of one choice."""

    __slots__ = ("all", "by_id", "by_index", "in_messages", "last", "told_again", "told_at")

    def __init__(self) -> None:
        self.all: list[OpenCall] = []
        self.by_index: dict[int, list[OpenCall]] = {}
        self.by_id: dict[str, OpenCall] = {}
        self.last: OpenCall | None = None
        self.in_messages: set[int] = set()
        """Calls that an entry of `message` began."""
        self.told_at = -1
        self.told_again: set[int] = set()

    def unfinished(self) -> int:
        return sum(1 for call in self.all if not call.arguments.whole)


class ChatCalls(Calls):
    """The calls of a Chat Completions answer, streamed or whole."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._choices: dict[int, _Choice] = {}
        self._ended = False
        """Whether `[DONE]` came: no client reads what follows it."""
        self._waiting: dict[int, list[OpenCall]] = {}
        """By choice, the calls that a finish found while one of them was half."""

    def resolve(self, said: EventContent, event: int) -> list[ResolvedFragment]:
        """As `Calls.resolve`; nothing behind `[DONE]` is a part of any call."""
        if self._ended:
            return []
        self._ended = said.end
        return super().resolve(said, event)

    def take(self, fragment: Fragment, event: int) -> OpenCall | None:
        """As `Calls.take`, with a short way for nearly every fragment: bare arguments for the only call of an index."""
        state = self._choices.get(fragment.choice)
        if state is None or fragment.id or fragment.name or fragment.phase is not Phase.MORE:
            return super().take(fragment, event)
        here = state.by_index.get(fragment.index)  # type: ignore[arg-type] # absent and null are no key
        if here is None or len(here) > 1:
            return super().take(fragment, event)
        call = state.last = here[0]
        call.runs.add(event)
        if isinstance(fragment.arguments, str):
            if call.over and fragment.arguments:
                self._reopen(call)
            call.arguments.add(fragment.arguments)
        return call

    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        state = self._choices.get(fragment.choice)
        if state is None:
            state = self._choices[fragment.choice] = _Choice()
        if fragment.phase is Phase.WHOLE:
            call = _told_again(state, fragment, event)
        elif isinstance(fragment.index, int):
            call = self._by_index(state, fragment, fragment.index)
        else:
            call = self._by_id(state, fragment)
        if call is None:
            call = self._begin(state, fragment)
        self._remember(state, fragment, call)
        return call

    def _end(self, choice: int) -> None:
        """As `Calls._end`; where one call is half, a finish says that others do without arguments if its rest comes."""
        calls = self._not_over.get(choice, {})
        if any(call.half for call in calls.values()):
            self._waiting[choice] = list(calls.values())
        else:
            super()._end(choice)

    def resolved(self) -> list[Call]:
        """As `Calls.resolved`."""
        for calls in self._waiting.values():
            if not any(call.half for call in calls):
                for call in calls:
                    call.over = True
        return super().resolved()

    def _begin(self, state: _Choice, fragment: Fragment) -> OpenCall:
        call = self._open(fragment)
        if self.overflowed:
            return call
        state.all.append(call)
        if fragment.phase is Phase.WHOLE:
            state.in_messages.add(id(call))
        if isinstance(fragment.index, int):
            here = state.by_index.setdefault(fragment.index, [])
            call.shared = bool(here)
            here.append(call)
        return call

    def _remember(self, state: _Choice, fragment: Fragment, call: OpenCall) -> None:
        state.last = call
        if fragment.id and not self.overflowed and (key := nonblank(fragment.id)):
            state.by_id[key] = call
        if fragment.phase is Phase.WHOLE:
            state.told_again.add(id(call))

    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        """Some servers stream a call in fragments of `message`: each is the next piece (Writer)."""
        said = fragment.arguments
        if isinstance(said, str) and said and self._is_piece(call, said):
            call.arguments.add(said)
        else:
            super()._fill_phase(call, fragment)

    def _is_piece(self, call: OpenCall, said: str) -> bool:
        """Whether an entry of `message` says the next piece of arguments, not all of them."""
        if id(call) not in self._choices[call.choice].in_messages:
            return False
        if not is_object(said):
            return not call.arguments.whole
        before = call.arguments
        return before.inside_value and not before.restarted_by(said) and not said.startswith(before.text())

    def _by_index(self, state: _Choice, fragment: Fragment, index: int) -> OpenCall | None:
        here = state.by_index.get(index)
        if here is None:
            return _index_churned(state, fragment) or _index_came(state, fragment, index)
        newest = here[-1]
        key = nonblank(fragment.id)
        if not key:
            if _announces_next(newest, fragment):
                return None
            newest.guessed = newest.guessed or (len(here) > 1 and _several_open(here))
            return newest
        owner = state.by_id.get(key)
        if owner is not None and owner in here:
            return None if _names_another(owner, fragment) else owner
        return newest if not newest.id or _id_churned(newest, fragment) else None

    def _by_id(self, state: _Choice, fragment: Fragment) -> OpenCall | None:
        key, name, last = nonblank(fragment.id), nonblank(fragment.name), state.last
        if key and (owner := state.by_id.get(key)) is not None:
            return None if _names_another(owner, fragment) else owner
        if last is None:
            return None
        if key:
            return None if name or last.arguments.whole else last
        if name:
            return last if self._name_goes_on(last, name) else None
        last.guessed = last.guessed or (len(state.all) > 1 and state.unfinished() > 1)
        return last

    def _name_goes_on(self, last: OpenCall, name: str) -> bool:
        if last.arguments.whole:
            return False
        if name == last.name or not last.name:
            return True
        joined = last.name + name
        return last.arguments.empty and last.name not in self._tools and joined in self._tools


class OllamaCalls(ChatCalls):
    """The calls of Ollama's own chat, each of which is whole in its line."""

    def take(self, fragment: Fragment, event: int) -> OpenCall | None:
        """As `Calls.take`."""
        call = super().take(fragment, event)
        if call is not None:
            call.over = True
        return call

    resolve = Calls.resolve
    """Clients read every line, whatever an earlier one said."""


def _fresh(fragment: Fragment) -> bool:
    return isinstance(fragment.arguments, str) and not fragment.arguments.isspace() and fragment.arguments != ""


def _several_open(calls: list[OpenCall]) -> bool:
    return sum(1 for call in calls if not call.arguments.whole) > 1


def _announces_next(newest: OpenCall, fragment: Fragment) -> bool:
    """An id-less entry on a known index that can only be the next call."""
    if not nonblank(fragment.name) or not newest.arguments.whole:
        return False
    return _fresh(fragment) or _names_another(newest, fragment)


def _says_another(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an entry of one whole message is another call than an earlier entry of the same id."""
    name, said = nonblank(fragment.name), fragment.arguments
    if not call.arguments.whole or not isinstance(said, str):
        return False
    return name not in {"", call.name} or not same_arguments(call.arguments.reading()[0], said)


def _names_another(call: OpenCall, fragment: Fragment) -> bool:
    """A name that is neither the call's nor a longer form of it, after whole arguments."""
    name = nonblank(fragment.name)
    return bool(name and call.name) and call.arguments.whole and not name.startswith(call.name)


def _id_churned(newest: OpenCall, fragment: Fragment) -> bool:
    """Another id on a known index that still means the newest call there."""
    name = nonblank(fragment.name)
    if newest.arguments.whole:
        return not name and not _fresh(fragment)
    if not name:
        return True
    return name == newest.name and not newest.arguments.empty and not newest.arguments.restarted_by(fragment.arguments)


def _index_churned(state: _Choice, fragment: Fragment) -> OpenCall | None:
    """An id seen under another index, without a name, while its call is unfinished: only the index moved."""
    owner = state.by_id.get(nonblank(fragment.id))
    if owner is None or nonblank(fragment.name) or owner.arguments.whole:
        return None
    return owner


def _index_came(state: _Choice, fragment: Fragment, index: int) -> OpenCall | None:
    """The call that opened without an index, where a continuation has one."""
    if nonblank(fragment.id) or nonblank(fragment.name) or fragment.phase is not Phase.MORE:
        return None
    here = state.all[index] if 0 <= index < len(state.all) else None
    call = here if here is not None and not isinstance(here.index, int) else state.last
    if call is None or isinstance(call.index, int) or call.arguments.whole:
        return None
    state.by_index[index] = [call]
    return call


def _told_again(state: _Choice, fragment: Fragment, event: int) -> OpenCall | None:
    """The streamed call that an entry of `message.tool_calls` repeats."""
    if state.told_at != event:
        state.told_at, state.told_again = event, set()
    owner = state.by_id.get(nonblank(fragment.id))
    if owner is not None and not (id(owner) in state.told_again and _says_another(owner, fragment)):
        return owner
    key, name = nonblank(fragment.id), nonblank(fragment.name)
    if not (key or name) and isinstance(fragment.index, int) and fragment.index in state.by_index:
        return state.by_index[fragment.index][-1]
    for call in state.all:
        if id(call) not in state.told_again and (not name or call.name in {"", name}):
            another = key and call.id and id(call) in state.in_messages
            return None if another else call
    return None
