"""How clients read JSON that is truncated, or that more text follows."""

import pytest

from toolstream_core.clients.fields import MAX_TEXT, completed, head, listed, shortened


@pytest.mark.parametrize(
    ("text", "first", "closed", "shorter"),
    [
        ('{"x": 1}{"y": 2}', '{"x": 1}', '{"x": 1}', '{"x": 1}'),
        (' {"x": 1}}', '{"x": 1}', '{"x": 1}', '{"x": 1}'),
        ('{"x": 1, "y": "Os', "", '{"x": 1, "y": "Os"}', '{"x": 1}'),
        ('{"x": 1, "y', "", '{"x": 1}', '{"x": 1}'),
        ('{"x": [1, {"a": "b\\"c', "", '{"x": [1, {"a": "b\\"c"}]}', '{"x": [1, {}]}'),
        ('{"x": "a\\', "", '{"x": "a"}', "{}"),
        ('{"x": tr', "", "{}", "{}"),
        ("", "", "", ""),
        ("x", "", "", ""),
    ],
)
def test_partial_values(text: str, first: str, closed: str, shorter: str) -> None:
    """Clients keep the first value, close the value, or drop the unfinished member."""
    assert (head(text), completed(text), shortened(text)) == (first, closed, shorter)


@pytest.mark.parametrize(
    ("text", "several"),
    [('{"x": 1} {"y": 2}{}', '[{"x": 1},{"y": 2},{}]'), ('{"x": 1}', ""), ('{"x": 1}}', ""), ("", "")],
)
def test_several_values(text: str, several: str) -> None:
    """Several JSON values become a list."""
    assert listed(text) == several


def test_long_text_is_not_completed() -> None:
    """It would take long, and no tool has such arguments."""
    text = '{"x": "' + "a" * MAX_TEXT
    assert completed(text) == shortened(text) == ""
