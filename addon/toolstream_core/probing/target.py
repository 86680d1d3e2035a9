"""Whom to ask: the endpoint that a URL means, in which protocol, and with which key."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.registry import OVER_HTTP, claiming, named

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOLS: Final = tuple(one.name for one in OVER_HTTP)
OWN_KEY: Final = "TOOLSTREAM_PROBE_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whom to ask, and how."""

    protocol: str
    base: str
    """Scheme, host and path, without what the protocol appends for each request."""
    query: str
    model: str | None

    @property
    def host(self) -> str:
        """For people."""
        return urlsplit(self.base).netloc

    def url(self, *, streamed: bool) -> str:
        """The endpoint."""
        query = parse_qsl(self.query, keep_blank_values=True)
        return _with_query(*named(self.protocol).api.url(self.base, query, streamed=streamed))


def target(url: str, protocol: str | None, model: str | None) -> Target:
    """What `url`, a base URL or an endpoint, means. Raises `ToolstreamError`."""
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


def key_of(asked: Target, environment: Mapping[str, str]) -> str | None:
    """The key from the environment. Raises `ToolstreamError` rather than send it where others can read it."""
    names = (OWN_KEY, *named(asked.protocol).api.key_variables)
    key = next((value for name in names if (value := environment.get(name, "").strip())), None)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ToolstreamError("the key in the environment has characters that an HTTP header cannot contain")
    if key is not None and not asked.base.startswith("https:") and not _is_local(asked.base):
        raise ToolstreamError(f"refusing to send a key to {asked.host} without encryption; use https")
    return key


def _protocol(path: str, host: str, port: int | None) -> str | None:
    claimed = claiming(path)
    if claimed is not None:
        return claimed.name
    for one in OVER_HTTP:
        if host in one.api.hosts or (one.api.port is not None and port == one.api.port and not path):
            return one.name
    return OVER_HTTP[0].name if path.endswith("/v1") else None


def _with_query(base: str, query: list[tuple[str, str]]) -> str:
    return f"{base}?{urlencode(query)}" if query else base


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
