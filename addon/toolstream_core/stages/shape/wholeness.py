"""Whether a withheld call is complete, so that it may be sent. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.calls.resolver import is_cut
from toolstream_core.model import Kind

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import EventContent
    from toolstream_core.stages.context import Context


def turn_over(content: EventContent, choice: int | None = None) -> bool:
    """Whether an event ends the turn (of a choice) normally, so that none of its calls is truncated."""
    reasons = [finish.reason for finish in content.finishes if choice is None or finish.choice == choice]
    return (any(reasons) or content.end) and content.error is None and not any(map(is_cut, reasons))


def is_whole(call: OpenCall, context: Context, *, over: bool) -> bool:
    """Whether a call is complete; `over`: the provider ended the call or its turn.

    Arguments that are a closed object are complete in any case; other JSON, and no arguments of a tool that needs
    none, if the call is over. Two concatenated objects, and text that is not JSON, never are.
    """
    if call.kind is Kind.CUSTOM:
        return over
    arguments = call.arguments
    if arguments.empty and call.start_input is not None:
        return is_object(call.start_input) or (over and is_json(call.start_input))
    if arguments.whole and not arguments.spilled:
        return True
    may_be_empty = over and context.may_be_empty(call.name)
    return (over or arguments.whole) and arguments.reading(may_be_empty=may_be_empty)[1]
