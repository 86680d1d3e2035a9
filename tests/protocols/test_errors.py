"""In-band errors, in the shapes in which they come."""

from __future__ import annotations

import pytest

from toolstream_core.model import ABSENT
from toolstream_core.protocols.errors import MAX_ERROR, error_text


@pytest.mark.parametrize(
    ("payload", "event", "told"),
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
def test_shapes(payload: object, event: str, told: str | None) -> None:
    """Each shape gives its text, and what is no error gives none."""
    assert error_text(payload, event) == told


def test_length_is_bounded() -> None:
    """Some errors carry a whole failed generation."""
    assert len(error_text({"error": "x" * 10_000}, "") or "") == MAX_ERROR
