"""What follows whole arguments: the same again, markup, or something else, however it is cut."""

from __future__ import annotations

import pytest

from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.following import Follows

WHOLE = '{"a": 1}'


@pytest.mark.parametrize("size", [1, 2, 3, 99])
@pytest.mark.parametrize(
    ("behind", "kind"),
    [
        (WHOLE, Follows.SAME),
        (' {"a":1}\n{"a"', Follows.SAME),
        ("</tool_call>", Follows.MARKUP),
        ('{"a":1}<|end|>', Follows.MARKUP),
        ('{"a":2}', Follows.OTHER),
        ("and so on", Follows.OTHER),
    ],
)
def test_it_is_known_however_it_is_cut(behind: str, kind: Follows, size: int) -> None:
    """And what it was before is known too."""
    text = ArgumentText()
    text.add(WHOLE)
    for at in range(0, len(behind), size):
        text.add(behind[at : at + size])
    assert text.following is not None
    assert text.following.kind(text.size) is kind
    assert text.following.kind(len(WHOLE)) is Follows.NOTHING


def test_nothing_follows_a_placeholder() -> None:
    """It is the arguments that come behind it."""
    text = ArgumentText()
    text.add("{}")
    text.add(WHOLE)
    assert text.following is None
