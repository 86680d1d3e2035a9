"""The JSON paths of complete calls in a protocol's events, for repair, faults and shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.calls.json_text import has_nothing
from toolstream_core.model import ABSENT, Event, Fragment, Json
from toolstream_core.repair.fields import Fields
from toolstream_core.stages.inject.codec import EventCodec, Part, Replaced, What
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import Path, changed
from toolstream_core.wire.json_value import Payload
from toolstream_core.wire.write import Writer

PARTIAL: Final = frozenset({"patches", "goes_on"})
"""Fields that only calls in several events have."""

type Changes = Mapping[Path, Json]
"""New values by path; `ABSENT` removes."""
type Located = tuple[Path, Json]
"""A call in an event: its path and its value."""


class Entry(NamedTuple):
    """A call in an event."""

    path: Path
    fragment: Fragment
    call: OpenCall
    fields: Fields
    """The form's fields that the call has."""
    name: str
    """`""` if the entry has no name."""
    is_partial: bool
    """Whether the call is streamed in several events."""
    is_text_part: bool
    """Whether the arguments are a part of JSON text, where an object belongs."""

    @property
    def lacks_arguments(self) -> bool:
        """Whether the entry names a call without arguments."""
        return bool(self.name) and not self.is_partial and has_nothing(self.fragment.arguments)


class CompleteCallForm(NamedTuple):
    """The JSON paths of calls in the events of a protocol, and how to change such an event."""

    calls: Callable[[Json], Sequence[Located]]
    """The calls of an event: one item for each of the reader's fragments."""
    fields: Mapping[str, Path]
    """The paths of `id`, `name` and `arguments` within a call, and of `PARTIAL` if calls can be streamed."""
    defects: frozenset[str]
    """The names of the defects that the protocol's streams can have."""
    split_end: Callable[[Json], tuple[Json, Json] | None]
    """Splits the last event into its content and the end of the response; `None` if it has no content."""
    failure: Payload
    """The event that reports a failed call."""
    failed: frozenset[str] = frozenset()
    """The finish reasons that report a failed call."""
    entry: Callable[[Path], Path] = lambda path: path
    """The path of the part that is removed from an event with a call."""
    signatures: tuple[str, ...] = ()
    """The keys of a part for a signature, which the client has to return."""
    emptied: Callable[[Json], Json] | None = None
    """Tidies an event after calls were removed from it."""
    is_empty: Callable[[Json], bool] = lambda _: False
    """Whether an event need not be sent after calls were removed from it."""
    apart: Callable[[Json], Sequence[Json]] = lambda payload: [payload]
    """Splits an event into one for each call."""
    joins_text: bool = False
    """Whether arguments may also arrive as JSON text in several entries."""
    is_lines: bool = False
    """Whether events are JSON lines, of which the last one may lack its line feed."""

    def entries(self, payload: Json, resolved: Sequence[ResolvedFragment]) -> list[Entry]:
        """The calls of an event; none if they differ from the resolved ones."""
        if not resolved:
            return []
        found = self.calls(payload)
        if len(found) != len(resolved):
            return []
        out: list[Entry] = []
        before: Path | None = None
        for (path, value), (fragment, call) in zip(found, resolved, strict=True):
            if path is before:
                continue
            before = path
            fields: Fields = {}
            for name, steps in self.fields.items():
                one = value
                for step in steps:
                    one = one.get(step, ABSENT) if isinstance(one, dict) else ABSENT
                if one is not ABSENT:
                    fields[name] = one
            text = fields.get("name")
            is_partial = not PARTIAL.isdisjoint(fields)
            name = text if isinstance(text, str) else ""
            is_text_part = False
            if self.joins_text and "arguments" in fields and fields["arguments"].__class__ is str:
                is_text_part = not (name and call.arguments.last_complete)
            out.append(Entry(path, fragment, call, fields, name, is_partial, is_text_part))
        return out

    def changes(self, entry: Entry, fields: Fields | None) -> dict[Path, Json]:
        """The changes after which an event has these fields of a call; `None` removes the call."""
        if fields is None:
            return {self.entry(entry.path): ABSENT}
        return {
            entry.path + self.fields[name]: fields.get(name, ABSENT)
            for name in {**entry.fields, **fields}
            if fields.get(name, ABSENT) is not entry.fields.get(name, ABSENT)
        }

    def signature(self, payload: Json, entry: Entry) -> Json:
        """The signature beside a call; `None` if there is none."""
        found = (json_access.get(payload, *self.entry(entry.path), key) for key in self.signatures)
        return next(filter(None, found), None)

    def without_call(self, entry: Entry) -> dict[Path, Json]:
        """The changes that remove a call, and leave its part with all other keys."""
        return {entry.path: ABSENT, (*self.entry(entry.path), "text"): ""}

    def other_keys(self, payload: Json, entry: Entry, other_payload: Json, other: Entry) -> dict[Path, Json]:
        """The keys, apart from the arguments, that `other`, an entry of the same call, has and `entry` lacks."""
        pairs = {entry.path: other.path, self.entry(entry.path): self.entry(other.path)}
        pairs |= {entry.path + steps[:-1]: other.path + steps[:-1] for steps in self.fields.values()}
        known = {other.path, *(other.path + path for name, path in self.fields.items() if name not in {"id", "name"})}
        return {
            (*mine, key): value
            for mine, theirs in pairs.items()
            for key, value in json_access.get(other_payload, *theirs).items()
            if (*theirs, key) not in known and not json_access.get(payload, *mine, key)
        }

    def frames_apart(self, event: Event, changes: Changes, writer: Writer) -> list[Frame]:
        """The changed event in two frames: its content, and the end of the response; one frame without content."""
        frame = event.frame
        split = self.split_end(self.written(frame.json, changes))
        if split is None:
            return [self.rewritten(event, changes, writer)]
        content, end = writer.ended(writer.rewrite(frame, split[0])), writer.make(split[1], frame.number)
        if frame.trailing:
            end = Frame(end.raw.rstrip(), end.number, end.data, trailing=True)
        return [content, end]

    def written(self, payload: Json, changes: Changes) -> Json:
        """The changed payload."""
        if not changes:
            return payload
        replaced = changed(payload, changes)
        return self.emptied(replaced) if self.emptied is not None and ABSENT in changes.values() else replaced

    def rewritten(self, event: Event, changes: Changes, writer: Writer) -> Frame:
        """The changed event's frame; the same frame without changes."""
        return writer.rewrite(event.frame, self.written(event.frame.json, changes)) if changes else event.frame


