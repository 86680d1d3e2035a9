"""Reads the wire texts beside this file. Knows their layout, AWS's messages, and mitmproxy's headers.

A wire text begins with `about:` and `from:`, which become its row in flows/README.md. Then come exchanges,
each in parts that begin with a line `=== …`:

    === request POST URL                  headers, a blank line, the JSON body as people like to read it
    === response 200 at TIME after MS     headers; MS from the request to the first byte
    === +MS                               one HTTP chunk, MS after the first byte, as sent; for each chunk
    === expect                            what a reader has to find in it, written by hand

In an answer of AWS's binary messages each line of a chunk is one of them: its event type, a space, its JSON.

In a chunk `␍` is a carriage return, and `␄` at a line's end leaves out that line's end: neither would survive
editors and git.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mitmproxy import http

from toolstream_core.wire.aws_event_stream import MESSAGES, fresh

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PART = re.compile(r"^=== (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange as its source says it."""

    method: str
    url: str
    status: int
    started: float
    first_byte: int
    request_headers: http.Headers
    request_body: bytes
    response_headers: http.Headers
    chunks: tuple[tuple[int, bytes], ...]
    expected: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One wire text."""

    name: str
    about: str
    origin: str
    turns: tuple[Turn, ...]


def read_source(path: Path) -> Source:
    """Read a wire text; whoever wrote it wrong gets a `ValueError` that names it."""
    head, *rest = _PART.split(path.read_text(encoding="utf-8"))
    facts = dict(line.split(": ", 1) for line in head.splitlines() if line)
    parts = list(zip(rest[::2], rest[1::2], strict=True))
    starts = [at for at, (mark, _) in enumerate(parts) if mark.startswith("request ")]
    try:
        turns = tuple(_turn(parts[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True))
        return Source(path.stem, facts["about"], facts["from"], turns)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path.name}: {error!r}") from error


def _turn(parts: list[tuple[str, str]]) -> Turn:
    (request, asked), (response, answered), *chunks, (last, expected) = parts
    if last != "expect":
        raise ValueError(f"an exchange ends with {last!r}, not with what is expected of it")
    _, method, url = request.split()
    _, status, _, when, _, first_byte = response.split()
    head, _, body = asked.partition("\n\n")
    headers = _headers(answered)
    as_sent = _messages if headers["content-type"] == MESSAGES else _as_sent
    return Turn(
        method,
        url,
        int(status),
        datetime.fromisoformat(when).timestamp(),
        int(first_byte),
        _headers(head),
        json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode(),
        headers,
        tuple((int(mark), as_sent(text)) for mark, text in chunks),
        json.loads(expected),
    )


def _headers(text: str) -> http.Headers:
    pairs = (line.split(": ", 1) for line in text.splitlines() if line)
    return http.Headers([(name.encode(), value.encode()) for name, value in pairs])


def _as_sent(text: str) -> bytes:
    return text.replace("␄\n", "").replace("␍", "\r").encode()


def _messages(text: str) -> bytes:
    pairs = (line.split(" ", 1) for line in text.splitlines() if line)
    return b"".join(fresh(payload.encode(), kind).encode() for kind, payload in pairs)
