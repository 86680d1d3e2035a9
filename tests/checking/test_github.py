"""The report for GitHub Actions."""

from __future__ import annotations

from tests.checking.reports import report
from toolstream_core.checking.report import summary, workflow_commands


def test_annotations() -> None:
    """One line each, in which no text begins another command; errors are required cases, the worst first."""
    lines = workflow_commands(report())
    assert [line.split()[0] for line in lines] == ["::error", "::error", "::warning"]
    assert lines[0].startswith("::error title=agent|<b>%3A openai-chat/fault/b-half::returned an incomplete call: ]]>")
    assert "100%25" in lines[0]
    assert not any("\n" in line for line in lines)


def test_the_summary() -> None:
    """A table of what was not right; no text leaves its cell."""
    text = summary(report())
    assert text.startswith("### agent\\|&lt;b&gt; (openai-chat)\n\n7 cases: 1 ok")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[2] for row in rows] == [
        f"openai-chat/fault/{name}" for name in ("b-half", "d-untried", "e-weak", "g-shown", "c-optional")
    ]
    assert "<b>" not in text
    assert all(row.replace("\\|", "").count("|") == 6 for row in rows)
