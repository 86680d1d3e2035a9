"""Events that nobody could read, in which a part of a call may have been. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.model import Event

_OF_CALLS: Final = (b'"arguments"', b'"partial_json"', b'"tool_calls"', b'"toolUse"', b'"delta"')
"""Keys under which protocols say calls, or what is next of them."""


def is_unread(event: Event) -> bool:
    """Whether a call may lack what an event says that is too large, not JSON, or of no kind that is known here.

    Comments sent as data, `[DONE]`, and events of unknown kinds that have no key of calls are not unread.
    """
    frame = event.frame
    if frame.oversize:
        return True
    data = (frame.data or b"").strip()
    if not data or data.startswith(b":") or data == b"[DONE]":
        return False
    return frame.json is ABSENT or any(key in data for key in _OF_CALLS)


def hides_arguments(event: Event) -> bool:
    """Whether arguments stand in an event of calls under keys that nobody knows, so that the calls lack them."""
    fragments = event.content.fragments
    if not fragments or any(one.arguments is not ABSENT for one in fragments):
        return False
    return b'"arguments"' in event.frame.raw
