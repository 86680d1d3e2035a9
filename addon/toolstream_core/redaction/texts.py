"""Chat text of a body replaced by filler: where it stands, so that framing, cuts, keys and ids stay."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.assignments import ArgumentsFiller, fill_value
from toolstream_core.redaction.channels import Channel, id_marks, index_marks, other_lines
from toolstream_core.redaction.strings import Context, Edit, Unescaped, Walker, fill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.redaction.settings import TextMode
    from toolstream_core.redaction.strings import Value


_BAR: Final = r"(?:\||｜|‖){1,2}"
_NAME: Final = r"[\w.:-]{1,128}"
_MARKUP: Final = (
    # Elements: those of calls with their names, others bare.
    rf"</?{_BAR}[^<>\n]{{0,128}}>|</?(?:antml:|minimax:)?(?:tool_calls?|function_calls?|function|invoke|parameter|arg_key"
    r"|arg_value|think|thinking|tool_response)(?:[=\s][^<>]{0,200})?>|</?[A-Za-z_][\w.:-]{0,64}\s*/?>"
    # What stands before or behind a mark without one of its own.
    rf"|(?<=<tool_call>)\s*{_NAME}(?=\s*<)|(?<=<arg_key>)[^<]{{1,128}}(?=</arg_key>)"
    rf"|(?<=｜>){_NAME}(?=\s*(?:<｜|```|\{{))|(?<=\|>)\s*(?:functions\.)?{_NAME}(?=\s*<\|)"
    rf"|(?:assistant)?c?o?m?mentary to=(?:functions\.)?{_NAME}(?:\s*(?:<\|constrain\|>)?\s*json)?"
    rf"|\[TOOL_CALLS\]\s*(?:{_NAME})?|\[/?[A-Z]{{3,}}_?[A-Z]{{2,}}\]|```\w*"
)
_JSON: Final = (
    r'|"[^"\\\n]{0,128}"(?=\s*:)|(?<="name":)\s*"[\w.:-]{1,128}"|(?<="name": )"[\w.:-]{1,128}"'
    r"|(?<![^\s{\[,:(=>])(?:true|false|null|None|True|False|NaN)(?![^\s}\],)\"'\\<])"
    r"|(?<=[0-9])[eE](?=[+-]?[0-9])|\\[a-z\"\\/]"
)
_CODE: Final = r"|\b[A-Za-z_][\w.]*(?=\()|\b[A-Za-z_]\w*(?==(?!=))"
_PLAIN: Final = re.compile(_MARKUP.encode())
_WITH_JSON: Final = re.compile((_MARKUP + _JSON).encode())
_WITH_CODE: Final = re.compile((_MARKUP + _JSON + _CODE).encode())
_IS_JSON: Final = re.compile(
    rb"\s*(?:<\|python_tag\|>)?\s*[\[{]|<tool_call>|<[|\xe2\xef]|TOOL_CALLS|mentary to=|<(?:\w+:)?(?:invoke|function)"
)
_IS_CODE: Final = re.compile(rb"\s*(?:<\|python_tag\|>)?\s*(?:print\()?\[?[A-Za-z_][\w.]*\(")


def _filled_between(text: bytes, kept: re.Pattern[bytes], mode: TextMode) -> bytes:
    parts, at = [], 0
    for found in kept.finditer(text):
        parts += [fill(text[at : found.start()], mode), found[0]]
        at = found.end()
    return b"".join([*parts, fill(text[at:], mode)])


def fill_chat(text: bytes, mode: TextMode) -> bytes:
    """Filler for a text, whose markup stays. What is JSON keeps its keys, what is a call in code its names."""
    if _IS_CODE.match(text):
        return _filled_between(text, _WITH_CODE, mode)
    return _filled_between(text, _WITH_JSON if _IS_JSON.search(text) else _PLAIN, mode)


# Values that are words of a protocol, names and ids, and what only the provider can read.
_KEPT: Final = frozenset(
    b" id object model type role name finish_reason stop_reason status call_id item_id tool_call_id tool_use_id"
    b" event execution index output_index content_index summary_index toolUseId native_finish_reason"
    b" system_fingerprint service_tier provider encrypted_content signature code phase thoughtSignature"
    b" thought_signature created_at createTime created done_reason finishReason stopReason responseId"
    b" response_id modelVersion media_type mimeType mime_type obfuscation previous_response_id effort truncation"
    b" reasoning_effort verbosity detail encoding include modalities output_modalities responseModalities format"
    b" param jsonPath finish_reasons stop_sequence tool_name toolName server_label role_name language"
    b" tool_choice blockReason reason cache_control ttl prompt_cache_key safety_identifier user"
    b" redacted_thinking version".split()
)
_TOOL_USE: Final = re.compile(rb'"toolUse"\s*:\s*\{\s*"input"\s*:\s*"?\Z')
_BEFORE: Final = 64
"""Bytes before a text in which its keys stand."""
_ARGUMENTS: Final = frozenset(b"arguments partial_json partialJson".split())
_TYPE: Final = re.compile(rb'"type"\s*:\s*"([^"]*)"')
_CONTROL: Final = re.compile(rb'(?:\xef\xbb\xbf)?(?:data:\s*(?:\[DONE\]|[\[{]*")|event:|id:|retry:|:|\r?\n|\Z)')

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

    def edits(self, window: bytes, flushed: int) -> list[Edit]:
        """What overwrites the text in the first `flushed` bytes of a window; the rest comes again."""
        values = list(self._walker.walk(window[:flushed]))
        ahead = [
            value._replace(start=value.start + flushed, end=value.end + flushed)
            for value in self._walker.copy().walk(window[flushed:])
        ]
        addresses = _Addresses(window)
        edits: list[Edit] = []
        chats: dict[tuple[bytes, Address], Channel] = {}
        arguments: dict[ArgumentsFiller, list[tuple[int, bytes]]] = {}
        for value in [*values, *ahead]:
            raw = window[value.start : value.end]
            if value.context is Context.KEPT or (value.context is Context.PROTOCOL and value.key in _KEPT):
                continue
            if value.context is Context.TEXT:
                if value.start < flushed:
                    edits += self._on_raw(raw, value)
                continue
            name = (value.key, addresses.of(value.start))
            if value.key in _ARGUMENTS or _of_arguments(window, value.key, value.start):
                if raw and value.start < flushed:
                    arguments.setdefault(self._call(name, raw), []).append((value.start, raw))
                continue
            if name not in chats:
                chats[name] = Channel(self._tails.get(name, b""))
            chats[name].append(raw, value.start)
        for filler, pieces in arguments.items():
            edits += self._fill_arguments(filler, pieces)
        for name, channel in chats.items():
            edits += channel.on_leaves(Edit(0, fill_chat(channel.text, self._mode)))
            self._tails[name] = channel.tail(flushed)
        edits += self._lines(window)
        self._at_line = window[flushed - 1 : flushed] == b"\n"
        self._forget()
        return edits

    def _on_raw(self, raw: bytes, value: Value) -> Iterator[Edit]:
        plain = Unescaped(raw)
        for edit in plain.on_raw(Edit(0, fill_value(plain.text, self._mode))):
            yield Edit(value.start + edit.at, edit.data)

    def _call(self, name: tuple[bytes, Address], raw: bytes) -> ArgumentsFiller:
        """Whose arguments a fragment goes on with: where indexes or ids change, those that came last."""
        filler = self._arguments.pop(name, None)
        if filler is None:
            same = [key for key in reversed(self._arguments) if key[0] == name[0]]
            last = next((key for key in same if key[1][0] == name[1][0]), same[0] if same else None)
            begins = raw[:1] in b' {["' or raw.startswith((b'\\"', b"\\n", b"null"))
            filler = ArgumentsFiller(self._mode) if begins or last is None else self._arguments[last]
        self._arguments[name] = filler
        return filler

    def _fill_arguments(self, filler: ArgumentsFiller, pieces: list[tuple[int, bytes]]) -> Iterator[Edit]:
        channel = Channel(b"")
        for at, raw in pieces:
            if filler.restarts(Unescaped(raw).text):
                yield from self._filled(filler, channel)
                filler.restart()
                channel = Channel(b"")
            channel.append(raw, at)
        yield from self._filled(filler, channel)

    @staticmethod
    def _filled(filler: ArgumentsFiller, channel: Channel) -> Iterator[Edit]:
        if text := channel.text:
            yield from channel.on_leaves(Edit(0, filler.fill(text)))

    def _lines(self, window: bytes) -> Iterator[Edit]:
        """Lines that are no JSON."""
        for at, line in other_lines(window):
            if (at or self._at_line) and not _CONTROL.match(line):
                begin = len(b"data:") if line.startswith(b"data:") else 0
                # From there on strings are looked at one by one.
                json_at = line.find(b'{"')
                yield Edit(at + begin, fill_chat(line[begin : json_at if json_at >= 0 else None], self._mode))

    def _forget(self) -> None:
        for kept in (self._tails, self._arguments):
            for name in list(kept)[:-_MOST]:
                del kept[name]


_MOST: Final = 256


class _Addresses:
    """Whose a text is, by the indexes and the ids that its event says."""

    def __init__(self, window: bytes) -> None:
        self._window = window
        self._kinds = [_Marks(index_marks(window)), _Marks(id_marks(window))]

    def of(self, at: int) -> Address:
        """Of each the event's first and the nearest before a place, or all that follow in its line."""
        begin = self._window.rfind(b"\n", 0, at) + 1
        end = self._window.find(b"\n", at)
        stop = end if end >= 0 else len(self._window)
        return tuple(may_leak.around(begin, at, stop) for may_leak in self._kinds)


class _Marks:
    def __init__(self, may_leak: list[tuple[int, bytes]]) -> None:
        self._places = [at for at, _ in may_leak]
        self._values = [value for _, value in may_leak]

    def around(self, begin: int, at: int, end: int) -> tuple[bytes, ...]:
        line, mark = bisect_left(self._places, begin), bisect_left(self._places, at)
        if mark > line:
            return (self._values[line], self._values[mark - 1])
        return tuple(self._values[mark : bisect_left(self._places, end)])


def _of_arguments(window: bytes, key: bytes, at: int) -> bool:
    """Whether a text is of a call's arguments: a `delta` by its event's type, an `input` within `toolUse`."""
    if key == b"input":
        return _TOOL_USE.search(window, max(0, at - _BEFORE), at) is not None
    if key != b"delta":
        return False
    end = window.find(b"\n", at)
    begin = window.rfind(b"\n", 0, at) + 1
    found = _TYPE.search(window, begin, end if end >= 0 else len(window))
    return found is not None and b"arguments" in found[1]
