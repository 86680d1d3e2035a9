"""The first `{}` of several calls, of which it is not known yet whether they stand for what follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.defects.wording import PLACEHOLDER_ARGUMENTS

if TYPE_CHECKING:
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.model import Fragment

# A call waits behind its `{}` for the next event. Where that only opens another call which says as little, both wait
# on; the first real arguments decide for all: if they are those of a call that waited, its `{}` was a placeholder, and
# so are the others'; if they are not, every `{}` is what it says. A call of which nothing else comes gets its `{}`
# back at the finish.

_LITTLE = re.compile(r"\s*(?:\{\s*\}|null)?\s*")


def opens(fragment: Fragment, earlier: list[KnownCall]) -> None:
    """A call opens with `fragment`: earlier ones need not wait for it, unless it says as little as they do."""
    little = _is_little(fragment)
    for known in earlier:
        if known.nothing:
            known.settle()
        if not (little and known.spelling.placeholder and known.mender.on(PLACEHOLDER_ARGUMENTS)):
            known.spelling.settle(known.judge)


def heard(fragment: Fragment, known: KnownCall, *, waited: bool) -> None:
    """A fragment of `known` has come, which had `waited` behind its `{}` or not: what that means for the others."""
    if _is_little(fragment):
        return
    for other in known.choice.known:
        if other is known or not other.spelling.placeholder:
            continue
        if waited and known.spelling.replaced:
            other.event = known.event
            other.spelling.presume(other.judge)
        else:
            other.spelling.settle(other.judge)


def _is_little(fragment: Fragment) -> bool:
    said = fragment.arguments
    return not isinstance(said, str) or _LITTLE.fullmatch(said) is not None
