"""`toolstream list` and `toolstream explain`."""

from __future__ import annotations

import json

import pytest

from tests.conftest import ROOT
from toolstream_core.cli.main import main
from toolstream_core.clients import deviations
from toolstream_core.clients.explanation import protocol_with
from toolstream_core.clients.model import Adding, Deviation, Kept, Key
from toolstream_core.defects.table import DEFECTS
from toolstream_core.report import catalogue
from toolstream_core.report.catalogue import explained
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.outcome import RENAMED


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """All names are listed, as text and as JSON."""
    assert main(["list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(json.dumps(catalogue.document()))
    assert list(document) == ["version", "defects", "shapes", "transit", "presets", "clients", "verdicts"]
    keys = {"code", "name", "severity", "family", "dialects", "protocols", "meaning", "plant", "repair", "doc"}
    assert all(one.keys() == keys for one in document["defects"])
    assert all([*one] == ["name", "meaning", "parts", "source"] for one in document["presets"])
    keys_of_clients = ["name", "client", "versions", "shapes", "repairs", "why", "source"]
    assert all([*one] == keys_of_clients for one in document["clients"])
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
    """Each kind of name has an explanation."""
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith("# ")


def test_every_defect_is_explained() -> None:
    """It is found by its name and its code."""
    for defect in DEFECTS:
        text = explained(defect.name)
        assert text is not None
        assert text.startswith(explained(defect.code) or "?")
        assert defect.must in text


def test_every_client_bug_is_explained() -> None:
    """The explanation has its fix and the projects in which it was seen."""
    for bug, defect in deviations.QUIRKS.items():
        text = explained(bug.value) or ""
        assert text.startswith(f"# Client bug {bug.value}\n\nThe client {defect.words}.\n")
        assert deviations.fix((bug,), protocol_with(bug)).removeprefix("fix the client: ") in text
        assert [project for project in defect.projects if f"[{project}](https://" not in text] == []


@pytest.mark.parametrize(
    ("bug", "fix"),
    [
        (Key.CHANGED_ID, "Fix, in the fields of openai-chat: key fragments by `index`, not by a changed `id`."),
        (
            Kept.CLOSED,
            (
                "Fix, in the fields of openai-responses: keep open calls in a map by `item_id` or `output_index`, not "
                "in one variable."
            ),
        ),
        (
            Adding.CONTINUED,
            (
                "Fix, in the fields of openai-responses: keep an arguments buffer for each `item_id` or "
                "`output_index`, and start it empty."
            ),
        ),
        (Kept.FIRST, "Fix: keep every call of a response, not only the first."),
    ],
)
def test_a_fix_names_the_fields_of_a_protocol_in_which_a_client_can_have_the_bug(bug: Deviation, fix: str) -> None:
    """Chat Completions, unless a client cannot have the bug there; no protocol if the fix names no field."""
    assert f"* {fix}\n" in (explained(bug.value) or "")


def test_a_family_is_explained_by_its_defects() -> None:
    """The explanation has all of its defects, and no others."""
    text = explained("leak") or ""
    assert [defect.name for defect in DEFECTS if f"`{defect.name}`" in text] == [
        defect.name for defect in DEFECTS if defect.family == "leak"
    ]


def test_no_verdict_has_the_name_of_a_defect() -> None:
    """Each name has only one meaning."""
    assert {defect.name for defect in DEFECTS} & set(Outcome) == set()


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_old_names_of_verdicts_are_explained(old: str, new: str) -> None:
    """With their new name, after the defect of the old name where there is one."""
    told = explained(old) or ""
    assert told.startswith("# TS") == (old in {row.name for row in DEFECTS})
    assert f"# Verdict {old}\n\nThis verdict is now called `{new}`.\n\n# Verdict {new}\n" in told
    assert Outcome(old) is Outcome(new)


def test_a_name_of_a_verdict_and_a_grade_is_explained_as_both() -> None:
    """`explain ok` shows both."""
    text = explained("ok") or ""
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# Verdict ok", "# Grade ok"]


def test_the_docs_have_the_meaning_of_each_verdict() -> None:
    """The table in `docs/cli.md` has another order."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [one for one in Outcome if f"| `{one}` | {one.meaning} |" not in page] == []


def test_explain_an_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 2. Without a name, everything is listed."""
    assert main(["explain", "nonsense"]) == 2
    assert "toolstream list" in capsys.readouterr().err
    assert main(["explain", "emtpy-id"]) == 2
    assert "did you mean empty-id?" in capsys.readouterr().err
    assert main(["explain"]) == 0
    assert "empty-id" in capsys.readouterr().out


def test_a_shape_lists_its_protocols() -> None:
    """`destream` needs an API with non-streaming requests."""
    [destream] = [one for one in catalogue.shapes() if one["name"] == "destream"]
    assert {"openai-chat", "openai-responses"} <= {*destream["dialects"]}
    assert {"openai-realtime", "gemini-live"}.isdisjoint(destream["dialects"])
