"""The environment variables that lead clients to the proxy."""

from __future__ import annotations

import pytest

from toolstream_core.testing.environment import PATHS, REMOVED, base_url, provider_variables, proxy_variables

URL = "http://127.0.0.1:4711"


def test_every_client_is_led_to_the_proxy() -> None:
    """Proxy variables exist in both cases, no host is excluded, and each library gets the certificate."""
    variables = proxy_variables(URL, "/ca.pem")
    for name in ("http_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        assert variables[name] == URL
    assert variables["NO_PROXY"] == variables["no_proxy"] == ""
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE"):
        assert variables[name] == "/ca.pem"


def test_base_urls_have_the_form_of_each_client() -> None:
    """OpenAI's ends with /v1, the others do not, and all keys are placeholders."""
    variables = provider_variables(URL)
    assert variables["OPENAI_BASE_URL"] == base_url(URL, "openai-responses") == f"{URL}/v1"
    assert variables["ANTHROPIC_BASE_URL"] == variables["GOOGLE_GEMINI_BASE_URL"] == variables["OLLAMA_HOST"] == URL
    assert variables["OPENAI_API_KEY"] == variables["ANTHROPIC_API_KEY"] == "toolstream-offline"
    assert not variables.keys() & set(REMOVED)


def test_an_unknown_protocol() -> None:
    """The error lists the protocols."""
    with pytest.raises(ValueError, match="openai-responses"):
        base_url(URL, "grpc")
    others = {"anthropic", "gemini", "gemini-interactions", "gemini-live", "ollama", "cohere-v2", "bedrock"}
    assert set(PATHS) == {"openai-chat", "openai-responses", "openai-realtime", *others}
