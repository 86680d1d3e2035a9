"""What stands behind a whole object: the same again, markup, or something else."""

from __future__ import annotations

import pytest

from toolstream_core.calls.arguments import repeated

WHOLE = '{"a":1}'


@pytest.mark.parametrize(
    ("behind", "meaning"),
    [
        ("\n" + WHOLE, (WHOLE, True)),
        ("</tool_call>", (WHOLE, True)),
        ('{"b":2}', (WHOLE + '{"b":2}', False)),
        ("}", (WHOLE + "}", False)),
    ],
)
def test_what_follows_a_whole_object(behind: str, meaning: tuple[str, bool]) -> None:
    """Nothing is dropped but a repetition and markup."""
    assert repeated(WHOLE, behind) == meaning
