"""A frame's JSON: read when asked for, once, and never raising."""

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
    """Null is a value; what is no JSON, too deep to be read is absent; a number is one however long."""
    assert parse(data) == value
    assert Frame(b"raw", 0, data).json == value


def test_json_is_read_once() -> None:
    """Every observer of an event looks at the same object."""
    frame = Frame(b"raw", 0, b"{}")
    assert frame.json is frame.json
    assert frame.json == {}


@given(st.binary())
def test_arbitrary_bytes_do_not_raise(data: bytes) -> None:
    """Nor does asking again."""
    frame = Frame(data, 0, data)
    assert frame.json is frame.json
