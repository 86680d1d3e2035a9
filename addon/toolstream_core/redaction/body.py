"""Redacts a body: streamed, in bounded memory, without changing its length."""

from __future__ import annotations

import base64
import re
from collections import deque
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Final, NamedTuple

from toolstream_core.redaction.assignments import counts_as_secret, looks_random
from toolstream_core.redaction.channels import Channels, JsonLayout, json_layout
from toolstream_core.redaction.filler import TextFiller
from toolstream_core.redaction.finder import SecretFinder, filled
from toolstream_core.redaction.names import Sensitivity
from toolstream_core.redaction.settings import Redaction, TextMode
from toolstream_core.redaction.shapes import SHAPES
from toolstream_core.redaction.signatures import Signatures, without
from toolstream_core.redaction.strings import Edit, Leaf, Span, beside_escapes, edited, leaves
from toolstream_core.wire.aws_event_stream import (
    PRELUDE,
    DamageError,
    EventStreamFramer,
    Message,
    decode,
    length,
    unwrap,
)
from toolstream_core.wire.frame import Frame

_LONGEST: Final = 128
_NAME: Final = 64
_NAMING: Final = frozenset({b"name", b"key", b"header", b""})
_VALUES: Final = frozenset({b"value", b""})
_PAIR_BEGINS: Final = re.compile(rb'(?P<among>[\[,]\s*+)?\[\s*+"\Z')
_PAIR_ENDS: Final = re.compile(rb'"\s*+\]')
_BEFORE: Final = 64
_NUMBER: Final = re.compile(rb'":[ ]?-?([0-9]{3,})(?![0-9.eE])')
# Fields of a key in the format of https://www.rfc-editor.org/rfc/rfc7517.
_KEY_TYPE: Final = b'"kty"'
_PARTS_OF_KEYS: Final = frozenset(b"d k p q dp dq qi".split())
_KEY_LENGTH: Final = 16


class Fields:
    """The fields of a body."""

    def __init__(self, finder: SecretFinder) -> None:
        self._finder = finder

    def edits(self, text: bytes, found: Sequence[Leaf]) -> Iterator[Edit]:
        for begin, stop in self._strings(text, found):
            for start, end in beside_escapes(text, begin, stop):
                yield Edit(start, filled(text[start:end]))
        for start, end in self._numbers(text):
            yield Edit(start, filled(text[start:end]))

    def _strings(self, text: bytes, found: Sequence[Leaf]) -> Iterator[Span]:
        named: Leaf | None = None
        has_keys = _KEY_TYPE in text
        for leaf in found:
            value = text[leaf.start : leaf.end]
            level = self._level(leaf.key)
            if (
                (level and counts_as_secret(value, level, sure=True))
                or (has_keys and leaf.key in _PARTS_OF_KEYS and len(value) >= _KEY_LENGTH and looks_random(value))
                or (named is not None and leaf.key in _VALUES and self._is_named(text, named, leaf))
            ):
                yield leaf.start, leaf.end
            named = leaf if leaf.key in _NAMING and len(value) < _NAME else None

    def _is_named(self, text: bytes, name: Leaf, leaf: Leaf) -> bool:
        """Whether a value is that of the name before it, as HAR files and traces have headers.

        `{"name": "x-api-key", "value": "…"}`; `[["x-api-key", "…"]]`, while `["password", "email"]` are two names.
        """
        level = self._level(text[name.start : name.end])
        value = text[leaf.start : leaf.end]
        if not level or text[name.end : leaf.outset].strip() != b'",' or not counts_as_secret(value, level, sure=True):
            return False
        if leaf.key:
            return True
        begins = _PAIR_BEGINS.search(text, max(0, name.start - _BEFORE), name.start)
        if begins is None or _PAIR_ENDS.match(text, leaf.end) is None:
            return False
        return begins["among"] is not None or looks_random(value)

    def _numbers(self, text: bytes) -> Iterator[Span]:
        for number in _NUMBER.finditer(text):
            position = number.start()
            level = self._level(text[text.rfind(b'"', max(0, position - _LONGEST), position) + 1 : position])
            if level and counts_as_secret(number[1], level, sure=True):
                yield number.span(1)

    def _level(self, name: bytes) -> Sensitivity:
        return self._finder.sensitivity(name[:_LONGEST].decode("latin-1"))


