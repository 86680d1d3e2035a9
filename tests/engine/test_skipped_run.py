"""The way of one call's frames."""

from __future__ import annotations

import pytest

from toolstream_core.engine.skipped_run import Way, way_of
from toolstream_core.engine.template import Likeness
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.frame import Frame

HEAD = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"arguments":'
RAW = HEAD + b'"a"}}]}}]}\n\n'


@pytest.mark.parametrize(
    ("out", "way"),
    [
        (RAW, Way()),
        (RAW.replace(b'"id":"",', b""), Way(before=HEAD.replace(b'"id":"",', b""))),
        (RAW.replace(b"}}]}}]}", b"},1]}"), Way(behind=b"},1]}\n\n")),
        (RAW.replace(b'"a"', b'"b"'), None),
        (
            RAW.replace(b'"id":"",', b"").replace(b"}}]}}]}", b"},1]}"),
            Way(HEAD.replace(b'"id":"",', b""), b"},1]}\n\n"),
        ),
        (RAW.replace(b"}}]}}]}", b'},"a"]}').replace(b'"id":"",', b""), None),
    ],
)
def test_ways(out: bytes, way: Way | None) -> None:
    """A frame passes, or changes before its arguments, or behind them, or both; else nothing is learned."""
    likeness = Likeness(next(dialect.read for dialect in PROTOCOLS if dialect.name == "openai-chat"))
    for _ in range(2):
        likeness.read(Frame(RAW, 0, RAW[6:-2]))
    assert likeness.met is not None
    assert way_of(likeness.met, RAW, out) == way
