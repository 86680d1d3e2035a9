"""The Anthropic Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, override

from toolstream_core.protocols.api import Api, Specification

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.api import Question


class AnthropicApi(Api):
    """The Anthropic Messages API."""

    specification = Specification(
        title="Anthropic, streaming messages",
        url="https://docs.anthropic.com/en/docs/build-with-claude/streaming",
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


API: Final = AnthropicApi()
