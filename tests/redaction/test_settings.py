"""What options ask of redaction."""

from __future__ import annotations

import pytest

from toolstream_core.redaction import Redaction, TextMode, redaction_of


def test_names_and_patterns() -> None:
    """Names, and regular expressions between slashes."""
    made = redaction_of(["x-tenant", "/acme-[0-9]+/", "/"], TextMode.SHAPE)
    assert made == Redaction(text=TextMode.SHAPE, names=("x-tenant", "/"), patterns=("acme-[0-9]+",))


def test_a_wrong_pattern() -> None:
    """It is told before the first flow comes."""
    with pytest.raises(ValueError, match="not a regular expression"):
        redaction_of(["/(/"])
