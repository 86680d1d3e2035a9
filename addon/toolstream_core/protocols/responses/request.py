"""Requests for Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.requests.requests import Requests
from toolstream_core.protocols.requests.tools import in_namespaces, namespaces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

_OF_RESPONSES = ("stream", "tools", "instructions", "previous_response_id", "reasoning", "store")
"""Keys that embeddings and moderations, which have `model` and `input` too, do not have."""


class ResponsesRequests(Requests):
    """A prompt or a list of input items, or an earlier response that is gone on with."""

    @override
    def fits(self, request: Mapping[str, Json]) -> bool:
        return any(key in request for key in ("input", "prompt", "previous_response_id"))

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        if "model" not in request or isinstance(request.get("messages"), list):
            return False
        return self.fits(request) and any(key in request for key in _OF_RESPONSES)

    @override
    def tool_name(self, request: Json, name: str) -> str:
        fitting = {tool for tool, _ in in_namespaces(namespaces(request), name)}
        return fitting.pop() if len(fitting) == 1 else name
