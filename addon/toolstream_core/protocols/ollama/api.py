"""Ollama's own API."""

from __future__ import annotations

from typing import Final

from toolstream_core.protocols.api import Specification
from toolstream_core.protocols.chat.api import ChatApi


class OllamaApi(ChatApi):
    """Ollama's own API."""

    specification = Specification(
        title="Ollama, API: chat",
        url="https://github.com/ollama/ollama/blob/main/docs/api.md",
        server_sent_events=False,
    )
    server = "http://localhost:11434"
    hosts = ("ollama.com",)
    port = 11434
    prefix = ""
    endpoint = "/api/chat"
    key_variables = ("OLLAMA_API_KEY",)
    base_path = ""
    base_url_variables = (
        "OLLAMA_HOST",  # ollama-python, ollama-js, the command
        "OLLAMA_API_BASE",  # litellm
        "OLLAMA_BASE_URL",
    )


API: Final = OllamaApi()
