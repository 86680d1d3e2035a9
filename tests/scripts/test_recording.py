"""The recording in docs/ is one self-contained picture with the text of README.md's two runs."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from recording import svg
from tests.conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"
PATH = ROOT / "docs" / "terminal.svg"
BYTES = 20_000
RED = "\x1b[31m"
RESET = "\x1b[0m"


def lines(picture: str) -> list[str]:
    """Return the lines of text in a picture."""
    return ["".join(text.itertext()) for text in ET.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 - toolstream's own picture


def test_shows_the_runs_of_the_readme() -> None:
    """`scripts/docs.py --check` compares both with a current run."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    failing, working = (
        re.findall(rf"<!-- {name}:begin -->\n```console\n(.*?)\n```", readme, re.DOTALL)[0]
        for name in ("failing", "working")
    )
    picture = PATH.read_text(encoding="utf-8")
    assert lines(picture) == [*failing.splitlines(), "", *working.splitlines()]
    assert "](docs/terminal.svg)" in readme


def test_is_self_contained() -> None:
    """GitHub loads no fonts and runs no scripts in a picture."""
    picture = PATH.read_text(encoding="utf-8")
    root = ET.fromstring(picture)  # noqa: S314 - toolstream's own picture
    assert len(picture.encode()) <= BYTES
    assert root.findtext(f"{SVG}title")
    assert root.findtext(f"{SVG}desc")
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        *("svg", "title", "desc", "style", "rect", "text", "tspan")
    }
    assert not re.search(r"href|url\(|@import", picture)


@pytest.mark.parametrize("line", ["a  <b> & \"c\" 'd' → “e”", "  indented", "", "]]>"])
def test_text_is_not_changed(line: str) -> None:
    """Markup, quotes and spaces are kept."""
    assert lines(svg("Title", "Description", [line])) == [line]


def test_only_statuses_have_colours() -> None:
    """Other styles of the log are plain text, and an unterminated colour ends with its line."""
    shown = svg("Title", "Description", [f"a {RED}b{RESET} \x1b[36mc{RESET}", f"{RED}d", "e"])
    coloured = [(span.get("class"), span.text) for span in ET.fromstring(shown).iter(f"{SVG}tspan")]  # noqa: S314 - toolstream's own picture
    assert coloured == [("error", "b"), ("error", "d")]
    assert lines(shown) == ["a b c", "d", "e"]
