"""One request and its answer as other tools save them. Knows no file format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolstream_core.model import ABSENT, Exchange
from toolstream_core.redact import request_secrets
from toolstream_core.sources.saved import Saved, was_llm
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolstream_core.model import Json

type Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """A request and its answer; both bodies with their content coding undone."""

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

    @property
    def host(self) -> str:
        """The host that was asked."""
        return _split(self.url)[0]

    @property
    def path(self) -> str:
        """Path and query."""
        return _split(self.url)[1]

    def response_header(self, name: str) -> str:
        """The first header of that name (in lower case) of the answer, or nothing."""
        return next((value for key, value in self.response_headers if key.lower() == name), "")


def saved_of(one: Interaction) -> Saved:
    """The answer as `toolstream inspect` reads it."""
    request: Json = parse(one.request_body) if one.request_body else ABSENT
    exchange = Exchange(
        source=one.source,
        host=one.host,
        path=one.path,
        content_type=one.response_header("content-type"),
        status=one.status,
        request=request,
    )
    return Saved(
        exchange=exchange,
        chunks=(one.body,),
        broken=one.broken,
        secrets=request_secrets(one.request_headers, one.path),
        missing=one.missing if not one.body and was_llm(exchange, one.method.upper()) else None,
    )


def _split(url: str) -> tuple[str, str]:
    try:
        split = urlsplit(url)
        host = split.hostname or ""
    except ValueError:
        return "", ""
    return host, f"{split.path}?{split.query}" if split.query else split.path
