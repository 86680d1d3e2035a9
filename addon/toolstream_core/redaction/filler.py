"""Chat text of a body replaced by filler: framing, boundaries, keys and ids stay."""

from __future__ import annotations

import enum
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from string import ascii_lowercase
from typing import Final, NamedTuple

from toolstream_core.redaction.channels import Channel, id_marks, index_marks, other_lines
from toolstream_core.redaction.settings import TextMode
from toolstream_core.redaction.strings import INSIDE, Edit, Unescaped, edited


class Context(enum.Enum):
    """The kind of an object's fields."""

    PROTOCOL = enum.auto()
    """Fields of the protocol."""
    KEPT = enum.auto()
    """Fields of a schema, or counts."""
    TEXT = enum.auto()
    """Arguments, results: text under any name."""


class Value(NamedTuple):
    """The content of a string, or a number in `Context.TEXT`."""

    key: bytes
    """The key of the field; in an array, the key of the array."""
    context: Context
    start: int
    end: int


_TOKEN: Final = re.compile(
    rb'"(' + INSIDE + rb')("?)|([{\[])|([}\]])|(,)|(-?[0-9][0-9.eE+-]*)|\n(?:(?=data:|event:|\{")|(?=\r?\n))'
)
_REST_OF_STRING: Final = re.compile(rb"(" + INSIDE + rb')("?)')
_KEPT_TREES: Final = frozenset(
    b"tools functions tool_choice parameters input_schema response_format json_schema schema responseSchema format"
    b" usage usageMetadata usage_metadata safetyRatings safety_ratings promptFeedback toolConfig tool_config"
    b" safetySettings generationConfig options x_usage context_management stream_options toolSpec".split()
)
_TEXT_TREES: Final = frozenset(
    b"args arguments functionResponse function_response bytes output_parsed parsed tool_input".split()
)
_DEEPEST: Final = 1000


class Walker:
    """Reads one body, text by text."""

    def __init__(self) -> None:
        self._stack: list[tuple[bytes, Context, bytes]] = []
        self._key = b""
        self._key_next = False
        self._inside: bool | None = None

    @property
    def _context(self) -> Context:
        return self._stack[-1][1] if self._stack else Context.PROTOCOL

    def walk(self, text: bytes) -> Iterator[Value]:
        position = 0
        if self._inside is not None:
            rest = _REST_OF_STRING.match(text)
            assert rest is not None
            yield from self._string(rest, is_key=self._inside, last=rest.end() == len(text))
            position = rest.end()
        for found in _TOKEN.finditer(text, position):
            if found[1] is not None:
                yield from self._string(found, is_key=self._key_next, last=found.end() == len(text))
            elif found[3]:
                self._enter(found[3])
            elif found[4]:
                self._leave()
            elif found[5]:
                self._key_next = bool(self._stack) and self._stack[-1][0] == b"{"
            elif found[6]:
                if self._context is Context.TEXT:
                    yield Value(self._key, Context.TEXT, *found.span(6))
            else:
                self._stack.clear()
                self._key_next = False

    def _string(self, found: re.Match[bytes], *, is_key: bool, last: bool) -> Iterator[Value]:
        if is_key:
            self._key = (self._key if self._inside else b"") + found[1]
        else:
            yield Value(self._key, self._context, *found.span(1))
        self._inside = is_key if last and not found[2] else None
        if self._inside is None:
            self._key_next = False

    def _enter(self, bracket: bytes) -> None:
        if len(self._stack) < _DEEPEST:
            self._stack.append((bracket, self._inner(bracket), self._key))
        self._key_next = bracket == b"{"

    def _inner(self, bracket: bytes) -> Context:
        if self._context is not Context.PROTOCOL:
            return self._context
        if self._key in _KEPT_TREES:
            return Context.KEPT
        if self._key in _TEXT_TREES or (self._key == b"input" and bracket == b"{"):
            return Context.TEXT
        return Context.PROTOCOL

    def _leave(self) -> None:
        if self._stack:
            self._key = self._stack.pop()[2]
        self._key_next = False


