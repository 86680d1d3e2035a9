"""Policies for clients that support only some valid encodings: when a call is sent, and in which fragments."""

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


def is_complete(call: OpenCall, context: Context, *, ended: bool) -> bool:
    """Whether a call is complete; `ended`: the provider ended the call or its turn.

    Arguments that are a closed object are complete in any case; other JSON, and no arguments of a tool that needs
    none, if the call has ended. Two concatenated objects, and text that is not JSON, never are.
    """
    if call.kind is Kind.CUSTOM:
        return ended
    arguments = call.arguments
    if arguments.empty and call.start_input is not None:
        return is_object(call.start_input) or (ended and is_json(call.start_input))
    if arguments.is_complete and not arguments.has_trailing_text:
        return True
    may_be_empty = ended and context.may_be_empty(call.name)
    return (ended or arguments.is_complete) and arguments.reading(may_be_empty=may_be_empty)[1]


def is_sendable(
    reading: Reading, call: OpenCall, context: Context, on: Callable[[Defect], bool], *, ended: bool
) -> bool:
    """Whether a client that needs complete calls gets a call; `reading`: its arguments once it has ended.

    `on`: whether a defect's repair is on; `ended`: the provider ended the call, and did not truncate it.
    """
    repaired = reading.defect is None or (on(reading.defect) and not reading.is_ambiguous)
    return (repaired and is_object(reading.text)) or is_complete(call, context, ended=ended)


class Position(NamedTuple):
    """The position of a fragment in its call."""

    opens: bool = False
    """Whether it is the first."""
    ends: bool = False
    """Whether it completes the arguments."""


def at_once(text: str, position: Position) -> Sequence[str]:
    """One fragment."""
    return (text,)


def header_apart(text: str, position: Position) -> Sequence[str]:
    """An empty fragment for id and name, then the arguments."""
    return ("", text) if position.opens and text else (text,)


def empty_after_header(text: str, position: Position) -> Sequence[str]:
    """A second empty fragment after id and name without arguments."""
    return ("", "") if position.opens and not text else (text,)


def tiny_fragments(text: str, position: Position) -> Sequence[str]:
    """Fragments of a few characters; no surrogate pair is split."""
    parts: list[str] = []
    begin = 0
    while begin < len(text):
        end = begin + _TINY
        if end < len(text) and ord(text[end - 1]) in _HIGH:
            end += 1
        parts.append(text[begin:end])
        begin = end
    return parts or (text,)


def last_apart(text: str, position: Position) -> Sequence[str]:
    """The last character of complete arguments in its own fragment."""
    return (text[:-1], text[-1]) if position.ends and len(text) > 1 and text.endswith("}") else (text,)


class Policy(NamedTuple):
    """The encoding that one client supports."""

    names: tuple[str, ...] = ()
    """The shapes that it combines."""
    sequential: bool = False
    """Whether a call waits until the calls before it are complete."""
    complete_only: bool = False
    """Whether only complete calls are sent; an incomplete one is left out, and later indexes are lowered."""
    opens_with_text: bool = False
    """Whether the first fragment of a call must have arguments."""
    split: Callable[[str, Position], Sequence[str]] = at_once
    """Splits arguments into fragments; the first fragment is sent with id and name, if it opens the call."""
    even_ids: bool = False
    """Whether no id may be shorter than an earlier one."""
    one_call_per_event: bool = False
    """Whether an event may have only one call."""
    names_calls: bool | None = None
    """Whether deltas have the id and the name of their call (Responses); `None`: as the provider sends them."""
    combined: tuple[Policy, ...] = ()
    """The single policies, if several are combined."""

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return not self.names

    @property
    def withholds(self) -> bool:
        """Whether events may wait because of it."""
        return self.sequential or self.complete_only or self.opens_with_text

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The single policies."""
        return self.combined or (self,)

    def splitting(self, text: str, position: Position) -> tuple[str, ...]:
        """The names of the shapes that split these arguments."""
        return tuple(name for part in self.parts if len(part.split(text, position)) > 1 for name in part.names)

    def then(self, other: Policy) -> Policy:
        """The combination of both; this one splits the arguments first."""
        first, second = self.split, other.split

        def split(text: str, position: Position) -> Sequence[str]:
            parts = first(text, position)
            last = len(parts) - 1
            within = [Position(position.opens and at == 0, position.ends and at == last) for at in range(len(parts))]
            return [fragment for part, its in zip(parts, within, strict=True) for fragment in second(part, its)]

        return Policy(
            names=(*self.names, *other.names),
            sequential=self.sequential or other.sequential,
            complete_only=self.complete_only or other.complete_only,
            opens_with_text=self.opens_with_text or other.opens_with_text,
            split=second if first is at_once or other.complete_only else first if second is at_once else split,
            even_ids=self.even_ids or other.even_ids,
            one_call_per_event=self.one_call_per_event or other.one_call_per_event,
            names_calls=self.names_calls if other.names_calls is None else other.names_calls,
            combined=(*self.parts, *other.parts),
        )


NO_SHAPE: Final = Policy()
WHOLE_CALLS: Final = Policy(("whole-calls",), complete_only=True)
SEQUENTIAL: Final = Policy(("sequential",), sequential=True)
EVEN_IDS: Final = Policy(("even-ids",), even_ids=True)
ONE_CALL_PER_EVENT: Final = Policy(("one-call-per-event",), one_call_per_event=True)
TINY_FRAGMENTS: Final = Policy(("tiny-fragments",), split=tiny_fragments)
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
        Policy(("header-with-first-fragment",), opens_with_text=True),
        ONE_CALL_PER_EVENT,
        Policy(("split-header",), split=header_apart),
        TINY_FRAGMENTS,
        Policy(("late-brace",), split=last_apart),
        Policy(("empty-fragment",), split=empty_after_header),
        EVEN_IDS,
    )
}
"""The policies of Chat Completions, by the name of the shape."""


def combined(policies: Iterable[Policy]) -> Policy:
    """The combination of all, in this order."""
    return reduce(Policy.then, policies, NO_SHAPE)
