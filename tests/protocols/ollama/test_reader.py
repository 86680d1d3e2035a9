"""Ollama's native chat: whole calls, `done`."""

from __future__ import annotations

from tests.protocols.frames import frame
from toolstream_core.model import Finish, Fragment, Phase
from toolstream_core.protocols.ollama import OLLAMA


def test_calls() -> None:
    """Arguments are an object, the index stands in the function, ids are optional."""
    calls = [
        {"function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "x", "function": {"index": 1, "name": "g", "arguments": {}}},
    ]
    said = OLLAMA.read(frame({"model": "m", "message": {"content": "", "tool_calls": calls}, "done": False}))
    assert said.fragments == (
        Fragment(name="f", arguments='{"a":1}'),
        Fragment(index=1, id="x", name="g", arguments="{}"),
    )
    assert (said.model, said.end) == ("m", False)


def test_end() -> None:
    """The last line says why it is over."""
    said = OLLAMA.read(frame({"message": {"content": "hi"}, "done": True, "done_reason": "stop"}))
    assert (said.text, said.finishes, said.end) == ("hi", (Finish(0, "stop"),), True)
    assert OLLAMA.read(frame({"message": {}, "done": True})).finishes == (Finish(0, "done"),)


def test_error_line() -> None:
    """An error is a line of its own."""
    assert OLLAMA.read(frame({"error": "model not found"})).error == "model not found"


def test_answer() -> None:
    """Not streamed, the one object is the whole answer."""
    said = OLLAMA.read_response({"message": {"tool_calls": [{"function": {"name": "f"}}]}, "done": True})
    assert [one.phase for one in said.fragments] == [Phase.WHOLE]
