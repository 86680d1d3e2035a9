"""Splits bodies into blocks, with code that only the fuzzer uses."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tests.fuzz.messages import MESSAGES, messages

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """An SSE block, a JSON line, an array element or an AWS message."""

    lines: tuple[bytes, ...]
    """Its lines without line endings."""
    data: bytes | None
    """`None` without `data` lines."""
    name: str = ""

    @property
    def payload(self) -> Any:
        """The parsed data; `None` if it is not JSON."""
        return parsed(self.data)


class Split(NamedTuple):
    """A body split into blocks."""

    blocks: list[Block]
    tail: bytes
    """Bytes after the last terminator: clients do not dispatch them."""


def parsed(data: bytes | str | None) -> Any:
    """Parse JSON; return `None` if it is invalid."""
    try:
        return json.loads(data.decode("utf-8", "replace") if isinstance(data, bytes) else data or "")
    except (ValueError, RecursionError):
        return None


def split_blocks(body: bytes, content_type: str) -> Split:
    """Split a body by its framing."""
    if content_type == "application/x-ndjson":
        *lines, tail = body.removeprefix(_BOM).split(b"\n")
        return Split([Block((line.strip(),), line.strip()) for line in lines if line.strip()], tail)
    if content_type == "application/json":
        return _array(body)
    if content_type == MESSAGES:
        found, tail = messages(body)
        return Split([Block((one.raw,), one.data, one.name) for one in found], tail)
    return _sse(body)


def _sse(body: bytes) -> Split:
    """Split as WHATWG specifies: a blank line ends a block."""
    blocks: list[Block] = []
    lines: list[bytes] = []
    at = last = 0
    while (end := _LINE_END.search(body, at)) is not None:
        line = body[at : end.start()]
        if at == 0:
            line = line.removeprefix(_BOM)
        at = end.end()
        if line:
            lines.append(line)
            continue
        if lines:
            blocks.append(_block(lines))
            lines = []
        last = at
    return Split(blocks, body[last:])


def _block(lines: list[bytes]) -> Block:
    data: list[bytes] = []
    name = ""
    for line in lines:
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode("utf-8", "replace")
    return Block(tuple(lines), b"\n".join(data) if data else None, name)


def _array(body: bytes) -> Split:
    """Split a JSON array into its complete elements."""
    decoder, text = json.JSONDecoder(), body.decode("utf-8", "replace")
    blocks: list[Block] = []
    at = text.find("[") + 1
    while at:
        begin = re.compile(r"[\s,]*").match(text, at)
        at = begin.end() if begin else at
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        data = text[at:end].encode("utf-8", "replace")
        blocks.append(Block((data,), data))
        at = end
    return Split(blocks, text[at:].encode("utf-8", "replace"))
