"""Bodies cut into blocks by a plain reading of each framing, written for the fuzzer alone."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tests.fuzz.messages import MESSAGES, messages

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """One SSE block, JSON line, array element or AWS message."""

    lines: tuple[bytes, ...]
    """Its lines without their ends: equal in every spelling of a line's end."""
    data: bytes | None
    """`None` where it has none."""
    name: str = ""

    @property
    def payload(self) -> Any:
        """The data as JSON; `None` where it is none."""
        return parsed(self.data)


class Cut(NamedTuple):
    """A body in blocks."""

    blocks: list[Block]
    tail: bytes
    """What the body ends with and no terminator follows: no client is told of it."""


def parsed(data: bytes | str | None) -> Any:
    """JSON, or `None`."""
    try:
        return json.loads(data.decode("utf-8", "replace") if isinstance(data, bytes) else data or "")
    except (ValueError, RecursionError):
        return None


def cut(body: bytes, content_type: str) -> Cut:
    """The blocks of a body of one of the framings."""
    if content_type == "application/x-ndjson":
        *lines, tail = body.removeprefix(_BOM).split(b"\n")
        return Cut([Block((line.strip(),), line.strip()) for line in lines if line.strip()], tail)
    if content_type == "application/json":
        return _array(body)
    if content_type == MESSAGES:
        found, tail = messages(body)
        return Cut([Block((one.raw,), one.data, one.name) for one in found], tail)
    return _sse(body)


def _sse(body: bytes) -> Cut:
    """As WHATWG says: a block is what a blank line ends."""
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
    return Cut(blocks, body[last:])


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


def _array(body: bytes) -> Cut:
    """The elements of a JSON array, as far as they are whole."""
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
    return Cut(blocks, text[at:].encode("utf-8", "replace"))