# No name and no prefix of a secret can be spelled with these.
_LETTERS: Final = {TextMode.MASK: "xzvwqjyu", TextMode.SHAPE: "aeioulmr"}
_BEYOND_ASCII: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_CHARACTER: Final = re.compile(rb"[a-zA-Z0-9]|" + _BEYOND_ASCII.pattern)
_BY_LENGTH: Final = {2: "é".encode(), 3: "中".encode(), 4: "😀".encode()}
_SURROGATE_BYTES: Final = 4


def _table(mode: TextMode) -> bytes:
    """Mask: every letter and every digit alike."""
    letters = _LETTERS[mode]
    table = {ord(str(digit)): ord("1" if mode is TextMode.MASK else "0258"[(digit + 2) // 3]) for digit in range(10)}
    for place, letter in enumerate(ascii_lowercase):
        lower = letters[0] if mode is TextMode.MASK else letters[place * 5 % len(letters)]
        table |= {ord(letter): ord(lower), ord(letter.upper()): ord(lower.upper())}
    return bytes(table.get(byte, byte) for byte in range(256))


_TABLES: Final = {mode: _table(mode) for mode in _LETTERS}


def fill(text: bytes, mode: TextMode) -> bytes:
    """Filler for UTF-8: replaces letters and digits, keeps punctuation, spaces and bytes per character."""
    return _BEYOND_ASCII.sub(lambda found: _BY_LENGTH[len(found[0])], text.translate(_TABLES[mode]))


class Chain:
    """Filler for one value: each character depends on all before it, so that different values stay different."""

    def __init__(self, mode: TextMode) -> None:
        self._letters = _LETTERS[mode]
        self._state = 0

    def restart(self) -> None:
        self._state = 0

    def fill(self, text: bytes) -> bytes:
        return _CHARACTER.sub(lambda found: self._next(found[0]), text)

    def fill_escape(self, escape: bytes) -> bytes:
        r"""The same for `\uXXXX`."""
        code = int.from_bytes(bytes.fromhex(escape[2:].decode()))
        if code in range(0xD800, 0xE000):
            return rb"\ud83d" if code < 0xDC00 else rb"\ude00"  # noqa: PLR2004
        return rb"\u%04x" % ord(self.fill(chr(code).encode()).decode())

    def _next(self, character: bytes) -> bytes:
        if len(character) == _SURROGATE_BYTES:
            return _BY_LENGTH[_SURROGATE_BYTES]
        state = self._state = (self._state * 33 + int.from_bytes(character)) & 0xFFFFFFFF
        drawn = state ^ state >> 7
        if len(character) > 1:
            return _BY_LENGTH[len(character)]
        if character.isdigit():
            return b"%d" % (1 + drawn % 9)
        letter = self._letters[drawn % 8]
        return (letter if character.islower() else letter.upper()).encode()


_OUTSIDE_TOKEN: Final = re.compile(rb'["{}\[\],:]|[^"{}\[\],:]+')
_QUOTED_TOKEN: Final = re.compile(rb'"|(?:[^"\\]|\\.?)+', re.DOTALL)
_INSIDE_TOKEN: Final = re.compile(rb'"|\\u[0-9a-fA-F]{4}|\\.?|[^"\\]+', re.DOTALL)
# These characters keep JSON, and JSON in a string, valid.
_LITERALS: Final = re.compile(
    rb"""(?<![^\s{\[,:(=])(?:true|false|null|None|True|False|NaN|-?Infinity|undefined)(?![^\s}\],)"'\\])"""
    rb"|(?<=[0-9])[eE](?=[+-]?[0-9])"
)
_REMEMBERED: Final = 4096
_RESTART: Final = 2


def _filled_except(text: bytes, kept: re.Pattern[bytes], fill: Callable[[bytes], bytes]) -> bytes:
    """The text, filled, except the `kept` matches."""
    parts, position = [], 0
    for found in kept.finditer(text):
        parts += [fill(text[position : found.start()]), found[0]]
        position = found.end()
    return b"".join([*parts, fill(text[position:])])


_HEAD: Final = re.compile(
    rb'\s*(?:(?:\{\s*"name"\s*:\s*"[\w.:-]{1,128}"\s*)?,\s*"(?:arguments|parameters)"|"?[\w.-]{1,128}")\s*:'
)
"""The beginning of a complete call or its rest after the name, or a first key without `{` or `{"`.

Filler must not hide these defects.
"""


class ArgumentsFiller:
    """One call's arguments, fragment by fragment. Keys, punctuation, literals and escapes stay.

    A string outside any field may hold the arguments, which are filled in the same way.
    """

    def __init__(self, mode: TextMode) -> None:
        self._mode = mode
        self._chain = Chain(mode)
        self._begin, self._size = b"", 0
        self.restart()

    def restart(self) -> None:
        """Read the next text from the beginning."""
        self._open = bytearray()
        self._key_next = False
        self._in: bytes | None = None
        self._quoted: ArgumentsFiller | None = None
        self._chain.restart()
        self._begins = True

    def restarts(self, chunk: bytes) -> bool:
        """Whether a fragment repeats the earlier text and continues it: then it is read from the beginning."""
        again = len(chunk) >= self._size >= _RESTART and chunk.startswith(self._begin)
        again = again and (chunk[:1] in b"{[" or _HEAD.match(chunk) is not None)
        if again:
            self._begin, self._size = b"", 0
        self._size += len(chunk)
        if len(self._begin) < _REMEMBERED:
            self._begin += chunk[: _REMEMBERED - len(self._begin)]
        return again

    def fill(self, text: bytes) -> bytes:
        parts: list[bytes] = []
        position = 0
        while position < len(text):
            if self._begins and (head := _HEAD.match(text, position)) is not None:
                parts.append(head[0])
                position = head.end()
                self._open += b"{"
            self._begins = False
            if position == len(text):
                break
            if self._quoted is not None:
                tokens, fill = _QUOTED_TOKEN, self._in_quotes
            else:
                tokens, fill = (_OUTSIDE_TOKEN, self._outside) if self._in is None else (_INSIDE_TOKEN, self._inside)
            found = tokens.match(text, position)
            assert found is not None
            parts.append(fill(found[0]))
            position = found.end()
        return b"".join(parts)

    def _outside(self, token: bytes) -> bytes:
        if token not in _PUNCTUATION:
            return _filled_except(token, _LITERALS, self._chain.fill)
        self._chain.restart()
        if token == b'"' and not self._open:
            self._quoted = ArgumentsFiller(self._mode)
        elif token == b'"':
            self._in = b"key" if self._key_next else b"value"
        elif token in b"{[":
            self._open += token
            self._key_next = token == b"{"
        elif token in b"}]":
            del self._open[-1:]
            self._key_next, self._begins = False, not self._open
        else:
            self._key_next = token == b"," and self._open[-1:] == b"{"
        return token

    def _in_quotes(self, token: bytes) -> bytes:
        if token == b'"' or self._quoted is None:
            self._quoted = None
            return token
        plain = Unescaped(token)
        return edited(token, plain.on_raw(Edit(0, self._quoted.fill(plain.text))))

    def _inside(self, token: bytes) -> bytes:
        if token == b'"':
            self._in = None
        elif self._in == b"value":
            if token.startswith(b"\\u"):
                return self._chain.fill_escape(token)
            if not token.startswith(b"\\"):
                return _filled_except(token, _LITERALS, self._chain.fill)
        return token


_PUNCTUATION: Final = frozenset({b'"', b"{", b"}", b"[", b"]", b",", b":"})


_BAR: Final = r"(?:\||｜|‖){1,2}"
_NAME: Final = r"[\w.:-]{1,128}"
_MARKUP: Final = (
    # Elements: those of calls with their names, others without.
    rf"</?{_BAR}[^<>\n]{{0,128}}>|</?(?:antml:|minimax:|steptml:)?(?:tool_calls?|function_calls?|function|invoke|parameter"
    r"|arg_key|arg_value|think|thinking|tool_response)(?:[=\s][^<>]{0,200})?>|</?[A-Za-z_][\w.:-]{0,64}\s*/?>"
    # The text before or after a mark without a counterpart.
    rf"|(?<=<tool_call>)\s*{_NAME}(?=\s*<)|(?<=<arg_key>)[^<]{{1,128}}(?=</arg_key>)"
    rf"|(?<=｜>){_NAME}(?=\s*(?:<｜|```|\{{))|(?<=\|>)\s*(?:functions\.)?{_NAME}(?=\s*<\|)"
    rf"|(?:assistant)?c?o?m?mentary to=(?:functions\.)?{_NAME}(?:\s*(?:<\|constrain\|>)?\s*json)?"
    rf"|<tool_call\|>|\bcall:{_NAME}(?=\s*\{{)"
    rf"|(?<=<\|channel\|>)\w+ to=(?:functions\.)?{_NAME}(?:\s+\w+)?(?=<\|)"
    r"|(?<=<\|open\|>)[^<>\n]{1,256}(?=<\|sep\|>)|(?<=<\|close\|>)\w{1,64}(?=<\|sep\|>)|\[ARGS\]"
    r"|\]<\]minimax\[>\[|\bfunctools(?=\s*\[)"
    rf"|\[TOOL_CALLS\]\s*(?:{_NAME})?|\[/?[A-Z]{{3,}}_?[A-Z]{{2,}}\]|```\w*"
)
_JSON: Final = (
    r'|"[^"\\\n]{0,128}"(?=\s*:)'
    r'|(?<="name":)\s*"[\w.:-]{1,128}"|(?<="name": )"[\w.:-]{1,128}"|(?<="tool_name": )"[\w.:-]{1,128}"'
    r"|(?<![^\s{\[,:(=>])(?:true|false|null|None|True|False|NaN)(?![^\s}\],)\"'\\<])"
    r"|(?<=[0-9])[eE](?=[+-]?[0-9])|\\[a-z\"\\/]"
)
_CODE: Final = r"|\b[A-Za-z_][\w.]*(?=\()|\b[A-Za-z_]\w*(?==(?!=))"
_WORD_KEYS: Final = r"|\b[A-Za-z_]\w*(?=:)"
_PLAIN: Final = re.compile(_MARKUP.encode())
_WITH_JSON: Final = re.compile((_MARKUP + _JSON).encode())
_WITH_CODE: Final = re.compile((_MARKUP + _JSON + _CODE).encode())
_WITH_WORD_KEYS: Final = re.compile((_MARKUP + _JSON + _WORD_KEYS).encode())
_IS_JSON: Final = re.compile(
    rb"\s*(?:<\|python_tag\|>|functools)?\s*[\[{]|<tool_call>|<[|\xe2\xef]|TOOL_CALLS|mentary to="
    rb"|<(?:\w+:)?(?:invoke|function)"
)
_IS_CODE: Final = re.compile(
    rb"\A\s*(?:<[^<>\n]{0,32}>|```tool_code)?\s*(?:print\()?\[?[A-Za-z_][\w.]*\(|<\|tool_call_start\|>"
)
_HAS_WORD_KEYS: Final = re.compile(rb"\bcall:[\w.:-]{1,128}\s*\{")
"""A call in Gemma's syntax."""


def fill_chat(text: bytes, mode: TextMode) -> bytes:
    """Filler for a text, whose markup stays. JSON keeps its keys, and a call in code its names."""
    kinds = ((_IS_CODE, _WITH_CODE), (_HAS_WORD_KEYS, _WITH_WORD_KEYS), (_IS_JSON, _WITH_JSON))
    kept = next((kept for found, kept in kinds if found.search(text)), _PLAIN)
    return _filled_except(text, kept, partial(fill, mode=mode))


# Values that are words of a protocol, names, ids, and data that only the provider can read.
_KEPT: Final = frozenset(
    b" id object model type role name finish_reason stop_reason status call_id item_id tool_call_id tool_use_id"
    b" event execution index output_index content_index summary_index toolUseId native_finish_reason"
    b" system_fingerprint service_tier provider encrypted_content signature code phase thoughtSignature"
    b" thought_signature created_at createTime created done_reason finishReason stopReason responseId"
    b" response_id modelVersion media_type mimeType mime_type obfuscation previous_response_id effort truncation"
    b" event_type event_id interaction_id previous_interaction_id continuation_token"
    b" reasoning_effort verbosity detail encoding include modalities output_modalities responseModalities format"
    b" param jsonPath finish_reasons stop_sequence tool_name toolName server_label role_name language"
    b" tool_choice blockReason reason cache_control ttl prompt_cache_key safety_identifier user"
    b" redacted_thinking version namespace".split()
)
_TOOL_USE: Final = re.compile(rb'"toolUse"\s*:\s*\{\s*"input"\s*:\s*"?\Z')
_BEFORE: Final = 64
"""Bytes before a text that contain its keys."""
_ARGUMENTS: Final = frozenset(b"arguments partial_json partialJson".split())
_TYPE: Final = re.compile(rb'(?:"type"\s*:\s*"|^event:)([^"\r\n]*)', re.MULTILINE)
_CONTROL: Final = re.compile(
    rb'(?:\xef\xbb\xbf)?(?:data:\s*(?:\[DONE\]|null\s*\Z|[\[{]*")|event:|id:|retry:|:|\r?\n|\Z)'
)

type Address = tuple[tuple[bytes, ...], ...]
"""Indexes, and ids."""


class TextFiller:
    """Fills one body's text."""

    def __init__(self, mode: TextMode) -> None:
        """`mode` is `mask` or `shape`."""
        self._mode = mode
        self._walker = Walker()
        self._arguments: dict[tuple[bytes, Address], ArgumentsFiller] = {}
        self._tails: dict[tuple[bytes, Address], bytes] = {}
        self._at_line = True
        self._name = b""
        """The last name of a tool."""

    def edits(self, window: bytes, flushed: int) -> list[Edit]:
        """Edits that overwrite the text in the first `flushed` bytes of a window; the rest will be passed again."""
        values = list(self._walker.walk(window[:flushed]))
        ahead = [
            value._replace(start=value.start + flushed, end=value.end + flushed)
            for value in deepcopy(self._walker).walk(window[flushed:])
        ]
        address = _addresses(window)
        edits: list[Edit] = []
        chats: dict[tuple[bytes, Address], Channel] = {}
        arguments: dict[ArgumentsFiller, list[tuple[int, bytes]]] = {}
        for value in [*values, *ahead]:
            raw = window[value.start : value.end]
            if self._stays(value, raw, is_flushed=value.start < flushed):
                continue
            if value.context is Context.TEXT:
                if value.start < flushed:
                    edits += self._on_raw(raw, value)
                continue
            name = (value.key, address(value.start))
            if value.key in _ARGUMENTS or _of_arguments(window, value.key, value.start):
                if raw and value.start < flushed:
                    arguments.setdefault(self._call(name, raw), []).append((value.start, raw))
                continue
            if name not in chats:
                chats[name] = Channel(self._tails.get(name, b""))
            chats[name].append(raw, value.start)
        for filler, parts in arguments.items():
            edits += self._fill_arguments(filler, parts)
        for name, channel in chats.items():
            edits += channel.on_leaves(Edit(0, fill_chat(channel.text, self._mode)))
            self._tails[name] = channel.tail(flushed)
        edits += self._lines(window)
        self._at_line = window[flushed - 1 : flushed] == b"\n"
        self._forget()
        return edits

    def _stays(self, value: Value, raw: bytes, *, is_flushed: bool) -> bool:
        """Whether a value is not filled. A complete call as arguments repeats the name of its tool."""
        if value.context is Context.TEXT:
            return value.key == b"name" and raw == self._name
        if value.key == b"name" and is_flushed:
            self._name = raw
        return value.context is Context.KEPT or value.key in _KEPT

    def _on_raw(self, raw: bytes, value: Value) -> Iterator[Edit]:
        plain = Unescaped(raw)
        for edit in plain.on_raw(Edit(0, _filled_except(plain.text, _LITERALS, Chain(self._mode).fill))):
            yield Edit(value.start + edit.start, edit.data)

    def _call(self, name: tuple[bytes, Address], raw: bytes) -> ArgumentsFiller:
        """The call that a fragment continues: if indexes or ids change, the call of the last ones."""
        filler = self._arguments.pop(name, None)
        if filler is None:
            same = [key for key in reversed(self._arguments) if key[0] == name[0]]
            last = next((key for key in same if key[1][0] == name[1][0]), same[0] if same else None)
            begins = raw[:1] in b' {["' or raw.startswith((b'\\"', b"\\n", b"null"))
            filler = ArgumentsFiller(self._mode) if begins or last is None else self._arguments[last]
        self._arguments[name] = filler
        return filler

    def _fill_arguments(self, filler: ArgumentsFiller, parts: list[tuple[int, bytes]]) -> Iterator[Edit]:
        channel = Channel(b"")
        for position, raw in parts:
            if filler.restarts(Unescaped(raw).text):
                yield from self._filled(filler, channel)
                filler.restart()
                channel = Channel(b"")
            channel.append(raw, position)
        yield from self._filled(filler, channel)

    @staticmethod
    def _filled(filler: ArgumentsFiller, channel: Channel) -> Iterator[Edit]:
        if text := channel.text:
            yield from channel.on_leaves(Edit(0, filler.fill(text)))

    def _lines(self, window: bytes) -> Iterator[Edit]:
        """Lines that are not JSON."""
        for position, line in other_lines(window):
            if (position or self._at_line) and not _CONTROL.match(line):
                begin = len(b"data:") if line.startswith(b"data:") else 0
                # From there on, strings are searched one by one.
                json_at = line.find(b'{"')
                yield Edit(position + begin, fill_chat(line[begin : json_at if json_at >= 0 else None], self._mode))

    def _forget(self) -> None:
        for kept in (self._tails, self._arguments):
            for name in list(kept)[:-_MOST]:
                del kept[name]


_MOST: Final = 256


def _addresses(window: bytes) -> Callable[[int], Address]:
    """Finds the owner of a text by its place, by the indexes and ids of its event.

    For each kind, the first one of the event and the nearest one before the place, or all that follow in its line.
    """
    kinds = [
        ([position for position, _ in marks], [value for _, value in marks])
        for marks in (index_marks(window), id_marks(window))
    ]

    def of(position: int) -> Address:
        begin, end = window.rfind(b"\n", 0, position) + 1, window.find(b"\n", position)
        found: list[tuple[bytes, ...]] = []
        for places, values in kinds:
            line, mark = bisect_left(places, begin), bisect_left(places, position)
            stop = bisect_left(places, end if end >= 0 else len(window))
            found.append((values[line], values[mark - 1]) if mark > line else tuple(values[mark:stop]))
        return tuple(found)

    return of


def _of_arguments(window: bytes, key: bytes, position: int) -> bool:
    """Whether a text is in a call's arguments: a `delta` by its event's type or name, an `input` within `toolUse`."""
    if key == b"input":
        return _TOOL_USE.search(window, max(0, position - _BEFORE), position) is not None
    if key != b"delta":
        return False
    end = window.find(b"\n", position)
    begin = window.rfind(b"\n", 0, position) + 1
    begin = window.rfind(b"\n", 0, max(0, begin - 1)) + 1
    found = _TYPE.finditer(window, begin, end if end >= 0 else len(window))
    return any(b"arguments" in match[1] for match in found)
