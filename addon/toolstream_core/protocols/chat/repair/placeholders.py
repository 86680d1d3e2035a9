"""The first `{}` of several calls, of which it is not known yet whether they stand for what follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls.json_grammar import WS
from toolstream_core.defects.arguments import PLACEHOLDER_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.model import Fragment
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall

# A call waits behind its `{}` for the next event. Where that only opens another call which says as little, both wait
# on; the first real arguments decide for all: if they are those of a call that waited, its `{}` was a placeholder, and
# so are the others'; if they are not, every `{}` is what it says. A call of which nothing else comes gets its `{}`
# back at the finish. Only calls that wait are looked at, so that an answer of many calls costs no more for each.

_LITTLE = re.compile(rf"{WS}(?:\{{{WS}\}}|null)?{WS}")


def opens(fragment: Fragment, choice: Choice) -> None:
    """A call opens with `fragment`: earlier ones need not wait for it, unless it says as little as they do."""
    for client_call in choice.doubtful.values():
        client_call.forms.waits = False
        if client_call.nothing:
            choice.settle_call(client_call)
        if not client_call.spelling.placeholder:
            choice.decide(client_call)
    choice.doubtful.clear()
    if choice.placeholders and not (_is_little(fragment) and _mends(choice)):
        for client_call in choice.placeholders.values():
            choice.decide(client_call)
        choice.placeholders.clear()


def resolved(fragment: Fragment, choice: Choice, client_call: ClientCall, *, waited: bool) -> None:
    """A fragment of a call has come, which had `waited` behind its `{}` or not: what it means for others that wait."""
    if not _is_little(fragment):
        choice.placeholders.pop(id(client_call), None)
        for other in choice.placeholders.values():
            if waited and client_call.spelling.replaced:
                other.event = client_call.event
                other.spelling.presume(other.judge)
                choice.unfinished.touch(other)
                choice.keeping[id(other)] = other
            else:
                choice.decide(other)
        choice.placeholders.clear()
    waits(choice, client_call)


def waits(choice: Choice, client_call: ClientCall) -> None:
    """Remember a call that may still change."""
    spelling, call = client_call.spelling, client_call.call
    if spelling.waiting:
        waiting = choice.placeholders if spelling.placeholder else choice.doubtful
        waiting[id(client_call)] = client_call
    elif client_call.forms.waits or (not (call.id or call.name) and client_call.nothing):
        choice.doubtful[id(client_call)] = client_call


def _mends(choice: Choice) -> bool:
    return next(iter(choice.placeholders.values())).reporter.on(PLACEHOLDER_ARGUMENTS)


def _is_little(fragment: Fragment) -> bool:
    given = fragment.arguments
    return not isinstance(given, str) or _LITTLE.fullmatch(given) is not None
