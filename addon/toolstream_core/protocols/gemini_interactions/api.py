"""The Interactions API: a prompt, or steps, that may continue an earlier interaction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, override

from toolstream_core.model import Json
from toolstream_core.protocols.api import Api, ModelList, Question, Specification, functions
from toolstream_core.protocols.requests.tools import ToolChoice
from toolstream_core.wire import json_access


class InteractionsApi(Api):
    """https://ai.google.dev/api/interactions-api."""

    specification = Specification(
        title="Google, Gemini API: streaming interactions",
        url="https://ai.google.dev/gemini-api/docs/streaming",
    )
    # On Vertex, the location precedes it. Discord has `/interactions` too, without a version.
    request_paths = re.compile(r"/(?:v1\w*|locations/[^/]+)/interactions/?$")
    server = "https://generativelanguage.googleapis.com"
    prefix = "/v1beta"
    base_has_prefix = False
    endpoint = "/interactions"
    key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    model_list = ModelList.MODELS
    base_url_variables = ("GOOGLE_GEMINI_BASE_URL",)  # google-genai
    own_keys = ("previous_interaction_id", "system_instruction", "generation_config", "continuation_token")

    @override
    def fits(self, request: Mapping[str, Json]) -> bool:
        # A continuation of a stored interaction has no input.
        return any(key in request for key in ("input", "previous_interaction_id", "continuation_token"))

    @override
    def tool_choice(self, request: Json) -> ToolChoice:
        choice = json_access.get(request, "generation_config", "tool_choice")
        allowed = json_access.get(choice, "allowed_tools")
        if "none" in (choice, json_access.get(allowed, "mode")):
            return ToolChoice(frozenset())
        names = json_access.items(json_access.get(allowed, "tools"))
        return ToolChoice(frozenset(name for name in names if isinstance(name, str)) or None)

    @override
    def key_headers(self, host: str, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-goog-api-key": key}

    @override
    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        return {"model": model, "input": "", "stream": streamed}

    @override
    def request(self, question: Question) -> dict[str, Any]:
        return {
            "model": question.model,
            "input": question.prompt,
            "tools": [{"type": "function", **function} for function in functions(question.tools)],
            "stream": question.streamed,
        }
