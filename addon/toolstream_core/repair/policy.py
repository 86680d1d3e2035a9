"""Needs of clients that read less than their protocol allows: when a call may be sent, and in how many fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.stages.shape.small_fragments import tiny
from toolstream_core.stages.shape.wholeness import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.repair.client import ClientCall, Turn
    from toolstream_core.stages.context import Context


def always(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """Everything that is certain may be sent."""
    del turn, one, context, over
    return True


def in_turn(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """A call may be sent once all earlier calls are complete."""
    del context
    before = turn.calls[: one.order]
    return over or all(earlier.intended.call.arguments.whole or earlier.intended.nothing for earlier in before)


def complete(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """A complete call may be sent after all earlier ones, once more of it is unlikely; incomplete ones are left out."""
    if one.is_open or not is_whole(one.intended.call, context, over=turn.complete):
        return one.is_open
    if over or turn.finished:
        return True
    is_followed = one.order < len(turn.calls) - 1 or not one.intended.call.runs.more_than(1)
    return is_followed and all(earlier.is_open for earlier in turn.calls[: one.order])


def with_text(turn: Turn, one: ClientCall, context: Context, over: bool) -> bool:  # noqa: FBT001
    """A call may be sent once some of its arguments have come."""
    del turn, context
    return over or one.is_open or bool(one.intended.call.arguments.size)


def at_once(one: ClientCall, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """In one fragment."""
    del one, opens
    return (text,)


def header_apart(one: ClientCall, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """The fragment with id and name carries no arguments."""
    del one
    return ("", text) if opens and text else (text,)


def empty_behind_header(one: ClientCall, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """After id and name without arguments, one empty fragment follows."""
    del one
    return ("", "") if opens and not text else (text,)


def tiny_pieces(one: ClientCall, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """A few characters at a time."""
    del one, opens
    return list(tiny(text)) or (text,)


def last_apart(one: ClientCall, opens: bool, text: str) -> Sequence[str]:  # noqa: FBT001
    """The last character of complete arguments is sent alone."""
    del opens
    ends = one.intended.call.arguments.whole and len(text) > 1 and text.endswith("}")
    return (text[:-1], text[-1]) if ends else (text,)


class Policy(NamedTuple):
    """What one client needs."""

    may_send: Callable[[Turn, ClientCall, Context, bool], bool] = always
    """Whether anything of a call may be sent now; `over`: nothing more comes."""
    cut: Callable[[ClientCall, bool, str], Sequence[str]] = at_once
    """The pieces in which arguments are sent; the first goes with what the call opens with, where it does."""
    leaves_out: bool = False
    """Whether incomplete calls are never sent: the index of later ones is lowered."""
    even_ids: bool = False
    """Whether no id may be shorter than an earlier one."""
    alone: bool = False
    """Whether an event speaks of one call alone."""

    @property
    def is_letter(self) -> bool:
        """Whether it asks for nothing else than the protocol."""
        return self == LETTER

    @property
    def holds(self) -> bool:
        """Whether something may have to wait for it."""
        return self.may_send is not always


LETTER: Final = Policy()
POLICIES: Final = {
    "whole-calls": Policy(may_send=complete, leaves_out=True),
    "sequential": Policy(may_send=in_turn),
    "header-with-first-fragment": Policy(may_send=with_text),
    "one-call-per-event": Policy(alone=True),
    "split-header": Policy(cut=header_apart),
    "tiny-fragments": Policy(cut=tiny_pieces),
    "late-brace": Policy(cut=last_apart),
    "empty-fragment": Policy(cut=empty_behind_header),
    "even-ids": Policy(even_ids=True),
}
"""By the name of the shape."""
