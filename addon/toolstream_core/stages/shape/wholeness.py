"""Whether a call that was held back is whole, so that it may be sent. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.model import Kind

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import EventContent


def turn_over(content: EventContent, choice: int | None = None) -> bool:
    """Whether an event says that the turn (of a choice) is over by itself, so that no call of it is cut off."""
    reasons = [finish.reason for finish in content.finishes if choice is None or finish.choice == choice]
    return (any(reasons) or content.end) and content.error is None and not any(map(is_cut, reasons))


def is_whole(call: OpenCall, *, over: bool) -> bool:
    """Whether nothing of a call is missing; `over`: the protocol said that the call, or its turn, is over.

    Arguments that a bracket or quote opens are whole when it is closed, whatever the protocol says; no arguments, and
    text that is not JSON, are whole when the call is over.
    """
    if call.kind is Kind.CUSTOM:
        return over
    arguments = call.arguments
    if arguments.ended or arguments.whole or (arguments.empty and call.start_input is not None):
        return True
    return over and not arguments.text().lstrip().startswith(("{", "[", '"'))
