"""Base URLs that lead to the proxy, and their upstream URLs."""

from __future__ import annotations

import pytest

from toolstream_core.errors import ToolstreamError
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.testing.session import routes

PROXY = "http://127.0.0.1:4711"


def test_each_variable_leads_to_the_provider_of_its_protocol() -> None:
    """The path is the provider's, after the name of the route."""
    forwarding = routes({})
    variables = forwarding.variables(PROXY)
    assert variables["OPENAI_BASE_URL"] == f"{PROXY}/openai-base-url/v1"
    assert forwarding.origins["openai-base-url"] == "https://api.openai.com"
    assert variables["ANTHROPIC_BASE_URL"] == f"{PROXY}/anthropic-base-url"
    assert forwarding.origins["anthropic-base-url"] == "https://api.anthropic.com"
    assert forwarding.origins["ollama-host"] == "http://localhost:11434"
    assert {protocol.name for protocol in PROTOCOLS if not protocol.api.signs_address} <= {*forwarding.origins}


@pytest.mark.parametrize(
    ("variable", "value", "origin", "url"),
    [
        ("OPENAI_BASE_URL", "https://openrouter.ai/api/v1/", "https://openrouter.ai", "/openai-base-url/api/v1"),
        ("OPENAI_API_BASE", "http://localhost:8000/v1", "http://localhost:8000", "/openai-api-base/v1"),
        ("OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434", "/ollama-host"),  # noqa: S104 - read, not bound
        ("OLLAMA_HOST", "box:1234", "http://box:1234", "/ollama-host"),
        ("ANTHROPIC_BASE_URL", "http://[::1]:9/a", "http://[::1]:9", "/anthropic-base-url/a"),
    ],
)
def test_a_base_url_of_the_user_is_the_upstream(variable: str, value: str, origin: str, url: str) -> None:
    """The previous value of the variable is the upstream."""
    forwarding = routes({variable: value})
    assert forwarding.origins[variable.lower().replace("_", "-")] == origin
    assert forwarding.variables(PROXY)[variable] == PROXY + url


def test_one_upstream_for_all_variables() -> None:
    """It precedes the user's variables, and its credentials stay with the client."""
    forwarding = routes({"OPENAI_BASE_URL": "https://a.example/v1"}, "https://me:secret@b.example/x")
    assert {forwarding.origins[name] for name in forwarding.origins if "-" in name} >= {"https://b.example"}
    assert forwarding.origins["openai-base-url"] == "https://b.example"
    assert forwarding.variables(PROXY)["ANTHROPIC_BASE_URL"] == "http://me:secret@127.0.0.1:4711/anthropic-base-url/x"


@pytest.mark.parametrize("value", ["ftp://secret.example", "https://", "http://a:secret", "https://a:99999999"])
def test_an_invalid_base_url(value: str) -> None:
    """The error names the variable but not its value."""
    with pytest.raises(ToolstreamError, match=r"^OPENAI_BASE_URL is not an http or https URL") as caught:
        routes({"OPENAI_BASE_URL": value})
    assert "secret" not in str(caught.value)


def test_signed_requests_are_not_forwarded() -> None:
    """Their signature is valid only for their host."""
    assert "AWS_ENDPOINT_URL_BEDROCK_RUNTIME" not in routes({}).variables(PROXY)
