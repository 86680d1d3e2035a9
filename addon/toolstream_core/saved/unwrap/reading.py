"""Removes layers from a text, one after the other, until the events of one or more streams remain."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import Final

from toolstream_core.defects.finish import MISSING_DONE, MISSING_FINISH, TRUNCATED_STREAM
from toolstream_core.defects.framing import JOINED_EVENTS
from toolstream_core.defects.identity import MISSING_ID, MISSING_NAME, MISSING_TYPE, NULL_IDENTITY
from toolstream_core.model import ABSENT, Json, Note
from toolstream_core.printable import counted
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.saved.exchange import Exchange, RefusedError, UnreadableError
from toolstream_core.saved.unwrap import cut_text, http, marked_lines
from toolstream_core.saved.unwrap.events import FENCE, Found, Group, Scanner, has_finish, shows_streaming
from toolstream_core.saved.unwrap.lines import HEAD, FindLayer, Lines, encoded
from toolstream_core.saved.unwrap.parts import Parts, check_order
from toolstream_core.saved.unwrap.refusals import CODE, CUT, transcript
from toolstream_core.wire import numbers
from toolstream_core.wire.frame import CONTENT_TYPES, Form, parse

_LAYERS: Final[tuple[FindLayer, ...]] = (
    marked_lines.terminal_escapes,
    marked_lines.html_entities,
    marked_lines.typographic_quotes,
    cut_text.tshark_follow,
    cut_text.byte_dump,
    cut_text.trace_ascii,
    cut_text.separated_values,
    marked_lines.printed_fields,
    marked_lines.curl_verbose,
    cut_text.burp_items,
    cut_text.quoted_printable,
    cut_text.wireshark_packets,
    cut_text.in_base64,
    cut_text.wire_log,
    cut_text.container_log,
    cut_text.logged_chunks,
    cut_text.prefixed_chunks,
    marked_lines.unified_diff,
    marked_lines.grep_context,
    marked_lines.common_prefix,
    marked_lines.doubled_lines,
    cut_text.json_records,
    cut_text.cut_strings,
    marked_lines.doubled_backslashes,
    marked_lines.lost_backslashes,
    marked_lines.comments,
    cut_text.chunked_coding,
)
"""In the order in which they are tried, again after each layer."""
_MAX_LAYERS: Final = 12
_MAX_BEFORE: Final = 1000
"""Lines like events that are kept before one that a protocol recognises."""
_FIELD: Final = re.compile(r"(?:data|event|id|retry|error)(?::|$)|:")
_SHOWN: Final = 60
_FEW: Final = 16
_QUOTED: Final = 2
LOST_BY_OBJECTS: Final = frozenset({MISSING_DONE.code, NULL_IDENTITY.code})
"""Findings of objects without a framing: no [DONE], and a null where the client library fills in each field."""
_LOST_BY_PARTS: Final = frozenset({MISSING_FINISH.code, TRUNCATED_STREAM.code})
"""Findings of deltas and their entries, which have no finish reason, and of a single event."""
_LOST_BY_CONTINUATIONS: Final = frozenset({MISSING_NAME.code, MISSING_ID.code, MISSING_TYPE.code})
"""Findings of fragments of which none opens a call."""
_JOINED: Final = "the blank line before an event is missing, or two events share a data line"


def is_bare(lines: Lines) -> bool:
    """Whether a text is an unchanged response body, judged by its first lines.

    Raises `UnreadableError` if it has JSON lines of several responses, mixed with each other.
    """
    head = lines.head if lines.is_complete else lines.head[:-1] or lines.head
    filled = [line for line in head if line.strip()]
    if not filled:
        return True
    if _only_fields(head, filled):
        return joined_event(head) is None and _is_json(filled) and marked_lines.lost_backslashes(head) is None
    if filled[0].lstrip()[0] not in "{[":
        return False
    scanner = Scanner()
    found = list(scanner.scan(head))
    if scanner.others or not found or any(event.is_unread or event.group != Group("", "json") for event in found):
        return False
    check_order(found)
    if len(set(map(Parts(), found))) > 1:
        return False
    objects = sum(1 for line in filled if isinstance(parse(encoded(line)), dict))
    if filled[0].lstrip()[0] == "[":
        return True
    if len(found) == 1 and lines.is_complete:
        return not _is_event(found[0])
    return objects == len(filled)


def _is_event(found: Found) -> bool:
    """Whether an object is an event of an event stream, and cannot be a complete response."""
    if found.protocol is None or found.protocol.call_form is CallForm.WHOLE or _form(found) is not Form.EVENTS:
        return False
    return not (found.is_complete or found.may_be_complete)


def _is_json(filled: Iterable[str]) -> bool:
    """Whether data that looks like JSON is JSON at least once."""
    objects = [line[5:].strip(" \t") for line in filled if line.startswith("data:") and "{" in line]
    return not objects or any(isinstance(parse(encoded(text)), dict) for text in objects)


def is_settled(head: Sequence[str]) -> bool:
    """Whether the lines so far of a live text are a bare stream whose first event is complete."""
    if head[-1] and not head[-1].startswith("{"):
        return False
    filled = [line for line in head if line.strip()]
    return has_events(filled) and (bool(head[-1]) or _only_fields(head, filled)) and joined_event(head) is None


def has_events(lines: Iterable[str]) -> bool:
    """Whether a protocol recognises an event in lines."""
    return any(event.protocol and not event.group.path for event in Scanner().scan(lines))


def _only_fields(head: Sequence[str], filled: Sequence[str]) -> bool:
    return all(_FIELD.match(line) for line in filled) and not any(line.isspace() for line in head)


def joined_event(head: Iterable[str]) -> int | None:
    """The first event of an event stream whose block or data line holds a second one."""
    number, block = 0, 0
    for line in [*head, ""]:
        if not line:
            number += bool(block)
            block = 0
        elif line.startswith("data:"):
            text = line[5:].strip()
            complete = isinstance(parse(encoded(text)), dict) or text == "[DONE]"
            block += complete
            if block > 1 or (
                not complete and text.startswith("{") and len(list(islice(Scanner().scan([line]), 2))) > 1
            ):
                return number
    return None


def unwrapped(lines: Lines, undone: Sequence[Note] = (), *, parts: bool = False) -> Iterator[Exchange | None]:
    """The streams in a text; `None` if it is only one JSON value, the unchanged body.

    Read the chunks of a stream before the next stream. Raises `UnreadableError` if they can be read in two ways.
    `undone` are the layers that were removed before. With `parts`, the streams with only parts of events.
    """
    head = lines.head
    only = _only_fields(head, [line for line in head if line.strip()])
    removed: list[Note] = []
    while len(removed) < _MAX_LAYERS and (
        layer := next((candidate for find in _LAYERS if (candidate := find(lines.head))), None)
    ):
        removed.append(Note(layer.name, layer.message))
        lines = Lines(layer.apply(lines))
    if not http.has_head(lines.head):
        yield from _Streams(lines, undone, removed, http.HEADLESS, only_fields=only, parts=parts)
        return
    for exchange, body in http.messages(lines):
        yield from _Streams(body, undone, [*removed, Note("http-head", "HTTP heads")], exchange, parts=parts)


class _Streams:
    """The streams whose events are in lines."""

    def __init__(
        self,
        lines: Lines,
        undone: Sequence[Note],
        removed: Sequence[Note],
        exchange: Exchange,
        *,
        only_fields: bool = False,
        parts: bool = False,
    ) -> None:
        self._scanner = Scanner(parts=parts)
        self._parts = parts
        self._lines = lines
        self._undone = undone
        self._removed = removed
        self._exchange = exchange
        """The response by its head, if the text has one."""
        self._only_fields = only_fields
        self._rejected: set[Group] = set()
        self._live: set[Group] = set()
        self._ended = False
        """Whether there was the end of a response, or its reason."""
        self._leads: set[tuple[str, str]] = set()
        """The beginnings of events, and their places: a value with one is an event, also if it cannot be read."""
        self._streaming: set[Group] = set()
        """The groups of events of streams."""
        self._streamed: set[Json] = set()
        """The ids of the responses that are streamed."""

    def __iter__(self) -> Iterator[Exchange | None]:
        found = self._scanner.scan(self._lines)
        window = self._window(found)
        leads = {_begins(event) for event in window if event.protocol}
        self._check(window, leads)
        if not leads:
            return
        if self._is_quoted(window) or (self._parts and not _shows_streaming(window)):
            return
        complete = all(event.is_complete or event.may_be_complete for event in window if event.protocol)
        if complete and (why := transcript(self._lines.head)):
            raise RefusedError(why)
        self._decide(window)
        joined = joined_event(self._lines.head) if self._only_fields else None
        kept = filter(self._keeps, chain(window, found))
        begin = list(islice(kept, 2))
        for _, part in groupby(chain(begin, kept), key=Parts()):
            events = iter(part)
            first = list(islice(events, _FEW))
            lead = next((event for event in first if event.protocol), None)
            if lead is None:
                continue
            form = Form.WHOLE if lead.is_complete else Form.EVENTS if "data" in lead.group.notation else _form(lead)
            alone = len(begin) == 1 and lead.group.notation == "json" and not lead.group.path
            only = alone and _is_event(lead)
            if alone and not (only or self._removed or self._scanner.others or lead.before.strip()):
                yield None
                return
            facts = self._exchange.facts
            request = next((event.request for event in first if event.request is not ABSENT), facts.request)
            removed = [*self._undone, *self._removed, *_says(first)]
            yield replace(
                self._exchange,
                facts=replace(facts, content_type=facts.content_type or CONTENT_TYPES[form], request=request),
                chunks=self._chunks(chain(first, events), form, removed, joined=joined is not None),
                unwrapped=removed,
                lost=_lost(lead, form, window, is_only=only),
                findings=() if joined is None else (JOINED_EVENTS.found(joined, _JOINED),),
            )

    def _check(self, window: Sequence[Found], leads: Collection[tuple[str, str]]) -> None:
        """Raise `RefusedError` if events were printed in part."""
        cut = [event for event in window if event.is_cut and (_begins(event) in leads or not leads)]
        if len(cut) > 1:
            raise RefusedError(f"{CUT}, such as “{cut[0].data[:_SHOWN]}…”. Print them in full")
        if (self._scanner.elided and not leads) or any(event.is_elided and _begins(event) in leads for event in window):
            raise RefusedError(
                "holds printed objects with parts left out, such as [Object]."
                " Print whole events: JSON.stringify(chunk) in JavaScript, chunk.model_dump_json() in Python"
            )

    def _window(self, found: Iterator[Found]) -> list[Found]:
        """The events of 64 KB, from the first one that a protocol recognises."""
        before: deque[Found] = deque(maxlen=_MAX_BEFORE)
        window: list[Found] = []
        size = 0
        for event in found:
            if not window and event.protocol is None:
                before.append(event)
                continue
            window.append(event)
            size += len(event.data)
            if size > HEAD:
                break
        return [*before, *window]

    def _is_quoted(self, window: Sequence[Found]) -> bool:
        """Whether a text only quotes events: one or two of them, or inside source code."""
        if self._parts and sum(1 for line in self._lines.head if CODE.match(line)) > 1:
            return not any(map(FENCE.match, self._lines.head))
        known = [event for event in window if event.protocol]
        quoted = all(event.group.notation not in {"data", "json"} and not event.group.path for event in known)
        few = len(known) <= _QUOTED and self._scanner.others > _FEW
        return quoted and (few or _is_source(self._lines.head))

    def _keeps(self, found: Found) -> bool:
        self._ended = found.ends or (self._ended and not found.has_content)
        if found.is_gap:
            return not (self._ended or self._parts)
        if found.is_unread:
            kept = _begins(found) in self._leads
            self._scanner.others += not kept
            return kept
        if found.may_be_complete and (found.group not in self._streaming or found.response not in self._streamed):
            found.is_complete = True
        if found.group in self._rejected or (found.is_complete and self._repeats(found)):
            return False
        return found.protocol is not None or found.group in self._live

    def _repeats(self, found: Found) -> bool:
        """Whether a complete response is the result of a stream in the same text."""
        return bool(self._streaming) and (found.response is ABSENT or found.response in self._streamed)

    def _decide(self, window: Sequence[Found]) -> None:
        """Select the groups of events that are the stream. Raises `UnreadableError`."""
        groups: dict[Group, _Reading] = {}
        for place, event in enumerate(window):
            if event.protocol is None:
                continue
            self._live.add(event.group)
            self._leads.add(_begins(event))
            if event.is_complete or event.may_be_complete:
                continue
            self._streaming.add(event.group)
            self._streamed.add(event.response)
            if not event.stream:
                groups.setdefault(event.group, _Reading()).add(place, event)
        if not groups:
            return
        main = max(groups, key=lambda group: len(groups[group].places))
        for group, reading in groups.items():
            if group == main:
                continue
            best = groups[main]
            if reading.payloads <= best.payloads or (reading.overlaps(best) and reading.agrees(best)):
                self._rejected.add(group)
            elif reading.overlaps(best) and reading.ends and best.ends:
                raise UnreadableError(
                    f"can be read in two ways that differ: the events {_where(main)}, or the events {_where(group)}."
                    " Keep the lines of one of them"
                )
        check_order([event for event in window if event.group in groups and event.group not in self._rejected])

    def _chunks(self, events: Iterable[Found], form: Form, removed: list[Note], *, joined: bool) -> Iterator[bytes]:
        for event in events:
            name = _name(event) if form is Form.EVENTS else ""
            begin = f"event: {name}\n" if name else ""
            yield encoded(f"{begin}data: {event.data}\n\n" if form is Form.EVENTS else f"{event.data}\n")
        if self._scanner.others:
            removed.append(Note("other-lines", _lines(self._scanner.others)))
            self._scanner.others = 0
        if joined:
            removed.append(Note("joined-events", "blank lines between events were missing"))
        elif not removed and form is Form.EVENTS:
            removed.append(Note("spaces", "spaces at the ends of lines"))


@dataclass(slots=True)
class _Reading:
    """The events of one group, as far as they were examined."""

    places: list[int] = field(default_factory=list)
    payloads: set[str] = field(default_factory=set)
    """Its events, independent of the layout of their JSON."""
    text: str = ""
    ends: bool = False

    def add(self, place: int, found: Found) -> None:
        self.places.append(place)
        self.payloads.add(found.data if found.payload is ABSENT else numbers.dumps(found.payload))
        self.ends = self.ends or found.ends
        if found.content is not None:
            self.text += found.content.text + "".join(
                f"{each.name}{each.arguments}" for each in found.content.fragments
            )

    def overlaps(self, other: _Reading) -> bool:
        """Whether the events of both are mixed."""
        return self.places[0] < other.places[-1] and other.places[0] < self.places[-1]

    def agrees(self, other: _Reading) -> bool:
        """Whether one is the beginning of the other."""
        return self.text.startswith(other.text) or other.text.startswith(self.text)


def _shows_streaming(window: Sequence[Found]) -> bool:
    """Whether there are several parts of chunks, and one of them has a call and shows that it was streamed."""
    parts = [event for event in window if event.is_part]
    return len(parts) > 1 and any(isinstance(event.payload, dict) and shows_streaming(event.payload) for event in parts)


def _lost(lead: Found, form: Form, window: Sequence[Found], *, is_only: bool) -> frozenset[str]:
    """The codes of findings that only the form of the text causes. `is_only`: the text is one event."""
    objects = lead.is_part or (lead.group.notation.split()[-1] in {"json", "repr"} and form is Form.EVENTS)
    lost = LOST_BY_OBJECTS if objects else frozenset[str]()
    if (is_only and not lead.ends) or (lead.is_part and not any(map(_has_finish, window))):
        lost |= _LOST_BY_PARTS
    return lost | _LOST_BY_CONTINUATIONS if lead.is_part and not any(map(_has_name, window)) else lost


def _has_finish(found: Found) -> bool:
    return isinstance(found.payload, dict) and has_finish(found.payload)


def _has_name(found: Found) -> bool:
    return found.content is not None and any(fragment.name for fragment in found.content.fragments)


def _begins(found: Found) -> tuple[str, str]:
    return found.group.prefix, found.lead


def _is_source(head: Sequence[str]) -> bool:
    """Whether there is code before and after the first event, and no Markdown fence between them."""
    scanner = Scanner()
    code, seen = [False, False], False
    for line in head:
        if FENCE.match(line):
            return False
        seen = any(event.protocol for event in scanner.line(line)) or seen
        code[seen] = code[seen] or bool(CODE.match(line))
    return all(code)


def _form(lead: Found) -> Form:
    """The framing of a stream whose events were JSON in the text."""
    form = lead.protocol.api.stream_form if lead.protocol is not None else Form.LINES
    return form if form is Form.EVENTS else Form.LINES


def _name(found: Found) -> str:
    """The name of an event; an object has the name as its type."""
    kind = found.payload.get("type") if isinstance(found.payload, dict) else None
    return found.name or (kind if isinstance(kind, str) and "data" not in found.group.notation else "")


def _says(first: Sequence[Found]) -> list[Note]:
    """The text around the events."""
    lead = next(event for event in first if event.protocol)
    notes = []
    before = next((text for event in first if (text := event.before.strip(" \t\"',[({")) and event.protocol), "")
    if before:
        notes.append(Note("line-prefix", f"the text before each event, such as “{before[-_SHOWN:]}”"))
    if lead.is_part:
        notes.append(Note("chunk-parts", "the notation of separate parts of chunks"))
    if lead.group.path:
        notes.append(Note("records", f"records that hold the events in `{lead.group.path}`"))
    notation = lead.group.notation
    if "string" in notation:
        notes.append(Note("strings", "strings that hold the events"))
    elif notation == "repr":
        notes.append(Note("printed-objects", "the notation of printed objects"))
    elif (
        notation == "json" and _form(lead) is Form.EVENTS and not (lead.is_complete or lead.is_part or lead.group.path)
    ):
        notes.append(Note("json-values", "the notation of separate JSON values"))
    return notes


def _where(group: Group) -> str:
    """The place of the events of a group, for people."""
    if group.path:
        return f"in `{group.path}` of the records"
    how = {"json": "as JSON", "repr": "as printed objects", "data": "as data lines"}.get(group.notation, "in strings")
    return f"{how} after “{group.prefix}”" if group.prefix else how


def _lines(count: int) -> str:
    return counted(count, "other line")
