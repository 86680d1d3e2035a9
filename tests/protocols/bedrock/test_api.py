"""Where Converse is asked: the path names the model and the operation."""

from __future__ import annotations

import pytest

from toolstream_core.probing.ask import target
from toolstream_core.protocols.registry import named

HOST = "https://bedrock-runtime.eu-west-1.amazonaws.com"
NOVA = "amazon.nova-lite-v1:0"


@pytest.mark.parametrize(
    ("url", "model", "endpoint"),
    [
        (HOST, NOVA, f"{HOST}/model/amazon.nova-lite-v1%3A0/converse"),
        ("https://a.example/aws", NOVA, "https://a.example/aws/model/amazon.nova-lite-v1%3A0/converse"),
        (f"{HOST}/model/amazon.nova-lite-v1%3A0/converse", None, f"{HOST}/model/amazon.nova-lite-v1%3A0/converse"),
        (f"{HOST}/model/us.x-v1/converse-stream", None, f"{HOST}/model/us.x-v1/converse"),
    ],
)
def test_a_url_means_an_operation(url: str, model: str | None, endpoint: str) -> None:
    """A base URL, or the operation itself, which names its model."""
    asked = target(url, "bedrock", model)
    assert asked.url(streamed=False) == endpoint
    assert asked.url(streamed=True) == f"{endpoint}-stream"


def test_the_public_address_is_one_that_the_protocol_claims() -> None:
    """Both operations; model and streaming are said there alone."""
    protocol = named("bedrock")
    for streamed in (True, False):
        assert protocol.claims(protocol.api.public_url(NOVA, streamed=streamed, array=False))
        assert protocol.api.fits(protocol.api.shortest_request(NOVA, streamed=streamed))
