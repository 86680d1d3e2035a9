from __future__ import annotations

import pytest

from toolstream_core.model import StreamFacts
from toolstream_core.saved.exchange import was_llm

CHAT = {"model": "m", "messages": []}


@pytest.mark.parametrize(
    "path",
    ["/v1/chat/completions", "/openai/v1/responses?x=1", "/v1/messages", "/v1beta/models/m:generateContent"],
)
def test_the_path_of_an_llm_api_tells(path: str) -> None:
    """Whatever the body would have been."""
    assert was_llm(StreamFacts(path=path), "POST")


def test_the_request_tells_where_the_path_does_not() -> None:
    """A gateway's own path, with a request as LLMs take it."""
    assert was_llm(StreamFacts(path="/gateway", request=CHAT), "POST")
    assert not was_llm(StreamFacts(path="/gateway", request={"name": "x"}), "POST")


@pytest.mark.parametrize(("method", "status"), [("OPTIONS", 200), ("GET", 200), ("POST", 401), ("POST", 304)])
def test_a_preflight_and_a_refusal_are_no_answers(method: str, status: int) -> None:
    """They have no body to miss."""
    assert not was_llm(StreamFacts(path="/v1/chat/completions", status=status, request=CHAT), method)
