"""Reads and writes the events of a `BlockProtocol` for injected defects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.model import ABSENT, Event, Json, Kind
from toolstream_core.repair.blocks.protocol import BlockEvent, BlockProtocol
from toolstream_core.stages.inject.codec import EventCodec, Part, Path, Replaced, What
from toolstream_core.stages.inject.words import deltas
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.write import Writer

_OF_CALLS: Final = frozenset({What.START, What.DELTA, What.STOP})


class BlockCodec(EventCodec):
    """The events of one stream."""

    def __init__(self, protocol: BlockProtocol) -> None:
        """`protocol`: the table of events."""
        self._protocol = protocol
        self.paths, self.complete = protocol.paths, protocol.words.complete

    @override
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        read = self._protocol.read(event.frame)
        if read is None:
            return ()
        call = resolved[0].call if resolved and resolved[0].call.kind is Kind.FUNCTION else None
        what = What.OTHER if call is None and read.what in _OF_CALLS else read.what
        return (Part(what, read.kind, read.body, call),)

    @override
    def put(self, part: Part, name: str, value: Json) -> Part:
        if name == "line":
            return part._replace(line=value)
        return super().put(part, name, value) if _has_place(part.body, self.path(part.what, name)) else part

    @override
    def new(self, part: Part, what: What) -> Part:
        replaced = Part(what, "", self._protocol.new[what], part.call)
        index = self.get(part, "index")
        return replaced if what not in _OF_CALLS or index is ABSENT else self.put(replaced, "index", index)

    @override
    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        cut = deltas("\n".join(texts))
        place = 0 if index is ABSENT else index
        for what, body in self._protocol.text_block(place, ""):
            bodies = (
                [dict(self._protocol.text_block(place, text))[what] for text in cut] if what is What.DELTA else [body]
            )
            yield from (Part(what, "", one) for one in bodies)

    @override
    def frames(self, event: Event, replaced: Sequence[Replaced], writer: Writer, *, ends_stream: bool) -> list[Frame]:
        [(received, parts)] = replaced
        own = next((one for one in parts if one is received), None) or next((one for one in parts if one.kind), None)
        return [self._frame(event.frame, received, one, own, writer) for one in parts]

    def _frame(self, frame: Frame, received: Part, part: Part, own: Part | None, writer: Writer) -> Frame:
        protocol = self._protocol
        if part is own and part is received:
            return frame
        if part is own and part.kind == received.kind:
            if part.line is not None or isinstance(part.body, bytes):
                return writer.rewrite(frame, part.body, part.line)
            event = BlockEvent(received.what, received.kind, received.body)
            return protocol.rewrite(writer, frame, event, part.body)
        line = bool(part.line) or protocol.keyed(frame)
        return protocol.make(writer, part.what, part.body, frame.number, line=line)


def _has_place(body: Json, path: Path) -> bool:
    """Whether only objects are on the path to a field."""
    inner: Any = body
    for key in path:
        if not isinstance(inner, dict):
            return False
        inner = inner.get(key, {})
    return True
