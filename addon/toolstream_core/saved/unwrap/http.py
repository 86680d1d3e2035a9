"""HTTP messages as text: from `curl -i`, and both directions of a followed connection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

from toolstream_core.model import ABSENT, StreamFacts
from toolstream_core.redaction import known_secrets
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.unwrap.cut_text import is_chunked, segments
from toolstream_core.saved.unwrap.lines import Lines, encoded
from toolstream_core.wire.frame import parse

_RESPONSE: Final = re.compile(r"HTTP/[\d.]+ (\d{3})\b")
_REQUEST: Final = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|CONNECT) (\S+) HTTP/[\d.]+$")
_AFTER: Final = re.compile(r"(?<=[}\]>\n])(?=HTTP/[\d.]+ \d{3}\b|(?:GET|POST) \S+ HTTP/[\d.]+$)")
_HEADER: Final = re.compile(r"([\w\-]+):[ \t]*(.*)")
_MAX_REQUEST: Final = 64 * 1024 * 1024


HEADLESS: Final = Exchange(facts=StreamFacts())
"""A response without a head, and without a request before it."""


def has_head(head: Sequence[str]) -> bool:
    """Whether the text has the head of an HTTP response."""
    return any(_RESPONSE.match(line) or ("HTTP/" in line and _AFTER.search(line)) for line in head)


def messages(lines: Lines) -> Iterator[tuple[Exchange, Lines]]:
    """Each response by its head, and the lines of its body. Read these before the next response."""
    reader = _Reader(chain.from_iterable(_AFTER.split(line) if "HTTP/" in line else (line,) for line in lines))
    exchange = HEADLESS
    while not reader.over:
        body = Lines(reader.body())
        yield exchange, Lines(segments(body, 16)) if is_chunked(body.head) else body
        for _ in body:
            """Go past what was not taken."""
        exchange = reader.head()


class _Reader:
    """Reads from head to head."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._next: str | None = None
        self._requested = HEADLESS
        self.over = False

    def body(self) -> Iterator[str]:
        """The lines up to the next head."""
        for line in self._lines:
            if _RESPONSE.match(line) or _REQUEST.match(line):
                self._next = line
                return
            yield line
        self.over = True

    def head(self) -> Exchange:
        """The head of the next response, with the request before it."""
        while self._next is not None:
            line, self._next = self._next, None
            headers = self._headers()
            response = _RESPONSE.match(line)
            if response:
                facts, kind = self._requested.facts, headers.get("content-type", "")
                return replace(self._requested, facts=replace(facts, status=int(response[1]), content_type=kind))
            request = _REQUEST.match(line)
            address = urlsplit(request[1] if request else "")
            path = address._replace(scheme="", netloc="").geturl()
            text = self._sized(self.body())
            body = parse(encoded(text)) if text.lstrip().startswith("{") else ABSENT
            self._requested = Exchange(
                facts=StreamFacts(host=address.netloc or headers.get("host", ""), path=path, request=body),
                request_headers=tuple(headers.items()),
                secrets=known_secrets(headers.items(), path),
            )
        return HEADLESS

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
