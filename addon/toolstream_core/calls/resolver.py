"""Assigns fragments to calls: the part that all protocols share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, override

from toolstream_core.calls.arguments import ArgumentText, Budget
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.calls.json_text import with_members
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.parameters import UNKNOWN, Parameters, plain_name
from toolstream_core.calls.placeholders import is_markup
from toolstream_core.calls.repetition import without_repeated
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, Call, EventContent, Fragment, Kind, Phase


def numbered(calls: list[Call]) -> list[Call]:
    """Number the calls of each choice."""
    counts: dict[int, int] = {}
    for call in calls:
        call.position = counts.get(call.choice, 0)
        counts[call.choice] = call.position + 1
    return calls


MAX_CALLS = 1 << 14
"""The most calls of one response that are kept. A stream with more is malformed or hostile."""


_NUMBER: Final = frozenset("-0123456789")


class ResolvedFragment(NamedTuple):
    """A fragment and the call that it belongs to."""

    fragment: Fragment
    call: OpenCall


class Calls:
    """The calls of one response. A protocol's subclass decides in `_place` which call a fragment belongs to."""

    def __init__(self, tools: Mapping[str, Parameters] | None = None) -> None:
        """`tools`: the request's tools by name."""
        self._tools = tools or {}
        self._opened: list[OpenCall] = []
        self._budget = Budget()
        """How many characters of the arguments of all calls may still be kept."""
        self._counts: dict[int, int] = {}
        self._not_ended: dict[int, dict[int, OpenCall]] = {}
        """By choice, the calls that have not ended."""
        self._maybe_incomplete: list[OpenCall] = []
        """Calls that may be incomplete when the response ends."""
        self._cut: set[int] = set()
        """Choices that the protocol declared truncated."""
        self._failed = False
        """Whether the provider reported an error."""
        self._at_end = False
        """Whether the stream's end arrived, after which clients read nothing."""
        self._checks_names = False
        """Whether a name may be a part of the arguments of an earlier call."""
        self._beyond: OpenCall | None = None
        """Stands for all further calls; it is not reported."""
        self.overflowed = False
        """Whether more calls arrived than are kept."""

    def take(self, fragment: Fragment, event: int) -> OpenCall | None:
        """Add `fragment`, of event number `event`, to its call. Returns the call.

        `None` if it closes something other than a call (an Anthropic stop does not name its block), or if there are
        more calls than are kept.
        """
        call = self._place(fragment, event)
        if call is None or call is self._beyond:
            return None
        call.runs.add(event)
        if call.ended and fragment.phase is Phase.MORE and fragment.arguments:
            self._reopen(call)
        self._fill(call, fragment)
        return call

    def resolve(self, content: EventContent, event: int) -> list[ResolvedFragment]:
        """Assign each fragment of an event to its call; then end the calls that the event ends."""
        resolved: list[ResolvedFragment] = []
        if self._at_end:
            return resolved
        if content.cancels:
            self._cancel()
        for fragment in content.fragments:
            if self._checks_names and fragment.name and not fragment.arguments:
                fragment = self._reinterpreted(fragment)  # noqa: PLW2901  # cheaper than a generator
            call = self.take(fragment, event)
            if call is not None:
                resolved.append(ResolvedFragment(fragment, call))
        if content.finishes or content.end or content.error is not None:
            self.conclude(content)
        return resolved

    def _reinterpreted(self, fragment: Fragment) -> Fragment:
        """Reinterpret a fragment in view of the calls so far."""
        return fragment

    def _cancel(self) -> None:
        """Forget the calls so far: clients must not run them."""
        for call in self._opened:
            call.cancelled = True
        for calls in (self._opened, self._maybe_incomplete, self._not_ended, self._counts):
            calls.clear()

    def conclude(self, content: EventContent) -> None:
        """End the calls of a choice at its finish, and all calls at the end of the stream.

        A finish that reports truncation, or an error, does not end them.
        """
        self._failed = self._failed or content.error is not None
        for finish in content.finishes:
            if is_cut(finish.reason):
                self._cut.add(finish.choice)
            elif finish.reason and finish.choice not in self._cut and not self._failed:
                self._end(finish.choice)
        if content.end and not self._failed:
            for choice in [choice for choice in self._not_ended if choice not in self._cut]:
                self._end(choice)

    def incomplete_calls(self) -> list[OpenCall]:
        """The incomplete calls of the client that neither an error nor a finish reason explains.

        For the end of a response: calls that are complete there are not checked again.
        """
        if self._failed:
            return []
        left = [call for call in self._maybe_incomplete if not (call.ended and call.arguments.is_complete)]
        self._maybe_incomplete = [call for call in left if not self._is_complete_or_explained(call)]
        return [call for call in self._maybe_incomplete if self._is_incomplete(call)]

    def resolved(self) -> list[Call]:
        """The intended calls, in order of appearance. May be called at any time."""
        kept = [
            self._resolve(opened)
            for opened in self._opened
            if (opened.name or not opened.arguments.empty or self._counts_by_id(opened)) and not opened.is_header_again
        ]
        return numbered(without_repeated(kept))

    def _counts_by_id(self, opened: OpenCall) -> bool:
        """Whether a call without a name and arguments counts because of its id."""
        return bool(opened.id)

    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        raise NotImplementedError

    def _open(self, fragment: Fragment) -> OpenCall:
        if len(self._opened) >= MAX_CALLS:
            self.overflowed = True
            self._beyond = self._beyond or OpenCall(fragment, MAX_CALLS, self._budget)
            return self._beyond
        position = self._counts.get(fragment.choice, 0)
        self._counts[fragment.choice] = position + 1
        call = OpenCall(fragment, position, self._budget)
        self._opened.append(call)
        self._maybe_incomplete.append(call)
        self._not_ended.setdefault(call.choice, {})[id(call)] = call
        return call

    def _is_complete_or_explained(self, call: OpenCall) -> bool:
        """Whether a call is complete, or the protocol explains why it is not."""
        return call.choice in self._cut or not (self._is_incomplete(call) or not self._resolve(call).complete)

    def _is_incomplete(self, call: OpenCall) -> bool:
        """Whether a call of the client lacks a part of its arguments without an explanation.

        A call without a name does not count: no client can run it.
        """
        return call.incomplete and bool(call.name) and not (call.cut or call.kind is Kind.SERVER)

    def _end(self, choice: int) -> None:
        for call in self._not_ended.pop(choice, {}).values():
            call.ended = not call.cut

    def _reopen(self, call: OpenCall) -> None:
        call.ended = False
        self._not_ended.setdefault(call.choice, {})[id(call)] = call

    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.name is not ABSENT and fragment.name and fragment.name != call.name:
            call.name = self._joined_name(call, nonblank(fragment.name)) if call.name else nonblank(fragment.name)
            if call.kind is Kind.FUNCTION:
                call.arguments.parameters = self._parameters(call)
        if fragment.phase is Phase.MORE:
            if fragment.is_object:
                _add_object(call, str(fragment.arguments))
            elif isinstance(fragment.arguments, str) and (fragment.well_formed or not _begins_nothing(call, fragment)):
                call.arguments.add(fragment.arguments)
        else:
            self._fill_phase(call, fragment)
        call.signed = call.signed or fragment.signed
        if not call.id and fragment.id is not ABSENT:
            call.id = nonblank(fragment.id)
        if not call.item_id and fragment.item_id is not ABSENT:
            call.item_id = nonblank(fragment.item_id)

    def _parameters(self, call: OpenCall, unknown: Parameters = UNKNOWN) -> Parameters:
        """The parameters of a call's tool; `unknown` if the request does not offer it."""
        return self._tools.get(plain_name(call.name, self._tools), unknown)

    def _joined_name(self, call: OpenCall, name: str) -> str:
        """The name after a later name fragment."""
        return call.name + name if self._is_name_part(call, name) else _longer_name(call, name)

    def _is_name_part(self, call: OpenCall, name: str) -> bool:
        """Whether a name is the next part of a call's name: only together they begin the name of a tool."""
        if not (name and call.name) or name in self._tools or call.name in self._tools or name == call.name:
            return False
        return any(tool.startswith(call.name + name) for tool in self._tools)

    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        """Add a fragment that is not a delta: its arguments count if the deltas are incomplete."""
        if fragment.phase in {Phase.ARGUMENTS, Phase.CLOSE, Phase.WHOLE}:
            arguments = fragment.arguments
            if isinstance(arguments, str) and arguments and (not call.arguments.size or _has_more(call, arguments)):
                call.arguments = call.arguments.renewed() if call.arguments.size else call.arguments
                call.arguments.add(arguments)
            call.closed = call.closed or fragment.phase is not Phase.ARGUMENTS
            self._note_end(call, fragment)
        elif isinstance(fragment.arguments, str):
            call.arguments.add(fragment.arguments)

    def _note_end(self, call: OpenCall, fragment: Fragment) -> None:
        """End a call at its last fragment, in protocols that define that."""

    def _resolve(self, opened: OpenCall) -> Call:
        text, complete = opened.intended_arguments(may_be_empty=not self._parameters(opened).required)
        return Call(
            opened.choice,
            opened.position,
            opened.kind,
            opened.id,
            opened.name,
            text,
            complete,
            opened.guessed,
            opened.runs,
            opened.arguments.truncated,
            opened.signed,
        )


