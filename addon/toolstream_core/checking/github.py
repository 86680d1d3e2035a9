"""The report of a check for GitHub Actions: annotations in the log, and a summary of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.grading import Grade
from toolstream_core.checking.table import conditions, counts, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST: Final = 50
"""Annotations; GitHub shows ten of each kind."""
_ROWS: Final = 200


def workflow_commands(report: dict[str, Any]) -> list[str]:
    """Workflow commands: an error for each required case that failed, a warning for any other.

    https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    found: list[str] = []
    for client in report["clients"]:
        for case in worst_first(client["cases"]):
            if case["grade"] in (Grade.FAILED, Grade.HARNESS_FAILURE):
                level = "error" if case["required"] else "warning"
                title = _property(f"{client['name']}: {case['id']}")
                found.append(f"::{level} title={title}::{_data(f'{_why(case)} ({case["rerun"]})')}")
    return found[:_MOST]


def summary(report: dict[str, Any]) -> str:
    """Markdown for `GITHUB_STEP_SUMMARY`."""
    return "\n".join(line for client in report["clients"] for line in _client(client)) + "\n"


def _client(client: dict[str, Any]) -> Iterator[str]:
    yield f"### {_cell(client['name'])} ({_cell(client['protocol'] or 'no protocol')}{_cell(conditions(client))})"
    yield ""
    yield counts(client)
    yield ""
    told = [case for case in worst_first(client["cases"]) if case["grade"] not in (Grade.OK, Grade.SKIPPED)]
    if told:
        yield "| grade | required | case | why | run it again |"
        yield "|---|---|---|---|---|"
    for case in told[:_ROWS]:
        required = "yes" if case["required"] else "no"
        cells = [case["grade"], required, case["id"], _why(case), f"`{case['rerun']}`"]
        yield f"| {' | '.join(map(_cell, cells))} |"
    if len(told) > _ROWS:
        yield f"| … | | {len(told) - _ROWS} more | | |"
    yield ""


def _why(case: dict[str, Any]) -> str:
    return ": ".join(filter(None, [case["reason"], case["message"]])) or str(case["grade"])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    """A text within a cell of a table: no bar ends it, and no markup begins in it."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("|", "\\|")