class CompleteCodec(EventCodec):
    """Reads and writes the calls of an event for injected defects."""

    ends_bare = True

    def __init__(self, form: CompleteCallForm) -> None:
        """`form`: the JSON paths of the protocol's calls."""
        self._form = form
        self._entries: list[Entry] = []
        """The calls of the current event."""

    @override
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        self._entries = self._form.entries(event.frame.json, resolved)
        return [Part(What.START, "call", one.fields, one.call) for one in self._entries]

    @override
    def new(self, part: Part, what: What) -> Part:
        return Part(what, "", self._form.failure, part.call)

    @override
    def frames(self, event: Event, replaced: Sequence[Replaced], writer: Writer, *, ends_stream: bool) -> list[Frame]:
        if ends_stream:
            return [writer.rewrite(event.frame, self._form.failure)]
        changes: dict[Path, Json] = {}
        doubled: list[Path] = []
        for entry, (_, [part, *again]) in zip(self._entries, replaced, strict=True):
            changes |= self._form.changes(entry, part.body)
            doubled += [self._form.entry(entry.path)] * len(again)
        payload = self._form.written(event.frame.json, changes) if changes else event.frame.json
        for *path, place in reversed(doubled):
            entries = [*json_access.items(json_access.get(payload, *path))]
            entries.insert(int(place), entries[int(place)])
            payload = changed(payload, {tuple(path): entries})
        return [event.frame if payload is event.frame.json else writer.rewrite(event.frame, payload)]
