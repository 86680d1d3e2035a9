"""A saved response with its request, and reasons why it may be missing. Knows no file format."""

from __future__ import annotations

import base64
import codecs
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from toolstream_core.model import ABSENT, Chunk, Finding, Injected, Json, Note, Record, StreamFacts
from toolstream_core.protocols.registry import claiming
from toolstream_core.protocols.requests.match_key import looks_like_llm
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.redaction import known_secrets
from toolstream_core.wire import json_access
from toolstream_core.wire.body import BodyDecoder
from toolstream_core.wire.coding import CodingError, Decoder
from toolstream_core.wire.frame import parse

_GZIP: Final = b"\x1f\x8b"
_LEAD: Final = 64
"""Bytes of a body that show whether it is text."""


class UnreadableError(Exception):
    """Unreadable input; the message names what was expected."""


class RefusedError(UnreadableError):
    """A file of a known kind that cannot hold a response; the message is how to import the response."""


type Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A saved response with its request, of any form of file."""

    facts: StreamFacts
    """The facts apart from the body: source, address, status, request."""
    chunks: Iterable[bytes] = ()
    """The body, with the content coding that `facts` names. Read it before the next response."""
    times: Sequence[int] = ()
    """The arrival times of the chunks, in milliseconds since the first byte; empty if unknown."""
    broken: str | None = None
    """The error of the connection, if any."""
    secrets: tuple[str, ...] = ()
    """Secrets of the request."""
    sent: bytes | None = None
    """The body that the client got, if it differs."""
    is_rewritten: bool = False
    """Whether the body was replaced in the file: later requests do not show how a client interprets it."""
    faults: Sequence[Injected] = ()
    began: float = 0.0
    """The time of the request, in seconds since the epoch; 0 if unknown."""
    ended: float = 0.0
    """When the response ended; 0 if unknown."""
    socket: SocketLane | None = None
    """Its lane on a WebSocket, if it arrived over one: each chunk is a message, as a line."""
    missing: str | None = None
    """The reason if the body of an LLM response is missing."""
    unwrapped: Sequence[Note] = ()
    """Text around the body that was removed; complete once the chunks were read."""
    findings: Sequence[Finding] = ()
    """Errors of the body's framing that are corrected in the chunks."""
    lost: frozenset[str] = frozenset()
    """Codes of findings that only the form of the file causes."""
    method: str = "POST"
    url: str = ""
    request_headers: Headers = ()
    request_body: bytes = b""
    """The request as it was sent, its content coding undone; this and the headers only if the file has requests."""
    reason: str = ""
    response_headers: Headers = ()
    line_ends: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """The line ends of WebSocket messages that the lines of the body lack: `LineEnds.places`."""

    @classmethod
    def of(  # noqa: PLR0913 - the parts of two messages
        cls,
        *,
        source: str,
        url: str,
        method: str = "POST",
        request_headers: Headers = (),
        request_body: bytes = b"",
        status: int = 200,
        response_headers: Headers = (),
        body: bytes = b"",
        chunks: Sequence[Chunk] = (),
        missing: str | None = None,
        **more: Any,
    ) -> Self:
        """An exchange from HTTP messages without content coding.

        `chunks` are in place of `body` if their times are known. `missing` is why there is no body, if that was not
        saved. `more` are other fields.
        """
        host, path = _split(url)
        facts = StreamFacts(
            source=source,
            host=host,
            path=path,
            content_type=header(response_headers, "content-type"),
            status=status,
            request=parse(request_body) if request_body else ABSENT,
        )
        return cls(
            facts=facts,
            method=method,
            url=url,
            request_headers=request_headers,
            request_body=request_body,
            response_headers=response_headers,
            chunks=[chunk.data for chunk in chunks] or [body],
            times=[chunk.after for chunk in chunks],
            secrets=known_secrets(request_headers, path),
            missing=missing if not (body or chunks) and was_llm(facts, method.upper()) else None,
            **more,
        )

    @property
    def source(self) -> str:
        """Its place: `PATH`, or `PATH#N` in a file with several."""
        return self.facts.source

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def timed_chunks(self) -> list[Chunk]:
        """The chunks with their times; empty if the times are not known."""
        return [Chunk(when, data) for when, data in zip(self.times, self.chunks, strict=True)] if self.times else []

    def decoded(self) -> Exchange:
        """The same response with its chunks in memory and without a content coding, if that can be undone."""
        chunks = list(self.chunks)
        decoder = BodyDecoder(self.facts.content_encoding)
        plain = [decoder.decode(chunk) for chunk in chunks]
        if decoder.failure is not None:
            return replace(self, chunks=chunks)
        if rest := decoder.decode(b""):
            plain.append(rest)
        times = [*self.times, *self.times[-1:]] if len(plain) > len(chunks) else self.times
        return replace(self, chunks=plain, times=times, facts=replace(self.facts, content_encoding=""))

    def as_client_got(self) -> Exchange:
        """The response as the client got it: the same object unless it was changed in flight."""
        if self.sent is None:
            return self
        facts = replace(self.facts, content_encoding="")
        return replace(self, facts=facts, chunks=[self.sent], times=(), sent=None)

    def complete(self, record: Record) -> None:
        """Add facts apart from the chunks to their record: findings of the framing, faults, removed text."""
        record.findings = [*self.findings, *filter(self.shows, record.findings)]
        record.faults, record.unwrapped = [*self.faults], [*self.unwrapped]

    def shows(self, finding: Finding) -> bool:
        """Whether a finding in the chunks is one of the response, and not of the file's form."""
        return finding.code not in self.lost


