"""Where Cohere's chat is asked."""

from __future__ import annotations

import pytest

from toolstream_core.probing.ask import target
from toolstream_core.protocols.registry import named


@pytest.mark.parametrize(
    ("url", "protocol", "endpoint"),
    [
        ("https://api.cohere.com", None, "https://api.cohere.com/v2/chat"),
        ("https://api.cohere.com/v2", None, "https://api.cohere.com/v2/chat"),
        ("https://api.cohere.com/v2/chat", None, "https://api.cohere.com/v2/chat"),
        ("https://a.example/cohere", "cohere-v2", "https://a.example/cohere/v2/chat"),
    ],
)
def test_a_url_means_the_endpoint(url: str, protocol: str | None, endpoint: str) -> None:
    """A base URL with or without its version, or the endpoint itself."""
    assert target(url, protocol, "command-a").url(streamed=True) == endpoint


def test_the_public_address_is_one_that_the_protocol_claims() -> None:
    """And the shortest request fits it."""
    protocol = named("cohere-v2")
    assert protocol.claims(protocol.api.public_url("m", streamed=True, array=False))
    assert protocol.api.fits(protocol.api.shortest_request("m", streamed=True))
