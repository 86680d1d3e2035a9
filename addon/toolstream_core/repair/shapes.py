"""Needs of clients that read less than their protocol allows: when a call may be sent, and in how many fragments."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.defects.identity import DOUBLED_CALL
from toolstream_core.model import Kind
from toolstream_core.repair.difference import lack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.defect import Defect
    from toolstream_core.repair.client_call import ClientCall, Turn
    from toolstream_core.repair.reading import Reading
    from toolstream_core.stages.context import Context

MAX_HELD: Final = 16 * 1024 * 1024
"""The bytes of waiting events above which no call waits until it is complete."""
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


def always(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """Everything that is certain may be sent."""
    del turn, one, context, over
    return True


def _is_sent(one: ClientCall) -> bool:
    """Whether the client has all of a complete call, or gets none of it."""
    return one.intended.nothing or one.defect is DOUBLED_CALL or (not one.intended.silent and _has_all(one))


def _has_all(one: ClientCall) -> bool:
    """Whether the client has all arguments of a complete call."""
    return (one.intended.is_complete_object or one.intended.silent) and not lack(one, "").text


def in_turn(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """A call may be sent once all earlier calls are complete."""
    del context
    return over or all(map(_is_sent, turn.calls[: one.order]))


def _has_come(one: ClientCall) -> bool:
    """Whether no event with more of its arguments waits."""
    return one.received >= one.intended.meaning.received.size


def _may_become_complete(turn: Turn, one: ClientCall, context: Context) -> bool:
    """Whether a call that the client lacks is complete, or may yet be."""
    return not (turn.finished and _has_come(one)) or is_complete(one.intended.call, context, over=turn.complete)


def complete(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """A complete call may be sent after all earlier ones, once more of it is unlikely; incomplete ones are left out."""
    if one.is_open or not (_has_come(one) and is_complete(one.intended.call, context, over=turn.complete)):
        return one.is_open
    if over:
        return True
    if not lack(one, "", upto=one.received).text:
        return False
    is_followed = turn.finished or one.order < len(turn.calls) - 1 or not one.intended.call.runs.more_than(1)
    before = [earlier for earlier in turn.calls[: one.order] if not earlier.is_open]
    return is_followed and not any(_may_become_complete(turn, earlier, context) for earlier in before)


def with_text(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """A call may be sent once some of its arguments have come."""
    del turn, context
    return over or one.is_open or one.text.diverged or bool(lack(one, "", upto=one.received).text)


def at_once(one: ClientCall | None, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """In one fragment."""
    del one, opens
    return (text,)


def header_apart(one: ClientCall | None, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """The fragment with id and name carries no arguments."""
    del one
    return ("", text) if opens and text else (text,)


def empty_after_header(one: ClientCall | None, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """After id and name without arguments, one empty fragment follows."""
    del one
    return ("", "") if opens and not text else (text,)


def tiny_fragments(one: ClientCall | None, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """A few characters at a time; no surrogate pair is split."""
    del one, opens
    parts: list[str] = []
    at = 0
    while at < len(text):
        end = at + _TINY
        if end < len(text) and ord(text[end - 1]) in _HIGH:
            end += 1
        parts.append(text[at:end])
        at = end
    return parts or (text,)


def last_apart(one: ClientCall | None, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """The last character of complete arguments is sent alone."""
    del opens
    ends = one is not None and len(text) > 1 and text.endswith("}") and _has_all(one)
    return (text[:-1], text[-1]) if ends else (text,)


class Policy(NamedTuple):
    """The needs of one client."""

    names: tuple[str, ...] = ()
    """The shapes that serve it."""
    may_send: Callable[[Turn, ClientCall, Context, bool], bool] = always
    """Whether anything of a call may be sent now; `over`: the provider sends no more of it. Responses does not ask."""
    cut: Callable[[ClientCall | None, bool, str], Sequence[str]] = at_once
    """The fragments in which arguments are sent; the first is sent with the call's header, if it opens."""
    leaves_out: bool = False
    """Whether a call is sent only when it is complete; an incomplete one is left out, and later indexes are lowered."""
    even_ids: bool = False
    """Whether no id may be shorter than an earlier one."""
    alone: bool = False
    """Whether an event speaks of one call alone."""
    names_calls: bool | None = None
    """Whether deltas have the id and the name of their call (Responses); `None`: as the provider sends them."""
    parts: tuple[Policy, ...] = ()
    """The single policies, if several are combined."""

    @property
    def shapes_nothing(self) -> bool:
        """Whether it asks for nothing else than the protocol."""
        return not self.names

    @property
    def holds(self) -> bool:
        """Whether something may have to wait for it."""
        return self.may_send is not always

    def withholding(self, turn: Turn, one: ClientCall, context: Context, *, over: bool) -> tuple[str, ...]:
        """The shapes for which nothing of a call may be sent now."""
        parts = self.parts or (self,)
        return tuple(name for part in parts if not part.may_send(turn, one, context, over) for name in part.names)

    def cutting(self, one: ClientCall, text: str, *, opens: bool) -> tuple[str, ...]:
        """The shapes for which arguments are sent in several fragments."""
        return tuple(
            name for part in self.parts or (self,) if len(part.cut(one, opens, text)) > 1 for name in part.names
        )

    def then(self, other: Policy) -> Policy:
        """The needs of a client that needs both. Arguments are cut for this one first."""
        first, second = self.cut, other.cut

        def cut(one: ClientCall | None, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
            parts = enumerate(first(one, opens, text))
            return [fragment for at, part in parts for fragment in second(one, opens and at == 0, part)]

        def may_send(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
            return self.may_send(turn, one, context, over) and other.may_send(turn, one, context, over)

        return Policy(
            (*self.names, *other.names),
            may_send if self.holds and other.holds else other.may_send if other.holds else self.may_send,
            second if first is at_once or other.leaves_out else first if second is at_once else cut,
            self.leaves_out or other.leaves_out,
            self.even_ids or other.even_ids,
            self.alone or other.alone,
            self.names_calls if other.names_calls is None else other.names_calls,
            (*(self.parts or (self,)), *(other.parts or (other,))),
        )


NO_SHAPE: Final = Policy()
WHOLE_CALLS: Final = Policy(("whole-calls",), may_send=complete, leaves_out=True)
SEQUENTIAL: Final = Policy(("sequential",), may_send=in_turn)
EVEN_IDS: Final = Policy(("even-ids",), even_ids=True)
ONE_CALL_PER_EVENT: Final = Policy(("one-call-per-event",), alone=True)
TINY_FRAGMENTS: Final = Policy(("tiny-fragments",), cut=tiny_fragments)
SELF_CONTAINED_DELTAS: Final = WHOLE_CALLS._replace(names=("self-contained-deltas",), names_calls=True)
BARE_DELTAS: Final = Policy(("bare-deltas",), names_calls=False)
OF_BLOCKS: Final = {one.names[0]: one for one in (WHOLE_CALLS, TINY_FRAGMENTS)}
"""Those of protocols that stream content blocks, by the name of the shape."""
OF_RESPONSES: Final = {
    one.names[0]: one for one in (WHOLE_CALLS, SELF_CONTAINED_DELTAS, BARE_DELTAS, TINY_FRAGMENTS, SEQUENTIAL)
}
"""Those of Responses, by the name of the shape."""
POLICIES: Final = {
    one.names[0]: one
    for one in (
        WHOLE_CALLS,
        SEQUENTIAL,
        Policy(("header-with-first-fragment",), may_send=with_text),
        ONE_CALL_PER_EVENT,
        Policy(("split-header",), cut=header_apart),
        TINY_FRAGMENTS,
        Policy(("late-brace",), cut=last_apart),
        Policy(("empty-fragment",), cut=empty_after_header),
        EVEN_IDS,
    )
}
"""Those of Chat Completions, by the name of the shape."""


def combined(policies: Iterable[Policy]) -> Policy:
    """The needs of a client that needs all of them, in this order."""
    return reduce(Policy.then, policies, NO_SHAPE)
