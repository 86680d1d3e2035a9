"""Cases by their ids and words."""

from __future__ import annotations

import pytest

from toolstream_core.checking.cases import Case, Kind, Selection, all_cases, healthy, two_calls
from toolstream_core.errors import ToolstreamError

EMPTY_ID = Case(protocol="openai-chat", kind=Kind.FAULT, name="empty-id", title="t", code="TS102", groups=("identity",))


def test_ids() -> None:
    """The protocol comes first; the healthy one has no kind."""
    assert EMPTY_ID.id == "openai-chat/fault/empty-id"
    assert healthy("gemini").id == "gemini/healthy"
    assert two_calls("gemini", ()).id == "gemini/healthy/two-calls"
    assert healthy("").id == "unknown/healthy"


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ((), True),
        (("all",), True),
        (("empty-id",), True),
        (("TS102",), True),
        (("identity",), True),
        (("fault",), True),
        (("empty-*",), True),
        (("openai-chat/*",), True),
        (("late-id",), False),
        (("anthropic/*",), False),
        (("-late-id",), True),
        (("-empty-id",), False),
        (("identity", "-empty-id"), False),
        (("-identity", "empty-id"), True),
    ],
)
def test_words_choose_cases(words: tuple[str, ...], takes: bool) -> None:
    """Names, codes, families, kinds, ids, globs; the last word that means a case decides."""
    assert Selection(words).takes(EMPTY_ID) is takes


def test_a_word_without_a_case_is_refused() -> None:
    """It would be a run of nothing."""
    Selection(("empty-id", "-transit", "*/healthy", "cut")).check(all_cases())
    with pytest.raises(ToolstreamError, match="unknown case 'emty-id'; did you mean empty-id"):
        Selection(("emty-id",)).check(all_cases())
