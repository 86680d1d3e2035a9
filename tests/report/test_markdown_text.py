"""Foreign text is escaped in Markdown."""

from __future__ import annotations

import re

import pytest

from toolstream_core.report.columns import code, escaped


@pytest.mark.parametrize("text", ["`a`", "``", "a|b", "\x1b[31m", "`"])
def test_foreign_code_stays_code(text: str) -> None:
    """Its backticks do not end the code, and it has no control characters."""
    shown = code(text)
    inner = re.fullmatch(r"(`+)( ?)(.*?)\2\1", shown)
    assert inner
    assert inner[1] not in re.findall(r"`+", inner[3])
    assert shown.isprintable()


def test_foreign_sentences_have_no_links_and_mentions() -> None:
    """HTML, links, people and issues are escaped."""
    assert escaped("<b>[x](y) @me #1 *a*") == "\\<b\\>\\[x\\](y) @\u200bme \\#1 \\*a\\*"
