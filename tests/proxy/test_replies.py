from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import FLOWS
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.proxy.provider import Provider, models, nothing_saved
from toolstream_core.saved.matching import Match, MatchOutcome
from toolstream_core.saved.read import load
from toolstream_core.wire.frame import Form

FIXTURES = load(FLOWS)
MODELS = Provider(FIXTURES)._models


def test_models_for_openai_anthropic_gemini_and_cohere_share_a_path() -> None:
    """Each client finds its models under its own key, both by alias and by full name."""
    listed = models("/v1/models?limit=20", MODELS)
    assert listed
    ids = [entry["id"] for entry in listed["data"]]
    assert {"gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", "claude-sonnet-4-6"} <= set(ids)
    assert ids == sorted(set(ids))
    assert (listed["first_id"], listed["last_id"]) == (ids[0], ids[-1])
    assert [entry["name"] for entry in listed["models"]] == [
        "models/gemini-2.5-flash",
        "models/gemini-3.8-flash",
        "command-a-03-2025",
    ]
    assert models("/v1beta/models", MODELS) == models("/api/v1/models", MODELS) == models("/v1/models/", MODELS)


def test_models_of_ollama() -> None:
    """Ollama has a path of its own."""
    assert models("/api/tags", MODELS) == {"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]}


def test_a_list_of_models_may_be_empty() -> None:
    """A client whose protocol has no saved flow gets an empty list."""
    listed = models("/v1/models", Provider(load(FLOWS / "ollama-single.flow"))._models)
    assert listed
    assert (listed["data"], listed["first_id"], listed["last_id"], listed["models"]) == ([], None, None, [])


@pytest.mark.parametrize("path", ["/", "/models", "/v1/models/gpt", "/v1/chat/completions", "/x?y=/v1/models"])
def test_other_paths_list_no_models(path: str) -> None:
    """A path of another site that contains `models` is ignored."""
    assert models(path, MODELS) is None


@pytest.mark.parametrize(
    ("protocol", "keys"),
    [
        ("openai-chat", ("error", "message")),
        ("openai-responses", ("error", "message")),
        ("anthropic", ("error", "message")),
        ("gemini", ("error", "message")),
        ("ollama", ("error",)),
        ("cohere-v2", ("message",)),
        ("bedrock", ("message",)),
    ],
)
def test_the_error_message_is_in_the_field_of_the_api(protocol: str, keys: tuple[str, ...]) -> None:
    """The message names each saved model once."""
    key = RequestKey(protocol=protocol, model="m", form=Form.WHOLE, tools=frozenset(), results=0, words="")
    file, saved = ("glm-5", "openai-chat (z-ai/glm-5)")
    if protocol == "openai-chat":
        file, saved = ("gemini-single", "gemini (gemini-2.5-flash)")
    error: Any = nothing_saved(Match(MatchOutcome.REFUSED, key), load(FLOWS / f"{file}.flow"))
    for field in keys:
        error = error[field]
    assert error == f"toolstream has no saved {protocol} response. It has: {saved}"
