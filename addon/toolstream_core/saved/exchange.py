"""A saved response with its request, and why there may be none. Knows no file format."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from toolstream_core.model import ABSENT, StreamFacts
from toolstream_core.protocols.registry import claiming
from toolstream_core.protocols.requests.asked import looks_like_llm
from toolstream_core.redact import request_secrets
from toolstream_core.shrinking.candidate import Chunk
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.model import Finding, Injected, Json, Note
    from toolstream_core.protocols.socket_wire import SocketLane


class UnreadableError(Exception):
    """Unreadable input; the message names what was expected."""


class RefusedError(UnreadableError):
    """A file of a known kind that cannot hold a response; the message says how to bring the response in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A saved response."""

    exchange: StreamFacts
    chunks: Iterable[bytes] = ()
    """The body, with the content coding that `exchange` names. Read it before the next response."""
    times: Sequence[int] = ()
    """Milliseconds at which each chunk came; empty if unknown."""
    broken: str | None = None
    """How the connection broke, if it did."""
    secrets: tuple[str, ...] = ()
    """Secrets of the request."""
    sent: bytes | None = None
    """The body that the client got, if it differs."""
    faults: Sequence[Injected] = ()
    """The faults that were injected into the response."""
    began: float = 0.0
    """When the request came, in seconds since the epoch; 0 if unknown."""
    ended: float = 0.0
    """When the response ended; 0 if unknown."""
    response: str = ""
    """The id by which later requests may name the response (`previous_response_id`)."""
    socket: SocketLane | None = None
    """Where on a WebSocket it came, if it did: each chunk is a message, as a line."""
    missing: str | None = None
    """Why the body of an LLM's answer is not there, where it is not."""
    unwrapped: Sequence[Note] = ()
    """What surrounded the body and was removed; complete once the chunks were read."""
    findings: Sequence[Finding] = ()
    """Errors of the body's framing that are corrected in the chunks."""
    lost: frozenset[str] = frozenset()
    """Codes of findings that only the form of the file causes."""

    def all_findings(self, found: Iterable[Finding]) -> list[Finding]:
        """The findings of the framing, then those in the chunks."""
        return [*self.findings, *filter(self.shows, found)]

    def shows(self, finding: Finding) -> bool:
        """Whether a finding in the chunks is one of the response, and not of the file's form."""
        return finding.code not in self.lost


class NewBody(NamedTuple):
    """The body that replaces a saved one."""

    pieces: Sequence[bytes]
    """What each chunk became, decoded, and what follows the last one."""
    broken: str | None = None
    """How the connection ends for the client, if a repair truncates the response."""

    @property
    def body(self) -> bytes:
        """All of it."""
        return b"".join(self.pieces)


type Change = Callable[[Saved], NewBody]


def was_llm(exchange: StreamFacts, method: str) -> bool:
    """Whether a response without its body was an LLM's, judged by everything but the body."""
    if method != "POST" or not 200 <= exchange.status < 300:  # noqa: PLR2004 - the statuses of success
        return False
    return claiming(exchange.path) is not None or looks_like_llm(exchange.path, exchange.request)


type Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and its response; both bodies with their content coding undone."""

    source: str
    method: str = "POST"
    url: str
    request_headers: Headers = ()
    request_body: bytes = b""
    status: int = 200
    reason: str = ""
    response_headers: Headers = ()
    body: bytes = b""
    started: float | None = None
    """Seconds since the epoch at which the request began."""
    chunks: tuple[tuple[int, int], ...] = ()
    """Milliseconds since the first byte and bytes of each chunk of `body`, if known."""
    line_ends: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Where messages of a WebSocket have line ends that the lines of `body` have not: `LineEnds.places`."""
    broken: str | None = None
    """How the connection broke, if it did."""
    missing: str | None = None
    """Why there is no body, if that was not saved."""
    ended: float = 0.0
    """Seconds since the epoch at which the response ended; 0 if not known."""
    socket: SocketLane | None = None
    """Where on a WebSocket the response came, if it did: each chunk is a message, as a line."""

    @property
    def host(self) -> str:
        """The host that was asked."""
        return _split(self.url)[0]

    @property
    def path(self) -> str:
        """Path and query."""
        return _split(self.url)[1]

    @property
    def timed_chunks(self) -> list[Chunk]:
        """The chunks of the body; empty if they are not known, or are those of another body."""
        if sum(size for _, size in self.chunks) != len(self.body):
            return []
        ends = accumulate(size for _, size in self.chunks)
        return [Chunk(when, self.body[end - size : end]) for end, (when, size) in zip(ends, self.chunks, strict=True)]

    def response_header(self, name: str) -> str:
        """The first header of that name (in lower case) of the response, or nothing."""
        return next((value for key, value in self.response_headers if key.lower() == name), "")


def saved_of(one: Exchange) -> Saved:
    """The response as `toolstream inspect` reads it."""
    request: Json = parse(one.request_body) if one.request_body else ABSENT
    exchange = StreamFacts(
        source=one.source,
        host=one.host,
        path=one.path,
        content_type=one.response_header("content-type"),
        status=one.status,
        request=request,
    )
    timed = one.timed_chunks
    return Saved(
        exchange=exchange,
        chunks=[data for _, data in timed] or [one.body],
        times=[when for when, _ in timed],
        broken=one.broken,
        secrets=request_secrets(one.request_headers, one.path),
        began=one.started or 0.0,
        ended=one.ended,
        socket=one.socket,
        missing=one.missing if not one.body and was_llm(exchange, one.method.upper()) else None,
    )


def chunk_table(noted: Json, length: int) -> list[tuple[int, int]]:
    """`[[ms since the first byte, bytes], …]` of a body of this length; empty if `noted` is no such table."""
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
