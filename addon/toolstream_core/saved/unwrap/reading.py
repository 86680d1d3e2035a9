"""Takes wrappings off a text, one after the other, until the events of one or more streams are left."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT, Note
from toolstream_core.printable import counted
from toolstream_core.saved.exchange import RefusedError, UnreadableError
from toolstream_core.saved.unwrap import http
from toolstream_core.saved.unwrap.events import FENCE, Found, Group, Scanner
from toolstream_core.saved.unwrap.forms import FORMS
from toolstream_core.saved.unwrap.lines import HEAD, Lines, encoded
from toolstream_core.wire.form import CONTENT_TYPES, Form
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.model import Json
    from toolstream_core.saved.unwrap.http import Message


_MAX_LAYERS: Final = 12
_MAX_BEFORE: Final = 1000
"""Lines like events that are kept before one that a protocol recognises."""
_FIELD: Final = re.compile(r"(?:data|event|id|retry|error)(?::|$)|:")
_SHOWN: Final = 60
_FEW: Final = 16
_QUOTED: Final = 2
_CODE: Final = re.compile(
    r"\s*(?:import \w|from [\w.]+ import |(?:async )?def \w|class \w|return\b|assert\b|package \w|#include |use \w+::"
    r"|(?:export )?(?:const|let|var) \w+|(?:export |async )*function[ *(]|(?:pub )?fn \w|func [\w(]"
    r"|(?:public|private|static) |expect\(|(?:it|test|describe)\()"
)


@dataclass(slots=True)
class Unwrapped:
    """A bare stream that was found in a text."""

    chunks: Iterable[bytes]
    """Consume them before the next stream."""
    content_type: str
    removed: list[Note]
    """The removed layers; complete once the chunks are consumed."""
    message: Message
    """The head of the response, where the text has one."""
    request: Json = ABSENT
    bare: bool = False
    """Whether it is all that the text holds, one JSON value: the text is the unchanged body."""
    objects: bool = False
    """Whether the events stood there as objects, which have no [DONE] and no end of the stream."""
    joined: int | None = None
    """The first event that shares its block with another one, where that is all that is odd."""


def is_bare(lines: Lines) -> bool:
    """Whether a text is an unchanged response body, judged by its first lines."""
    head = lines.head if lines.is_complete else lines.head[:-1] or lines.head
    filled = [line for line in head if line.strip()]
    if not filled:
        return True
    if _only_fields(head, filled):
        return joined_event(head) is None and _is_json(filled)
    if filled[0].lstrip()[0] not in "{[":
        return False
    scanner = Scanner()
    found = list(scanner.scan(head))
    if scanner.others or not found or any(one.group != Group("", "json") for one in found):
        return False
    objects = sum(1 for line in filled if isinstance(parse(encoded(line)), dict))
    return filled[0].lstrip()[0] == "[" or objects == len(filled) or (len(found) == 1 and lines.is_complete)


def _is_json(filled: Iterable[str]) -> bool:
    """Whether data that looks like JSON is JSON, once at least."""
    objects = [line[5:].strip() for line in filled if line.startswith("data:") and "{" in line]
    return not objects or any(isinstance(parse(encoded(one)), dict) for one in objects)


def is_settled(head: Sequence[str]) -> bool:
    """Whether the lines so far of a text that comes live are a bare stream whose first event is complete."""
    if head[-1] and not head[-1].startswith("{"):
        return False
    filled = [line for line in head if line.strip()]
    known = any(one.dialect and not one.group.path for one in Scanner().scan(filled))
    return known and (bool(head[-1]) or _only_fields(head, filled)) and joined_event(head) is None


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


def unwrapped(lines: Lines) -> Iterator[Unwrapped]:
    """The streams in a text. Raises `UnreadableError` where they can be read in two ways."""
    head = lines.head
    only = _only_fields(head, [line for line in head if line.strip()])
    removed: list[Note] = []
    while len(removed) < _MAX_LAYERS and (step := next((one for form in FORMS if (one := form(lines.head))), None)):
        removed.append(Note(step.name, step.message))
        lines = Lines(step.apply(lines))
    if not http.has_head(lines.head):
        yield from _Streams(lines, removed, http.Message(), only_fields=only)
        return
    for message, body in http.messages(lines):
        yield from _Streams(body, [*removed, Note("http-head", "HTTP heads")], message)


class _Streams:
    """The streams whose events stand in lines."""

    def __init__(self, lines: Lines, removed: list[Note], message: Message, *, only_fields: bool = False) -> None:
        self._scanner = Scanner()
        self._lines = lines
        self._removed = removed
        self._message = message
        self._only_fields = only_fields
        self._rejected: set[Group] = set()
        self._live: set[Group] = set()
        self._wholes = True
        """Whether responses without streaming count: not beside a stream, whose result they are."""

    def __iter__(self) -> Iterator[Unwrapped]:
        found = self._scanner.scan(self._lines)
        window = self._window(found)
        if not any(one.dialect for one in window):
            if self._scanner.elided:
                raise RefusedError(
                    "holds printed objects with parts left out, such as [Object]."
                    " Print whole events: JSON.stringify(chunk) in JavaScript, chunk.model_dump_json() in Python"
                )
            return
        if self._is_quoted(window):
            return
        self._decide(window)
        joined = joined_event(self._lines.head) if self._only_fields else None
        for _, part in groupby(filter(self._keeps, chain(window, found)), key=_Parts()):
            events = iter(part)
            first = list(islice(events, _FEW))
            lead = next((one for one in first if one.dialect), None)
            if lead is None:
                continue
            form = Form.WHOLE if lead.is_complete else Form.EVENTS if "data" in lead.group.notation else _form(lead)
            alone = len(first) == 1 and lead.group.notation == "json" and not lead.group.path
            bare = alone and not (self._removed or self._scanner.others or lead.before.strip())
            removed = [*self._removed, *_says(first)]
            yield Unwrapped(
                self._chunks(chain(first, events), form, removed, joined=joined is not None),
                CONTENT_TYPES[form],
                removed,
                self._message,
                next((one.request for one in first if one.request is not ABSENT), self._message.request),
                bare,
                lead.group.notation in {"json", "repr"} and form is Form.EVENTS,
                joined,
            )

    def _window(self, found: Iterator[Found]) -> list[Found]:
        """The events of 64 KB from the first one that a protocol recognises on."""
        before: deque[Found] = deque(maxlen=_MAX_BEFORE)
        window: list[Found] = []
        size = 0
        for one in found:
            if not window and one.dialect is None:
                before.append(one)
                continue
            window.append(one)
            size += len(one.data)
            if size > HEAD:
                break
        return [*before, *window]

    def _is_quoted(self, window: Sequence[Found]) -> bool:
        """Whether a text only quotes events: one or two of them, or inside source code."""
        known = [one for one in window if one.dialect]
        quoted = all(one.group.notation not in {"data", "json"} and not one.group.path for one in known)
        few = len(known) <= _QUOTED and self._scanner.others > _FEW
        return quoted and (few or _is_source(self._lines.head))

    def _keeps(self, one: Found) -> bool:
        if one.group in self._rejected or (one.is_complete and not self._wholes):
            return False
        return one.dialect is not None or one.group in self._live

    def _decide(self, window: Sequence[Found]) -> None:
        """Which groups of events are the stream. Raises `UnreadableError`."""
        groups: dict[Group, _Reading] = {}
        for place, one in enumerate(window):
            if one.dialect is not None and not one.is_complete and not one.stream:
                groups.setdefault(one.group, _Reading()).add(place, one)
        self._wholes = not any(one.dialect and not one.is_complete for one in window)
        self._live = {one.group for one in window if one.dialect}
        if not groups:
            return
        main = max(groups, key=lambda group: len(groups[group].places))
        for group, reading in groups.items():
            if group == main:
                continue
            best = groups[main]
            if reading.payloads <= best.payloads or (reading.beside(best) and reading.agrees(best)):
                self._rejected.add(group)
            elif reading.beside(best) and reading.ends and best.ends:
                raise UnreadableError(
                    f"can be read in two ways that differ: the events {_where(main)}, or the events {_where(group)}."
                    " Keep the lines of one of them"
                )

    def _chunks(self, events: Iterable[Found], form: Form, removed: list[Note], *, joined: bool) -> Iterator[bytes]:
        for one in events:
            name = _name(one) if form is Form.EVENTS else ""
            begin = f"event: {name}\n" if name else ""
            yield encoded(f"{begin}data: {one.data}\n\n" if form is Form.EVENTS else f"{one.data}\n")
        if self._scanner.others:
            removed.append(Note("other-lines", _lines(self._scanner.others)))
            self._scanner.others = 0
        if joined:
            removed.append(Note("joined-events", "blank lines between events were missing"))
        elif not removed and form is Form.EVENTS:
            removed.append(Note("spaces", "spaces at the ends of lines"))


@dataclass(slots=True)
class _Reading:
    """The events of one group, as far as they were looked at."""

    places: list[int] = field(default_factory=list)
    payloads: set[str] = field(default_factory=set)
    text: str = ""
    ends: bool = False

    def add(self, place: int, one: Found) -> None:
        self.places.append(place)
        self.payloads.add(one.data)
        self.ends = self.ends or one.ends
        if one.content is not None:
            self.text += one.content.text + "".join(f"{each.name}{each.arguments}" for each in one.content.fragments)

    def beside(self, other: _Reading) -> bool:
        """Whether the events of both stand between each other."""
        return self.places[0] < other.places[-1] and other.places[0] < self.places[-1]

    def agrees(self, other: _Reading) -> bool:
        """Whether one is the beginning of the other."""
        return self.text.startswith(other.text) or other.text.startswith(self.text)


class _Parts:
    """Counts streams that follow one another."""

    def __init__(self) -> None:
        self._number = 0
        self._stream = 0
        self._over = self._finished = False
        self._id: Json = ABSENT
        self._block = 0
        self._response: Json = ABSENT

    def __call__(self, one: Found) -> int:
        """The number of the stream that an event belongs to."""
        content = one.content
        payload = one.payload if isinstance(one.payload, dict) else {}
        name = payload.get("id") or payload.get("responseId") or ABSENT
        fresh = content is not None and bool(content.text or content.fragments) and name != self._id
        again = one.dialect is not None and (self._over or (self._finished and fresh) or self._is_other(one, payload))
        if again or one.is_complete or one.stream != self._stream:
            self._number += 1
            self._over = self._finished = False
        self._stream = one.stream
        self._id = name if one.dialect is not None else self._id
        self._finished = self._finished or one.ends
        self._over = self._over or (content is not None and content.end)
        return self._number

    def _is_other(self, one: Found, payload: dict[str, Json]) -> bool:
        """Whether an event in another Markdown fence names another response than the events before."""
        inner = next((each for key in ("message", "response") if isinstance(each := payload.get(key), dict)), payload)
        name = inner.get("id") or inner.get("responseId") or ABSENT
        if name is ABSENT:
            return False
        other = one.block != self._block and self._response not in (ABSENT, name)
        self._block, self._response = one.block, name
        return other


def _is_source(head: Sequence[str]) -> bool:
    """Whether code stands before and after the first event, and no Markdown fence sets them apart."""
    scanner = Scanner()
    code, seen = [False, False], False
    for line in head:
        if FENCE.match(line):
            return False
        seen = any(one.dialect for one in scanner.line(line)) or seen
        code[seen] = code[seen] or bool(_CODE.match(line))
    return all(code)


def _form(lead: Found) -> Form:
    """The framing of a stream whose events stood there as JSON."""
    form = lead.dialect.form if lead.dialect is not None else Form.LINES
    return form if form is Form.EVENTS else Form.LINES


def _name(one: Found) -> str:
    """The name of an event; an object has the name as its type."""
    kind = one.payload.get("type") if isinstance(one.payload, dict) else None
    return one.name or (kind if isinstance(kind, str) and "data" not in one.group.notation else "")


def _says(first: Sequence[Found]) -> list[Note]:
    """What stood around the events."""
    lead = next(one for one in first if one.dialect)
    notes = []
    before = next((text for one in first if (text := one.before.strip(" \t\"',[({")) and one.dialect), "")
    if before:
        notes.append(Note("line-prefix", f"the text before each event, such as “{before[-_SHOWN:]}”"))
    if lead.group.path:
        notes.append(Note("records", f"records that hold the events in `{lead.group.path}`"))
    notation = lead.group.notation
    if "string" in notation:
        notes.append(Note("strings", "strings that hold the events"))
    elif notation == "repr":
        notes.append(Note("printed-objects", "the notation of printed objects"))
    elif notation == "json" and not lead.is_complete and not lead.group.path and _form(lead) is Form.EVENTS:
        notes.append(Note("json-values", "JSON values instead of an event stream"))
    return notes


def _where(group: Group) -> str:
    """Where the events of a group stand, for people."""
    if group.path:
        return f"in `{group.path}` of the records"
    how = {"json": "as JSON", "repr": "as printed objects", "data": "as data lines"}.get(group.notation, "in strings")
    return f"{how} after “{group.prefix}”" if group.prefix else how


def _lines(count: int) -> str:
    return counted(count, "other line")


_HAR: Final = "export the session as HAR and inspect that file"
_RECORD: Final = "Record the stream with `toolstream run --capture DIR -- COMMAND`"

BINARY: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x0a\x0d\x0d\x0a", "is a packet capture (pcapng): use Wireshark's “Follow HTTP Stream” and save it as text"),
    (b"\xd4\xc3\xb2\xa1", "is a packet capture (pcap): use Wireshark's “Follow HTTP Stream” and save it as text"),
    (b"\xa1\xb2\xc3\xd4", "is a packet capture (pcap): use Wireshark's “Follow HTTP Stream” and save it as text"),
    (b"PK\x03\x04", f"is a ZIP archive, such as a session of Charles, Proxyman or Fiddler: {_HAR}"),
    (b"\xac\xed\x00\x05", f"is a binary session, such as Charles saves it (.chls): {_HAR}"),
    (b"bplist00", f"is a binary property list, such as Proxyman saves it: {_HAR}"),
    (b"SQLite format 3\x00", f"is an SQLite database, such as a tool's history: {_HAR}"),
    (b"%PDF-", "is a PDF document: copy the text of the stream into a file"),
    (b"\x89PNG", "is a picture: copy the text of the stream into a file"),
    (b"\xff\xd8\xff", "is a picture: copy the text of the stream into a file"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd: unpack it with `unzstd` first"),
    (b"BZh", "is compressed by bzip2: unpack it with `bunzip2` first"),
    (b"\xfd7zXZ\x00", "is compressed by xz: unpack it with `unxz` first"),
)
"""First bytes, and the sentence."""

TEXT: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r'"type"\s*:\s*"(?:session_meta|response_item|turn_context)"'),
        (
            "is a Codex rollout: it holds finished items, not the stream. Record the stream with"
            " `toolstream run --capture DIR -- codex …`"
        ),
    ),
    (
        re.compile(
            r'"(?:sessionId|session_id)"\s*:.*"type"\s*:\s*"(?:user|assistant|system)"'
            r'|"type"\s*:\s*"(?:user|assistant|system)".*"(?:sessionId|session_id)"\s*:'
        ),
        (
            "is a Claude Code transcript: it holds finished messages, not the stream. Use"
            " `claude -p --output-format stream-json --include-partial-messages`, or record the stream with"
            " `toolstream run --capture DIR -- claude …`"
        ),
    ),
    (
        re.compile(r'"(?:resourceSpans|resource_spans|scopeSpans|resourceLogs)"\s*:'),
        f"is an OpenTelemetry (OTLP) export: it holds finished messages, not the stream. {_RECORD}",
    ),
    (
        re.compile(
            r'"(?:traceId|trace_id)"\s*:.*"(?:observations|parentObservationId|startTime)"\s*:'
            r'|"observations"\s*:\s*\[.*"(?:traceId|type)"\s*:',
            re.DOTALL,
        ),
        f"is a Langfuse export: it holds finished messages, not the stream. {_RECORD}",
    ),
    (
        re.compile(r'"raw_request"|"LLM_request"|"run_type"\s*:\s*"llm"'),
        f"is an export of a tracing tool: it holds finished messages, not the stream. {_RECORD}",
    ),
    (
        re.compile(r"<\?xml[^>]*>\s*<(?:!DOCTYPE charles|charles-session)|<charles-session"),
        f"is a Charles session in XML: {_HAR}",
    ),
    (re.compile(r"<items burpVersion="), f"is a Burp Suite export: {_HAR}"),
    (
        re.compile(r"^(?:=> Send|<= Recv) (?:header|data), \d+ bytes", re.MULTILINE),
        "is the output of curl --trace-ascii, which does not keep line ends: use `curl -N -i`, or --trace",
    ),
    (
        re.compile(r"^\d\d:\d\d:\d\d\.\d+ IP6? .*: Flags \[", re.MULTILINE),
        (
            "is tcpdump's output, with the packets' headers between the data: write a capture with `tcpdump -w` and use"
            " Wireshark's “Follow HTTP Stream”"
        ),
    ),
    (
        re.compile(r"^curl(?:\.exe)? .*https?://|^\s*-H '|^fetch\(\"https?://", re.MULTILINE),
        "holds a command without its output: run it with `curl -N -i` and save what it prints",
    ),
)
"""What the first lines hold, and the sentence."""


def refusal(lead: bytes, head: Sequence[str]) -> str | None:
    """Why a file without a stream cannot be read, where its kind is known."""
    for mark, why in BINARY:
        if lead.startswith(mark):
            return why
    text = "\n".join(head)
    return next((why for form, why in TEXT if form.search(text)), None)
