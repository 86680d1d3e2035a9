"""Reads and writes the fields of complete calls for the causes of defects. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.defects.causes.at import Part
from toolstream_core.defects.causes.what import What
from toolstream_core.model import ABSENT
from toolstream_core.stages.inject.codec import EventCodec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.repair.complete_form import CompleteCallForm, Entry
    from toolstream_core.stages.inject.codec import Replaced
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.json_paths import Path
    from toolstream_core.wire.write import Writer


class CompleteCodec(EventCodec):
    """The calls of an event, each as a part with the form's fields."""

    ends_bare = True

    def __init__(self, form: CompleteCallForm) -> None:
        """`form`: where the protocol has its calls."""
        self._form = form
        self._entries: list[Entry] = []
        """The calls of the current event."""

    @override
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        self._entries = self._form.entries(event.frame.json, resolved)
        return [Part(What.START, "call", one.fields, one.call) for one in self._entries]

    @override
    def get(self, part: Part, name: str) -> Json:
        return part.body.get(name, ABSENT)

    @override
    def put(self, part: Part, name: str, value: Json) -> Part:
        return part._replace(body={**part.body, name: value})

    @override
    def new(self, part: Part, what: What) -> Part:
        return Part(what, "", self._form.failure, part.call)

    @override
    def earlier_ids(self, request: Json) -> frozenset[str]:
        return self._form.earlier_ids(request)

    @override
    def frames(self, event: Event, made: Sequence[Replaced], writer: Writer, *, over: bool) -> list[Frame]:
        if over:
            return [writer.rewrite(event.frame, self._form.failure)]
        changes: dict[Path, Json] = {}
        for entry, (_, [part]) in zip(self._entries, made, strict=True):
            changes |= self._form.changes(entry, part.body)
        return [self._form.rewritten(event, changes, writer)]
