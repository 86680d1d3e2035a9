"""Protocols whose calls are started and stopped by events: their table of events and fields, and its codec."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, override

from toolstream_core.defects.causes.argument_text import pieces
from toolstream_core.defects.causes.at import Part
from toolstream_core.defects.causes.what import What
from toolstream_core.model import ABSENT, Kind
from toolstream_core.stages.inject.codec import EventCodec, put
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.inject.codec import Path, Payload, Replaced
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

_OF_CALLS: Final = frozenset({What.START, What.DELTA, What.STOP})


class BlockEvent(NamedTuple):
    """One event."""

    what: What
    kind: str
    """The type of the event in the protocol."""
    body: Payload
    """The object that has the event's fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockForm:
    """The events of one protocol, and where they have their fields."""

    read: Callable[[Frame], BlockEvent | None]
    rewrite: Callable[[Writer, Frame, Payload], Frame]
    """The frame of an event with another body."""
    make: Callable[[Writer, What, Payload, int, bool], Frame]
    """The frame of a new event with this number; the flag: whether it is marked as the stream's events are."""
    marked: Callable[[Frame], bool] = lambda frame: bool(frame.name)
    """Whether an event has an event line, or a key with its type."""
    paths: Mapping[What, Mapping[str, Path]]
    """Where each event has its fields. A field that is not listed is a key of the event."""
    new: Mapping[What, Payload]
    """New events."""
    text_block: Callable[[Json, str], Iterable[tuple[What, Payload]]]
    """The events of a text block at an index."""
    complete: str
    """The finish reason of a response without calls."""
    earlier_ids: Callable[[Json], frozenset[str]]
    extra: Mapping[str, Path] = field(default_factory=dict)
    """Where all events have fields that a valid event lacks."""


class BlockCodec(EventCodec):
    """The codec of a `BlockForm`."""

    def __init__(self, form: BlockForm) -> None:
        """`form` is the protocol's."""
        self._form = form
        self.complete = form.complete

    @override
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        said = self._form.read(event.frame)
        if said is None:
            return ()
        call = resolved[0].call if resolved and resolved[0].call.kind is Kind.FUNCTION else None
        what = What.OTHER if call is None and said.what in _OF_CALLS else said.what
        return (Part(what, said.kind, said.body, call),)

    @override
    def get(self, part: Part, name: str) -> Json:
        return json_access.get(part.body, *self._path(part.what, name))

    @override
    def put(self, part: Part, name: str, value: Json) -> Part:
        if name == "line":
            return part._replace(line=value)
        if name == "data":
            return part._replace(body=value)
        path = self._path(part.what, name)
        return part._replace(body=put(part.body, path, value)) if _has_place(part.body, path) else part

    def _path(self, what: What, name: str) -> Path:
        return self._form.paths.get(what, {}).get(name) or self._form.extra.get(name) or (name,)

    @override
    def new(self, part: Part, what: What) -> Part:
        made = Part(what, "", self._form.new[what], part.call)
        index = self.get(part, "index")
        return made if what not in _OF_CALLS or index is ABSENT else self.put(made, "index", index)

    @override
    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        cut = pieces("\n".join(texts))
        place = 0 if index is ABSENT else index
        for what, body in self._form.text_block(place, ""):
            bodies = [dict(self._form.text_block(place, text))[what] for text in cut] if what is What.DELTA else [body]
            yield from (Part(what, "", one) for one in bodies)

    @override
    def earlier_ids(self, request: Json) -> frozenset[str]:
        return self._form.earlier_ids(request)

    @override
    def frames(self, event: Event, made: Sequence[Replaced], writer: Writer, *, over: bool) -> list[Frame]:
        [(came, parts)] = made
        own = next((one for one in parts if one is came), None) or next((one for one in parts if one.kind), None)
        return [self._frame(event.frame, came, one, own, writer) for one in parts]

    def _frame(self, frame: Frame, came: Part, part: Part, own: Part | None, writer: Writer) -> Frame:
        form = self._form
        if part is own and part is came:
            return frame
        if part is own and part.kind == came.kind:
            if part.line is not None or isinstance(part.body, bytes):
                return writer.rewrite(frame, part.body, part.line)
            return form.rewrite(writer, frame, part.body)
        return form.make(writer, part.what, part.body, frame.number, bool(part.line) or form.marked(frame))


def _has_place(body: Json, path: Path) -> bool:
    """Whether only objects are on the path to a field."""
    inner: Any = body
    for key in path:
        if not isinstance(inner, dict):
            return False
        inner = inner.get(key, {})
    return True
