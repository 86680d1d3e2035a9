"""Requests for Converse: the path has the model and whether to stream.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override
from urllib.parse import unquote

from toolstream_core.protocols.requests.requests import Requests
from toolstream_core.protocols.requests.tools import ToolChoice
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

_OWN: Final = ("toolConfig", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig")
"""Keys that other requests with `messages` do not have."""
_STREAMS: Final = {"/converse-stream": "/converse", "/invoke-with-response-stream": "/invoke"}


class BedrockRequests(Requests):
    """Messages of content blocks, of which each is an object with one key."""

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return self.fits(request) and "model" not in request and any(key in request for key in _OWN)

    @override
    def form(self, path: str, request: Json) -> Form:
        return Form.MESSAGES if path.partition("?")[0].endswith(tuple(_STREAMS)) else Form.WHOLE

    @override
    def tool_choice(self, request: Json) -> ToolChoice:
        name = json_access.get(request, "toolConfig", "toolChoice", "tool", "name")
        return ToolChoice(frozenset([name]) if isinstance(name, str) else None)

    @override
    def unstreamed(self, request: Json) -> Json:
        return request

    @override
    def unstreamed_path(self, path: str) -> str:
        bare, mark, query = path.partition("?")
        for streamed, unstreamed in _STREAMS.items():
            if bare.endswith(streamed):
                bare = bare.removesuffix(streamed) + unstreamed
        return bare + mark + query

    @override
    def model(self, path: str, request: Json) -> str | None:
        _, found, rest = path.partition("/model/")
        return unquote(rest.partition("/")[0]) if found else None
