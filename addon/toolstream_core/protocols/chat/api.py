"""The Chat Completions API: a list of messages, and a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import override

from toolstream_core.model import Json
from toolstream_core.protocols.api import Api, Specification


class ChatApi(Api):
    """The API that most gateways offer."""

    specification = Specification(
        title="OpenAI, Chat Completions: streaming events",
        url="https://platform.openai.com/docs/api-reference/chat-streaming",
    )
    request_paths = re.compile(r"/chat/completions/?$")
    server = "https://api.openai.com"
    hosts = ("api.openai.com",)
    endpoint = "/chat/completions"
    key_variables = ("OPENAI_API_KEY",)
    base_path = "/v1"
    base_url_variables = (
        "OPENAI_BASE_URL",  # openai-python, openai-node, the AI SDK, most agents
        "OPENAI_API_BASE",  # litellm, langchain, aider
    )

    @override
    def claims(self, request: Mapping[str, Json]) -> bool:
        return "model" in request and self.fits(request)
