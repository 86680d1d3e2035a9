"""Assigns Chat Completions fragments to calls; also for Ollama, whose calls have the same form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, override

from toolstream_core.calls.json_text import has_nothing, is_object
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.parameters import UNKNOWN, Parameters, plain_name
from toolstream_core.calls.placeholders import BEFORE
from toolstream_core.calls.resolver import Calls
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, EventContent, Fragment, Kind, Phase
from toolstream_core.protocols.chat.evidence import (
    ChoiceCalls,
    announced_before,
    announces_next,
    given_index,
    id_changed,
    index_changed,
    names_another,
    repeated_in_message,
)

# Each of `index`, `id` and `name` is wrong for some provider, so they are considered together, for each choice:
#
#   index   id                       and                                          -> call
#   new     not seen                                                              -> a new one
#   new     of another index         a name, or that call is complete             -> a new one for now; dropped
#                                                                                    in the end if it repeats
#                                                                                    the same call
#   new     of another index         no name, that call unfinished; or its name   -> that call (its index changes)
#                                    again, with its first arguments
#   new     nothing                  no name, and an unfinished call opened       -> that call: the one of that place,
#                                    without an index, found at none yet             else the last
#   new     nothing                  no name, and the last call opened at an      -> that call, if this is its place
#                                    earlier call's index and is unfinished
#   new     nothing                  no name, and continues the only unfinished   -> that call
#                                    call's arguments, at a higher index; or
#                                    begins them, where its tool needs some, or
#                                    no tool is known
#   known   nothing                                                               -> the newest of that index; if it
#                                                                                    is complete, the unfinished call as
#                                                                                    at a new index
#   known   nothing                  a name after complete arguments, with        -> a new one, unless those are `{}`
#                                    fresh arguments or as another name              and the same tool needs some
#   known   of a call of that index                                               -> that call
#   known   of a call of that index  another name after complete arguments        -> a new one
#   known   other                    a name, or fresh arguments after             -> a new one; dropped at a finish
#                                    complete ones                                   if it only repeats a header
#   known   other                    the open call's name again inside its          -> the same (its id changes)
#                                    arguments, which do not begin anew, or with
#                                    its first ones, where its tool needs some,
#                                    or no tool is known; or no name, arguments
#                                    unfinished or only `{}` where the tool needs
#                                    some
#   none    known                                                                 -> that call, or a new one as above
#   none    new                      a name, or nothing is open                   -> a new one
#   none    new                      no name, arguments unfinished                -> the last (its id changes); not in
#                                                                                    one event with that one's id
#   none    nothing                  a name                                       -> a new one, unless it repeats
#                                                                                    the open call's, unfinished, or
#                                                                                    comes alone after one without
#   none    nothing                  no name                                      -> the only one that opened without
#                                                                                    an index, if incomplete;
#                                                                                    else the last touched, a guess
#                                                                                    where several are open
#
# In a choice without calls, arguments without identity continue the only choice with calls, if its last one has none.
#
# Sources: index reused (dynamo#4723), index absent (openai-python#2806), id changing
# (poolsideai/pool#9), id repeated (spring-ai#5974), id empty (opencode#40969), name repeated (llama.cpp#13774).


_REQUIRES_ARGUMENTS: Final = Parameters(required=True)
"""The parameters of an unknown tool, if it must count as one that requires arguments."""
_LONGEST_PLACEHOLDER: Final = 16
"""Characters of the longest arguments that may stand for none."""
_MOST_HEADERS: Final = 64
"""The most calls of one index that may wait for their arguments."""


class ChatCalls(Calls):
    """Resolves the calls of a Chat Completions response, streamed or not."""

    def __init__(self, tools: Mapping[str, Parameters] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._choices: dict[int, ChoiceCalls] = {}
        self._in_names: set[int] = set()
        """By `id`: calls with a part of their arguments in a name."""

    @override
    def conclude(self, content: EventContent) -> None:
        super().conclude(content)
        self._at_end = content.end  # Nothing after `[DONE]` belongs to a call.

    @override
    def _reinterpreted(self, fragment: Fragment) -> Fragment:
        """Read a part of the arguments in a name as arguments (waybarrios/vllm-mlx#631)."""
        state = self._choices.get(fragment.choice)
        if state is None or fragment.phase is not Phase.MORE:
            return fragment
        if isinstance(fragment.index, int):
            call = state.by_index.get(fragment.index, [None])[-1]
        else:
            call = state.last if self._tools else None
        if call is None or fragment.kind is Kind.CUSTOM or nonblank(fragment.id) not in {"", call.id}:
            return fragment
        text = nonblank(fragment.name)
        if not (text and self._is_arguments_in_name(call, text)):
            return fragment
        self._in_names.add(id(call))
        call.guessed = call.guessed or plain_name(call.name, self._tools) not in self._tools
        return fragment._replace(name=ABSENT, arguments=text, well_formed=False)

    def _is_arguments_in_name(self, call: OpenCall, text: str) -> bool:
        """Whether a name can only be the next part of a call's arguments."""
        before = call.arguments
        if not call.name or (id(call) not in self._in_names and self._may_be_name(call, text)):
            return False
        if before.empty:
            return text.lstrip(WHITE).startswith("{")
        if not before.viable:
            return before.inside_value and BEFORE.match(before.text()) is not None
        return before.inside_value and not before.restarted_by(text)

    def _may_be_name(self, call: OpenCall, text: str) -> bool:
        """Whether a name is a tool's, the next part of the call's name, or extends a name that is not a tool's."""
        if plain_name(text, self._tools) in self._tools or self._is_name_part(call, text):
            return True
        return text.startswith(call.name) and plain_name(call.name, self._tools) not in self._tools

    @override
    def take(self, fragment: Fragment, event: int) -> OpenCall | None:
        # Nearly every fragment takes this short path: arguments alone, for the only call at its index.
        state = self._choices.get(fragment.choice)
        if state is None or fragment.id or fragment.name or fragment.phase is not Phase.MORE:
            return super().take(fragment, event)
        here = state.by_index.get(fragment.index)  # type: ignore[arg-type] # ABSENT and None are never keys
        if here is None or len(here) > 1 or not fragment.well_formed:
            return super().take(fragment, event)
        call = here[0]
        if state.last is not call:
            if call.arguments.is_complete:
                return super().take(fragment, event)
            state.set_last(call)
        call.runs.add(event)
        if isinstance(fragment.arguments, str):
            if call.ended and fragment.arguments:
                self._reopen(call)
            call.arguments.add(fragment.arguments)
        return call

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        state = self._choices.get(fragment.choice)
        if state is None:
            state = self._choices[fragment.choice] = self._of_other_choice(fragment) or ChoiceCalls()
        if fragment.phase is Phase.WHOLE:
            call = repeated_in_message(state, fragment, event)
        elif isinstance(fragment.index, int):
            call = self._by_index(state, fragment, fragment.index)
        else:
            call = self._by_id(state, fragment, event)
        if call is None:
            call = self._begin(state, fragment)
        if state.last is not call:
            state.set_last(call)
        if fragment.id and not self.overflowed and (key := nonblank(fragment.id)):
            state.by_id[key] = call
        if fragment.phase is Phase.WHOLE:
            state.message_calls.add(id(call))
        return call

    def _of_other_choice(self, fragment: Fragment) -> ChoiceCalls | None:
        """The only choice with calls, if a fragment without identity begins the arguments that its last call lacks."""
        states = {id(state): state for state in self._choices.values()}
        if len(states) != 1 or nonblank(fragment.id) or nonblank(fragment.name) or not _begins_object(fragment):
            return None
        (state,) = states.values()
        call = state.last
        lacks = call is not None and call.arguments.empty and self._parameters(call, _REQUIRES_ARGUMENTS).required
        return state if lacks and not state.several_open() else None

    @override
    def _end(self, choice: int) -> None:
        # If one call is incomplete, the finish reason may be early: calls without arguments are not complete.
        if not _has_incomplete(self._not_ended.get(choice, {}).values()):
            super()._end(choice)

    @override
    def _counts_by_id(self, opened: OpenCall) -> bool:
        """An id alone is not a call after the end of the response (OpenBitFun#398)."""
        return bool(opened.id) and not opened.ended

    def _begin(self, state: ChoiceCalls, fragment: Fragment) -> OpenCall:
        before = state.all[-1] if state.all else None
        is_empty = before is not None and not (before.id or before.name) and before.arguments.empty
        if before is not None and is_empty and before.choice == fragment.choice:
            self._counts[before.choice] = before.position
        call = self._open(fragment)
        if self.overflowed:
            return call
        state.all.append(call)
        self._checks_names = self._checks_names or fragment.phase is Phase.MORE
        if fragment.phase is Phase.WHOLE:
            state.in_messages.add(id(call))
        if isinstance(fragment.index, int):
            call.shared = state.note_index(fragment.index, call)
            if call.shared and (last := state.by_index[fragment.index][-2]).arguments.empty:
                same = fragment.name == last.name and self._lacks_arguments(last)
                call.header_of = last if same else None
        else:
            state.unindexed.append(call)
        return call

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        # Some servers stream the arguments of a call in fragments in entries of `message` (Writer).
        arguments = fragment.arguments
        if isinstance(arguments, str) and arguments and self._is_fragment(call, arguments):
            call.arguments.add(arguments)
        else:
            super()._fill_phase(call, fragment)

    def _is_fragment(self, call: OpenCall, text: str) -> bool:
        """Whether an entry of `message` has the next fragment of the arguments, not all of them."""
        if id(call) not in self._choices[call.choice].in_messages:
            return False
        return not (is_object(text) or call.arguments.is_complete)

    def _by_index(self, state: ChoiceCalls, fragment: Fragment, index: int) -> OpenCall | None:
        here = state.by_index.get(index)
        if here is None:
            named = fragment.name and nonblank(fragment.name)
            if named:
                return announced_before(state, fragment) if fragment.id and fragment.arguments else None
            moved = index_changed(state, fragment) or given_index(state, fragment, index)
            return moved or self._only_lacking(state, fragment, index)
        newest = here[-1]
        key = nonblank(fragment.id)
        name = fragment.name
        if name and name != newest.name and key in {"", newest.id} and self._is_name_part(newest, nonblank(name)):
            return newest
        if not key:
            if announces_next(newest, fragment) and not self._replaces_nothing(newest, fragment):
                return None
            if newest.arguments.is_complete and (moved := self._only_lacking(state, fragment, index)) is not None:
                return moved
            if len(here) > 1 and newest.arguments.empty and (first := self._first_lacking(here, fragment)) is not None:
                newest = first
            newest.guessed = newest.guessed or (len(here) > 1 and state.several_open(index))
            return newest
        owner = state.by_id.get(key)
        if owner is not None and owner in here:
            return None if names_another(owner, fragment) else owner
        if not newest.id:
            return newest
        # After a fragment of an older call of this index, it is unknown which of them has changed its id.
        returned = state.last is not newest and state.last in here
        same = id_changed(newest, fragment) or self._fills(newest, fragment) or self._begins(newest, fragment)
        return newest if same and not returned else None

    def _first_lacking(self, here: list[OpenCall], fragment: Fragment) -> OpenCall | None:
        """The first call of an index that lacks required arguments, if a fragment begins some."""
        if not _begins_object(fragment):
            return None
        return next((call for call in here[-_MOST_HEADERS:] if self._lacks_arguments(call)), None)

    def _only_lacking(self, state: ChoiceCalls, fragment: Fragment, index: int) -> OpenCall | None:
        """The only incomplete call, if an entry without identity begins its arguments elsewhere, or continues them.

        At a lower index, where an earlier call can be missing, they are those of that call, whose header was lost.
        """
        call = state.last
        if call is None or nonblank(fragment.id):
            return None
        open_there = call.arguments.inside_value and call.arguments.continued_by(fragment.arguments)
        if not (self._lacks_arguments(call) if _begins_object(fragment) else open_there):
            return None
        if state.several_open() or (isinstance(call.index, int) and index < min(call.index, len(state.all))):
            return None
        if open_there and not isinstance(call.index, int):
            return None
        state.note_index(index, call)
        return call

    def _needs_arguments(self, call: OpenCall) -> bool:
        """Whether a call's tool has required parameters, or no tool is known."""
        return self._parameters(call, UNKNOWN if self._tools else _REQUIRES_ARGUMENTS).required

    def _lacks_arguments(self, call: OpenCall) -> bool:
        """Whether a call lacks required arguments."""
        return call.arguments.empty and self._needs_arguments(call)

    def _replaces_nothing(self, call: OpenCall, fragment: Fragment) -> bool:
        """Whether a fragment with the call's name begins the required arguments of a call that has only `{}`."""
        if nonblank(fragment.name) != call.name or not (_begins_object(fragment) and _has_nothing(call)):
            return False
        return self._needs_arguments(call)

    def _fills(self, call: OpenCall, fragment: Fragment) -> bool:
        """Whether a fragment with another id has the required arguments of a call that has only `{}`."""
        if nonblank(fragment.name) or not self._parameters(call).required:
            return False
        return _has_nothing(call)

    def _begins(self, call: OpenCall, fragment: Fragment) -> bool:
        """Whether a fragment with the call's name and another id begins the arguments that the call lacks.

        vllm-project/vllm#23522: the id is another one in each fragment.
        """
        return nonblank(fragment.name) == call.name and _begins_object(fragment) and self._lacks_arguments(call)

    def _by_id(self, state: ChoiceCalls, fragment: Fragment, event: int) -> OpenCall | None:
        key, name, last = nonblank(fragment.id), nonblank(fragment.name), state.last
        if key and (owner := state.by_id.get(key)) is not None:
            return None if names_another(owner, fragment) else owner
        if last is None:
            return None
        if key:
            another = last.id and last.runs.last == event
            return None if name or another or last.arguments.is_complete else last
        if name:
            names_last = not (last.name or fragment.arguments)
            return last if names_last or self._continues_name(last, name) else None
        own = state.unindexed[0] if len(state.unindexed) == 1 else last
        if own is not last and not (own.arguments.is_complete or state.is_found(own)):
            return own
        last.guessed = last.guessed or (len(state.all) > 1 and state.several_open())
        return last

    def _continues_name(self, last: OpenCall, name: str) -> bool:
        if self._is_name_part(last, name):
            return True
        return not last.arguments.is_complete and (name == last.name or not last.name)


def _has_nothing(call: OpenCall) -> bool:
    """Whether a call's arguments are a placeholder."""
    return call.arguments.size <= _LONGEST_PLACEHOLDER and has_nothing(call.arguments.text())


def _begins_object(fragment: Fragment) -> bool:
    """Whether a delta begins arguments."""
    text = fragment.arguments
    return fragment.phase is Phase.MORE and isinstance(text, str) and text.lstrip(WHITE).startswith("{")


def _has_incomplete(calls: Iterable[OpenCall]) -> bool:
    """Whether the arguments of a function call are incomplete; for free text, only the finish reason shows it."""
    return any(call.incomplete for call in calls if call.kind is not Kind.CUSTOM)
