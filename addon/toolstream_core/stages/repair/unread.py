"""Unreadable events, which may contain a part of a call. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.model import Event

_OF_CALLS: Final = (b'"arguments"', b'"partial_json"', b'"tool_calls"', b'"toolUse"', b'"delta"')
"""Keys under which protocols have calls or parts of them."""


def is_unread(event: Event) -> bool:
    """Whether a call may lack the content of an event that is too large, not JSON, or of an unknown kind.

    Comments sent as data, `[DONE]`, and events of unknown kinds without a key of calls do not count.
    """
    frame = event.frame
    if frame.oversize:
        return True
    data = (frame.data or b"").strip()
    if not data or data.startswith(b":") or data == b"[DONE]":
        return False
    return frame.json is ABSENT or any(key in data for key in _OF_CALLS)


def hides_arguments(event: Event) -> bool:
    """Whether an event of calls has arguments under unknown keys, which the calls therefore lack."""
    fragments = event.content.fragments
    if not fragments or any(one.arguments is not ABSENT for one in fragments):
        return False
    return b'"arguments"' in event.frame.raw
