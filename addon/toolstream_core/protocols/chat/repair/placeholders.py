"""The first `{}` of several calls, of which it is not known yet whether they stand for what follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.defects.arguments import PLACEHOLDER_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.model import Fragment
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall

# A call waits behind its `{}` for the next event. Where that only opens another call which says as little, both wait
# on; the first real arguments decide for all: if they are those of a call that waited, its `{}` was a placeholder, and
# so are the others'; if they are not, every `{}` is what it says. A call of which nothing else comes gets its `{}`
# back at the finish. Only calls that wait are looked at, so that an answer of many calls costs no more for each.

_LITTLE = re.compile(r"\s*(?:\{\s*\}|null)?\s*")


def opens(fragment: Fragment, choice: Choice) -> None:
    """A call opens with `fragment`: earlier ones need not wait for it, unless it says as little as they do."""
    for known in choice.doubtful.values():
        known.forms.waits = False
        if known.nothing:
            choice.settle_call(known)
        if not known.spelling.placeholder:
            choice.decide(known)
    choice.doubtful.clear()
    if choice.placeholders and not (_is_little(fragment) and _mends(choice)):
        for known in choice.placeholders.values():
            choice.decide(known)
        choice.placeholders.clear()


def resolved(fragment: Fragment, choice: Choice, known: ClientCall, *, waited: bool) -> None:
    """A fragment of `known` has come, which had `waited` behind its `{}` or not: what that means for the others."""
    if choice.placeholders and not _is_little(fragment):
        choice.placeholders.pop(id(known), None)
        for other in choice.placeholders.values():
            if waited and known.spelling.replaced:
                other.event = known.event
                other.spelling.presume(other.judge)
                choice.unfinished.touch(other)
                choice.keeping[id(other)] = other
            else:
                choice.decide(other)
        choice.placeholders.clear()
    waits(choice, known)


def waits(choice: Choice, known: ClientCall) -> None:
    """Remember a call that may still change."""
    spelling, call = known.spelling, known.call
    if spelling.waiting:
        waiting = choice.placeholders if spelling.placeholder else choice.doubtful
        waiting[id(known)] = known
    elif known.forms.waits or (not (call.id or call.name) and known.nothing):
        choice.doubtful[id(known)] = known


def _mends(choice: Choice) -> bool:
    return next(iter(choice.placeholders.values())).reporter.on(PLACEHOLDER_ARGUMENTS)


def _is_little(fragment: Fragment) -> bool:
    said = fragment.arguments
    return not isinstance(said, str) or _LITTLE.fullmatch(said) is not None
