"""The API of Bedrock Converse: the path names the model and the operation."""

from __future__ import annotations

import pytest

from toolstream_core.probing.ask import target

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
def test_a_url_is_completed_to_the_operation(url: str, model: str | None, endpoint: str) -> None:
    """A base URL is completed with model and operation; a URL of an operation is kept."""
    request_target = target(url, "bedrock", model)
    assert request_target.url(streamed=False) == endpoint
    assert request_target.url(streamed=True) == f"{endpoint}-stream"
