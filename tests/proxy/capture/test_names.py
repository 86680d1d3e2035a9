from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.proxy.capture.folder import MAX_MODEL, escaped, stem

STARTED = 1795328100.1239


def test_a_name() -> None:
    """Time in UTC, protocol, model."""
    assert stem(STARTED, "openai-chat", "gpt-4.1-mini") == "20261122-061500.123-openai-chat-gpt-4.1-mini"


def test_what_is_missing_is_said() -> None:
    """A name always has all of its parts."""
    assert stem(STARTED, "", None) == "20261122-061500.123-unknown-no-model"
    assert stem(STARTED, "ollama", "../..") == "20261122-061500.123-ollama-no-model"


@given(st.text())
def test_foreign_text_is_escaped(text: str) -> None:
    """No path, no hidden file, nothing that a shell reads."""
    name = escaped(text)
    assert len(name) <= MAX_MODEL
    assert not name.startswith((".", "-"))
    assert all(character.isascii() and (character.isalnum() or character in "._-") for character in name)
