"""The reader of Responses."""

from __future__ import annotations

import pytest

from tests.protocols.frames import frame
from toolstream_core.model import ABSENT, Finish, Fragment, Kind, Phase
from toolstream_core.protocols.responses import RESPONSES

read = RESPONSES.read
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": ""}


def test_the_events_of_a_call_are_read() -> None:
    """The events of a call are read with their ids and phases."""
    head = Fragment(index=1, id="a", item_id="fc_1", name="f", type="function_call", phase=Phase.OPEN)
    assert read(frame({"type": "response.output_item.added", "output_index": 1, "item": ITEM})).fragments == (head,)
    delta = {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": "{"}
    assert read(frame(delta)).fragments == (Fragment(index=1, item_id="fc_1", arguments="{"),)
    done = {"type": "response.function_call_arguments.done", "output_index": 1, "item_id": "fc_1", "arguments": "{}"}
    assert read(frame(done)).fragments == (Fragment(index=1, item_id="fc_1", arguments="{}", phase=Phase.ARGUMENTS),)
    item = {"type": "response.output_item.done", "output_index": 1, "item": ITEM | {"arguments": "{}"}}
    assert read(frame(item)).fragments == (head._replace(arguments="{}", phase=Phase.CLOSE),)


def test_the_event_name_replaces_a_missing_type() -> None:
    """The event name replaces a missing `type`."""
    content = read(frame({"item_id": "fc_1", "delta": "{"}, "response.function_call_arguments.delta"))
    assert content.fragments == (Fragment(item_id="fc_1", arguments="{"),)


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
def test_kinds_of_calls_are_read(item: dict[str, object], kind: Kind, name: str, arguments: str) -> None:
    """Kind, name and arguments of each type of call are read."""
    (fragment,) = read(frame({"type": "response.output_item.done", "output_index": 0, "item": item})).fragments
    assert (fragment.kind, fragment.name, fragment.arguments) == (kind, name, arguments)


@pytest.mark.parametrize("kind", ["message", "reasoning", "function_call_output"])
def test_other_items_are_not_calls(kind: str) -> None:
    """Messages, reasoning and results are not read as calls."""
    assert read(frame({"type": "response.output_item.done", "item": {"type": kind}})).fragments == ()


def test_deltas_of_custom_calls_are_read() -> None:
    """A delta of a custom call's input is read as a fragment of that kind."""
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
def test_terminal_events_are_read(event: str, response: object, finish: str) -> None:
    """A terminal event is read with its status, reason and repeated calls."""
    content = read(frame({"type": event, "response": response}))
    assert content.end
    assert content.finishes == (Finish(0, finish),)
    assert [one.phase for one in content.fragments] == ([Phase.WHOLE] if event == "response.completed" else [])


def test_errors_are_read() -> None:
    """The text of `error` events and failed responses is read."""
    assert read(frame({"type": "error", "code": "server_error", "message": "gone"})).error == "error: gone"
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": "y"}}}
    assert read(frame(failed)).error == "x: y"


def test_the_text_of_an_unstreamed_response_is_read() -> None:
    """The text of an unstreamed response is read from its messages."""
    content = RESPONSES.read_response(
        {"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"text": "hi"}, {}]}]}
    )
    assert (content.text, content.end) == ("hi", True)
