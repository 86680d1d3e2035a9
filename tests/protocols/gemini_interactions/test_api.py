"""The API of Gemini Interactions."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.probing.ask import target
from toolstream_core.protocols.registry import named

API = named("gemini-interactions").api


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://generativelanguage.googleapis.com/v1beta/interactions", "/v1beta/interactions"),
        ("https://generativelanguage.googleapis.com", "/v1beta/interactions"),
        ("https://generativelanguage.googleapis.com/v1beta", "/v1beta/interactions"),
    ],
)
def test_a_url_is_completed_to_the_endpoint(url: str, endpoint: str) -> None:
    """A base URL with or without version is completed to the endpoint, and the endpoint is kept."""
    found = target(url, "gemini-interactions", "gemini-3.8-flash").url(streamed=True)
    assert found == f"https://generativelanguage.googleapis.com{endpoint}"


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, None),
        ("auto", None),
        ("none", frozenset()),
        ({"allowed_tools": {"mode": "any", "tools": ["f"]}}, frozenset({"f"})),
        ({"allowed_tools": {"mode": "none", "tools": ["f"]}}, frozenset()),
        ({"allowed_tools": {"tools": []}}, None),
    ],
)
def test_the_allowed_tools_are_read(choice: Any, names: frozenset[str] | None) -> None:
    """The tools that a response may call are read from `generation_config`."""
    assert API.tool_choice({"generation_config": {"tool_choice": choice}}).names == names
