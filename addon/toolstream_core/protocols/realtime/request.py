"""Requests for Realtime: what was asked on a socket, put together as a request to Responses would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, override
from urllib.parse import parse_qs, urlsplit

from toolstream_core.protocols.responses.request import ResponsesRequests
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json


class RealtimeRequests(ResponsesRequests):
    """The session's model and tools, and the items since the last response."""

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return False

    @override
    def form(self, path: str, request: Json) -> Form:
        return Form.WHOLE if json_access.get(request, "stream") is False else Form.LINES

    @override
    def model(self, path: str, request: Json) -> str | None:
        return super().model(path, request) or model_of(path)


def model_of(path: str) -> str | None:
    """The model that a socket's path names; Azure calls it `deployment`."""
    query = parse_qs(urlsplit(path).query)
    found = query.get("model") or query.get("deployment")
    return found[0] if found else None
