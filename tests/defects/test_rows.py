from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolstream_core.defects import rows
from toolstream_core.defects.rows import ROWS, Row, UnknownDefectError, named
from toolstream_core.dialects import DIALECTS
from toolstream_core.model import Finding, Severity

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
ALL = frozenset(row.code for row in ROWS)


def test_every_row_is_in_the_table() -> None:
    """So that it can be chosen by name."""
    assert sorted(ROWS) == sorted(row for row in vars(rows).values() if isinstance(row, Row))


def test_no_word_means_two_things() -> None:
    """Codes, names and families are taken from one purse."""
    words = [word for row in ROWS for word in (row.code, row.name)] + sorted({row.family for row in ROWS})
    assert len(set(words)) == len(words)
    assert rows.ALL not in words
    assert not {dialect.name for dialect in DIALECTS} & set(words)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_row_is_in_form_and_on_the_page(row: Row) -> None:
    """The reference names every defect that there is, with what it means."""
    assert re.fullmatch(r"TS[0-9]{3}", row.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", row.name)
    line = f"| {row.code} | `{row.name}` | {row.family} | {row.severity} | {row.meaning} |"
    assert line in PAGE.read_text().splitlines()


def test_the_page_names_no_other_defect() -> None:
    """Not even one that was taken back."""
    assert set(re.findall(r"TS[0-9]{3}", PAGE.read_text())) == ALL


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (["TS301"], {"TS301"}),
        (["truncated-stream"], {"TS301"}),
        (["framing"], {row.code for row in ROWS if row.family == "framing"}),
        (["all"], ALL),
        (
            ["TS301", "framing", "oversize-frame"],
            {"TS301"} | {row.code for row in ROWS if row.family == "framing"},
        ),
        ([], set()),
    ],
)
def test_words_mean_codes(words: list[str], codes: set[str]) -> None:
    """Codes, names, families, or all."""
    assert named(words) == codes


@pytest.mark.parametrize("word", ["TS999", "ts301", "truncated", "", "-all"])
def test_an_unknown_word_is_told_with_the_known_ones(word: str) -> None:
    """All of them: there are few."""
    with pytest.raises(UnknownDefectError) as told:
        named(["TS301", word])
    assert repr(word) in str(told.value)
    assert all(known in str(told.value) for row in ROWS for known in (row.code, row.name, row.family))


def test_a_finding_has_its_rows_words() -> None:
    """And its own place and message."""
    found = rows.CUT_OFF_CALL.found(7, "it stops", 2)
    assert found == Finding("TS302", "cut-off-call", Severity.ERROR, 7, 2, "it stops", None)
