"""The guides for contributors match the source."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from tests.calls import patterns
from toolstream_core.cli.main import parsed
from toolstream_core.engine.session import read_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
GUIDES = [*sorted((ROOT / "docs").glob("adding-*.md")), ROOT / "docs" / "architecture.md"]
DEFECT = (ROOT / "docs" / "adding-a-defect.md").read_text(encoding="utf-8")


SAMPLES = {"Example", "RAW", "read_fileread_file"}
"""Words that are not names of the source."""


def words(texts: Iterable[str]) -> Iterator[str]:
    """Yield all words in these texts that may be names."""
    return (word for text in texts for word in re.findall(r"[A-Za-z_]\w+", text))


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in a language; "" for blocks without a language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [text for named, text in found if named == language]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_path_exists(guide: Path) -> None:
    """Every path in the prose and commands of a guide exists."""
    named = re.findall(r"(?:`|python )((?:addon|tests|scripts|docs)/[\w./-]+)", guide.read_text(encoding="utf-8"))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_every_name_exists(guide: Path) -> None:
    """Each class, function and constant in the prose and code of a guide is a word of the source."""
    page = guide.read_text(encoding="utf-8")
    spans = [span for span in re.findall(r"`([^`\n]+)`", page) if not re.search(r"/|\.\w+$", span)]
    sources = [*(ROOT / "addon").rglob("*.py"), *(ROOT / "tests" / "invariants").glob("*.py")]
    known = set(words(path.read_text(encoding="utf-8") for path in sources))
    named = set(words([*spans, *blocks(page, "python")]))
    assert sorted(named - known - SAMPLES) == []


def test_the_example_definition_is_in_the_source() -> None:
    """The definition of a defect in the guide is in the source, character for character."""
    definition = blocks(DEFECT, "python")[0]
    assert definition in (ROOT / "addon" / "toolstream_core" / "defects" / "identity.py").read_text(encoding="utf-8")


def test_the_sample_of_the_page_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample stream of the page has the calls and findings that it lists."""
    (tmp_path / "page.txt").write_text("A page.\n\n" + blocks(DEFECT, "")[0], encoding="utf-8")
    monkeypatch.setattr(patterns, "FOLDER", tmp_path)
    [sample] = patterns.patterns()
    record = read_body([sample.body], sample.exchange)
    assert record is not None
    assert [(one.name, one.severity.value, one.event) for one in record.findings] == sample.findings
    assert [(call.id, call.name, call.arguments) for call in record.calls] == [("c1", "grep", "{}")]


def test_the_command_of_the_workflow_is_valid() -> None:
    """The workflow of the page is YAML, and its toolstream command has valid options."""
    [workflow] = blocks((ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), "yaml")
    steps = YAML(typ="safe").load(workflow)["jobs"]["check"]["steps"]
    [line] = [step["run"] for step in steps if step.get("run", "").startswith("toolstream ")]
    args = parsed(shlex.split(line)[1:])
    assert (args.command, args.command_line, args.github) == ("check", ["python", "agent.py"], True)
