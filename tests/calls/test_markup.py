"""Recognition of markup after arguments."""

from __future__ import annotations

import pytest

from toolstream_core.calls.placeholders import MAX_MARKUP, is_markup


@pytest.mark.parametrize(
    "text",
    ["<|tool_call_end|>", "<|tool", "</tool_call>", "</", "}", "]}\n", "[/TOOL_CALLS]", "[/TO", "```", "`", "<x a='1"],
)
def test_markup(text: str) -> None:
    """Tags and brackets are markup, also incomplete ones."""
    assert is_markup(text)


@pytest.mark.parametrize("text", ["and so on", '{"a":1}', "< 5 apples", "<|x|> and", "x" * 9, "}" * (MAX_MARKUP + 1)])
def test_other_text_is_not_markup(text: str) -> None:
    """Words, objects and long text are not markup."""
    assert not is_markup(text)
