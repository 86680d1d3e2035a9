"""`toolstream list` and `toolstream explain`."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT
from toolstream_core.cli.main import main
from toolstream_core.clients import deviations
from toolstream_core.defects.table import DEFECTS
from toolstream_core.report import catalogue
from toolstream_core.report.catalogue import explained
from toolstream_core.verdict import Outcome


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that has a name, as text and as JSON."""
    assert main(["list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == catalogue.document()
    assert list(document) == ["version", "defects", "shapes", "transit", "presets", "clients", "verdicts"]
    keys = {"code", "name", "severity", "family", "dialects", "protocols", "meaning", "plant", "repair", "doc"}
    assert all(one.keys() == keys for one in document["defects"])
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    names = [one["name"] for key in ("defects", "shapes", "presets", "clients", "verdicts") for one in document[key]]
    assert [name for name in names if name not in text] == []
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    "name",
    [
        "empty-id",
        "TS102",
        "ending",
        "safe",
        "whole-calls",
        "destream",
        "stall",
        "glm-5",
        "for:aichat",
        "aichat",
        "silent",
        "by-present-id",
        "not-strict",
        "returned without arguments",
    ],
)
def test_explain(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Each kind of name."""
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith("# ")


def test_every_defect_is_explained() -> None:
    """By its name and by its code."""
    for row in DEFECTS:
        told = explained(row.name)
        assert told is not None
        assert told.startswith(explained(row.code) or "?")
        assert row.must in told


def test_every_client_bug_is_explained() -> None:
    """With its fix and the projects in which it was seen; its name means nothing else."""
    for bug, row in deviations.QUIRKS.items():
        told = explained(bug.value) or ""
        assert told.startswith(f"# Client bug {bug.value}\n\nThe client {row.words}.\n")
        assert deviations.fix((bug,)).removeprefix("fix the client: ") in told
        assert [project for project in row.projects if f"[{project}](https://" not in told] == []


def test_a_family_is_explained_by_its_defects() -> None:
    """Each of them, and no other."""
    told = explained("leak") or ""
    assert [row.name for row in DEFECTS if f"`{row.name}`" in told] == [
        row.name for row in DEFECTS if row.family == "leak"
    ]


def test_no_verdict_has_the_name_of_a_defect() -> None:
    """A name means one thing."""
    assert {row.name for row in DEFECTS} & set(Outcome) == set()


def test_a_name_of_a_verdict_and_a_grade_is_explained_as_both() -> None:
    """`explain ok`."""
    told = explained("ok") or ""
    assert [line for line in told.splitlines() if line.startswith("#")] == ["# Verdict ok", "# Grade ok"]


def test_the_docs_say_each_verdict_as_the_table_does() -> None:
    """`docs/cli.md` has them in a table of its own order."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [one for one in Outcome if f"| `{one}` | {one.meaning} |" not in page] == []


def test_explain_what_has_no_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2; without a name everything is listed."""
    assert main(["explain", "nonsense"]) == 2
    assert "toolstream list" in capsys.readouterr().err
    assert main(["explain", "emtpy-id"]) == 2
    assert "did you mean empty-id?" in capsys.readouterr().err
    assert main(["explain"]) == 0
    assert "empty-id" in capsys.readouterr().out


def test_a_shape_is_listed_where_it_acts() -> None:
    """There is nothing to ask for without a stream in APIs that are spoken over WebSockets alone."""
    [destream] = [one for one in catalogue.shapes() if one["name"] == "destream"]
    assert {"openai-chat", "openai-responses"} <= {*destream["dialects"]}
    assert {"openai-realtime", "gemini-live"}.isdisjoint(destream["dialects"])
