"""The Gemini API: the model and the method are said in the path."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, override
from urllib.parse import quote

from toolstream_core.protocols.api import Api, ModelList, Specification

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.api import Question

_METHOD: Final = re.compile(r"^(.*)/models/([^/:]+):(?:streamG|g)enerateContent$")


class GeminiApi(Api):
    """The Gemini API: the model and the method are said in the path."""

    specification = Specification(
        title="Google, Gemini API: streamGenerateContent",
        url="https://ai.google.dev/api/generate-content",
    )
    server = "https://generativelanguage.googleapis.com"
    hosts = ("generativelanguage.googleapis.com",)
    prefix = "/v1beta"
    endpoint = "enerateContent"
    key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    model_list = ModelList.MODELS
    base_url_variables = (
        "GOOGLE_GEMINI_BASE_URL",  # google-genai, gemini-cli
        "GEMINI_API_BASE",  # litellm
    )

    @override
    def path(self, given: str, model: str) -> str:
        return f"{given or self.prefix}/models/{model}"

    @override
    def path_and_model(self, given: str) -> tuple[str, str | None]:
        found = _METHOD.match(given)
        return (found[1], found[2]) if found else (given, None)

    @override
    def url(self, base: str, query: list[tuple[str, str]], *, streamed: bool) -> tuple[str, list[tuple[str, str]]]:
        query = [pair for pair in query if pair[0] != "alt"] + ([("alt", "sse")] if streamed else [])
        return f"{base}:{'streamG' if streamed else 'g'}enerateContent", query

    @override
    def key_headers(self, host: str, key: str | None) -> dict[str, str]:
        return {} if key is None else {"x-goog-api-key": key}

    @override
    def public_url(self, model: str, *, streamed: bool, array: bool) -> str:
        method = ("streamGenerateContent" + ("" if array else "?alt=sse")) if streamed else "generateContent"
        return f"{self.server}{self.prefix}/models/{quote(model)}:{method}"

    @override
    def shortest_request(self, model: str, *, streamed: bool) -> Json:
        del model, streamed
        return {"contents": []}

    @override
    def request(self, question: Question) -> dict[str, Any]:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in question.tools
        ]
        return {
            "contents": [{"role": "user", "parts": [{"text": question.prompt}]}],
            "tools": [{"functionDeclarations": declared}],
        }


API: Final = GeminiApi()