# A secret in base64 would not be found, and a changed byte makes a checksum wrong. Therefore the text of the messages
# is redacted like server-sent events, and put back with the same length and new checksums.

_LEAD: Final = b"data: "
_END: Final = b"\n\n"


class MessageRedactor:
    """Redacts the messages of one body; each keeps its length."""

    def __init__(self, text: _TextRedactor) -> None:
        self._text = text
        self._framer = EventStreamFramer()
        self._awaited: deque[tuple[Frame, bytes]] = deque()
        """Frames and their texts, which are being redacted."""
        self._clean = bytearray()

    def feed(self, data: bytes) -> bytes:
        return self._take(self._framer.feed(data)) if data else b""

    def so_far(self) -> bytes:
        """The complete messages that are held back, as `BodyRedactor.so_far`."""
        awaited, clean = self._awaited.copy(), self._clean.copy()
        self._clean += self._text.so_far()
        ready = self._ready()
        self._awaited, self._clean = awaited, clean
        return ready

    def finish(self) -> bytes:
        out = self._take(self._framer.feed(b""))
        self._clean += self._text.finish()
        return out + self._ready()

    def _take(self, frames: list[Frame]) -> bytes:
        for frame in frames:
            text = _searched(frame)
            self._awaited.append((frame, text))
            self._clean += self._text.feed(_LEAD + text + _END)
        return self._ready()

    def _ready(self) -> bytes:
        out: list[bytes] = []
        begin = len(_LEAD)
        while self._awaited and len(self._clean) >= begin + len(self._awaited[0][1]) + len(_END):
            frame, text = self._awaited.popleft()
            clean = bytes(self._clean[begin : begin + len(text)])
            del self._clean[: begin + len(text) + len(_END)]
            out.append(frame.raw if clean == text else _with(frame, text, clean))
        return b"".join(out)


def is_messages(head: bytes) -> bool:
    """Whether a body with this beginning is an AWS event stream."""
    try:
        return len(head) >= PRELUDE and bool(length(head[:PRELUDE]))
    except DamageError:
        return False


def is_message_begun(head: bytes) -> bool:
    """Whether more bytes are needed to decide."""
    return len(head) < PRELUDE and (not head or head.startswith(b"\0"))


def _message(frame: Frame) -> Message | None:
    return decode(frame.raw) if frame.name or frame.data is not None else None


def _searched(frame: Frame) -> bytes:
    """The part of a frame that may have secrets: a message's text, or all bytes if it is not a message."""
    message = _message(frame)
    if message is None:
        return frame.raw
    inner = unwrap(message)
    if inner is not None:
        return inner
    return message.payload or message.text(":error-message").encode("utf-8", "surrogateescape")


def _with(frame: Frame, text: bytes, clean: bytes) -> bytes:
    """The frame's bytes with its text redacted."""
    message = _message(frame)
    if message is None:
        return clean
    if unwrap(message) is not None:
        payload = message.payload.replace(base64.b64encode(text), base64.b64encode(clean))
        return message._replace(payload=payload).encode()
    if message.payload:
        return message._replace(payload=clean).encode()
    headers = [
        header._replace(value=clean) if header.name == ":error-message" else header for header in message.headers
    ]
    return message._replace(headers=tuple(headers)).encode()


WINDOW: Final = 1 << 20
"""Bytes that are searched together."""
KEPT: Final = 1 << 17
"""Bytes of a window that are searched again with the next bytes."""
_GOES_ON: Final = 1 << 15
"""The maximum length of an incomplete secret, in bytes; a longer value only looks like the beginning of one."""
_TAIL: Final = 4096
"""Bytes before the window in which its first text may begin."""
_PLAIN: Final = Redaction()


