"""HTTP messages as text: from `curl -i`, and both directions of a followed connection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from toolstream_core.model import ABSENT, Json
from toolstream_core.saved.unwrap.cut_text import is_chunked, segments
from toolstream_core.saved.unwrap.lines import Lines, encoded
from toolstream_core.wire.frame import parse

_RESPONSE: Final = re.compile(r"HTTP/[\d.]+ (\d{3})\b")
_REQUEST: Final = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|CONNECT) (\S+) HTTP/[\d.]+$")
_AFTER: Final = re.compile(r"(?<=[}\]>\n])(?=HTTP/[\d.]+ \d{3}\b|(?:GET|POST) \S+ HTTP/[\d.]+$)")
_HEADER: Final = re.compile(r"([\w\-]+):[ \t]*(.*)")
_MAX_REQUEST: Final = 64 * 1024 * 1024


@dataclass(slots=True)
class Message:
    """A response by its head, and the request before it."""

    status: int = 0
    """0 if the text has no head."""
    headers: dict[str, str] = field(default_factory=dict)
    path: str = ""
    host: str = ""
    request: Json = ABSENT
    request_headers: dict[str, str] = field(default_factory=dict)


def has_head(head: Sequence[str]) -> bool:
    """Whether the text has the head of an HTTP response."""
    return any(_RESPONSE.match(line) or ("HTTP/" in line and _AFTER.search(line)) for line in head)


def messages(lines: Lines) -> Iterator[tuple[Message, Lines]]:
    """Each response with the lines of its body. Read these before the next response."""
    reader = _Reader(chain.from_iterable(_AFTER.split(line) if "HTTP/" in line else (line,) for line in lines))
    message = Message()
    while not reader.over:
        body = Lines(reader.body())
        chunked = message.headers.get("transfer-encoding") == "chunked" and is_chunked(body.head)
        yield message, Lines(segments(body, 16)) if chunked or is_chunked(body.head) else body
        for _ in body:
            """Go past what was not taken."""
        message = reader.head()


class _Reader:
    """Reads from head to head."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._next: str | None = None
        self._requested = Message()
        self.over = False

    def body(self) -> Iterator[str]:
        """The lines up to the next head."""
        for line in self._lines:
            if _RESPONSE.match(line) or _REQUEST.match(line):
                self._next = line
                return
            yield line
        self.over = True

    def head(self) -> Message:
        """The head of the next response, with the request before it."""
        while self._next is not None:
            line, self._next = self._next, None
            headers = self._headers()
            response = _RESPONSE.match(line)
            if response:
                return replace(self._requested, status=int(response[1]), headers=headers)
            request = _REQUEST.match(line)
            address = urlsplit(request[1] if request else "")
            path = address._replace(scheme="", netloc="").geturl()
            self._requested = Message(0, {}, path, address.netloc or headers.get("host", ""), request_headers=headers)
            text = self._sized(self.body())
            self._requested.request = parse(encoded(text)) if text.lstrip().startswith("{") else ABSENT
        return Message()

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in self._lines:
            header = _HEADER.match(line)
            if header is None:
                break
            headers[header[1].lower()] = header[2].strip()
        return headers

    def _sized(self, lines: Iterator[str]) -> str:
        kept, size = [], 0
        for line in lines:
            if size <= _MAX_REQUEST:
                kept.append(line)
                size += len(line)
        return "\n".join(kept)
