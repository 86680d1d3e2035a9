"""Finish reasons of one protocol, and those of other protocols that mean the same. A table; knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _no_other_spelling(reason: str) -> str | None:
    del reason
    return None


class FinishWords(NamedTuple):
    """The finish reasons of one protocol."""

    called: str
    """The reason of a response with calls."""
    complete: str
    """The reason of a complete response without calls."""
    foreign: Mapping[str, str]
    """The protocol's own reason for each reason of another protocol."""
    own: Callable[[str], str | None] = _no_other_spelling
    """The protocol's own reason for another spelling of it."""

    def translated(self, reason: str) -> str:
        """The reason in the protocol's own words."""
        return self.foreign.get(reason) or self.own(reason) or reason

    def is_complete(self, reason: str) -> bool:
        """Whether a reason reports a complete response, with or without calls."""
        return self.translated(reason) in (self.called, self.complete)

    def wanted(self, reason: str, *, runs: bool) -> str:
        """The reason that a client needs; `runs`: it has calls and can run each of them."""
        intended = self.translated(reason)
        return self.called if runs and intended == self.complete else intended
