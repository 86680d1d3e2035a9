"""Evidence for the call that a fragment belongs to: its ids, index, name and arguments."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import is_object, meaning, same_arguments, unwrapped
from toolstream_core.calls.open_call import nonblank
from toolstream_core.calls.scanner import WHITE
from toolstream_core.model import ABSENT, Kind, Phase

if TYPE_CHECKING:
    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import Fragment


def is_other_call(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment belongs to another call than the one of its item id or index.

    It does if its `call_id` differs, and its name or the call's complete arguments differ too.
    """
    key = "" if fragment.id is ABSENT else nonblank(fragment.id)
    if not key or not call.id or key == call.id:
        return False
    if _names_another(call, fragment):
        return True
    if fragment.phase is Phase.CLOSE and closes_fragment(call, fragment):
        return False
    return call.arguments.is_complete and contradicts(call, fragment)


def may_be_at(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment with an index may belong to an open call.

    It does not belong to a call without an index and with another item, unless it is a delta and the call incomplete.
    """
    if is_other_call(call, fragment):
        return False
    item = nonblank(fragment.item_id)
    if isinstance(call.index, int) or not (item and call.item_id) or item == call.item_id:
        return True
    return not (call.arguments.is_complete or nonblank(fragment.id))


def _names_another(call: OpenCall, fragment: Fragment) -> bool:
    name = nonblank(fragment.name)
    return bool(name and call.name) and name != call.name


def contradicts(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment's complete arguments differ from a call's complete arguments; `""` does not count."""
    text, arguments = fragment.arguments, call.arguments
    if not (isinstance(text, str) and text and arguments.is_complete):
        return False
    return not (arguments.is_json and text == arguments.text()) and not has_same_arguments(call, fragment)


def goes_on(head: str, delta: object) -> bool:
    """Whether a delta continues the arguments that an item was added with, and does not start them again."""
    text = ArgumentText()
    text.add(head)
    begun = text.viable and not text.ended and head.lstrip(WHITE).startswith(("{", '"'))
    text.add(delta if isinstance(delta, str) else "")
    return begun and text.viable


def opens_again(call: OpenCall, fragment: Fragment) -> bool:
    """Whether the event that adds an item repeats the arguments with which the item was added before."""
    return call.start_input is not None and fragment.arguments == call.start_input


def opens_late(call: OpenCall, fragment: Fragment) -> bool:
    """Whether the event that adds an item has arguments after deltas brought some: then the deltas count."""
    if call.arguments.empty or call.start_input is not None or call.kind is Kind.CUSTOM:
        return False
    return not of_other_item(call, fragment)


def corrects(call: OpenCall, fragment: Fragment) -> bool:
    """Whether the complete arguments differ from the deltas'. Some deltas were lost then: the complete ones count."""
    if call.kind is not Kind.FUNCTION or not has_other_object(call, fragment) or of_other_item(call, fragment):
        return False
    return isinstance(fragment.arguments, str) and not same_arguments(fragment.arguments, "{}")


def has_same_arguments(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment's complete arguments equal those of a call as JSON."""
    text = fragment.arguments
    return isinstance(text, str) and call.arguments.meaning == _meaning(text)


@lru_cache(maxsize=1)
def _meaning(arguments: str) -> str:
    """The value of complete arguments; cached, because one text is compared with those of several calls."""
    text = ArgumentText()
    text.add(arguments)
    return text.meaning if arguments.lstrip(WHITE).startswith('"') else meaning(arguments)


def may_repeat(call: OpenCall, fragment: Fragment) -> bool:
    """Whether an item of the terminal event repeats `call` under other ids."""
    return not _names_another(call, fragment) and not contradicts(call, fragment)


def is_another(owner: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment under a call's id begins another call, or closes one that no event added."""
    if fragment.phase is Phase.OPEN and _names_another(owner, fragment):
        return True
    if not of_other_item(owner, fragment):
        return False
    if fragment.phase is Phase.OPEN:
        if owner.kind is Kind.CUSTOM:
            return owner.closed
        if owner.arguments.empty:
            return not owner.closed
        return owner.arguments.is_complete and owner.arguments.meaning != "{}"  # which may be a placeholder
    return fragment.phase is Phase.CLOSE and _begins_other_object(owner, fragment)


def has_other_object(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment has a complete JSON object that differs from the call's."""
    text = fragment.arguments
    return isinstance(text, str) and contradicts(call, fragment) and is_object(unwrapped(text))


def closes_another(owner: OpenCall, fragment: Fragment) -> bool:
    """Whether an item that was treated as a fragment of a call has other arguments when it closes."""
    item = nonblank(fragment.item_id)
    if fragment.phase is not Phase.CLOSE or item in {"", owner.item_id} or closes_fragment(owner, fragment):
        return False
    return _begins_other_object(owner, fragment)


def _begins_other_object(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment starts with a complete JSON object that differs from the call's."""
    arguments = fragment.arguments
    if not isinstance(arguments, str):
        return False
    text = ArgumentText()
    text.add(arguments)
    return has_other_object(call, fragment._replace(arguments=text.ended_object() or arguments))


def of_other_item(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment belongs to another item than the one that began the call, by item id and index."""
    if isinstance(call.index, int) and isinstance(fragment.index, int) and call.index == fragment.index:
        return False
    item = nonblank(fragment.item_id)
    if item and call.item_id:
        return item != call.item_id
    return isinstance(call.index, int) and isinstance(fragment.index, int)


def closes_fragment(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a fragment closes the item of a call's last fragment and repeats that fragment."""
    text = fragment.arguments
    return isinstance(text, str) and of_other_item(call, fragment) and call.arguments.ends_in(text)
