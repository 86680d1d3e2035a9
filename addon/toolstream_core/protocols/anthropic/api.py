"""The Anthropic Messages API, also on Vertex and Bedrock, where the path has the model and the streaming."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, override

from toolstream_core.model import ABSENT, Json
from toolstream_core.protocols.api import Api, Question, Specification
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Form


class AnthropicApi(Api):
    """Messages of content blocks."""

    specification = Specification(
        title="Anthropic, streaming messages",
        url="https://docs.anthropic.com/en/docs/build-with-claude/streaming",
    )
    # Bedrock's InvokeModel takes the body of the model's vendor: Nova's is Converse's.
    request_paths = re.compile(
        r"/v1/messages/?$|:(?:streamRawPredict|rawPredict)$|/model/(?![^/]*nova)[^/]+/invoke(?:-with-response-stream)?$"
    )
    server = "https://api.anthropic.com"
    hosts = ("api.anthropic.com",)
    base_has_prefix = False
    endpoint = "/messages"
    key_variables = ("ANTHROPIC_API_KEY",)
    base_url_variables = (
        "ANTHROPIC_BASE_URL",  # anthropic-sdk-*, Claude Code
        "ANTHROPIC_API_BASE",  # litellm
        "ANTHROPIC_API_URL",  # langchain
    )
    own_keys = ("anthropic_version", "system", "stop_sequences")

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        if not self.fits(request) or not ("model" in request or "anthropic_version" in request):
            return False
        tools = json_access.items(request.get("tools"))
        schemas = any(json_access.get(tool, "input_schema") is not ABSENT for tool in tools)
        return schemas or any(key in request for key in self.own_keys)

    @override
    def form(self, path: str, request: Json) -> Form:
        if path.partition("?")[0].endswith("/invoke-with-response-stream"):
            return Form.MESSAGES
        return Form.EVENTS if ":streamRawPredict" in path else super().form(path, request)

    @override
    def key_headers(self, host: str, key: str | None) -> dict[str, str]:
        fixed = {"anthropic-version": "2023-06-01"}
        return fixed if key is None else {**fixed, "x-api-key": key}

    @override
    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        return {"model": model, "max_tokens": 1024, "messages": [], "stream": streamed}

    @override
    def request(self, question: Question) -> dict[str, Any]:
        return {
            "model": question.model,
            "max_tokens": 2048,
            "messages": [{"role": "user", "content": question.prompt}],
            "tools": [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in question.tools
            ],
            "stream": question.streamed,
        }
