"""Top-level keys of JSON that may be incomplete."""

from __future__ import annotations

import json

import pytest

from toolstream_core.wire.json_paths import top_keys

NESTED = {
    "a": 'x": {"no": 1, \\" [ {',
    "b": {"no": [{"no": {}}], "also": "}]"},
    'c": ': [["no", {"no": 1}], "no: no"],
    "é": None,
    "last": 1.5,
}


@pytest.mark.parametrize("indent", [None, 2])
def test_keys_of_complete_text(indent: int | None) -> None:
    """Keys of nested objects are not among them."""
    text = json.dumps(NESTED, indent=indent, ensure_ascii=False).encode()
    assert len(top_keys(text)) == len(NESTED)
    assert {b"a", b"b", b"last"} < top_keys(text)


def test_keys_of_truncated_text() -> None:
    """Truncation adds no key, and loses only keys after it."""
    text = json.dumps(NESTED).encode()
    counts = []
    for end in range(len(text) + 1):
        assert top_keys(text[:end]) <= top_keys(text)
        counts.append(len(top_keys(text[:end])))
    assert counts == sorted(counts)


@pytest.mark.parametrize("text", [b"", b"[1]", b'[{"a": 1}]', b'"a": 1', b"\xff\x00", b'"'])
def test_other_text_has_no_keys(text: bytes) -> None:
    """Arrays, strings and garbage have no keys."""
    assert top_keys(text) == frozenset()