class Cut:
    """A body in chunks, each copied only while it is read."""

    def __init__(self, body: bytes, sizes: Sequence[int]) -> None:
        self._body, self._sizes = body, sizes

    def __iter__(self) -> Iterator[bytes]:
        position = 0
        for size in self._sizes:
            yield self._body[position : position + size]
            position += size


def timed(body: bytes, table: Sequence[tuple[int, int]]) -> list[Chunk]:
    """The chunks of a body with their times; `table` has the milliseconds and bytes of each."""
    return [Chunk(when, part) for (when, _), part in zip(table, Cut(body, [size for _, size in table]), strict=True)]


class NewBody(NamedTuple):
    """The body that replaces a saved one."""

    chunks: Sequence[bytes]
    """The decoded replacement of each chunk, and further bytes at the end."""
    broken: str | None = None
    """The error for the client, if a repair truncates the response."""

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


type Change = Callable[[Exchange], NewBody]


def was_llm(facts: StreamFacts, method: str) -> bool:
    """Whether a response without its body was an LLM's, by its request and headers."""
    if method != "POST" or not 200 <= facts.status < 300:  # noqa: PLR2004 - the statuses of success
        return False
    return claiming(facts.path) is not None or looks_like_llm(facts.path, facts.request)


def from_base64(text: str | bytes) -> bytes:
    """The bytes of a base64 text, or of a JSON list of such texts, as Polly.js has them; none if it is not valid."""
    listed = parse(text.encode() if isinstance(text, str) else text) if text[:1] in ("[", b"[") else None
    try:
        return b"".join(map(base64.b64decode, listed if isinstance(listed, list) else [text]))
    except (ValueError, TypeError):
        return b""


def plain_body(body: bytes, coding: str) -> bytes:
    """A saved body without content coding. Tools save it with or without the coding that its header names."""
    if body.startswith(_GZIP) and not coding:
        return _unzipped(body)
    if body.startswith(_GZIP):
        coding = "gzip"
    elif not coding or _is_text(body):
        return body
    try:
        return Decoder(coding).decode(body)
    except CodingError:
        return body


def _unzipped(body: bytes) -> bytes:
    """The content of a complete gzip file; a truncated one stays as it is, and is reported."""
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error):
        return body


def _is_text(body: bytes) -> bool:
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(body[:_LEAD]).isprintable() or b"\n" in body[:_LEAD]
    except UnicodeDecodeError:
        return False


def header(headers: Headers, wanted: str) -> str:
    """The first value of a header; `""` without it."""
    return next((value for name, value in headers if name.lower() == wanted), "")


def listed_headers(headers: Headers) -> dict[str, list[str]]:
    """The values of each header of a body whose content coding is undone."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() != "content-encoding":
            values.setdefault(name, []).append(value)
    return values


def read_headers(document: Json) -> Headers:
    """The headers in `{"name": "value"}`, `{"name": ["value", …]}`, `[{"name": …, "value": …}]` or `[["name", …]]`."""
    found: list[tuple[str, str]] = []
    for name, values in document.items() if isinstance(document, dict) else map(_pair, json_access.items(document)):
        listed = values if isinstance(values, list) else [values]
        texts = (
            value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in listed if value is not None
        )
        found += [(str(name), text) for text in texts]
    return tuple(found)


def _pair(entry: Json) -> tuple[Json, Json]:
    """The name and value of an entry; Slack's exports have lists."""
    keys = (0, 1) if isinstance(entry, list) else ("name", "value")
    name, value = (json_access.get(entry, key) for key in keys)
    return name, value if isinstance(name, str) and value is not ABSENT else None


def messages_of(request: Json) -> list[Json]:
    """The messages of a request, in any protocol."""
    found = (json_access.get(request, key) for key in ("messages", "input", "contents"))
    return next((one for one in found if isinstance(one, list)), [])


def chunk_table(noted: Json, length: int) -> list[tuple[int, int]]:
    """`[[ms since the first byte, bytes], …]` of a body of this length; empty if `noted` is something else."""
    pairs = [
        (json_access.integer(json_access.get(pair, 0)), json_access.integer(json_access.get(pair, 1)))
        for pair in json_access.items(noted)
    ]
    table = [(when, size) for when, size in pairs if isinstance(when, int) and isinstance(size, int) and size >= 0]
    return table if len(table) == len(pairs) and sum(size for _, size in table) == length else []


def _split(url: str) -> tuple[str, str]:
    try:
        split = urlsplit(url)
        host = split.hostname or ""
    except ValueError:
        return "", ""
    return host, f"{split.path}?{split.query}" if split.query else split.path
