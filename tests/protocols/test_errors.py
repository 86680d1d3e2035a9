"""The text of in-band errors."""

from __future__ import annotations

import pytest

from toolstream_core.model import ABSENT
from toolstream_core.protocols.errors import MAX_ERROR, error_text


@pytest.mark.parametrize(
    ("payload", "event", "text"),
    [
        ({"choices": []}, "", None),
        ({"error": None}, "", None),
        ({"error": {}}, "", None),
        ({"error": "plain"}, "", "plain"),
        ({"error": {"message": "m"}}, "", "m"),
        ({"error": {"message": "m", "type": "t", "code": 5}}, "", "t: m"),
        ({"error": {"message": "m", "code": 502}}, "", "502: m"),
        ({"error": {"code": 5}}, "", '{"code": 5}'),
        ({"error": 5}, "", "5"),
        ({"message": "m"}, "error", "m"),
        ({"type": "error", "message": "m"}, "", "error: m"),
        (ABSENT, "error", "error event"),
        (ABSENT, "", None),
        ([], "error", None),
    ],
)
def test_error_text(payload: object, event: str, text: str | None) -> None:
    """Each form of an error gives its text, and other payloads give none."""
    assert error_text(payload, event) == text


def test_the_length_is_limited() -> None:
    """A long error text is shortened."""
    assert len(error_text({"error": "x" * 10_000}, "") or "") == MAX_ERROR
