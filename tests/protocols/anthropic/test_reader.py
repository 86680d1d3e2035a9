"""The reader of Anthropic Messages."""

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
def test_the_input_of_a_start_is_read(block: dict[str, object], arguments: Seen[str]) -> None:
    """An empty input in a start is no arguments; any other input is."""
    start = {"type": "tool_use", "id": "t", "name": "f", **block}
    content = read(frame({"type": "content_block_start", "index": 1, "content_block": start}))
    assert content.fragments == (
        Fragment(index=1, id="t", name="f", arguments=arguments, type="tool_use", phase=Phase.OPEN),
    )


@pytest.mark.parametrize(("kind", "call_kind"), [("server_tool_use", Kind.SERVER), ("mcp_tool_use", Kind.SERVER)])
def test_server_blocks_are_calls_of_the_server(kind: str, call_kind: Kind) -> None:
    """The block of a server tool is read as a server call."""
    content = read(frame({"type": "content_block_start", "index": 0, "content_block": {"type": kind}}))
    assert content.fragments[0].kind is call_kind


def test_deltas_and_stops_are_read() -> None:
    """Fragments of input, text, and the index of a stop are read."""
    delta = {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a'}}
    assert read(frame(delta)).fragments == (Fragment(index=1, arguments='{"a'),)
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}
    assert (read(frame(text)).text, read(frame(text)).fragments) == ("hi", ())
    assert read(frame({"type": "content_block_stop", "index": 1})).fragments == (Fragment(index=1, phase=Phase.CLOSE),)
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}
    assert (read(frame(block)).text, read(frame(block)).fragments) == ("hi", ())


def test_model_and_end_are_read() -> None:
    """Model, stop reason and end are read; the event name replaces a missing `type`."""
    assert read(frame({"type": "message_start", "message": {"model": "m"}})).model == "m"
    content = read(frame({"delta": {"stop_reason": "tool_use"}}, "message_delta"))
    assert content.finishes == (Finish(0, "tool_use"),)
    assert read(frame({"type": "message_stop"})).end


def test_errors_are_read() -> None:
    """The text of an error event is read, even if its data is not JSON."""
    content = read(frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error"))
    assert content.error == "overloaded_error: Overloaded"
    assert read(frame(b"oops", "error")).error == "oops"


def test_an_unstreamed_response_is_read() -> None:
    """Calls, text and stop reason of an unstreamed response are read."""
    content = ANTHROPIC.read_response(
        {
            "type": "message",
            "model": "m",
            "stop_reason": "tool_use",
            "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        }
    )
    assert (content.text, content.finishes, content.model, content.end) == ("hi", (Finish(0, "tool_use"),), "m", True)
    assert content.fragments == (
        Fragment(index=1, id="t", name="f", arguments="{}", type="tool_use", phase=Phase.WHOLE),
    )
