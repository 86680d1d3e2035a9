"""What every protocol's call resolver shares: open calls, how a fragment fills one, how they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls.arguments import ArgumentText, Room
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import meaning
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.same_calls import numbered, said_once
from toolstream_core.model import ABSENT, Call, Fragment, Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import EventContent

MAX_CALLS = 1 << 14
"""Calls of one answer that are kept apart; a stream that opens more is broken or hostile."""


_NUMBER: Final = frozenset("-0123456789")


class ResolvedFragment(NamedTuple):
    """A fragment and the call it was put into."""

    fragment: Fragment
    call: OpenCall


class Calls:
    """The calls of one answer. A protocol's subclass decides in `_place` which call a fragment belongs to."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: the request's tools by name, and whether they have required parameters."""
        self._tools = tools or {}
        self._opened: list[OpenCall] = []
        self._room = Room()
        """What may still be kept of the arguments of all calls."""
        self._counts: dict[int, int] = {}
        self._not_over: dict[int, dict[int, OpenCall]] = {}
        """By choice, the calls of which the protocol has not said yet that they are over."""
        self._unsettled: list[OpenCall] = []
        """Those that were not seen to be whole where the answer said an end."""
        self._cut: set[int] = set()
        """Choices that the protocol said to be cut off."""
        self._failed = False
        """Whether the provider reported an error."""
        self._at_end = False
        """Whether the stream's end came, behind which nobody reads."""
        self._beyond: OpenCall | None = None
        """What stands for all calls beyond those that are kept apart; nobody hears of it."""
        self.overflowed = False
        """Whether more calls came than are kept apart."""

    def take(self, fragment: Fragment, event: int) -> OpenCall | None:
        """The call that `fragment` of event number `event` belongs to, with the fragment in it.

        `None` where it closes something that is no call: an Anthropic stop does not say what it stops. And where the
        call is one more than are kept apart.
        """
        call = self._place(fragment, event)
        if call is None or call is self._beyond:
            return None
        call.runs.add(event)
        if call.over and fragment.phase is Phase.MORE and fragment.arguments:
            self._reopen(call)
        self._fill(call, fragment)
        return call

    def resolve(self, content: EventContent, event: int) -> list[ResolvedFragment]:
        """All fragments of an event, each with the call that it was put into; then what it says to be over is over."""
        resolved: list[ResolvedFragment] = []
        if self._at_end:
            return resolved
        if content.cancels:
            self._cancel()
        for fragment in content.fragments:
            call = self.take(fragment, event)
            if call is not None:
                resolved.append(ResolvedFragment(fragment, call))
        if content.finishes or content.end or content.error is not None:
            self.conclude(content)
        return resolved

    def _cancel(self) -> None:
        """Forget the calls so far: they are not to be run, and may be incomplete."""
        for call in self._opened:
            call.cancelled = True
        for calls in (self._opened, self._unsettled, self._not_over, self._counts):
            calls.clear()

    def conclude(self, content: EventContent) -> None:
        """Take what an event says of the turn: a finish ends its choice's calls, the stream's end those of all.

        Where it says that the turn was cut off, or an error came, it does not.
        """
        self._failed = self._failed or content.error is not None
        for finish in content.finishes:
            if is_cut(finish.reason):
                self._cut.add(finish.choice)
            elif finish.reason and finish.choice not in self._cut and not self._failed:
                self._end(finish.choice)
        if content.end and not self._failed:
            for choice in [choice for choice in self._not_over if choice not in self._cut]:
                self._end(choice)

    def half_calls(self) -> list[OpenCall]:
        """The client's calls that are half although the protocol said no error, and of their choice no cut.

        For where an answer says that it is over: calls that are whole there are not looked at again.
        """
        if self._failed:
            return []
        left = [call for call in self._unsettled if not (call.over and call.arguments.whole)]
        self._unsettled = [call for call in left if not self._is_settled(call)]
        return [call for call in self._unsettled if self._is_half(call)]

    def resolved(self) -> list[Call]:
        """What was meant, in order of appearance. May be asked at any time."""
        kept = [
            self._resolve(opened)
            for opened in self._opened
            if opened.name or not opened.arguments.empty or self._id_counts(opened)
        ]
        return numbered(said_once(kept))

    def _id_counts(self, opened: OpenCall) -> bool:
        """Whether a call has an id, and that alone makes it one."""
        return bool(opened.id)

    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        raise NotImplementedError

    def _open(self, fragment: Fragment) -> OpenCall:
        if len(self._opened) >= MAX_CALLS:
            self.overflowed = True
            self._beyond = self._beyond or OpenCall(fragment, MAX_CALLS, self._room)
            return self._beyond
        position = self._counts.get(fragment.choice, 0)
        self._counts[fragment.choice] = position + 1
        call = OpenCall(fragment, position, self._room)
        self._opened.append(call)
        self._unsettled.append(call)
        self._not_over.setdefault(call.choice, {})[id(call)] = call
        return call

    def _is_settled(self, call: OpenCall) -> bool:
        """Whether a call is whole, or may be half by what the protocol says."""
        return call.choice in self._cut or not (self._is_half(call) or not self._resolve(call).complete)

    def _is_half(self, call: OpenCall) -> bool:
        """Whether a call that the client is to run lacks the rest of its arguments, and nothing says so.

        One without a name nobody can run.
        """
        return call.half and bool(call.name) and not (call.cut or call.kind is Kind.SERVER)

    def _end(self, choice: int) -> None:
        for call in self._not_over.pop(choice, {}).values():
            call.over = not call.cut

    def _reopen(self, call: OpenCall) -> None:
        call.over = False
        self._not_over.setdefault(call.choice, {})[id(call)] = call

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.name is not ABSENT and fragment.name and fragment.name != call.name:
            call.name = self._joined_name(call, nonblank(fragment.name)) if call.name else nonblank(fragment.name)
        if fragment.phase is Phase.MORE:
            if isinstance(fragment.arguments, str) and not _begins_nothing(call, fragment):
                call.arguments.add(fragment.arguments)
        else:
            self._fill_phase(call, fragment)
        if not call.id and fragment.id is not ABSENT:
            call.id = nonblank(fragment.id)
        if not call.item_id and fragment.item_id is not ABSENT:
            call.item_id = nonblank(fragment.item_id)

    def _joined_name(self, call: OpenCall, name: str) -> str:
        """The name with a later part of it."""
        return call.name + name if self._is_name_part(call, name) else _longer_name(call, name)

    def _is_name_part(self, call: OpenCall, name: str) -> bool:
        """Whether a name is the next part of a call's, whatever came in between: only together they begin a tool's."""
        if not (name and call.name) or name in self._tools or call.name in self._tools or name == call.name:
            return False
        return any(tool.startswith(call.name + name) for tool in self._tools)

    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        """Every phase but a delta's: what it says counts where the deltas have not said it whole."""
        if fragment.phase in {Phase.ARGUMENTS, Phase.CLOSE, Phase.WHOLE}:
            arguments = fragment.arguments
            if isinstance(arguments, str) and arguments and (not call.arguments.size or _says_more(call, arguments)):
                call.arguments = call.arguments.renewed() if call.arguments.size else call.arguments
                call.arguments.add(arguments)
            call.closed = call.closed or fragment.phase is not Phase.ARGUMENTS
            self._said_over(call, fragment)
        elif isinstance(fragment.arguments, str):
            call.arguments.add(fragment.arguments)

    def _said_over(self, call: OpenCall, fragment: Fragment) -> None:
        """A fragment says the call whole, or closes it: by itself that ends none, but in protocols that say so."""

    def _resolve(self, opened: OpenCall) -> Call:
        text, whole = opened.meant(may_be_empty=not self._tools.get(opened.name, False))
        return Call(
            opened.choice,
            opened.position,
            opened.kind,
            opened.id,
            opened.name,
            text,
            whole,
            opened.guessed,
            opened.runs,
            opened.arguments.truncated,
        )


def _says_more(call: OpenCall, arguments: str) -> bool:
    """Whether arguments that are said once more count: those that came are not whole, and these are no mere part."""
    if call.kind is Kind.CUSTOM:
        return True
    if call.arguments.whole:
        return False
    whole = ArgumentText()
    whole.add(arguments)
    closed = whole.ended and arguments.lstrip(WHITE).startswith(("{", "[", '"'))
    return call.arguments.empty or closed or arguments.startswith(call.arguments.text())


def same_arguments(one: str, other: str) -> bool:
    """Whether two argument texts mean the same: equal, or equal as JSON."""
    return one == other or meaning(one) == meaning(other)


def _longer_name(call: OpenCall, name: str) -> str:
    """A later name joins while no arguments have come, replaces where it extends, and repeats where it is equal."""
    if not name or name == call.name:
        return call.name
    if name.startswith(call.name):
        return name
    return call.name + name if call.arguments.empty else call.name


def _begins_nothing(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment is a JSON number or truth value before any arguments, which are an object."""
    text = fragment.arguments
    if fragment.well_formed or not isinstance(text, str) or not call.arguments.empty:
        return False
    return text in {"true", "false"} or text[:1] in _NUMBER
