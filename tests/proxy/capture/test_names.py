from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.proxy.capture.folder import MAX_MODEL, escaped, stem

STARTED = 1795328100.1239


def test_a_name_has_time_protocol_and_model() -> None:
    """The time is in UTC."""
    assert stem(STARTED, "openai-chat", "gpt-4.1-mini") == "20261122-061500.123-openai-chat-gpt-4.1-mini"


def test_missing_parts_of_a_name_have_placeholders() -> None:
    """A name has all parts, even if protocol or model are unknown."""
    assert stem(STARTED, "", None) == "20261122-061500.123-unknown-no-model"
    assert stem(STARTED, "ollama", "../..") == "20261122-061500.123-ollama-no-model"


@given(st.text())
def test_a_model_name_is_escaped(text: str) -> None:
    """The escaped name contains no path, starts no hidden file, and has no shell syntax."""
    name = escaped(text)
    assert len(name) <= MAX_MODEL
    assert not name.startswith((".", "-"))
    assert all(character.isascii() and (character.isalnum() or character in "._-") for character in name)
