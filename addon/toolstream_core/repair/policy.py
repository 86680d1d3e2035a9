"""Needs of clients that read less than their protocol allows: when a call may be sent, and in how many fragments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.stages.shape.small_fragments import tiny

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
    "sequential": Policy(may_send=in_turn),
    "header-with-first-fragment": Policy(may_send=with_text),
    "one-call-per-event": Policy(alone=True),
    "split-header": Policy(cut=header_apart),
    "tiny-fragments": Policy(cut=tiny_pieces),
    "late-brace": Policy(cut=last_apart),
    "empty-fragment": Policy(cut=empty_behind_header),
}
"""By the name of the shape."""
