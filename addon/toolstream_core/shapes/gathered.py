"""Shapes that say a call's arguments otherwise: all at once, or a few characters at a time. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.stage import Context, Stage
from toolstream_core.model import Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

TINY: Final = 3
"""Characters of a tiny fragment."""
_HIGH = range(0xD800, 0xDC00)


def tiny(text: str) -> Iterator[str]:
    """The text in tiny pieces; no surrogate pair is cut."""
    at = 0
    while at < len(text):
        end = at + TINY
        if end < len(text) and ord(text[end - 1]) in _HIGH:
            end += 1
        yield text[at:end]
        at = end


class Gathered(Stage):
    """Holds the argument deltas of each call and says them in one, before the event that follows them."""

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._texts: dict[int, list[str]] = {}
        self._first: dict[int, Event] = {}
        self._held: list[tuple[OpenCall, Frame]] = []

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return bool(self._held)

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        if len(heard) != 1 or heard[0].call.kind is not Kind.FUNCTION:
            over = event.said.end or event.said.error or event.said.finishes
            return [*(self.release() if over else ()), event.frame]
        fragment, call = heard[0]
        if fragment.phase is Phase.MORE and isinstance(fragment.arguments, str):
            self._texts.setdefault(id(call), []).append(fragment.arguments)
            self._first.setdefault(id(call), event)
            self._held.append((call, event.frame))
            return []
        if fragment.phase is Phase.OPEN:
            return [event.frame]
        return [*self._said(call), event.frame]

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        del clean
        return self.release()

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        held, self._held = self._held, []
        self._texts.clear()
        self._first.clear()
        return [frame for _, frame in held]

    def delta(self, payload: dict[str, Json], text: str, call: OpenCall) -> dict[str, Json]:
        """A delta like `payload` with all arguments."""
        raise NotImplementedError

    def _said(self, call: OpenCall) -> Iterator[Frame]:
        """The one delta of a call."""
        texts, first = self._texts.pop(id(call), None), self._first.pop(id(call), None)
        if texts is None or first is None or not isinstance(first.frame.json, dict):
            return
        self._held = [one for one in self._held if one[0] is not call]
        delta = self.delta(first.frame.json, "".join(texts), call)
        yield self._context.writer.rewrite(first.frame, delta)


class Scattered(Stage):
    """Says each argument delta in tiny ones."""

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        fragment = heard[0].fragment if len(heard) == 1 and heard[0].call.kind is Kind.FUNCTION else None
        said = fragment.arguments if fragment is not None and fragment.phase is Phase.MORE else None
        if not isinstance(said, str) or len(said) <= TINY or not isinstance(payload, dict):
            return [self.other(event.frame)]
        name, number = event.frame.name, event.frame.number
        return [self._context.writer.make(self.delta(payload, piece), number, name) for piece in tiny(said)]

    def delta(self, payload: dict[str, Json], text: str) -> dict[str, Json]:
        """A delta like `payload` with a piece of its arguments."""
        raise NotImplementedError

    def other(self, frame: Frame) -> Frame:
        """Any other event."""
        return frame
