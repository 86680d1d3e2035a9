"""Finish reasons of one protocol, translated from those of other protocols. Knows no protocol."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SAME_AS: Final = {
    **dict.fromkeys(("stop", "stop_sequence", "end_turn", "end_of_turn", "eos", "eos_token"), "complete"),
    **dict.fromkeys(("complete", "completed"), "complete"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), "called"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens"), "cut"),
    **dict.fromkeys(("content_filter", "safety"), "filtered"),
}
"""The field of `FinishWords` for each reason of any protocol."""


_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class FinishWords(NamedTuple):
    """The finish reasons of one protocol."""

    called: str
    """The reason of a response with calls."""
    complete: str
    """The reason of a complete response without calls."""
    cut: str
    """The reason of a response that reached the limit of tokens."""
    filtered: str
    """The reason of a response that a filter stopped; `""` if there is none."""
    others: tuple[str, ...] = ()
    """Further reasons."""

    def translated(self, reason: str) -> str:
        """The protocol's own reason for a reason of any protocol."""
        if reason in self[:4] or reason in self.others:
            return reason
        plain = _plain(reason)
        for own in (self.called, self.complete, self.cut, self.filtered, *self.others):
            if _plain(own) == plain:
                return own
        same: str = getattr(self, _SAME_AS[plain]) if plain in _SAME_AS else ""
        return same or reason

    def is_complete(self, reason: str) -> bool:
        """Whether a reason reports a complete response, with or without calls."""
        return self.translated(reason) in (self.called, self.complete)

    def wanted(self, reason: str, *, runs: bool) -> str:
        """The reason that a client needs; `runs`: it has calls and can run each of them."""
        intended = self.translated(reason)
        return self.called if runs and intended == self.complete else intended


def _plain(reason: str) -> str:
    """A reason in snake case."""
    return _HUMP.sub("_", reason).lower().replace("-", "_")
