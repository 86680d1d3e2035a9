"""Responses: items, argument events, custom and server calls, the terminal events."""

from __future__ import annotations

import pytest

from tests.protocols.frames import frame
from toolstream_core.model import ABSENT, Finish, Fragment, Kind, Phase
from toolstream_core.protocols.responses import RESPONSES

read = RESPONSES.read
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": ""}


def test_the_life_of_a_call() -> None:
    """Added, deltas, done, item done: ids and phases as sent."""
    head = Fragment(index=1, id="a", item_id="fc_1", name="f", type="function_call", phase=Phase.OPEN)
    assert read(frame({"type": "response.output_item.added", "output_index": 1, "item": ITEM})).fragments == (head,)
    delta = {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": "{"}
    assert read(frame(delta)).fragments == (Fragment(index=1, item_id="fc_1", arguments="{"),)
    done = {"type": "response.function_call_arguments.done", "output_index": 1, "item_id": "fc_1", "arguments": "{}"}
    assert read(frame(done)).fragments == (Fragment(index=1, item_id="fc_1", arguments="{}", phase=Phase.ARGUMENTS),)
    item = {"type": "response.output_item.done", "output_index": 1, "item": ITEM | {"arguments": "{}"}}
    assert read(frame(item)).fragments == (head._replace(arguments="{}", phase=Phase.CLOSE),)


def test_the_event_name_serves_where_the_type_is_missing() -> None:
    """Some servers leave `type` to the SSE event name."""
    said = read(frame({"item_id": "fc_1", "delta": "{"}, "response.function_call_arguments.delta"))
    assert said.fragments == (Fragment(item_id="fc_1", arguments="{"),)


@pytest.mark.parametrize(
    ("item", "kind", "name", "arguments"),
    [
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "x"}, Kind.CUSTOM, "apply_patch", "x"),
        ({"type": "local_shell_call", "action": {"a": 1}}, Kind.CUSTOM, "local_shell", '{"a":1}'),
        ({"type": "mcp_call", "name": "ask", "arguments": "{}"}, Kind.SERVER, "ask", "{}"),
        ({"type": "tool_search_call", "execution": "client", "arguments": {}}, Kind.CUSTOM, "tool_search", "{}"),
        ({"type": "tool_search_call", "execution": "server", "arguments": {}}, Kind.SERVER, "tool_search", "{}"),
        ({"type": "shell_call", "action": {}, "environment": {"type": "local"}}, Kind.CUSTOM, "shell", "{}"),
        ({"type": "shell_call", "action": {}, "environment": {"type": "container_auto"}}, Kind.SERVER, "shell", "{}"),
        ({"type": "web_search_call", "action": {"query": "q"}}, Kind.SERVER, "web_search", '{"query":"q"}'),
        ({"type": "code_interpreter_call", "code": "1+1"}, Kind.SERVER, "code_interpreter", "1+1"),
    ],
)
def test_kinds(item: dict[str, object], kind: Kind, name: str, arguments: str) -> None:
    """Who runs an item, what it is called and what it is given."""
    (fragment,) = read(frame({"type": "response.output_item.done", "output_index": 0, "item": item})).fragments
    assert (fragment.kind, fragment.name, fragment.arguments) == (kind, name, arguments)


@pytest.mark.parametrize("kind", ["message", "reasoning", "function_call_output"])
def test_items_that_are_no_calls(kind: str) -> None:
    """Messages, reasoning and results are no calls."""
    assert read(frame({"type": "response.output_item.done", "item": {"type": kind}})).fragments == ()


def test_custom_input_deltas() -> None:
    """A custom call's pieces are its own kind."""
    (fragment,) = read(frame({"type": "response.custom_tool_call_input.delta", "delta": "*** "})).fragments
    assert (fragment.kind, fragment.arguments, fragment.index) == (Kind.CUSTOM, "*** ", ABSENT)


@pytest.mark.parametrize(
    ("event", "response", "finish"),
    [
        ("response.completed", {"status": "completed", "output": [ITEM]}, "completed"),
        (
            "response.incomplete",
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "incomplete: max_output_tokens",
        ),
        ("response.failed", {}, "failed"),
    ],
)
def test_terminal_events(event: str, response: object, finish: str) -> None:
    """The end, with its status, the reason of it, and the calls said once more."""
    said = read(frame({"type": event, "response": response}))
    assert said.end
    assert said.finishes == (Finish(0, finish),)
    assert [one.phase for one in said.fragments] == ([Phase.WHOLE] if event == "response.completed" else [])


def test_errors() -> None:
    """`error` events and a failed response carry their text."""
    assert read(frame({"type": "error", "code": "server_error", "message": "gone"})).error == "error: gone"
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": "y"}}}
    assert read(frame(failed)).error == "x: y"


def test_answer_text() -> None:
    """A whole answer's text comes from its message items."""
    said = RESPONSES.read_response(
        {"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"text": "hi"}, {}]}]}
    )
    assert (said.text, said.end) == ("hi", True)
