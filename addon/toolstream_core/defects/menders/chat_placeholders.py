"""The first `{}` of several calls, of which it is not known yet whether they stand for what follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.defects.wording import PLACEHOLDER_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.chat_state import Choice
    from toolstream_core.model import Fragment

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
            known.settle()
        if not known.spelling.placeholder:
            known.decide()
    choice.doubtful.clear()
    if choice.placeholders and not (_is_little(fragment) and _mends(choice)):
        for known in choice.placeholders.values():
            known.decide()
        choice.placeholders.clear()


def heard(fragment: Fragment, known: KnownCall, *, waited: bool) -> None:
    """A fragment of `known` has come, which had `waited` behind its `{}` or not: what that means for the others."""
    choice = known.choice
    if not _is_little(fragment):
        choice.placeholders.pop(id(known), None)
        for other in choice.placeholders.values():
            if waited and known.spelling.replaced:
                other.event = known.event
                other.spelling.presume(other.judge)
                choice.unfinished.touch(other)
                choice.keeping[id(other)] = other
            else:
                other.decide()
        choice.placeholders.clear()
    waits(known)


def waits(known: KnownCall) -> None:
    """Remember a call that may still change."""
    if known.spelling.placeholder:
        known.choice.placeholders[id(known)] = known
    elif known.spelling.waiting or known.nothing or known.forms.waits:
        known.choice.doubtful[id(known)] = known


def _mends(choice: Choice) -> bool:
    return next(iter(choice.placeholders.values())).mender.on(PLACEHOLDER_ARGUMENTS)


def _is_little(fragment: Fragment) -> bool:
    said = fragment.arguments
    return not isinstance(said, str) or _LITTLE.fullmatch(said) is not None
