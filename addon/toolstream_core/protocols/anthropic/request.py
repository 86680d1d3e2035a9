"""Requests for Anthropic Messages, which Vertex and gateways take too."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import ABSENT
from toolstream_core.protocols.requests.requests import Requests
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

_OF_ANTHROPIC = ("anthropic_version", "system", "stop_sequences")
"""Keys that other requests with `messages` do not have."""


class AnthropicRequests(Requests):
    """Messages of content blocks; Vertex and Bedrock have the model and the streaming in the path."""

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        if not self.fits(request) or not ("model" in request or "anthropic_version" in request):
            return False
        tools = json_access.items(request.get("tools"))
        schemas = any(json_access.get(tool, "input_schema") is not ABSENT for tool in tools)
        return schemas or any(key in request for key in _OF_ANTHROPIC)

    @override
    def form(self, path: str, request: Json) -> Form:
        if path.partition("?")[0].endswith("/invoke-with-response-stream"):
            return Form.MESSAGES
        return Form.EVENTS if ":streamRawPredict" in path else super().form(path, request)
