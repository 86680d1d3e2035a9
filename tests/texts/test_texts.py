"""Texts for users are in plain English: README, docs, help, log lines, findings, verdicts and errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.conftest import ROOT
from tests.texts.collected import descriptions, packages, pages, prose, sentences, texts
from tests.texts.patterns import ANYWHERE, HELP
from toolstream_core.cli.commands import COMMANDS
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from tests.texts.patterns import Pattern

FORMER: Final = frozenset({"ran a half call", "asked again and again"})
"""Values of former reports, which are still read."""


def found(text: str, patterns: tuple[Pattern, ...] = ANYWHERE) -> list[str]:
    """Return the phrases to replace."""
    return [f"{phrase!r}, better: {pattern.instead}" for pattern in patterns for phrase in pattern.found(text)]


@pytest.mark.parametrize("pattern", [*ANYWHERE, *HELP], ids=lambda pattern: pattern.instead)
def test_patterns(pattern: Pattern) -> None:
    """Each pattern matches its phrase and no other use of the same words."""
    assert found(pattern.caught, (pattern,))
    assert found(pattern.passes, (*ANYWHERE, *HELP)) == []


@pytest.mark.parametrize("page", pages())
def test_pages(page: str) -> None:
    """README, docs and defect pages contain no such phrase."""
    assert found(prose((ROOT / page).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("schema", sorted(path.name for path in (ROOT / "docs").glob("*.schema.json")))
def test_schemas(schema: str) -> None:
    """The descriptions in the JSON schemas contain no such phrase."""
    form = json.loads((ROOT / "docs" / schema).read_text(encoding="utf-8"))
    assert [wrong for text in descriptions(form) if text not in FORMER for wrong in found(prose(text))] == []


@pytest.mark.parametrize("package", packages())
def test_messages(package: str) -> None:
    """The strings in the code contain no such phrase."""
    wrong = [
        f"{where}: {phrase}"
        for where, text, is_help in sentences(package)
        if text not in FORMER
        for phrase in found(text, (*ANYWHERE, *HELP) if is_help else ANYWHERE)
    ]
    assert wrong == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of `--help` contains no such phrase."""
    monkeypatch.setenv("COLUMNS", "1000")
    assert main([command, "--help"]) == 0
    assert found(prose(capsys.readouterr().out)) == []


def test_code_and_names_are_not_read() -> None:
    """Code and URLs in a page are skipped."""
    assert (
        found(prose("`is told` whole-calls [x](https://a.example/is told) https://a.example/\n```\nis told\n```")) == []
    )
    assert found(prose("A `call` is told.")) != []


def test_strings_of_a_program() -> None:
    """Docstrings and comments are skipped, and an option's help is recognized."""
    source = '"""Is told."""\nadd(f"the {call} is told", "word", help="Whether it is so")  # is told\n'
    assert list(texts(source)) == [(2, "the X is told", False), (2, "Whether it is so", True)]
