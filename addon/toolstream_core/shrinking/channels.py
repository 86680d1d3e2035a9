"""Text that is spread over events: a call's arguments, answer text, reasoning. Read by our own reader."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import Phase
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.shrinking.tree import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent, Json
    from toolstream_core.shrinking.candidate import Turn
    from toolstream_core.shrinking.tree import Path


class Part(NamedTuple):
    """One event's part of a text."""

    piece: int
    """Its place in the answer's pieces."""
    path: Path
    """Where it is in the event's JSON."""
    text: str


@dataclass(slots=True)
class Channel:
    """A text as its parts, in order."""

    arguments: bool
    """Whether it is the arguments of a call."""
    parts: list[Part] = field(default_factory=list)

    @property
    def cumulative(self) -> bool:
        """Whether each part repeats all text before it."""
        texts = [part.text for part in self.parts]
        return len(texts) > 1 and all(new.startswith(old) for old, new in pairwise(texts))

    @property
    def text(self) -> str:
        """All of it."""
        return self.parts[-1].text if self.cumulative else "".join(part.text for part in self.parts)


def channels(turn: Turn) -> list[Channel]:
    """The texts of an answer, in the order in which they begin."""
    sink = _ChannelSink(turn)
    read_body(
        (chunk.data for chunk in turn.chunks), turn.exchange, broken=turn.broken, sinks=[sink], dialects=_READING_ALL
    )
    return list(sink.channels.values())


def _never_quiet(raw: bytes, frames: int) -> bool:
    del raw, frames
    return False


_READING_ALL = tuple(replace(dialect, quiet=_never_quiet) for dialect in PROTOCOLS)
"""The protocols, with every frame read."""


class _ChannelSink(Sink):
    """Collects which string of which event is part of which text."""

    live = True
    each = True

    def __init__(self, turn: Turn) -> None:
        """Events have the numbers of the pieces of `turn` with data."""
        self.channels: dict[object, Channel] = {}
        self._numbers = [number for number, piece in enumerate(turn.pieces) if piece.counts]

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        if event.frame.number >= len(self._numbers):
            return
        payload = event.frame.json
        for one in fragments:
            if one.fragment.phase is Phase.MORE and isinstance(one.fragment.arguments, str):
                self._add(("call", id(one.call)), event, payload, one.fragment.arguments)
        self._add("text", event, payload, content.text)
        self._add("thought", event, payload, content.thought)

    def _add(self, key: object, event: Event, payload: Json, text: str) -> None:
        path = next((path for path, _, value in nodes(payload) if value == text), None) if text else None
        if path is not None:
            channel = self.channels.setdefault(key, Channel(arguments=isinstance(key, tuple)))
            channel.parts.append(Part(self._numbers[event.frame.number], path, text))