class BodyRedactor:
    """Redacts a body incrementally. It returns, in total, as many bytes as it was fed, for any split.

    `known` are secrets that the request carried (`known_secrets`).
    """

    def __init__(self, redaction: Redaction, known: Sequence[str] = ()) -> None:
        self._text = _TextRedactor(redaction, known)
        self._head = b""
        self._redactor: MessageRedactor | _TextRedactor | None = None
        """Known when the first bytes show the kind of body."""

    def feed(self, data: bytes) -> bytes:
        """The finished bytes; a window of bounded size is held back."""
        if self._redactor is not None:
            return self._redactor.feed(data)
        self._head += data
        if is_message_begun(self._head):
            return b""
        return self._begin()

    def so_far(self) -> bytes:
        """The complete lines that `feed` held back, redacted, up to the first secret that may be incomplete.

        More may be fed afterwards: nothing is changed. With what `feed` returned, it is the beginning of the redacted
        body, for any continuation: a secret that has only partly arrived is left out.
        """
        return b"" if self._redactor is None else self._redactor.so_far()

    def finish(self) -> bytes:
        begun = b"" if self._redactor is not None else self._begin()
        return begun + (self._redactor or self._text).finish()

    def _begin(self) -> bytes:
        head, self._head = self._head, b""
        self._redactor = MessageRedactor(self._text) if is_messages(head) else self._text
        return self._redactor.feed(head)


class _TextRedactor:
    """As `BodyRedactor`, for text."""

    def __init__(self, redaction: Redaction, known: Sequence[str]) -> None:
        self._finder = SecretFinder(redaction, known)
        self._channels = Channels(self._finder)
        self._signatures = Signatures(self._finder)
        self._in_signatures = Channels(self._finder.sure) if self._finder.sure else None
        self._held = bytearray()
        self._before = b""
        self._open_key: bytes | None = None
        self._layout: JsonLayout | None = None
        """Known when the first window has arrived."""
        self._texts = None if redaction.text is TextMode.KEEP else TextFiller(redaction.text)
        self._fields = Fields(self._finder)

    def feed(self, data: bytes) -> bytes:
        self._held += data
        ready: list[bytes] = []
        position = 0
        while len(self._held) - position >= WINDOW:
            clean = self._look(bytes(self._held[position : position + WINDOW]), last=False)
            position += len(clean)
            ready.append(clean)
        del self._held[:position]
        return b"".join(ready)

    def so_far(self) -> bytes:
        window, begun = bytes(self._held), [len(self._held)]
        clean = deepcopy(self)._look(window, last=True, begun=begun)  # noqa: SLF001 - its own class
        end = min(position for position in begun if position >= len(window) - _GOES_ON)
        return clean[: window.rfind(b"\n", 0, end) + 1]

    def finish(self) -> bytes:
        clean = self._look(bytes(self._held), last=True)
        self._held.clear()
        return clean

    def _look(self, window: bytes, *, last: bool, begun: list[int] | None = None) -> bytes:
        """The finished part of a window, redacted; `begun` as for `Channels.edits`."""
        self._layout = self._layout or json_layout(window)
        end = len(window) if last else _line_end(window)
        found = list(leaves(window, self._open_key))
        flushed, open_key = (end, None) if end else _cut(window, found)
        # Secrets last: nothing of them remains, not even their shape.
        texts = self._texts.edits(window, flushed) if self._texts else []
        clean = edited(window, [*texts, *self._edits(window, found, flushed, self._layout, begun)])
        self._open_key = open_key
        return clean[:flushed]

    def _edits(
        self, window: bytes, found: Sequence[Leaf], flushed: int, layout: JsonLayout, begun: list[int] | None
    ) -> Iterator[Edit]:
        signatures = self._signatures.among(window, found, flushed, layout)
        if self._in_signatures is not None:
            yield from self._in_signatures.edits(window, signatures, flushed, layout)
        text = edited(window, without(signatures))
        raw, shift = self._before + text, len(self._before)
        for found_at, found_end in self._finder.find_by_themselves(raw):
            for start, end in beside_escapes(raw, max(found_at, shift), found_end):
                yield Edit(start - shift, filled(raw[start:end]))
        self._before = raw[: shift + flushed][-_TAIL:]
        yield from self._fields.edits(text, found)
        yield from self._channels.edits(text, found, flushed, layout, begun)


