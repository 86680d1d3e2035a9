"""The shape that sends arguments a few characters at a time. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.stage import Stage
from toolstream_core.wire.json_paths import known_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame

TINY: Final = 3
"""Characters of a tiny fragment."""
_HIGH = range(0xD800, 0xDC00)


def tiny(text: str) -> Iterator[str]:
    """The text in tiny fragments; no surrogate pair is split."""
    at = 0
    while at < len(text):
        end = at + TINY
        if end < len(text) and ord(text[end - 1]) in _HIGH:
            end += 1
        yield text[at:end]
        at = end


class SplitFragments(Stage):
    """Splits each argument delta into tiny ones. The first one keeps the unknown keys."""

    known: frozenset[str]
    """The keys that such an event has in this protocol, at any depth."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload = event.frame.json
        fragment = resolved[0].fragment if len(resolved) == 1 and resolved[0].call.kind is Kind.FUNCTION else None
        text = fragment.arguments if fragment is not None and fragment.phase is Phase.MORE else None
        if not isinstance(text, str) or len(text) <= TINY or not isinstance(payload, dict):
            return [self.other(event.frame)]
        name, number, writer = event.frame.name, event.frame.number, self._context.writer
        first, *rest = tiny(text)
        return [
            writer.rewrite(event.frame, self.delta(event.frame, first)),
            *(writer.make(known_only(self.delta(event.frame, piece), self.known), number, name) for piece in rest),
        ]

    def delta(self, frame: Frame, text: str) -> dict[str, Json]:
        """The payload of a delta with a part of its arguments."""
        raise NotImplementedError

    def other(self, frame: Frame) -> Frame:
        """Any other event."""
        return frame
