"""The way of one call's frames."""

from __future__ import annotations

import pytest

from toolstream_core.engine.fast_path.skipped_run import Edit, edit_of
from toolstream_core.engine.fast_path.template import TemplateReader
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.frame import Frame

HEAD = b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"arguments":'
RAW = HEAD + b'"a"}}]}}]}\n\n'


@pytest.mark.parametrize(
    ("out", "way"),
    [
        (RAW, Edit()),
        (RAW.replace(b'"id":"",', b""), Edit(before=HEAD.replace(b'"id":"",', b""))),
        (RAW.replace(b"}}]}}]}", b"},1]}"), Edit(behind=b"},1]}\n\n")),
        (RAW.replace(b'"a"', b'"b"'), None),
        (
            RAW.replace(b'"id":"",', b"").replace(b"}}]}}]}", b"},1]}"),
            Edit(HEAD.replace(b'"id":"",', b""), b"},1]}\n\n"),
        ),
        (RAW.replace(b"}}]}}]}", b'},"a"]}').replace(b'"id":"",', b""), None),
    ],
)
def test_ways(out: bytes, way: Edit | None) -> None:
    """A frame passes, or changes before its arguments, or behind them, or both; else nothing is learned."""
    template_reader = TemplateReader(next(dialect.read for dialect in PROTOCOLS if dialect.name == "openai-chat"))
    for _ in range(2):
        template_reader.read(Frame(RAW, 0, RAW[6:-2]))
    assert template_reader.match is not None
    assert edit_of(template_reader.match, RAW, out) == way
