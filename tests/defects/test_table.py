"""The table of defects, and how they are selected."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from toolstream_core.defects import arguments, finish, framing, identity, leak, table
from toolstream_core.defects.defect import ALL_PROTOCOLS, Defect, Safety
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.defects.table import DEFECTS, named, repairs
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import Finding, Severity
from toolstream_core.protocols.registry import PROTOCOLS

PAGES = ROOT / "docs" / "defects"
ALL = frozenset(defect.code for defect in DEFECTS)
HEADINGS = ["What it is", "Why it hurts", "Example", "Repair", "Seen with"]
PROTOCOL_LIST = re.compile(rf"\bIn (?:every protocol|(?:(?:{'|'.join(ALL_PROTOCOLS)})(?:, | and )?)+)\.")
"""A sentence that repeats a column of the table, and becomes outdated."""


def test_every_defect_is_in_the_table() -> None:
    """Only defects in the table can be selected by name."""
    tables = (finish, framing, identity, leak, arguments)
    assert sorted(DEFECTS) == sorted(
        defect for table in tables for defect in vars(table).values() if isinstance(defect, Defect)
    )


def test_names_are_unique() -> None:
    """Codes, names, families, protocols and other words of options differ."""
    words = [word for defect in DEFECTS for word in (defect.code, defect.name)] + sorted(
        {defect.family for defect in DEFECTS}
    )
    assert len(set(words)) == len(words)
    assert not {table.ALL, Safety.SAFE.value} & set(words)
    assert not {protocol.name for protocol in PROTOCOLS} & set(words)


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect.name for defect in DEFECTS])
def test_a_defect_is_well_formed_and_has_its_page(defect: Defect) -> None:
    """The page has the common headings, an example, and links or a note that there is no report."""
    assert re.fullmatch(r"TS[0-9]{3}", defect.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", defect.name)
    assert set(defect.protocols) <= set(ALL_PROTOCOLS)
    assert defect.meaning
    assert defect.must
    assert not defect.must.endswith(".")
    page = (PAGES / f"{defect.name}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == HEADINGS
    parts = [part.strip() for part in re.split(r"^## .*$", page, flags=re.MULTILINE)[1:]]
    assert all(parts)
    assert not PROTOCOL_LIST.search(" ".join(parts[0].split())), "the table above has the protocols"
    assert parts[2].startswith("```text\n")
    assert parts[2].endswith("```")
    assert parts[3].startswith("None") == (defect.repair is None)
    assert all(link.startswith("https://") for link in re.findall(r"\]\((.*?)\)", parts[4]))
    assert "](" in parts[4] or parts[4].startswith("No public report")


def test_no_page_is_without_a_defect() -> None:
    """Removed defects have no page."""
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == {defect.name for defect in DEFECTS}


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["TS301"], {"TS301"}),
        (["truncated-stream"], {"TS301"}),
        (["framing"], {defect.code for defect in DEFECTS if defect.family == "framing"}),
        (["all"], ALL),
        (["all", "-TS301"], ALL - {"TS301"}),
        (["framing", "-oversize-frame"], {defect.code for defect in DEFECTS if defect.family == "framing"} - {"TS001"}),
        ([], set()),
    ],
)
def test_words_select_defects(words: list[str], codes: set[str]) -> None:
    """Words are codes, names, families or `all`, and `-` excludes."""
    assert named(words) == codes


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("TS999", None),
        ("ts301", None),
        ("truncated", "truncated-stream"),
        ("Emptyid", "empty-id"),
        ("-identty", "identity"),
        ("", None),
    ],
)
def test_an_unknown_word_is_reported_with_the_nearest(word: str, near: str | None) -> None:
    """The message has the command that lists all names."""
    with pytest.raises(ToolstreamError) as error:
        named(["TS301", word])
    hint = f"; did you mean {near}?" if near else "."
    assert str(error.value) == f"unknown defect {word.removeprefix('-')!r}{hint} See `toolstream list`"


SAFE = {defect for defect in DEFECTS if defect.repair is Safety.SAFE}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["safe"], SAFE),
        (["all"], SAFE),
        (["identity"], {defect for defect in SAFE if defect.family == "identity"}),
        (["invalid-arguments"], {defect for defect in DEFECTS if defect.name == "invalid-arguments"}),
        (["safe", "-empty-id"], {defect for defect in SAFE if defect.name != "empty-id"}),
        ([], set()),
    ],
)
def test_words_select_repairs(words: list[str], wanted: set[Defect]) -> None:
    """An unsafe repair is selected only by its name."""
    assert repairs(words) == wanted


@pytest.mark.parametrize("word", ["truncated-stream", "leak", "nonsense", "TS000"])
def test_a_defect_without_a_repair_is_an_error(word: str) -> None:
    """The message names the command that lists all repairs."""
    with pytest.raises(ToolstreamError, match=r"See `toolstream list`"):
        repairs([word])


def test_a_finding_has_the_fields_of_its_defect() -> None:
    """Its place and message are its own."""
    found = CUT_OFF_CALL.found(7, "it stops", 2)
    assert found == Finding("TS302", "cut-off-call", Severity.ERROR, 7, 2, "it stops", "safe")
    assert CUT_OFF_CALL.found(7, "it stops", severity=Severity.NOTE).severity == "note"
