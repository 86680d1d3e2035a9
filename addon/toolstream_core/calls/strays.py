"""Fragments of one call under indexes that are not its own, which may turn out to be nobody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ArgumentText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import Fragment, Seen

MAX_STRAYS = 1024
"""Such fragments of one call after which they are the call's for good."""


class Strays:
    """Those of one answer's calls, as long as no fragment under the call's own index came."""

    def __init__(self) -> None:
        """None yet."""
        self._of: dict[int, list[tuple[Fragment, int]]] = {}

    @property
    def calls(self) -> tuple[int, ...]:
        """The positions of the calls that have such."""
        return tuple(self._of)

    def may_take(self, call: OpenCall) -> bool:
        """Whether nothing of a call's arguments has come, or only such as came under other indexes."""
        return not call.arguments.size or call.position in self._of

    def add(self, call: OpenCall, fragment: Fragment, event: int) -> None:
        """A call is given a fragment under another index; `event` is its number."""
        found = self._of.setdefault(call.position, [])
        found.append((fragment, event))
        if len(found) >= MAX_STRAYS or call.arguments.truncated:
            self.forget(call)

    def has(self, call: OpenCall) -> bool:
        """Whether the call's arguments so far are such."""
        return call.position in self._of

    def forget(self, call: OpenCall) -> None:
        """They are the call's."""
        self._of.pop(call.position, None)

    def taken_back(self, call: OpenCall, own: Fragment) -> list[tuple[Fragment, int]]:
        """The fragments that are not the call's, with their events: `own` comes under its index and begins anew."""
        found = self._of.get(call.position)
        if not found or not own.arguments:
            return []
        if _goes_on(call.arguments, own.arguments):
            self.forget(call)
            return []
        return self.given_back(call)

    def given_back(self, call: OpenCall) -> list[tuple[Fragment, int]]:
        """All such fragments of a call, with their events: they are nobody's."""
        found = self._of.pop(call.position, [])
        if found:
            call.arguments, call.guessed = call.arguments.renewed(), False
        return found


def go_on(pieces: Sequence[object], piece: object) -> bool:
    """Whether `piece` goes on with arguments of which these came first; what is not text does not."""
    said = ArgumentText()
    for one in pieces:
        if not isinstance(one, str):
            return False
        said.add(one)
    return isinstance(piece, str) and _goes_on(said, piece)


def _goes_on(said: ArgumentText, piece: Seen[str]) -> bool:
    """White space goes on with anything, so it says nothing of it."""
    blank = isinstance(piece, str) and not piece.strip()
    return not blank and said.viable and not said.ended and not said.restarted_by(piece)
