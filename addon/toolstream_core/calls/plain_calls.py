"""Calls as a plain client gathers them: by the index alone, without any guess. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import meaning
from toolstream_core.calls.open_call import nonblank
from toolstream_core.calls.plain_call import PlainCall, Said
from toolstream_core.model import Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from toolstream_core.model import Call, EventContent, Fragment, Seen

MAX_CALLS: Final = 256
"""The most calls that are checked."""
MAX_KEPT: Final = 1024 * 1024
"""Characters of the arguments of all calls together; what comes behind them is not looked after."""

type Key = tuple[int, Seen[int]]
"""Choice and index."""


class PlainCalls:
    """The calls of a stream as a plain client gathers them."""

    def __init__(self) -> None:
        """No fragment arrived."""
        self._calls: dict[Key, PlainCall] = {}
        self._left: list[PlainCall] = []
        """Calls whose index was reused by another call."""
        self._last: PlainCall | None = None
        self._room = MAX_KEPT
        """Characters that may still be kept."""
        self.others: list[Said] = []
        """What was said of calls whose arguments are no JSON, or at the end."""
        self._replaced: list[str] = []
        """Whole arguments of calls that were said to be others later."""
        self.top = -1
        """The highest index."""

    def copy(self) -> PlainCalls:
        """A copy that grows independently."""
        other = PlainCalls()
        other._calls = {key: call.copy() for key, call in self._calls.items()}
        other._left = [call.copy() for call in self._left]
        other._last = next((other._calls[key] for key, call in self._calls.items() if call is self._last), None)
        other.others = [*self.others]
        other.top, other._room = self.top, self._room
        return other

    def take(self, content: EventContent, number: int = 0) -> None:
        """The fragments of event `number`."""
        for fragment in content.fragments:
            index, phase = fragment.index, fragment.phase
            if isinstance(index, int) and index > self.top:
                self.top = index
            if phase is Phase.WHOLE or fragment.kind is not Kind.FUNCTION:
                self._note_other(fragment, at_end=content.end)
                continue
            call = self._calls.get((fragment.choice, index))
            if call is None or (phase is Phase.OPEN and not (call.name and call.whole)):
                call = self._open(fragment)
            self._last, call.at = call, number
            if phase is not Phase.MORE or (fragment.name and not call.name):
                self._take_head(call, fragment)
            if phase is Phase.MORE and isinstance(fragment.arguments, str):
                self._room = call.add(fragment.arguments, self._room, well_formed=fragment.well_formed)

    def leave(self, places: Iterable[Seen[int]]) -> None:
        """Something other than a call begins at these places."""
        for place in places:
            self._leave((0, place))

    def on_skipped(self, text: str) -> None:
        """More arguments of the last call."""
        if self._last is not None:
            self._room = self._last.add(text, self._room)

    def whole(self, waiting: Collection[int] | None = None, *, odd: bool = True) -> list[Said]:
        """The calls that a client can run; `odd`: whether it takes parts in another form than the protocol's too.

        With `waiting` events, by number, only those that nothing more is due of: the last event of a call is not among
        them, and all of it came in the protocol's own form.
        """
        calls = self._all()
        if waiting is not None:
            calls = [call for call in calls if call.strict is None and call.at not in waiting]
        return [said for call in calls if (said := call.said(odd=odd)) is not None]

    @property
    def odd(self) -> bool:
        """Whether parts arrived in another form than the protocol's."""
        return any(call.strict is not None for call in self._all())

    def meanings(self, *, odd: bool) -> set[str]:
        """Of all arguments that are whole, or were, be they a call's that has a name or not."""
        texts = [call.object(odd=odd) for call in self._all()] + self._replaced
        return {meaning(text) for text in texts if text} | {one.meaning for one in self.others}

    @property
    def silent(self) -> bool:
        """Whether a call was closed without any arguments."""
        return any(call.silent for call in self._all())

    def _all(self) -> list[PlainCall]:
        return [*self._left, *self._calls.values()]

    def _open(self, fragment: Fragment) -> PlainCall:
        """A new call under the index of a fragment; it is forgotten where there are too many."""
        key = (fragment.choice, fragment.index)
        self._leave(key)
        call = PlainCall(fragment.choice)
        if len(self._calls) + len(self._left) < MAX_CALLS:
            self._calls[key] = call
        return call

    def _leave(self, key: Key) -> None:
        """Something else has this index now."""
        before = self._calls.pop(key, None)
        if before is not None:
            self._left.append(before)

    def _take_head(self, call: PlainCall, fragment: Fragment) -> None:
        """Whatever deltas seldom or never have."""
        if fragment.phase is Phase.OPEN or not call.name:
            call.name = nonblank(fragment.name) or call.name
        arguments, phase = fragment.arguments, fragment.phase
        call.closed = call.closed or phase not in {Phase.MORE, Phase.OPEN}
        if phase is Phase.MORE or not isinstance(arguments, str):
            return
        if phase is not Phase.OPEN:
            if call.whole not in {None, arguments} and len(self._replaced) < MAX_CALLS:
                self._replaced.append(call.object(odd=True))
            self._room = call.say(arguments, self._room)
        elif arguments:
            self._room = call.add(arguments, self._room, well_formed=False)
            call.given_up = call.given_up or not fragment.well_formed

    def _note_other(self, fragment: Fragment, *, at_end: bool) -> None:
        seen = at_end or fragment.kind is Kind.CUSTOM
        arguments = fragment.arguments if isinstance(fragment.arguments, str) else ""
        if seen and len(self.others) < MAX_CALLS and len(arguments) <= self._room:
            self._room -= len(arguments)
            self.others.append(Said(fragment.choice, nonblank(fragment.name), arguments))


def lacking(
    came: PlainCalls, sent: PlainCalls, read: Callable[[], Sequence[Call]], waiting: Collection[int] | None = None
) -> list[Said]:
    """The calls that a client has whole from what came, and not from what was sent, where they are `read` so too.

    `waiting` as for `PlainCalls.whole`: those may still be sent. A call that was sent, and neither came nor is read
    so, is one of them in another form.
    """
    out: dict[str, Said] = {}
    for odd in (True, False) if came.odd or sent.odd else (True,):
        whole = came.whole(waiting, odd=odd)
        has = [*sent.whole(odd=odd), *sent.others]
        means = {one.meaning for one in has} | ({"{}"} if sent.silent else set())
        left = [one for one in whole if one.meaning not in means]
        if not left:
            continue
        complete = [call for call in read() if call.complete]
        meant = {meaning(call.arguments) for call in complete if call.name}
        known = {meaning(call.arguments) for call in complete} | came.meanings(odd=odd)
        changed = [one.name for one in has if one.meaning not in known]
        for one in left:
            if one.name in changed:
                changed.remove(one.name)
            elif one.meaning in meant:
                out.setdefault(one.meaning, one)
    return list(out.values())
