"""Foreign text in Markdown does nothing."""

from __future__ import annotations

import re

import pytest

from toolstream_core.report.columns import code, escaped


@pytest.mark.parametrize("text", ["`a`", "``", "a|b", "\x1b[31m", "`"])
def test_foreign_code_stays_code(text: str) -> None:
    """Its own backticks do not end it, and nothing steers a terminal."""
    shown = code(text)
    inner = re.fullmatch(r"(`+)( ?)(.*?)\2\1", shown)
    assert inner
    assert inner[1] not in re.findall(r"`+", inner[3])
    assert shown.isprintable()


def test_foreign_sentences_link_and_mention_nothing() -> None:
    """Neither HTML, nor links, nor people, nor issues."""
    assert escaped("<b>[x](y) @me #1 *a*") == "\\<b\\>\\[x\\](y) @\u200bme \\#1 \\*a\\*"
