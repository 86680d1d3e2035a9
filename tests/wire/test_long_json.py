"""Long JSON is parsed in parts, with the same result as in one call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.wire import long_json, numbers
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_value import ABSENT

SPECIAL = ['"', "\\", "\n", "\t", "/", "é", "\U0001f600", "\ud83d", "\ude00", "ud83d", "\u2028", "a"]
STRINGS = st.lists(st.sampled_from(SPECIAL), max_size=60).map("".join)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | STRINGS
DOCUMENTS = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(STRINGS, inner), max_leaves=30)
CORRUPTIONS = st.tuples(
    st.integers(0, 400), st.sampled_from(["", "x", '"', "\\", "}", "]", ",", "\x01", "\\u12", "-0"])
)


@pytest.fixture(autouse=True, params=[24, 31, 50, 1 << 16])
def part_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Lengths of a part, so that short documents are split."""
    monkeypatch.setattr(long_json, "PART", request.param)
    monkeypatch.setattr(long_json, "_SHORT", 8)
    size: int = request.param
    return size


def outcome(text: str, read: Any) -> str:
    """The value's `repr`, which distinguishes -0.0, 0 and False, or "invalid"."""
    try:
        return repr(read(text))
    except ValueError:
        return "invalid"


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]), st.none() | CORRUPTIONS)
def test_the_value_is_the_same(document: Any, ascii_only: bool, indent: int | None, corruption: Any) -> None:
    """For valid documents, and for documents with an invalid character."""
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    if corruption is not None:
        at, wrong = corruption
        text = text[: at % (len(text) + 1)] + wrong + text[at % (len(text) + 1) :]
    assert outcome(text, long_json.loads) == outcome(text, numbers.loads)


def test_no_call_parses_more_than_a_part(part_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists, objects and nested values are all split; each string is read by another function."""
    read: list[int] = []
    once = numbers.first

    def counted(text: str, at: int) -> Any:
        value, end = once(text, at)
        read.append(end - at)
        return value, end

    monkeypatch.setattr(numbers, "first", counted)
    monkeypatch.setattr(numbers, "loads", lambda _: pytest.fail("read in one call"))
    document = {
        "messages": [{"content": [{"text": "x\n" * 90_000}]}, {"content": "y" * 300_000}, *([[1, "z"]] * 50_000)]
    }
    assert parse(json.dumps(document).encode()) == document
    assert max(read) <= part_size


def test_invalid_long_json_is_absent() -> None:
    """The result is the same as for short texts."""
    assert parse(b'{"a": "' + b"x" * (long_json.LONG + 1)) is ABSENT
    assert parse(b"[" * (long_json.LONG + 1)) is ABSENT
