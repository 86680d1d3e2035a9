"""`toolstream list` and `toolstream explain`."""

from __future__ import annotations

import json

import pytest

from toolstream_core.cli import catalogue
from toolstream_core.cli.explain import explained
from toolstream_core.cli.main import main
from toolstream_core.defects.table import ROWS


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that has a name, as text and as JSON."""
    assert main(["list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == catalogue.document()
    assert list(document) == ["version", "defects", "shapes", "transit", "presets", "clients"]
    keys = {"code", "name", "severity", "family", "dialects", "meaning", "plant", "repair", "doc"}
    assert all(one.keys() == keys for one in document["defects"])
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    names = [one["name"] for key in ("defects", "shapes", "presets", "clients") for one in document[key]]
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("name", ["empty-id", "TS102", "whole-calls", "glm-5", "for:aichat", "aichat"])
def test_explain(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Each kind of name."""
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith("# ")


def test_every_defect_is_explained() -> None:
    """By its name and by its code."""
    for row in ROWS:
        told = explained(row.name)
        assert told is not None
        assert told == explained(row.code)
        assert row.must in told


def test_explain_what_has_no_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2; without a name everything is listed."""
    assert main(["explain", "nonsense"]) == 2
    assert "toolstream list" in capsys.readouterr().err
    assert main(["explain"]) == 0
    assert "empty-id" in capsys.readouterr().out


def test_a_shape_is_listed_where_it_acts() -> None:
    """There is nothing to ask for without a stream in APIs that are spoken over WebSockets alone."""
    [destream] = [one for one in catalogue.shapes() if one["name"] == "destream"]
    assert {"openai-chat", "openai-responses"} <= {*destream["dialects"]}
    assert {"openai-realtime", "gemini-live"}.isdisjoint(destream["dialects"])
