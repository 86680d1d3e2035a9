"""Whom to ask: the endpoint that a URL means, in which protocol, and with which key."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from toolstream_core.protocols import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOLS: Final = tuple(dialect.name for dialect in DIALECTS)
OWN_KEY: Final = "TOOLSTREAM_PROBE_KEY"
KEYS: Final = {
    "openai-chat": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "ollama": ("OLLAMA_API_KEY",),
}
"""By protocol, the variables that usually hold its key."""

_ENDINGS: Final = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic": "/messages",
    "ollama": "/api/chat",
}
_USUAL: Final = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta", "ollama": ""}
"""What stands before the ending where the URL has no path."""
_HOSTS: Final = {
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "ollama.com": "ollama",
}
_OLLAMA_PORT: Final = 11434
_GEMINI = re.compile(r"^(.*)/models/([^/:]+):(?:streamG|g)enerateContent$")


class TargetError(ValueError):
    """A URL that cannot be asked; the message says what would be right."""


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
        if self.protocol != "gemini":
            return _with_query(self.base, query)
        query = [pair for pair in query if pair[0] != "alt"] + ([("alt", "sse")] if streamed else [])
        return _with_query(f"{self.base}:{'streamG' if streamed else 'g'}enerateContent", query)


def target(url: str, protocol: str | None, model: str | None) -> Target:
    """What `url`, a base URL or an endpoint, means. Raises `TargetError`."""
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.hostname:
        raise TargetError(f"{url!r} is not an http or https URL, as in https://api.openai.com/v1")
    if "@" in split.netloc:
        raise TargetError(f"the URL holds credentials; give the key in the variable {OWN_KEY}")
    path = split.path.rstrip("/")
    gemini = _GEMINI.match(path)
    name = protocol or _protocol(path, split.hostname, split.port)
    if gemini:
        path, model = gemini[1], model or gemini[2]
    if name is None:
        raise TargetError(f"name the protocol of {url} with --protocol: {', '.join(PROTOCOLS)}")
    if model is None:
        raise TargetError("name the model with --model")
    base = urlunsplit((split.scheme, split.netloc, _path(name, path, model), "", ""))
    return Target(protocol=name, base=base, query=split.query, model=model)


def key_of(asked: Target, environment: Mapping[str, str]) -> str | None:
    """The key from the environment. Raises `TargetError` rather than send it where others can read it."""
    names = (OWN_KEY, *KEYS[asked.protocol])
    key = next((value for name in names if (value := environment.get(name, "").strip())), None)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise TargetError("the key in the environment has characters that no HTTP header can hold")
    if key is not None and not asked.base.startswith("https:") and not _is_local(asked.base):
        raise TargetError(f"a key is not sent to {asked.host} without encryption; use https")
    return key


def _protocol(path: str, host: str, port: int | None) -> str | None:
    claimed = [dialect.name for dialect in DIALECTS if dialect.claims(path)]
    if claimed:
        return claimed[0]
    if host in _HOSTS:
        return _HOSTS[host]
    if port == _OLLAMA_PORT and not path:
        return "ollama"
    return "openai-chat" if path.endswith("/v1") or host == "api.openai.com" else None


def _path(protocol: str, path: str, model: str) -> str:
    if protocol == "gemini":
        return f"{path or _USUAL[protocol]}/models/{model}"
    ending = _ENDINGS[protocol]
    if path.endswith(ending):
        return path
    if protocol == "anthropic" and not path.endswith("/v1"):
        return f"{path}/v1{ending}"
    return f"{path or _USUAL[protocol]}{ending}"


def _with_query(base: str, query: list[tuple[str, str]]) -> str:
    return f"{base}?{urlencode(query)}" if query else base


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