def _has_more(call: OpenCall, arguments: str) -> bool:
    """Whether repeated arguments replace the earlier ones: those are incomplete, and these are not a part of them."""
    if call.kind is not Kind.FUNCTION:
        return True
    if call.arguments.is_complete:
        return False
    complete = ArgumentText()
    complete.add(arguments)
    closed = complete.ended and arguments.lstrip(WHITE).startswith(("{", "[", '"'))
    return call.arguments.empty or closed or arguments.startswith(call.arguments.text())


def _longer_name(call: OpenCall, name: str) -> str:
    """The name after a later one, which extends, replaces or repeats it. Markup is ignored."""
    if not name or name == call.name or is_markup(name):
        return call.name
    if name.startswith(call.name):
        return name
    return call.name + name if call.arguments.empty else call.name


def _begins_nothing(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment is a JSON number or boolean before any arguments, which must be an object."""
    text = fragment.arguments
    if not isinstance(text, str) or not call.arguments.empty:
        return False
    return text in {"true", "false"} or text[:1] in _NUMBER


_LONGEST_OBJECT: Final = 1 << 16
"""Characters of the longest object to which members are added."""


def _add_object(call: OpenCall, text: str) -> None:
    """Add arguments that arrived as an object: one more argument, or all so far (can1357/oh-my-pi#2082).

    With other values of the same keys, the arguments are unknown.
    """
    before, call.in_objects = call.arguments, True
    together = with_members(before.text(), text) if before.size <= _LONGEST_OBJECT else ""
    if together:
        call.arguments = before.renewed()
    call.arguments.add(together or text)


class CompleteCalls(Calls):
    """The calls of one response."""

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        return self._open(fragment)

    @override
    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        super()._fill(call, fragment)
        call.ended = True
