from __future__ import annotations

import pytest

from toolstream_core.model import StreamFacts
from toolstream_core.saved.exchange import was_llm

CHAT = {"model": "m", "messages": []}


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/openai/v1/responses?x=1", "/v1/messages", "/v1beta/models/m:generateContent"]
)
def test_the_path_of_an_llm_api_is_recognized(path: str) -> None:
    """The request may be unknown."""
    assert was_llm(StreamFacts(path=path), "POST")


def test_an_llm_request_is_recognized_at_any_path() -> None:
    """A gateway may have its own path."""
    assert was_llm(StreamFacts(path="/gateway", request=CHAT), "POST")
    assert not was_llm(StreamFacts(path="/gateway", request={"name": "x"}), "POST")


@pytest.mark.parametrize(("method", "status"), [("OPTIONS", 200), ("GET", 200), ("POST", 401), ("POST", 304)])
def test_a_preflight_and_an_error_are_no_llm_responses(method: str, status: int) -> None:
    """They have no body that could be missing."""
    assert not was_llm(StreamFacts(path="/v1/chat/completions", status=status, request=CHAT), method)
