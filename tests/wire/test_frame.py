"""The JSON of a frame: parsed when it is used, once, and without exceptions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.model import ABSENT
from toolstream_core.wire.frame import Frame, parse


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, null]}', {"a": [1, None]}),
        (b" 1\n", 1),
        (b"null", None),
        (b'"\xff"', "\ufffd"),
        (None, ABSENT),
        (b"", ABSENT),
        (b"[DONE]", ABSENT),
        (b'{"a":', ABSENT),
        (b"9" * 5000, math.inf),
        (b"[" * 200_000, ABSENT),
    ],
)
def test_json_or_absent(data: bytes | None, value: Any) -> None:
    """Invalid or too deeply nested JSON is absent, null is a value, and numbers may have any length."""
    assert parse(data) == value
    assert Frame(b"raw", 0, data).json == value


def test_json_is_parsed_once() -> None:
    """All observers of an event get the same object."""
    frame = Frame(b"raw", 0, b"{}")
    assert frame.json is frame.json
    assert frame.json == {}


@given(st.binary())
def test_random_bytes_do_not_raise(data: bytes) -> None:
    """Neither does the second access."""
    frame = Frame(data, 0, data)
    assert frame.json is frame.json
