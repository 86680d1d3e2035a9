"""The probed provider, and one request to it."""

from __future__ import annotations

import email.utils
import http.client
import ipaddress
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import Chunk
from toolstream_core.protocols.registry import OVER_HTTP, claiming, named
from toolstream_core.saved.exchange import Exchange, header
from toolstream_core.wire.coding import CodingError, Decoder

PROTOCOLS: Final = tuple(one.name for one in OVER_HTTP)
OWN_KEY: Final = "TOOLSTREAM_PROBE_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The probed API."""

    protocol: str
    base: str
    """Scheme, host and path, without the part that the protocol appends to each request."""
    query: str
    model: str | None

    @property
    def host(self) -> str:
        return urlsplit(self.base).netloc

    def url(self, *, streamed: bool) -> str:
        query = parse_qsl(self.query, keep_blank_values=True)
        base, query = named(self.protocol).api.url(self.base, query, streamed=streamed)
        return f"{base}?{urlencode(query)}" if query else base


def target(url: str, protocol: str | None, model: str | None) -> Target:
    """The target of `url`, a base URL or an endpoint. Raises `ToolstreamError`."""
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.hostname:
        raise ToolstreamError(f"{url!r} is not an http or https URL, as in https://api.openai.com/v1")
    if "@" in split.netloc:
        raise ToolstreamError(f"the URL contains credentials; set the key in the variable {OWN_KEY}")
    path = split.path.rstrip("/")
    name = protocol or _protocol(path, split.hostname, split.port)
    if name is None:
        raise ToolstreamError(f"name the protocol of {url} with --protocol: {', '.join(PROTOCOLS)}")
    api = named(name).api
    path, in_path = api.path_and_model(path)
    model = model or in_path
    if model is None:
        raise ToolstreamError("name the model with --model")
    base = urlunsplit((split.scheme, split.netloc, api.path(path, model), "", ""))
    return Target(protocol=name, base=base, query=split.query, model=model)


def key_of(provider: Target, environment: Mapping[str, str]) -> str | None:
    """The key from the environment. Raises `ToolstreamError` if it would be sent unencrypted."""
    names = (OWN_KEY, *named(provider.protocol).api.key_variables)
    key = next((value for name in names if (value := environment.get(name, "").strip())), None)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ToolstreamError("the key in the environment has characters that an HTTP header cannot contain")
    if key is not None and not provider.base.startswith("https:") and not _is_local(provider.base):
        raise ToolstreamError(f"refusing to send a key to {provider.host} without encryption; use https")
    return key


def _protocol(path: str, host: str, port: int | None) -> str | None:
    claimed = claiming(path)
    if claimed is not None:
        return claimed.name
    for one in OVER_HTTP:
        if host in one.api.hosts or (one.api.port is not None and port == one.api.port and not path):
            return one.name
    return OVER_HTTP[0].name if path.endswith("/v1") else None


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


MAX_BYTES: Final = 64 * 1024 * 1024
"""The maximum length of a response; longer ones are truncated."""
_CHUNK: Final = 64 * 1024
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the request is retried."""
_RETRIES: Final = 3
_MOST_WAIT: Final = 30.0
_FIRST_WAIT: Final = 1.0
_TIMES_TIMEOUT: Final = 10


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Sends a key only to the given URL."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Never."""


class Asker:
    """Sends requests to one provider, through the proxies of the environment (`HTTPS_PROXY`, `NO_PROXY`)."""

    def __init__(
        self,
        headers: dict[str, str],
        timeout: float,
        *,
        say: Callable[[str], None] = lambda line: None,  # noqa: ARG005
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`timeout` is in seconds without data."""
        self._headers = {"accept-encoding": "identity", "content-type": "application/json", **headers}
        self._timeout = timeout
        self._say = say
        self._sleep = sleep
        context = ssl.create_default_context()
        self._opener = urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))

    def ask(self, url: str, request: dict[str, Any]) -> Exchange:
        """The response, after a few tries if the provider is busy. Never raises for errors of a provider.

        Its status is 0 if there was no response; `broken` is the reason.
        """
        response = self._once(url, request)
        for attempt in range(_RETRIES):
            status = response.facts.status
            if status not in _BUSY:
                break
            wait = _wait(header(response.response_headers, "retry-after"), attempt)
            if wait > _MOST_WAIT:
                self._say(f"HTTP {status}; its Retry-After of {wait:.0f} s is too long")
                break
            self._say(f"HTTP {status}; retrying in {wait:.0f} s")
            self._sleep(wait)
            response = self._once(url, request)
        return response

    def _once(self, url: str, request: dict[str, Any]) -> Exchange:
        body, began = json.dumps(request).encode(), time.time()
        asking: dict[str, Any] = {
            "source": f"probe {began}",
            "url": url,
            "request_headers": tuple(self._headers.items()),
            "request_body": body,
            "began": began,
        }
        http_request = urllib.request.Request(url, body, self._headers)  # noqa: S310 - checked before
        try:
            response = self._opener.open(http_request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            response = error
        except (OSError, http.client.HTTPException) as error:
            return Exchange.of(**asking, status=0, broken=_why(error, self._timeout))
        with response:
            chunks, broken = self._read(response)
            return Exchange.of(
                **asking,
                status=response.status or 0,
                response_headers=tuple(
                    pair for pair in response.headers.items() if pair[0].lower() != "content-encoding"
                ),
                chunks=chunks,
                broken=broken,
            )

    def _read(self, response: Any) -> tuple[list[Chunk], str | None]:
        """The body's chunks, their content coding undone, and how it broke."""
        chunks: list[Chunk] = []
        size = received = 0
        first = begun = time.monotonic()
        try:
            decoder = Decoder(response.headers.get("content-encoding", ""))
            while raw := response.read1(_CHUNK):
                received += len(raw)
                data = decoder.decode(raw)
                if not data:
                    continue
                now = time.monotonic()
                first = first if chunks else now
                chunks.append(Chunk(int((now - first) * 1000), data))
                size += len(data)
                if size > MAX_BYTES:
                    return chunks, f"longer than {MAX_BYTES} bytes"
                if now - begun > self._timeout * _TIMES_TIMEOUT:
                    return chunks, f"unfinished after {self._timeout * _TIMES_TIMEOUT:g} s"
        except (OSError, http.client.HTTPException, CodingError, ValueError) as error:
            return chunks, _why(error, self._timeout)
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and received < int(announced):  # Python does not report this for partial reads
            return chunks, f"the connection closed after {received} of {announced} bytes"
        return chunks, None


def _why(error: Exception, timeout: float) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no data for {timeout:g} s"
    if isinstance(cause, http.client.IncompleteRead):
        return "the connection closed early"
    return str(cause) or type(cause).__name__


def _wait(retry_after: str, attempt: int) -> float:
    """Seconds to wait; the provider sends a number, or a date."""
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return _FIRST_WAIT * float(2**attempt)
    return max(0.0, (when.astimezone(UTC) - datetime.now(UTC)).total_seconds())
