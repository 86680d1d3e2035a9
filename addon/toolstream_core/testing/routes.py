"""Base URLs that name the proxy while it forwards to the real providers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

_LISTENING_ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - replaced, not bound


class Place(NamedTuple):
    """What a base URL of the proxy has beside the proxy's own address."""

    login: str
    """`USER:PASSWORD@` where the real base URL has that; else empty."""
    path: str
    """Begins with the name of a route."""


@dataclass(frozen=True, slots=True)
class Routes:
    """Where requests go that name the proxy."""

    origins: Mapping[str, str]
    """For each first part of a path the server behind it; for each protocol its base URL."""
    places: Mapping[str, Place]
    """For each base-URL variable."""

    def variables(self, proxy: str) -> dict[str, str]:
        """The base-URL variables, as clients of the proxy at this URL need them."""
        scheme, _, host = proxy.partition("://")
        return {name: f"{scheme}://{place.login}{host}{place.path}" for name, place in self.places.items()}


def routes(environment: Mapping[str, str], base_url: str | None = None) -> Routes:
    """Forward each base-URL variable to where it leads in `environment`, else to the provider of its protocol.

    `base_url` stands in the place of all of them. Raises `ToolstreamError` for what is no HTTP address.
    Requests that are signed with their address are not forwarded: the signature would be wrong.
    """
    origins: dict[str, str] = {}
    places: dict[str, Place] = {}
    for protocol in PROTOCOLS:
        api = protocol.api
        if api.signs_address:
            continue
        for variable in api.base_url_variables:
            known = base_url or environment.get(variable) or api.server + api.base_path
            origin, login, path = _parts(known, "--base-url" if base_url else variable, api.port)
            slug = variable.lower().replace("_", "-")
            origins[slug] = origin
            origins.setdefault(protocol.name, origin + path)
            places.setdefault(variable, Place(login, f"/{slug}{path}"))
    return Routes(origins, places)


def _parts(url: str, what: str, port: int | None) -> tuple[str, str, str]:
    """Origin, login and path of a base URL, which may lack its scheme as `OLLAMA_HOST` does."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        given = parts.port
    except ValueError:
        given = 0
    if parts.scheme not in {"http", "https"} or not parts.hostname or given == 0:
        raise ToolstreamError(f"{what} is not an http or https URL")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = _LISTENING_ANYWHERE.get(host, host)
    if given is None and "://" not in url:
        given = port
    login, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{host}{'' if given is None else f':{given}'}", login + at, parts.path.rstrip("/")
