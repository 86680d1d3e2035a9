"""The Responses API: a prompt, a list of input items, or the continuation of an earlier response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, override

from toolstream_core.model import Json
from toolstream_core.protocols.api import Api, Question, Specification, functions
from toolstream_core.protocols.requests.tools import in_namespaces, namespaces


class ResponsesApi(Api):
    """https://platform.openai.com/docs/api-reference/responses."""

    specification = Specification(
        title="OpenAI, Responses: streaming events",
        url="https://platform.openai.com/docs/api-reference/responses-streaming",
    )
    request_paths = re.compile(r"/responses/?$")
    server = "https://api.openai.com"
    endpoint = "/responses"
    key_variables = ("OPENAI_API_KEY",)
    base_path = "/v1"
    base_url_variables = ("OPENAI_BASE_URL",)
    # Embeddings and moderations have `model` and `input` too.
    own_keys = ("stream", "tools", "instructions", "previous_response_id", "reasoning", "store")

    @override
    def fits(self, request: Mapping[str, Json]) -> bool:
        return any(key in request for key in ("input", "prompt", "previous_response_id"))

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return not isinstance(request.get("messages"), list) and super().claims(request)

    @override
    def tool_name(self, request: Json, name: str) -> str:
        fitting = {tool for tool, _ in in_namespaces(namespaces(request), name)}
        return fitting.pop() if len(fitting) == 1 else name

    @override
    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        return {"model": model, "input": "", "stream": streamed}

    @override
    def request(self, question: Question) -> dict[str, Any]:
        return {
            "model": question.model,
            "input": [{"role": "user", "content": question.prompt}],
            "tools": [{"type": "function", "strict": False, **function} for function in functions(question.tools)],
            "stream": question.streamed,
            "store": False,
        }
