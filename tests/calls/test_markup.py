"""What is markup behind arguments, and what is not."""

from __future__ import annotations

import pytest

from toolstream_core.calls.arguments import MAX_MARKUP, is_markup


@pytest.mark.parametrize(
    "text",
    ["<|tool_call_end|>", "<|tool", "</tool_call>", "</", "}", "]}\n", "[/TOOL_CALLS]", "[/TO", "```", "`", "<x a='1"],
)
def test_markup(text: str) -> None:
    """Tags and brackets, also where their end has not come."""
    assert is_markup(text)


@pytest.mark.parametrize("text", ["and so on", '{"a":1}', "< 5 apples", "<|x|> and", "x" * 9, "}" * (MAX_MARKUP + 1)])
def test_no_markup(text: str) -> None:
    """Words, objects, and what is too long."""
    assert not is_markup(text)
