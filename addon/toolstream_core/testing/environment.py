"""The environment in which clients find a proxy: base URLs, proxies, certificates, keys. Knows clients' variables."""

from __future__ import annotations

from typing import Final

from toolstream_core.protocols.registry import PROTOCOLS

PATHS: Final = {one.name: one.api.base_path for one in PROTOCOLS}
"""What clients of each protocol want behind the host in their base URL."""

KEY: Final = "toolstream-offline"
"""Stands in for keys: clients refuse to start without one, and nothing ever checks it here."""

_KEYS: Final = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OLLAMA_API_KEY",
    "OPENROUTER_API_KEY",
    "AI_GATEWAY_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AZURE_API_KEY",
    "CEREBRAS_API_KEY",
    "CO_API_KEY",
    "COHERE_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPINFRA_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "FIREWORKS_AI_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "HUGGINGFACE_API_KEY",
    "LITELLM_API_KEY",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NVIDIA_API_KEY",
    "PERPLEXITY_API_KEY",
    "TOGETHER_API_KEY",
    "TOGETHERAI_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
    "ZHIPUAI_API_KEY",
)
_CERTIFICATES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, Python's ssl, Go, Ruby, Rust's rustls-native-certs
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
    "HTTPLIB2_CA_CERTS",
    "AWS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CARGO_HTTP_CAINFO",
)
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")

REMOVED: Final = (
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "SSL_CERT_DIR",
)
"""What would lead a client elsewhere, or make it send a real credential."""


def proxy_variables(url: str, ca_file: str) -> dict[str, str]:
    """What leads every client through the proxy at `url`, trusting the certificates in `ca_file`."""
    names = [*_PROXIES, *(name.upper() for name in _PROXIES)]
    return {
        **dict.fromkeys(names, url),
        "no_proxy": "",
        "NO_PROXY": "",
        "NODE_USE_ENV_PROXY": "1",
        **dict.fromkeys(_CERTIFICATES, ca_file),
    }


def provider_variables(url: str) -> dict[str, str]:
    """Base URLs that name the proxy at `url` as if it were the provider, and keys that are none."""
    return {
        **{variable: base_url(url, one.name) for one in reversed(PROTOCOLS) for variable in one.api.base_url_variables},
        **{variable: value for one in PROTOCOLS for variable, value in one.api.offline.items()},
        **dict.fromkeys(_KEYS, KEY),
    }


def base_url(url: str, protocol: str) -> str:
    """The base URL of a protocol's clients. Raises `ValueError` for a protocol that there is not."""
    if protocol not in PATHS:
        raise ValueError(f"unknown protocol {protocol!r}; known are {', '.join(PATHS)}")
    return url + PATHS[protocol]
