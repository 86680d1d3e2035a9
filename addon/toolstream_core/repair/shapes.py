"""Needs of clients that read less than their protocol allows: when a call may be sent, and in how many fragments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import Reading
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.defects.defect import Defect
from toolstream_core.model import Kind
from toolstream_core.stages.context import Context

_TINY: Final = 3
"""Characters of a tiny fragment."""
_HIGH: Final = range(0xD800, 0xDC00)


def is_complete(call: OpenCall, context: Context, *, over: bool) -> bool:
    """Whether a call is complete; `over`: the provider ended the call or its turn.

    Arguments that are a closed object are complete in any case; other JSON, and no arguments of a tool that needs
    none, if the call is over. Two concatenated objects, and text that is not JSON, never are.
    """
    if call.kind is Kind.CUSTOM:
        return over
    arguments = call.arguments
    if arguments.empty and call.start_input is not None:
        return is_object(call.start_input) or (over and is_json(call.start_input))
    if arguments.is_complete and not arguments.spilled:
        return True
    may_be_empty = over and context.may_be_empty(call.name)
    return (over or arguments.is_complete) and arguments.reading(may_be_empty=may_be_empty)[1]


def is_sendable(
    reading: Reading, call: OpenCall, context: Context, on: Callable[[Defect], bool], *, over: bool
) -> bool:
    """Whether a client of complete calls gets a call: `reading` is what its arguments mean once it is over.

    `on`: whether a defect's repair is on; `over`: the provider ended the call, and did not truncate it.
    """
    repaired = reading.defect is None or (on(reading.defect) and not reading.stands)
    return (repaired and is_object(reading.text)) or is_complete(call, context, over=over)


class Position(NamedTuple):
    """The place of a part of the arguments in its call."""

    opens: bool = False
    """Whether the call begins with it."""
    ends: bool = False
    """Whether the arguments are complete with it."""


def at_once(text: str, at: Position) -> Sequence[str]:
    """In one fragment."""
    return (text,)


def header_apart(text: str, at: Position) -> Sequence[str]:
    """The fragment with id and name carries no arguments."""
    return ("", text) if at.opens and text else (text,)


def empty_after_header(text: str, at: Position) -> Sequence[str]:
    """After id and name without arguments, one empty fragment follows."""
    return ("", "") if at.opens and not text else (text,)


def tiny_fragments(text: str, at: Position) -> Sequence[str]:
    """A few characters at a time; no surrogate pair is split."""
    parts: list[str] = []
    begin = 0
    while begin < len(text):
        end = begin + _TINY
        if end < len(text) and ord(text[end - 1]) in _HIGH:
            end += 1
        parts.append(text[begin:end])
        begin = end
    return parts or (text,)


def last_apart(text: str, at: Position) -> Sequence[str]:
    """The last character of complete arguments is sent alone."""
    return (text[:-1], text[-1]) if at.ends and len(text) > 1 and text.endswith("}") else (text,)


class Policy(NamedTuple):
    """The needs of one client."""

    names: tuple[str, ...] = ()
    """The shapes that serve it."""
    in_turn: bool = False
    """Whether a call waits until the calls before it are complete."""
    leaves_out: bool = False
    """Whether a call is sent only when it is complete; an incomplete one is left out, and later indexes are lowered."""
    with_text: bool = False
    """Whether a call begins with some of its arguments."""
    cut: Callable[[str, Position], Sequence[str]] = at_once
    """The fragments in which arguments are sent; the first is sent with the call's header, if it opens."""
    even_ids: bool = False
    """Whether no id may be shorter than an earlier one."""
    alone: bool = False
    """Whether an event may have only one call."""
    names_calls: bool | None = None
    """Whether deltas have the id and the name of their call (Responses); `None`: as the provider sends them."""
    combined: tuple[Policy, ...] = ()
    """The single policies, if several are combined."""

    @property
    def shapes_nothing(self) -> bool:
        """Whether it needs nothing but the protocol."""
        return not self.names

    @property
    def holds(self) -> bool:
        """Whether events may have to wait for it."""
        return self.in_turn or self.leaves_out or self.with_text

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The single policies."""
        return self.combined or (self,)

    def cutting(self, text: str, at: Position) -> tuple[str, ...]:
        """The shapes for which arguments are sent in several fragments."""
        return tuple(name for part in self.parts if len(part.cut(text, at)) > 1 for name in part.names)

    def then(self, other: Policy) -> Policy:
        """The needs of a client that needs both. Arguments are split for this one first."""
        first, second = self.cut, other.cut

        def cut(text: str, at: Position) -> Sequence[str]:
            parts = first(text, at)
            last = len(parts) - 1
            within = [Position(at.opens and number == 0, at.ends and number == last) for number in range(len(parts))]
            return [fragment for part, its in zip(parts, within, strict=True) for fragment in second(part, its)]

        return Policy(
            names=(*self.names, *other.names),
            in_turn=self.in_turn or other.in_turn,
            leaves_out=self.leaves_out or other.leaves_out,
            with_text=self.with_text or other.with_text,
            cut=second if first is at_once or other.leaves_out else first if second is at_once else cut,
            even_ids=self.even_ids or other.even_ids,
            alone=self.alone or other.alone,
            names_calls=self.names_calls if other.names_calls is None else other.names_calls,
            combined=(*self.parts, *other.parts),
        )


NO_SHAPE: Final = Policy()
WHOLE_CALLS: Final = Policy(("whole-calls",), leaves_out=True)
SEQUENTIAL: Final = Policy(("sequential",), in_turn=True)
EVEN_IDS: Final = Policy(("even-ids",), even_ids=True)
ONE_CALL_PER_EVENT: Final = Policy(("one-call-per-event",), alone=True)
TINY_FRAGMENTS: Final = Policy(("tiny-fragments",), cut=tiny_fragments)
SELF_CONTAINED_DELTAS: Final = WHOLE_CALLS._replace(names=("self-contained-deltas",), names_calls=True)
BARE_DELTAS: Final = Policy(("bare-deltas",), names_calls=False)
OF_BLOCKS: Final = {one.names[0]: one for one in (WHOLE_CALLS, TINY_FRAGMENTS)}
"""The policies of protocols that stream content blocks, by the name of the shape."""
OF_RESPONSES: Final = {
    one.names[0]: one for one in (WHOLE_CALLS, SELF_CONTAINED_DELTAS, BARE_DELTAS, TINY_FRAGMENTS, SEQUENTIAL)
}
"""The policies of Responses, by the name of the shape."""
POLICIES: Final = {
    one.names[0]: one
    for one in (
        WHOLE_CALLS,
        SEQUENTIAL,
        Policy(("header-with-first-fragment",), with_text=True),
        ONE_CALL_PER_EVENT,
        Policy(("split-header",), cut=header_apart),
        TINY_FRAGMENTS,
        Policy(("late-brace",), cut=last_apart),
        Policy(("empty-fragment",), cut=empty_after_header),
        EVEN_IDS,
    )
}
"""The policies of Chat Completions, by the name of the shape."""


def combined(policies: Iterable[Policy]) -> Policy:
    """The needs of a client that needs all of them, in this order."""
    return reduce(Policy.then, policies, NO_SHAPE)
