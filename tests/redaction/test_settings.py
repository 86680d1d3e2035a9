"""The settings of redaction, made from options."""

from __future__ import annotations

import pytest

from toolstream_core.redaction import Redaction, TextMode, redaction_of


def test_names_and_patterns() -> None:
    """Values between slashes are regular expressions, and others are names."""
    redaction = redaction_of(["x-tenant", "/acme-[0-9]+/", "/"], TextMode.SHAPE)
    assert redaction == Redaction(text=TextMode.SHAPE, names=("x-tenant", "/"), patterns=("acme-[0-9]+",))


def test_an_invalid_pattern() -> None:
    """It is reported when the options are read."""
    with pytest.raises(ValueError, match="not a regular expression"):
        redaction_of(["/(/"])
