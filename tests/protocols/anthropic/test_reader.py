"""Anthropic Messages: blocks, their input, ends and errors."""

from __future__ import annotations

import pytest

from tests.protocols.frames import frame
from toolstream_core.model import ABSENT, Finish, Fragment, Kind, Phase, Seen
from toolstream_core.protocols.anthropic import ANTHROPIC

read = ANTHROPIC.read


@pytest.mark.parametrize(
    ("block", "arguments"),
    [({"input": {}}, ABSENT), ({}, ABSENT), ({"input": None}, None), ({"input": {"a": 1}}, '{"a":1}')],
)
def test_start(block: dict[str, object], arguments: Seen[str]) -> None:
    """An empty input is the protocol's placeholder; any other is what is said."""
    start = {"type": "tool_use", "id": "t", "name": "f", **block}
    said = read(frame({"type": "content_block_start", "index": 1, "content_block": start}))
    assert said.fragments == (
        Fragment(index=1, id="t", name="f", arguments=arguments, type="tool_use", phase=Phase.OPEN),
    )


@pytest.mark.parametrize(("kind", "who"), [("server_tool_use", Kind.SERVER), ("mcp_tool_use", Kind.SERVER)])
def test_server_blocks(kind: str, who: Kind) -> None:
    """What the provider runs is a call too, of its own kind."""
    said = read(frame({"type": "content_block_start", "index": 0, "content_block": {"type": kind}}))
    assert said.fragments[0].kind is who


def test_deltas_and_stop() -> None:
    """Pieces of input, text, and the stop that says only its index."""
    delta = {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a'}}
    assert read(frame(delta)).fragments == (Fragment(index=1, arguments='{"a'),)
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}
    assert (read(frame(text)).text, read(frame(text)).fragments) == ("hi", ())
    assert read(frame({"type": "content_block_stop", "index": 1})).fragments == (Fragment(index=1, phase=Phase.CLOSE),)
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}
    assert (read(frame(block)).text, read(frame(block)).fragments) == ("hi", ())


def test_beginning_and_end() -> None:
    """Model, stop reason, end; the event name serves where `type` is missing."""
    assert read(frame({"type": "message_start", "message": {"model": "m"}})).model == "m"
    said = read(frame({"delta": {"stop_reason": "tool_use"}}, "message_delta"))
    assert said.finishes == (Finish(0, "tool_use"),)
    assert read(frame({"type": "message_stop"})).end


def test_errors() -> None:
    """An error event carries its text, also where its data is no JSON."""
    said = read(frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"))
    assert said.error == "overloaded_error: Overloaded"
    assert read(frame(b"oops", "error")).error == "oops"


def test_answer() -> None:
    """A whole message: its calls, text and stop reason."""
    said = ANTHROPIC.read_response(
        {
            "type": "message",
            "model": "m",
            "stop_reason": "tool_use",
            "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        }
    )
    assert (said.text, said.finishes, said.model, said.end) == ("hi", (Finish(0, "tool_use"),), "m", True)
    assert said.fragments == (Fragment(index=1, id="t", name="f", arguments="{}", type="tool_use", phase=Phase.WHOLE),)
