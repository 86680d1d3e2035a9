"""Lines fit their width, and left out characters are counted."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.model import ABSENT
from toolstream_core.report.columns import LEAST, WIDTH, Blocks, Label, Marked, colour, middle, seen, shortened, wrapped

TEXT = st.text(max_size=400)


@given(TEXT, st.integers(LEAST, WIDTH), st.booleans())
def test_a_shortened_string_fits(text: str, width: int, count: bool) -> None:
    """With all escapes, it is a printable line in quotes."""
    shown = shortened(text, width, count=count)
    assert len(shown) <= width
    assert shown.isprintable()
    assert shown[0] == shown[-1] == '"'


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=400), st.integers(LEAST, WIDTH))
def test_left_out_characters_are_counted(text: str, width: int) -> None:
    """The beginning, the end and the number add up to the text."""
    shown = middle(text, width, count=True)
    found = re.fullmatch(r"(\w*)…\(\+(\d+)\)…(\w*)", shown)
    if found is None:
        assert shown == text
    else:
        assert len(shown) in {width - 1, width}
        assert text.startswith(found[1])
        assert text.endswith(found[3])
        assert len(found[1]) + int(found[2]) + len(found[3]) == len(text)


def test_absent_null_and_empty_are_distinguished() -> None:
    """None of them looks like a value of the stream."""
    assert [seen(value) for value in (ABSENT, None, "", "null", "absent", 0)] == [
        "absent",
        "null",
        '""',
        '"null"',
        '"absent"',
        "0",
    ]


@pytest.mark.parametrize("request_", ["POST h/v1", "POST " + "h" * 300])
@pytest.mark.parametrize("model", [None, "m", "m" * 300])
def test_a_head_fits(request_: str, model: str | None) -> None:
    """The flow's id is always complete."""
    flow = "0" * 36
    head = Label("#1", request_, flow).head(model, "openai-chat")
    assert len(head) <= WIDTH
    assert head.endswith(f" openai-chat  flow {flow}")


@given(st.lists(st.sampled_from(["a", "word", "--set x=y", "x" * 200]), max_size=40))
def test_lines_are_wrapped(words: list[str]) -> None:
    """Each line fits and begins with the tag, and the last part is not split."""
    lines = wrapped("#1  +1ms ", "#1", " ".join(words), "→ --set toolstream_repair=empty-id")
    assert all(len(line) <= WIDTH and line.startswith("#1 ") for line in lines)
    assert lines[-1].endswith("  → --set toolstream_repair=empty-id")
    text = "".join(line[len("#1  +1ms ") :] for line in lines)
    assert re.sub(r"\s", "", text) == re.sub(r"\s", "", "".join(words) + "→ --set toolstream_repair=empty-id")


def test_marks_are_painted_in_their_order() -> None:
    """A word is painted after the previous mark, and not where it occurs before."""
    marked = Marked("a b a", (("name", "b"), ("error", "a")))
    assert list(marked.lines("#1 ", "#1", colour)) == [f"#1 a {colour('name', 'b')} {colour('error', 'a')}"]


def test_blocks() -> None:
    """Blank lines separate a block from the lines of another stream."""
    written: list[str] = []
    blocks = Blocks(written.append)
    blocks.line("#1 POST h")
    blocks.block(["#1  verdict ok"])
    blocks.line("#2 POST h")
    blocks.block(["#1  verdict silent", "#1    more"])
    blocks.line("#1  again")
    blocks.line("#2  end")
    blocks.block(["#3  verdict ok"])
    blocks.block(["#4  verdict ok"])
    assert written == [
        "#1 POST h",
        "#1  verdict ok",
        "#2 POST h",
        "",
        "#1  verdict silent",
        "#1    more",
        "#1  again",
        "",
        "#2  end",
        "",
        "#3  verdict ok",
        "",
        "#4  verdict ok",
    ]
