"""Top-level keys of JSON that need not be complete."""

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
    """Those of the object itself, and none of what is in it."""
    text = json.dumps(NESTED, indent=indent, ensure_ascii=False).encode()
    assert len(top_keys(text)) == len(NESTED)
    assert {b"a", b"b", b"last"} < top_keys(text)


def test_keys_of_text_that_is_cut_off_anywhere() -> None:
    """A cut adds no key that the complete text does not have, and loses only keys after it."""
    text = json.dumps(NESTED).encode()
    counts = []
    for end in range(len(text) + 1):
        assert top_keys(text[:end]) <= top_keys(text)
        counts.append(len(top_keys(text[:end])))
    assert counts == sorted(counts)


@pytest.mark.parametrize("text", [b"", b"[1]", b'[{"a": 1}]', b'"a": 1', b"\xff\x00", b'"'])
def test_what_is_no_object_has_none(text: bytes) -> None:
    """Whatever it is."""
    assert top_keys(text) == frozenset()
