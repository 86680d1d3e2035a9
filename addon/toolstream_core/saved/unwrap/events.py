"""Finds the events of a stream in lines of text: after prefixes, in records, printed as objects, on one line.

An event is what a protocol recognises. Therefore no log format has to be known, and prose or source code give none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from toolstream_core.calls.json_text import is_object
from toolstream_core.model import ABSENT, EventContent, Json
from toolstream_core.protocols.protocol import CallForm, WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.saved.exchange import messages_of
from toolstream_core.saved.unwrap.codings import text_of
from toolstream_core.saved.unwrap.literals import ElidedError, OpenValue, literal, string, verbatim
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Frame, parse
from toolstream_core.wire.write import encoded

_START: Final = re.compile(
    r"""(?P<data>(?<![\w$])(?:data:[ \t]?)+)
      | (?P<event>(?<![\w$])event:[ \t]?(?P<name>[\w.\-]+)(?=[ \t]*$|,))
      | (?P<string>(?:(?<![\w\\])[bu])?(?:"(?=\s*(?:data:|event:|\\n|\{))|'(?=\s*(?:data:|event:|\\n|\{))))
      | (?P<object>\{)
      | (?P<named>(?<![\w"'])(?:[A-Z]\w*[ ]?[({]|array[ ]?\()(?!\s*[)}]))
    """,
    re.VERBOSE,
)
_STRING: Final = re.compile(r"""[bu]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.|'')*')""")
_MEMBER: Final = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*"\s*:\s*)?"(?:[^"\\]|\\.)*"\s*,?\s*')
"""A line of a JSON document with a string."""
_FIELD: Final = re.compile(r"([ \t]*)[A-Za-z_$][\w$]*[:=][ \t]*\S")
"""A line of a printed object with a field."""
_DIGITS: Final = re.compile(r"[0-9a-fA-F]*\d[0-9a-fA-F]*")
_MAY_HOLD: Final = re.compile(r"""data:|event:|\{\s*["']|[A-Z]\w+\(""")
FENCE: Final = re.compile(r"[\s>]*(?:```|~~~)")
_ELLIPSIS: Final = re.compile(r"[\s\[(<#*/>-]*(?:\.{3}|…)[^{]{0,60}")
"""A line with which people leave events out."""
_NOTATIONS: Final = {"data": "data", "object": "json", "named": "repr", "string": "string"}
_GAP: Final = "ellipsis"
_LEAD: Final = 5
_DONE: Final = "[DONE]"
_REQUESTS: Final = ("request", "req", "request_body", "requestBody", "body")
"""The keys of the request in records."""
_CUT: Final = re.compile(r"(?:\.\.\.|…)[^{}]*$|\btruncated\b[^{}]*$")
"""The end of a value that was printed only in part."""
_ELIDED: Final = re.compile(r"(?<=[\[ ])\[(?:Object|Array)\]")
"""What Node prints in place of a value that is nested too deep."""
_MAX_TRIES: Final = 24
_MAX_NESTING: Final = 3
_MAX_DEPTH: Final = 12
_PREFIX: Final = 80
_WHOLE_STREAM: Final = 3
"""The minimum number of events in a string with the end of a stream that count as a separate stream."""


class Group(NamedTuple):
    """The place of events: their prefix, their notation, and their path in a record."""

    prefix: str
    """The text before it on its line, with equal digits."""
    notation: str
    """`data`, `json`, `repr`, or `string` for events inside a string."""
    path: str = ""


@dataclass(slots=True)
class Found:
    """One event, and its place."""

    group: Group
    name: str
    """The event's name, `""` if it has none."""
    data: str
    payload: Json = ABSENT
    protocol: WireProtocol | None = None
    content: EventContent | None = None
    is_complete: bool = False
    """Whether it is a complete response without streaming."""
    may_be_complete: bool = False
    """Whether it may also be an event that has a complete message."""
    lead: str = ""
    """The beginning of the value."""
    block: int = 0
    """The number of Markdown fences before it."""
    stream: int = 0
    """Events of the same number are one stream; 0 is the stream of the text's own lines."""
    request: Json = ABSENT
    before: str = ""
    """The text before it on its line."""
    is_part: bool = False
    """Whether only a part of it was in the text."""

    @property
    def ends(self) -> bool:
        """Whether it has the end of a stream, or the reason."""
        content = self.content
        return content is not None and bool(content.end or any(finish.reason for finish in content.finishes))

    @property
    def has_content(self) -> bool:
        """Whether it has text or a part of a call."""
        return self.content is not None and bool(self.content.text or self.content.fragments)

    @property
    def is_gap(self) -> bool:
        """Whether events were left out here."""
        return self.group.notation == _GAP

    @property
    def is_unread(self) -> bool:
        """Whether it is a value that could not be read."""
        return self.payload is ABSENT and self.content is None and bool(self.lead)

    @property
    def is_cut(self) -> bool:
        """Whether it could not be read because it was printed in part."""
        return self.is_unread and self.lead.startswith('{"') and _CUT.search(self.data) is not None

    @property
    def is_elided(self) -> bool:
        """Whether it could not be read because values in it were left out."""
        return self.is_unread and _ELIDED.search(self.data) is not None

    @property
    def response(self) -> Json:
        """The id of the response, if the event names it."""
        if not isinstance(self.payload, dict):
            return ABSENT
        payload = self._inner or self.payload
        found = payload.get("id") or payload.get("responseId")
        return found if isinstance(found, str | int) else ABSENT

    @property
    def starts(self) -> bool:
        """Whether it has the beginning response."""
        return bool(self._inner) and not self.ends

    @property
    def has_parts(self) -> bool:
        """Whether it has more of a response than numbers about it."""
        values = self.payload.values() if isinstance(self.payload, dict) else ()
        listed = any(isinstance(each, list) and each for each in values)
        return listed or bool(self._inner) or "delta" in (self.payload if isinstance(self.payload, dict) else ())

    @property
    def _inner(self) -> dict[str, Json]:
        """The response as an object, if the event has it."""
        payload = self.payload if isinstance(self.payload, dict) else {}
        return next((each for key in ("message", "response") if isinstance(each := payload.get(key), dict)), {})


@dataclass(slots=True)
class _Line:
    """A line, as far as it has been read."""

    text: str
    before: str | None
    """The text before its first event, once that was found."""
    position: int = 0
    tries: int = 0
    """Values without an event since the last one."""
    named: bool = False
    """Whether it names an event."""
    opened: tuple[int, str] | None = None
    """Where an incomplete value begins, and its notation."""
    failed: tuple[int, str] | None = None
    """The same for a value that cannot be read."""
    found: bool = False
    """Whether an event was found in it."""


def _place(group: Group) -> str:
    """The place of strings, as a key that no prefix of a line has."""
    return f"{group.prefix}\n{group.path}"


class Scanner:
    """Reads lines one after the other."""

    def __init__(self, nesting: int = 0, *, parts: bool = False) -> None:
        """`nesting` counts the strings around the lines; with `parts`, parts of chunks count as events."""
        self.others = 0
        """Lines that were not blank and had no event."""
        self.elided = False
        """Whether an object was printed with parts left out."""
        self.streams = 0
        self._fences = 0
        self._nesting = nesting
        self._parts = parts
        self._open: OpenValue | None = None
        self._begun = False
        """Whether there was an event."""
        self._texts: set[str] = set()
        """The texts with separate streams in the current value: a record may have a response twice."""
        self._prefix = ""
        """The text before the open value."""
        self._names: dict[str, str] = {}
        """The event name of the next data after a prefix, or of the next string at a place."""
        self._prefixes = {""}
        """The texts before events so far: a line with no other text counts as blank."""

    def scan(self, lines: Iterable[str]) -> Iterator[Found]:
        for line in lines:
            self._fences += bool(FENCE.match(line))
            for event in self.line(line):
                event.block = self._fences
                yield event
        yield from self._cut_off()

    def line(self, line: str) -> Iterable[Found]:
        if self._open is None:
            return self._read(line)
        data = self._data_again(line)
        if data is None:
            found = list(self._fresh(line))
            if found:
                return [*self._cut_off(), *found]
            if self._begins_alike(line):
                return [*self._cut_off(), *self._read(line)]
            data = line
        text = self._open.add(data)
        if text is None:
            return ()
        prefix, self._open = self._prefix, None
        return self._read(text, prefix, continued=True)

    def _fresh(self, line: str) -> Iterable[Found]:
        """Events of a line by itself, while a value is open: they belong to another one, unless it is a document."""
        if "{" not in line or not line.rstrip().endswith(("}", "]", ")", "'", '"', ",")):
            return ()
        if self._open is not None and (_MEMBER.fullmatch(line) if self._open.is_json else self._is_field(line)):
            return ()
        fresh = Scanner(self._nesting, parts=self._parts)
        return [event for event in fresh.line(line) if event.protocol is not None and not event.is_complete]

    def _is_field(self, line: str) -> bool:
        """Whether a line is a field of the open printed object: named, and indented deeper or after a comma."""
        field = _FIELD.match(line)
        if field is None or self._open is None:
            return False
        deeper = len(field[1]) > len(self._prefix) - len(self._prefix.lstrip())
        return deeper or self._open.lines[-1].rstrip().endswith(",")

    def _begins_alike(self, line: str) -> bool:
        """Whether a line begins an event like the open value, which was cut off then."""
        start = _START.search(line)
        if (
            start is None
            or self._open is None
            or self._open.awaits_value
            or _alike(line[: start.start()]) != _alike(self._prefix)
        ):
            return False
        lead = _lead(line[start.start() :])
        return lead.startswith('{"') and lead == _lead(self._open.text)

    def _data_again(self, line: str) -> str | None:
        """The rest of a line that continues the data of an event."""
        position = line.find("data:")
        if (
            position < 0
            or self._open is None
            or self._open.notation != "data"
            or _alike(line[:position]) != _alike(self._prefix)
        ):
            return None
        rest = line[position + 5 :].removeprefix(" ")
        return None if rest.startswith('{"') else rest

    def _cut_off(self) -> Iterable[Found]:
        """The value that lacks its end, unchanged."""
        opened, self._open = self._open, None
        if opened is None:
            return
        found = [event for line in opened.lines for event in self._fresh(line)]
        yield from found or [self._unread(_alike(self._prefix), opened.notation, opened.text)]

    def _unread(self, prefix: str, notation: str, text: str, before: str = "") -> Found:
        """A value that cannot be read, unchanged: an event if it begins like one."""
        data = text.removeprefix("data:").strip() if notation == "data" else text.strip()
        return Found(Group(prefix, notation), self._names.pop(prefix, ""), data, before=before, lead=_lead(text))

    def _read(self, text: str, before: str | None = None, *, continued: bool = False) -> Iterator[Found]:
        """The events in a line, or in a value on several lines; `before` is the text before it."""
        reading = _Line(text, before)
        while reading.tries < _MAX_TRIES and (start := _START.search(text, reading.position)):
            yield from self._take(reading, start)
        if reading.found:
            self._begun = True
            self._prefixes.add(_alike(reading.before or ""))
        elif reading.opened is not None and not continued:
            position, notation = reading.opened
            self._prefix = text[:position]
            self._open = OpenValue(notation, text[position:])
        elif reading.failed is not None:
            position, notation = reading.failed
            yield self._unread(
                _alike(text[:position] if before is None else before), notation, text[position:], text[:position]
            )
        elif not reading.named and _alike(text) not in self._prefixes:
            self.others += 1
            if self._begun and _ELLIPSIS.fullmatch(text):
                yield Found(Group("", _GAP), "", text.strip())

    def _take(self, line: _Line, start: re.Match[str]) -> list[Found]:
        line.tries += 1
        named = len(self._names)
        before = line.text[: start.start()] if line.before is None else line.before
        value = None
        if start["event"] is not None:
            self._names[_alike(before)] = start["name"]
            line.named = True
        else:
            value = self._value(line.text, start, before)
            if value is None:
                place = start.start(), _NOTATIONS[start.lastgroup or ""]
                line.failed = line.failed or place
                if line.opened is None and OpenValue("", line.text[start.start() :]).open:
                    line.opened = place
            line.named = line.named or len(self._names) > named
        found, line.position = value or ([], start.end())
        for event in found:
            if event.protocol is not None:
                event.lead = event.lead or _lead(line.text[start.start() :])
        if found:
            line.found = True
            line.tries = 0
        if line.found or line.named:
            line.before = before
        return found

    def _value(self, text: str, start: re.Match[str], before: str) -> tuple[list[Found], int] | None:
        """The events of the value at `start`, and where it ends; `None` if it cannot be read."""
        prefix = _alike(before)
        if start["data"]:
            return self._data(text, start, prefix, before)
        if start["string"] is not None:
            return self._string(text, start.start(), prefix, before)
        json = start["object"] and _json(text, start.start())
        if json:
            payload, end = json
            return self._object(prefix, "json", text[start.start() : end], payload, before), end
        try:
            payload, end = literal(text, start.start())
        except ElidedError:
            self.elided = True
            return None
        except (ValueError, RecursionError, OverflowError):
            return None
        if not isinstance(payload, dict) or not payload:
            return [], start.end()
        return self._object(prefix, "repr", encoded(payload).decode("utf-8", "replace"), payload, before), end

    def _data(self, text: str, start: re.Match[str], prefix: str, before: str) -> tuple[list[Found], int] | None:
        position = start.end()
        while text[position : position + 1].isspace():
            position += 1
        if text.startswith(_DONE, position):
            return [self._event(prefix, "data", _DONE, ABSENT, before)], position + len(_DONE)
        if text.startswith(("{", "["), position):
            json = _json(text, position)
            if json:
                return [self._event(prefix, "data", text[position : json[1]], json[0], before)], json[1]
            if text.startswith('{\\"', position) and (
                json := _json(text[position:].replace('\\"', '"').replace("\\\\", "\\"), 0)
            ):
                return [self._event(prefix, "data", encoded(json[0]).decode(), json[0], before)], len(text)
            try:
                payload, end = literal(text, position)
            except (ValueError, RecursionError, OverflowError):
                return None
            return [self._event(prefix, "data", encoded(payload).decode("utf-8", "replace"), payload, before)], end
        if start.start() != len(before):
            return None
        return [self._event(prefix, "data", text[position:].strip(), ABSENT, before)], len(text)

    def _string(self, text: str, position: int, prefix: str, before: str) -> tuple[list[Found], int] | None:
        token = _STRING.match(text, position)
        if token is None or self._nesting >= _MAX_NESTING:
            return None
        doubled = token[0][-1] == "'" and "''" in token[0][:-1]  # as YAML and SQL write a quote in a string
        read = verbatim if doubled else string
        escaped = self._inside(read(token[0]), Group(prefix, "string"), before)
        if not escaped and token[0][-2] == "{":  # no string, but a quote before an object
            return [], position + 1
        # YAML, SQL and shells have strings without escapes: a backslash in them belongs to the data.
        if "\\" in token[0] and (not escaped or any(event.is_unread for event in escaped)):
            plain = self._inside(verbatim(token[0]), Group(prefix, "string"), before)
            if plain and not any(event.is_unread for event in plain):
                return plain, token.end()
        return escaped, token.end()

    def _inside(self, text: str, group: Group, before: str, request: Json = ABSENT) -> list[Found]:
        """The events in a string; with an end they are a separate stream."""
        inner = Scanner(self._nesting + 1, parts=self._parts)
        found = list(inner.scan(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))
        self.elided = self.elided or inner.elided
        if not any(event.protocol or event.data == _DONE for event in found):
            self._names.update((_place(group), name) for name in inner._names.values())
            return []
        alone = len(found) >= _WHOLE_STREAM and any(event.ends for event in found)
        if alone and text in self._texts:
            return []
        self._texts.add(text)
        self.streams += alone
        for event in found:
            event.group = group._replace(notation=f"string of {event.group.notation}")
            event.name = event.name or self._names.pop(_place(group), "")
            event.before = before
            event.stream = self.streams if alone else 0
            event.request = request
        return found

    def _object(self, prefix: str, notation: str, text: str, payload: Json, before: str) -> list[Found]:
        event = self._event(prefix, notation, text, payload, before)
        if event.protocol is not None:
            return [event]
        self._texts.clear()
        inner = list(self._walk(payload, Group(prefix, notation), before, ABSENT))
        if not inner and isinstance(payload, dict) and payload.get("error"):
            return [event]
        return inner

    def _walk(self, value: Json, group: Group, before: str, request: Json, depth: int = 0) -> Iterator[Found]:
        if depth > _MAX_DEPTH:
            return
        text = text_of(value)
        if text is not None:
            if self._nesting < _MAX_NESTING and _MAY_HOLD.search(text):
                yield from self._inside(text, group, before, request)
        elif isinstance(value, list):
            for item in value:
                yield from self._within(item, group._replace(path=f"{group.path}[]"), before, request, depth)
        elif isinstance(value, dict):
            request = _request(value, request)
            name = value.get("event")
            for key, item in value.items():
                path = f"{group.path}.{key}" if group.path else key
                found = self._within(item, group._replace(path=path), before, request, depth)
                for event in found:
                    if key == "data" and isinstance(name, str) and not event.name:
                        event.name = name
                    yield event

    def _within(self, value: Json, group: Group, before: str, request: Json, depth: int) -> Iterator[Found]:
        if isinstance(value, dict):
            event = recognised(Found(group, "", "", value, before=before, request=request))
            if event.protocol is not None:
                event.data = encoded(event.payload).decode("utf-8", "replace")
                yield event
                return
        yield from self._walk(value, group, before, request, depth + 1)

    def _event(self, prefix: str, notation: str, data: str, payload: Json, before: str = "") -> Found:
        found = recognised(Found(Group(prefix, notation), self._names.pop(prefix, ""), data, payload, before=before))
        if self._parts and found.protocol is None and (chunk := chunk_of(payload)):
            text = encoded(chunk).decode("utf-8", "replace")
            return recognised(replace(found, data=text, payload=chunk, is_part=True))
        return found


def _lead(text: str) -> str:
    """The beginning that events of one stream share."""
    return "".join(text.removeprefix("data:")[: 4 * _LEAD].split())[:_LEAD]


def _alike(prefix: str) -> str:
    """The part that prefixes of one log share."""
    return _DIGITS.sub("0", prefix[-_PREFIX:]).strip(" \t,[(")


def _json(text: str, position: int) -> tuple[Json, int] | None:
    try:
        return numbers.first(text, position)
    except (ValueError, RecursionError):
        return None


def recognised(found: Found) -> Found:
    """An event with its protocol and its content."""
    payload = as_sent(found.payload)
    if payload is not found.payload:
        found.payload, found.data = payload, encoded(payload).decode("utf-8", "replace")
        found.group = found.group._replace(notation="repr")
    data = encoded(payload) if payload is not ABSENT and not found.data else found.data.encode("utf-8", "replace")
    frame = Frame(b"", 0, data, found.name)
    if isinstance(payload, dict):
        found.protocol = next((each for each in PROTOCOLS if each.recognise(found.name, payload)), None)
    if found.protocol is not None:
        frame.json = payload
        found.content = found.protocol.read(frame)
        content, response = found.content, found.protocol.read_response(payload)
        has_message = bool(response.fragments or response.text)
        found.is_complete = has_message and not (content.fragments or content.text)
        found.may_be_complete = (
            has_message
            and found.protocol.call_form is not CallForm.WHOLE
            and len(content.fragments) == len(response.fragments)
        )
    elif found.data == _DONE:
        found.content = EventContent(end=True)
    return found


def _request(record: dict[str, Json], outer: Json) -> Json:
    """The request in a record, next to its response."""
    for key in _REQUESTS:
        body = _body(record.get(key))
        if isinstance(body, dict) and (key == "request" or messages_of(body)):
            return body
    return outer


def _body(request: Json) -> Json:
    """The body of a request, or the request itself if it is only the body."""
    body = request
    if isinstance(request, dict) and not messages_of(request):
        body = request.get("body", request.get("postData"))
    if isinstance(body, dict) and isinstance(body.get("text"), str):
        body = body["text"]
    return parse(body.encode("utf-8", "replace")) if isinstance(body, str) else body


# Parts of Chat Completions chunks, as programs print them: a choice, a delta, an entry of a delta's calls.

_OF_DELTA: Final = frozenset(
    {"audio", "content", "function_call", "reasoning", "reasoning_content", "refusal", "role", "tool_calls"}
)
_ROLES: Final = (None, "", "assistant")


_PRINTED: Final = {"toolCalls": "tool_calls", "finishReason": "finish_reason"}
"""Keys of chunks as SDKs for JavaScript name them (Mistral's), and as they are sent."""


def as_sent(chunk: Json) -> Json:
    """A chunk with the names of the keys as they are sent; the same object if it has them."""
    choices = json_access.get(chunk, "choices")
    if not isinstance(chunk, dict) or not isinstance(choices, list):
        return chunk
    renamed: list[Json] = []
    for choice in choices:
        delta = json_access.get(choice, "delta")
        named = {**choice, "delta": _renamed(delta)} if isinstance(delta, dict) else choice
        renamed.append(_renamed(named) if isinstance(named, dict) else named)
    return chunk if renamed == choices else {**chunk, "choices": renamed}


def _renamed(value: dict[str, Json]) -> dict[str, Json]:
    return {_PRINTED.get(key, key): item for key, item in value.items()}


def chunk_of(value: Json) -> dict[str, Json] | None:
    """The chunk with the fields of a part, if the value is a part of a chunk; else `None`.

    An entry needs its index, which the calls of a complete message do not have.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(delta := value.get("delta"), dict):
        is_choice = _is_delta(delta) or (not delta and "finish_reason" in value)
        return {"choices": [{"index": 0, **value}]} if is_choice else None
    if _is_delta(value):
        return {"choices": [{"index": 0, "delta": value}]}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [value]}}]} if _is_entry(value) else None


def shows_streaming(chunk: Mapping[str, Json]) -> bool:
    """Whether a chunk from `chunk_of` has a call, and cannot be a complete message.

    It has its choice with the finish reason, or only a part of the arguments.
    """
    entries = json_access.items_at(json_access.get(chunk, "choices", 0), "delta", "tool_calls")
    parts = (json_access.get(entry, "function", "arguments") for entry in entries)
    return bool(entries) and (has_finish(chunk) or not all(isinstance(part, str) and is_object(part) for part in parts))


def has_finish(chunk: Mapping[str, Json]) -> bool:
    """Whether the part was printed with its finish reason, which may be null."""
    return json_access.get(chunk, "choices", 0, "finish_reason") is not ABSENT


def _is_delta(value: Mapping[str, Json]) -> bool:
    if not value or not _OF_DELTA.issuperset(value) or value.get("role") not in _ROLES:
        return False
    entries = json_access.items(value.get("tool_calls"))
    return all(map(_is_entry, entries)) and ("tool_calls" in value or isinstance(value.get("content"), str))


def _is_entry(value: Json) -> bool:
    if not isinstance(value, dict) or "index" not in value:
        return False
    function = value.get("function")
    texts = (json_access.get(function, key) for key in ("name", "arguments"))
    return isinstance(function, dict) and any(isinstance(text, str) for text in texts)
