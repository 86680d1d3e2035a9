"""Assigns fragments to calls that one event starts and another ends, by index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, override

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.calls.json_text import has_nothing, is_object, same_arguments
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.parameters import Parameters
from toolstream_core.calls.resolver import Calls, ResolvedFragment
from toolstream_core.model import EventContent, Fragment, Phase, Seen


class StartedCalls(Calls):
    """A start opens a call, also at an index in use; a repeated start of the open call continues it.

    A delta under an index without an open call is assigned to the only open call without deltas of its own. That is
    a guess.
    """

    foreign_index: ClassVar[int] = 1 << 16
    """The first index that no response has calls at: a delta there belongs to no call."""
    sequential: ClassVar[bool] = False
    """Whether calls never overlap: one with complete arguments gets no more, also before its end."""

    def __init__(self, tools: Mapping[str, Parameters] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._newest: dict[Seen[int], OpenCall] = {}
        """The last call of each index, started by a start or by a delta."""
        self._given: dict[Seen[int], OpenCall] = {}
        """The call that gets the deltas of a foreign index, since the last start."""
        self._still_open: dict[int, OpenCall] = {}
        """Calls that were started and not ended, by their position."""
        self._others: set[Seen[int]] = set()
        """The indexes at which the newest block is no call."""
        self._ended_last: OpenCall | None = None
        """The last call that ended, if nothing else ended after it."""

    @override
    def resolve(self, content: EventContent, event: int) -> list[ResolvedFragment]:
        self._others.update(content.begins)
        return super().resolve(content, event)

    @override
    def conclude(self, content: EventContent) -> None:
        """A call that a limit truncates ends too, and remains truncated."""
        super().conclude(content)
        last = self._ended_last
        if (
            last is not None
            and not last.arguments.is_complete
            and any(is_cut(finish.reason) for finish in content.finishes)
        ):
            self._cut_short(last)

    def _cut_short(self, call: OpenCall) -> None:
        """Mark a call as truncated by a limit, although its end has arrived."""
        call.cut, call.ended = True, False

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        if fragment.phase is Phase.CLOSE:
            self._ended_last = self._ended(fragment)
            return self._ended_last
        return self._continued(fragment) if fragment.phase is Phase.MORE else self._started(fragment)

    def _started(self, fragment: Fragment) -> OpenCall:
        """The call that a start opens or continues."""
        self._given.clear()
        self._others.discard(fragment.index)
        call = self._started_again(fragment) or self._open_at(fragment)
        if not (call.closed or self.overflowed):
            self._still_open[call.position] = call
        return call

    def _open_at(self, fragment: Fragment) -> OpenCall:
        call = self._open(fragment)
        if not self.overflowed:
            self._newest[fragment.index] = call
        return call

    def _started_again(self, fragment: Fragment) -> OpenCall | None:
        """The open call that a start repeats: same index, id and name (ccx#183).

        Without a name, the id or the index alone is enough, as no call starts without a name (OmniRoute#682).
        """
        last = self._opened[-1] if self._opened else None
        if last is None or last.closed:
            return None
        given, name, same = nonblank(fragment.id), nonblank(fragment.name), last.index == fragment.index
        if name:
            return last if same and given == last.id != "" and name == last.name else None
        if given != last.id if given else not same:
            return None
        self._newest[fragment.index] = last
        return last

    def _continued(self, fragment: Fragment) -> OpenCall | None:
        """The call that a delta continues; `None` if its block is no call."""
        index, has_arguments = fragment.index, bool(fragment.arguments)
        own = self._newest.get(index)
        if own is not None and not self._is_past(own):
            return self._open_at(fragment) if has_arguments and _is_foreign(own, fragment) else own
        call = self._given.get(index) or self._elsewhere(fragment)
        if call is None and index in self._others:
            return None
        if call is None and own is None and (self._repeats_last(fragment) or self._is_of_last(fragment)):
            call = self._ended_last
        if call is None:
            return self._open_at(fragment) if own is None or _is_foreign(own, fragment) else own
        self._given[index] = call
        if has_arguments and not call.arguments.size and isinstance(index, int):
            call.guessed = True
        return call

    def _is_past(self, call: OpenCall) -> bool:
        """Whether a delta at the index of an earlier call may belong to another one, which has started after it."""
        newest = self._opened[-1]
        return self.sequential and (
            call.closed
            or (
                newest is not call
                and call.arguments.is_complete
                and not (newest.closed or newest.arguments.is_complete)
            )
        )

    def _elsewhere(self, fragment: Fragment) -> OpenCall | None:
        """The call of a delta at an index that was never started: the only open call without deltas, as a guess.

        With several such calls it is unknown (claude-code "Content block not found"). A delta that starts other
        arguments than those that have begun belongs to another call.
        """
        index, call = fragment.index, self._only_taking
        if call is None or (isinstance(index, int) and index >= self.foreign_index):
            return None
        arguments = call.arguments
        if (
            arguments.is_complete
            or (arguments.size and not call.guessed)
            or (arguments.empty and not _may_begin(fragment.arguments))
        ):
            return None
        if not arguments.empty and arguments.restarted_by(fragment.arguments):
            return None
        return call

    def _repeats_last(self, fragment: Fragment) -> bool:
        """Whether a delta has all arguments of the call that ended last."""
        last, text = self._ended_last, fragment.arguments
        if last is None or not isinstance(text, str) or has_nothing(text) or not is_object(text):
            return False
        return same_arguments(text, last.arguments.text())

    def _is_of_last(self, fragment: Fragment) -> bool:
        """Whether a delta begins arguments, and the call that ended last has none and needs some."""
        last, text = self._ended_last, fragment.arguments
        if last is None or not last.arguments.empty or last.start_input is not None:
            return False
        return isinstance(text, str) and text.lstrip().startswith("{") and self._parameters(last).required

    @property
    def _only_taking(self) -> OpenCall | None:
        """The only call that may get deltas of another index."""
        if not self.sequential:
            return self._only_open
        taking = [call for call in self._still_open.values() if not call.arguments.is_complete]
        return taking[0] if len(taking) == 1 else None

    @property
    def _only_open(self) -> OpenCall | None:
        """The open call, if it is the only one."""
        return next(iter(self._still_open.values())) if len(self._still_open) == 1 else None

    def _ended(self, fragment: Fragment) -> OpenCall | None:
        """The call that an end ends; `None` if it ends something else."""
        index = fragment.index
        is_known = index in self._given or index in self._newest or index in self._others
        if self.sequential and self._only_open and not (isinstance(index, int) and is_known):
            return self._only_open
        call = self._given.get(fragment.index) or self._newest.get(fragment.index)
        return None if call is None or call.closed else call

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.OPEN:
            if isinstance(fragment.arguments, str):
                call.start_with(fragment.arguments)
            return
        super()._fill_phase(call, fragment)
        if fragment.phase is Phase.CLOSE:
            call.ended = True
            self._still_open.pop(call.position, None)


class SequentialCalls(StartedCalls):
    """Calls that never overlap."""

    sequential = True


def _is_foreign(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a delta after the end of its call cannot be the call's.

    The call had all its arguments at its start, or is complete and the delta has other complete arguments.
    """
    text = fragment.arguments
    if not call.closed:
        return False
    if call.arguments.empty:
        return not has_nothing(call.start_input)
    if not (isinstance(text, str) and is_object(text)):
        return False
    intended, complete = call.intended_arguments(may_be_empty=False)
    return complete and not same_arguments(text, intended)


def _may_begin(fragment: Seen[str]) -> bool:
    """Whether a fragment can start arguments: an object, a placeholder, or a string that contains an object."""
    return not isinstance(fragment, str) or fragment.lstrip()[:1] in {"", "{", '"', "n"}
