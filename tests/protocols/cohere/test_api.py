"""The API of Cohere."""

from __future__ import annotations

import pytest

from toolstream_core.probing.ask import target


@pytest.mark.parametrize(
    ("url", "protocol", "endpoint"),
    [
        ("https://api.cohere.com", None, "https://api.cohere.com/v2/chat"),
        ("https://api.cohere.com/v2", None, "https://api.cohere.com/v2/chat"),
        ("https://api.cohere.com/v2/chat", None, "https://api.cohere.com/v2/chat"),
        ("https://a.example/cohere", "cohere-v2", "https://a.example/cohere/v2/chat"),
    ],
)
def test_a_url_is_completed_to_the_endpoint(url: str, protocol: str | None, endpoint: str) -> None:
    """A base URL with or without version is completed to the endpoint, and the endpoint is kept."""
    assert target(url, protocol, "command-a").url(streamed=True) == endpoint
