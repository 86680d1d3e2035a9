"""Which call an Anthropic content block belongs to: by its index, from its start to its stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.json_text import says_nothing
from toolstream_core.calls.started_calls import StartedCalls
from toolstream_core.calls.strays import Strays
from toolstream_core.model import Fragment, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import EventContent


NOBODYS = 1 << 16
"""The index from which on no answer has blocks: a delta there belongs to none, however few are open."""


class AnthropicCalls(StartedCalls):
    """A `content_block_start` opens, also at an index in use; a start for the open call again goes on with it."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._still_open: dict[int, OpenCall] = {}
        """Calls that were started and not stopped, by their position."""
        self._strays = Strays()
        self._finished = False
        """Whether a stop reason has come."""
        self._stopped_last: OpenCall | None = None
        """The call that was stopped last: fragments of other indexes may still turn out to be nobody's."""

    @override
    def conclude(self, content: EventContent) -> None:
        self._decide()
        self._finished = self._finished or any(finish.reason for finish in content.finishes)
        if content.end and not self._finished:
            for call in self._still_open.values():  # arguments were still to come
                call.cut = call.cut or (call.arguments.empty and says_nothing(call.start_input))
        super().conclude(content)

    def _decide(self) -> None:
        """What came under other indexes is of the call that was stopped."""
        if self._stopped_last is not None:
            self._strays.forget(self._stopped_last)
            self._stopped_last = None

    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        if fragment.phase is Phase.CLOSE:
            self._ended_last = self._stopped(fragment)
            return self._ended_last
        if fragment.phase is not Phase.MORE:
            self._starts()
            call = self._started_again(fragment) or self._open(fragment)
        else:
            call = self._continued(fragment, event)
        if not self.overflowed:
            self._newest[fragment.index] = call
            if not call.closed and fragment.phase is not Phase.MORE:
                self._still_open[call.position] = call
        return call

    def _starts(self) -> None:
        """A block starts: what came under indexes that no block has may be another's than the open call's."""
        for position in self._strays.calls:
            call = self._still_open.get(position, self._stopped_last)
            if call is not None:
                for other, number in self._strays.given_back(call):
                    self._as_nobodys(call, other, number)
        self._decide()

    def _continued(self, fragment: Fragment, event: int) -> OpenCall:
        """The call that a delta goes on with."""
        known_at = self._newest.get(fragment.index)
        if known_at is not None and fragment.index == known_at.index:
            for other, number in self._strays.taken_back(known_at, fragment):
                self._as_nobodys(known_at, other, number)
            return self._open(fragment) if fragment.arguments and _is_said(known_at) else known_at
        call = known_at or self._elsewhere(fragment)
        if call is None:
            return self._open(fragment)
        if fragment.arguments and (known_at is None or self._strays.has(call)):
            self._strays.add(call, fragment, event)
        return call

    def _as_nobodys(self, call: OpenCall, fragment: Fragment, event: int) -> None:
        """A fragment that was given to `call` is of a call that nobody started, and so is the stop behind it."""
        if call.closed:
            call.closed, self._still_open[call.position] = False, call
        if self._newest.get(fragment.index) is call:
            self._newest[fragment.index] = self._open(fragment)
        other = self._newest[fragment.index]
        if other is not self._beyond:
            other.runs.add(event)
            self._fill(other, fragment)

    def _stopped(self, fragment: Fragment) -> OpenCall | None:
        call = self._newest.get(fragment.index)
        return None if call is None or call.closed else call

    def _elsewhere(self, fragment: Fragment) -> OpenCall | None:
        """Where a delta of an index that was never started belongs: to the one open call that got none, a guess.

        Of several nobody can tell (claude-code "Content block not found"), and what begins other arguments than those
        that have begun is of another call.
        """
        index = fragment.index
        if len(self._still_open) != 1 or (isinstance(index, int) and index >= NOBODYS):
            return None
        call = next(iter(self._still_open.values()))
        arguments = call.arguments
        if not self._strays.may_take(call) or arguments.whole:
            return None
        if not arguments.empty and arguments.restarted_by(fragment.arguments):
            return None
        call.guessed = True
        return call

    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.CLOSE:
            call.closed = call.over = True
            self._still_open.pop(call.position, None)
            self._decide()
            self._stopped_last = call
        elif isinstance(fragment.arguments, str):
            call.start_with(fragment.arguments)


def _is_said(call: OpenCall) -> bool:
    """Whether a call was stopped, and its start had all of its arguments: what follows is nobody's."""
    return call.closed and call.arguments.empty and not says_nothing(call.start_input)