def _line_end(window: bytes) -> int:
    """The end of the finished part, if it can end after an event; else 0."""
    limit = len(window) - KEPT
    return window.rfind(b"\n", limit - KEPT, limit) + 1


def _cut(window: bytes, found: Sequence[Leaf]) -> tuple[int, bytes | None]:
    """The end of the finished part before or inside a string, and the key of the string."""
    limit = len(window) - KEPT
    for leaf in reversed(found):
        if leaf.outset < limit:
            if leaf.end < limit:
                return (leaf.end + 1 if leaf.end > limit - KEPT else limit), None
            if leaf.outset > limit - KEPT:
                return leaf.outset, None
            return _between_characters(window, limit), leaf.key
    return limit, None


def _between_characters(window: bytes, limit: int) -> int:
    """A place where neither an escape nor a character is cut."""
    for position in range(limit, limit - 64, -1):
        if window[position] & 0xC0 != 0x80 and b"\\" not in window[position - 12 : position]:  # noqa: PLR2004
            return position
    return limit


def redacted_body(data: bytes, redaction: Redaction = _PLAIN, known: Sequence[str] = ()) -> bytes:
    """A complete body, redacted, as many bytes long; the arguments are those of `BodyRedactor`."""
    redactor = BodyRedactor(redaction, known)
    return redactor.feed(data) + redactor.finish()


_SHOWN: Final = 4
_PIECE: Final = 16
"""A shorter overwritten span, in bytes, may be a part of a secret that is split into deltas."""


class Overwritten(NamedTuple):
    """A secret that redaction finds."""

    position: int
    begin: bytes
    """Its first characters, no more than a prefix shows."""
    size: int
    """In bytes."""
    kind: str

    def message(self) -> str:
        """The finding for people, without the secret itself."""
        if not self.size:
            return f"cannot be searched: {self.kind}"
        return f"{self.kind}: {self.begin.decode('ascii', 'replace')}… ({self.size} bytes)"


def overwritten(data: bytes, clean: bytes) -> Iterator[Overwritten]:
    """The differences between a text and the same one redacted; parts of one secret are reported as one."""
    parts: list[tuple[int, int]] = []
    for start, end in spans(data, clean):
        if end - start < _PIECE:
            parts.append((start, end))
            continue
        yield from (_secret(data, span) for span in (parts, [(start, end)]) if span)
        parts = []
    if parts:
        yield _secret(data, parts)


def spans(data: bytes, clean: bytes) -> Iterator[tuple[int, int]]:
    """The spans in which a text and its redacted form differ."""
    position, size = 0, min(len(data), len(clean))
    while position < size:
        step = 1 << 16
        while position < size and data[position : position + step] == clean[position : position + step]:
            position += step
        while position < size and data[position] == clean[position]:
            position += 1
        start = position
        while position < size and data[position] != clean[position]:
            position += 1
        if position > start:
            yield start, position


def _secret(data: bytes, parts: list[tuple[int, int]]) -> Overwritten:
    secret = b"".join(data[start:end] for start, end in parts)
    text = secret.decode("latin-1")
    kind = next((shape.kind for shape in SHAPES if shape.prefix and text.startswith(shape.prefix)), "credential")
    cut = f", split over {len(parts)} places" if len(parts) > 1 else ""
    shown = secret[: min(_SHOWN, len(secret) // 3)]
    return Overwritten(parts[0][0], shown, len(secret), kind + cut)


def secrets_of_text(data: bytes, redaction: Redaction) -> Iterator[Overwritten]:
    """The secrets in a file of any text."""
    clean = bytearray(redacted_body(data, redaction))
    finder = SecretFinder(redaction)
    signatures = Signatures(finder).among(data, list(leaves(data)), len(data), json_layout(data))
    for span in finder.find(edited(data, without(signatures))):
        for start, end in beside_escapes(data, *span):
            clean[start:end] = filled(data[start:end])
    yield from overwritten(data, bytes(clean))
