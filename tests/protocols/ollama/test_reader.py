"""The reader of Ollama's native API."""

from __future__ import annotations

from tests.protocols.frames import frame
from toolstream_core.model import Finish, Fragment, Phase
from toolstream_core.protocols.ollama import OLLAMA


def test_calls_are_read() -> None:
    """Arguments are an object, the index is in the function, and ids are optional."""
    calls = [
        {"function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "x", "function": {"index": 1, "name": "g", "arguments": {}}},
    ]
    content = OLLAMA.read(frame({"model": "m", "message": {"content": "", "tool_calls": calls}, "done": False}))
    assert content.fragments == (
        Fragment(name="f", arguments='{"a":1}'),
        Fragment(index=1, id="x", name="g", arguments="{}"),
    )
    assert (content.model, content.end) == ("m", False)


def test_the_last_line_has_the_finish_reason() -> None:
    """The last line has the finish reason, or `done` without one."""
    content = OLLAMA.read(frame({"message": {"content": "hi"}, "done": True, "done_reason": "stop"}))
    assert (content.text, content.finishes, content.end) == ("hi", (Finish(0, "stop"),), True)
    assert OLLAMA.read(frame({"message": {}, "done": True})).finishes == (Finish(0, "done"),)


def test_an_error_line_is_read() -> None:
    """A line with an error has its text."""
    assert OLLAMA.read(frame({"error": "model not found"})).error == "model not found"


def test_an_unstreamed_response_is_read() -> None:
    """The calls of an unstreamed response are complete."""
    content = OLLAMA.read_response({"message": {"tool_calls": [{"function": {"name": "f"}}]}, "done": True})
    assert [one.phase for one in content.fragments] == [Phase.WHOLE]
