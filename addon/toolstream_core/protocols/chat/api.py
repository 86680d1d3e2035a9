"""The Chat Completions API."""

from __future__ import annotations

from typing import ClassVar, Final

from toolstream_core.protocols.api import Api, Specification


class ChatApi(Api):
    """The Chat Completions API."""

    specification = Specification(
        title="OpenAI, Chat Completions: streaming events",
        url="https://platform.openai.com/docs/api-reference/chat-streaming",
    )
    server = "https://api.openai.com"
    hosts = ("api.openai.com",)
    endpoint = "/chat/completions"
    key_variables = ("OPENAI_API_KEY",)
    base_path = "/v1"
    base_url_variables: ClassVar[tuple[str, ...]] = (
        "OPENAI_BASE_URL",  # openai-python, openai-node, the AI SDK, most agents
        "OPENAI_API_BASE",  # litellm, langchain, aider
    )


API: Final = ChatApi()
