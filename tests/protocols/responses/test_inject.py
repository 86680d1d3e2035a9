"""Injectors of Responses in streams with other items and odd arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.grouped import Case, grouped
from tests.invariants.driven import injected, inspected, sse
from tests.protocols.responses.events import CREATED, added, call, closed, completed, delta, done, item
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.responses.stages import INJECTORS
from toolstream_core.stages import framing

if TYPE_CHECKING:
    from tests.protocols.responses.events import Payload

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")
OPERATION = {"type": "create_file", "path": "a.txt", "diff": "+a"}
OTHERS: dict[str, Payload] = {
    "apply_patch_call": {"operation": OPERATION},
    "custom_tool_call": {"name": "run", "input": "print(1)"},
    "local_shell_call": {"action": {"type": "exec", "command": ["ls"]}},
    "shell_call": {"action": {"commands": ["ls"]}},
    "computer_call": {"action": {"type": "screenshot"}, "pending_safety_checks": []},
    "mcp_call": {"name": "find", "arguments": "{}", "server_label": "s"},
    "web_search_call": {"action": {"type": "search", "query": "q"}},
}
ODD_ARGUMENTS: tuple[Any, ...] = ({"a": 1}, None, 7, [], ...)
STREAM_DEFECTS = frozenset({"bare-response", "missing-head", "sequence-numbers", "restarted-stream"})
"""Defects that do not depend on items."""


def other(kind: str) -> Payload:
    """Return an item of another kind."""
    return {"type": kind, "id": "it_1", "call_id": "call_1", "status": "completed", **OTHERS[kind]}


@grouped(
    Case(kind, (name, kind))
    for kind in OTHERS
    for name in sorted(INJECTORS.keys() - framing.INJECTORS.keys() - STREAM_DEFECTS)
)
def test_items_of_other_kinds_are_not_changed(name: str, kind: str) -> None:
    """An injector does not change items of other kinds, and records no change."""
    if (name, kind) == ("custom-as-function", "custom_tool_call"):
        return
    call_item = other(kind)
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**call_item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": call_item},
    ]
    body = sse(CREATED, *events, completed(call_item))
    outcome = injected(body, EXCHANGE, name)
    assert outcome.out == body
    assert outcome.record.faults[0].changes == 0


@grouped(Case(repr(odd), (name, odd)) for odd in ODD_ARGUMENTS for name in sorted(INJECTORS))
def test_odd_arguments_raise_nothing(name: str, odd: Any) -> None:
    """An injector raises nothing for missing arguments and arguments of other types."""
    events = [added(), delta("{}"), done("{}"), closed("{}"), completed(item("{}"))]
    for event in (events[2], events[3]["item"], events[4]["response"]["output"][0]):
        event["arguments"] = odd
        if odd is ...:
            del event["arguments"]
    injected(sse(CREATED, *events), EXCHANGE, name)


def test_calls_after_text_in_the_completed_response_are_changed() -> None:
    """An injector finds the calls of the completed response by their kind, not by their position."""
    message: Payload = {"type": "message", "id": "msg_1", "content": []}
    body = sse(CREATED, *call('{"a":1}', 1), completed(message, item('{"a":1}', 1)))
    broken = injected(body, EXCHANGE, "object-arguments")
    assert b'{"a":1}}]}' in broken.out
    assert "object-arguments" in inspected(broken.out, EXCHANGE).finding_names
