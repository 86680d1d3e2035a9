"""Calls of custom tools that are sent as function calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected, inspected, payloads, repaired, run, sse
from tests.protocols.responses.events import CREATED, added, call, closed, completed, delta, item, numbered
from toolstream_core.model import Kind, StreamFacts
from toolstream_core.protocols.responses.repair.custom_tools import unwrapped
from toolstream_core.settings import NOTHING

if TYPE_CHECKING:
    from tests.protocols.responses.events import Payload

NAME = "custom-as-function"
TOOLS = [{"type": "custom", "name": "apply_patch"}, {"type": "function", "name": "f", "parameters": {}}]
EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream", request={"tools": TOOLS, "input": []})
PATCH = '*** Begin Patch\n+"so"\n*** End Patch'
ARGUMENTS = json.dumps({"input": PATCH})


def as_function_call(arguments: str) -> list[Payload]:
    """Return the events of a custom tool's call, sent as a function call."""
    events = call(arguments)
    return [{**one, "item": {**one["item"], "name": "apply_patch"}} if "item" in one else one for one in events]


def valid(*fragments: str) -> list[Payload]:
    """Return the events of a custom tool's call."""
    text, place = "".join(fragments), {"item_id": "ctc_0", "output_index": 0}
    content = {"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "name": "apply_patch"}
    kind = "response.custom_tool_call_input"
    return [
        CREATED,
        {"type": "response.output_item.added", "output_index": 0, "item": {**content, "input": ""}},
        *({"type": f"{kind}.delta", **place, "delta": fragment} for fragment in fragments),
        {"type": f"{kind}.done", **place, "input": text},
        {"type": "response.output_item.done", "output_index": 0, "item": {**content, "input": text}},
        completed({**content, "input": text}),
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"input":"a\\nb"}', "a\nb"),
        ('{"patch":"a"}', "a"),
        ('"a"', "a"),
        ("*** Begin", "*** Begin"),
        ('{"input":"a","workdir":"b"}', None),
        ('{"input":1}', None),
        ('{"input":', None),
        ("{}", None),
        ("[1]", None),
        ("2", None),
        ("", None),
    ],
)
def test_the_input_is_unwrapped(arguments: str, text: str | None) -> None:
    """Arguments are unwrapped to the input if they contain exactly one text."""
    assert unwrapped(arguments) == text


@pytest.mark.parametrize(
    "output", [[item(ARGUMENTS, name="apply_patch")], []], ids=["in the response", "not in the response"]
)
@pytest.mark.parametrize(
    "events", [as_function_call(ARGUMENTS), as_function_call(PATCH), as_function_call(ARGUMENTS)[-1:], []]
)
def test_the_call_is_converted_to_a_custom_call(events: list[Payload], output: list[Payload]) -> None:
    """The call is converted to a custom call in all events and in the completed response."""
    if not (events or output):
        return
    body = sse(*numbered(0, CREATED, *events, completed(*output)))
    assert NAME in inspected(body, EXCHANGE).finding_names
    outcome = repaired(body, EXCHANGE, NAME, "missing-start", "unstreamed-calls", "empty-output", "unclosed-call")
    assert b"function_call" not in outcome.out
    again = inspected(outcome.out, EXCHANGE)
    assert again.finding_names == []
    assert [(one.kind, one.id, one.name, one.arguments) for one in again.record.calls] == [
        (Kind.CUSTOM, "call_0", "apply_patch", PATCH)
    ]
    last = json.loads(outcome.out.rstrip().rsplit(b"data: ", 1)[1])
    assert [one["input"] for one in last["response"]["output"]] == [PATCH]


def test_safe_repairs_do_not_convert_the_call() -> None:
    """Safe repairs do not convert the call: the provider may reject it in the next request."""
    body = sse(CREATED, *as_function_call(ARGUMENTS), completed(item(ARGUMENTS, name="apply_patch")))
    outcome = repaired(body, EXCHANGE)
    assert outcome.out == body
    assert outcome.finding_names == [NAME]


@pytest.mark.parametrize("arguments", ['{"input":"a","workdir":"b"}', '{"input":'])
def test_ambiguous_arguments_are_forwarded_unchanged(arguments: str) -> None:
    """A call with several or incomplete arguments is forwarded unchanged."""
    body = sse(CREATED, *as_function_call(arguments), completed(item(arguments, name="apply_patch")))
    assert repaired(body, EXCHANGE, NAME).out == body


@pytest.mark.parametrize("broken", [None, "reset"])
def test_an_incomplete_call_is_forwarded_unchanged(broken: str | None) -> None:
    """A truncated or incomplete call is forwarded unchanged."""
    body = sse(CREATED, added(name="apply_patch"), delta('{"input":"*** B'))
    assert repaired(body, EXCHANGE, NAME, broken=broken).out == body
    incomplete = sse(
        CREATED, added(name="apply_patch"), closed('{"input":"a"}', name="apply_patch", status="incomplete")
    )
    assert repaired(incomplete, EXCHANGE, NAME).out == incomplete


def test_a_valid_custom_call_is_forwarded_unchanged() -> None:
    """A valid custom call is read as such, and forwarded unchanged."""
    body = sse(*valid("*** Begin", " Patch"))
    outcome = repaired(body, EXCHANGE)
    assert outcome.out == body
    assert outcome.finding_names == []
    (one,) = outcome.record.calls
    assert (one.kind, one.arguments, one.complete) == (Kind.CUSTOM, "*** Begin Patch", True)


@pytest.mark.parametrize("fragments", [(PATCH,), ('*** "Beg', "in\n", "")])
def test_the_injected_defect_is_repaired(fragments: tuple[str, ...]) -> None:
    """The repair undoes the injected defect, for which each delta is escaped by itself."""
    body = sse(*numbered(0, *valid(*fragments)))
    broken = injected(body, EXCHANGE, NAME)
    assert broken.record.faults[0].changes > 0
    assert b"custom_tool_call" not in broken.out
    assert inspected(broken.out, EXCHANGE).finding_names == [NAME]
    assert inspected(broken.out, EXCHANGE).calls == [("apply_patch", {"input": "".join(fragments)})]
    fixed = inspected(repaired(broken.out, EXCHANGE, NAME).out, EXCHANGE)
    assert fixed.record.calls[0].arguments == "".join(fragments)
    assert fixed.finding_names == []


def test_the_injector_does_not_change_functions() -> None:
    """The injector does not change function calls."""
    body = sse(CREATED, *call('{"a":1}'), completed(item('{"a":1}')))
    outcome = injected(body, EXCHANGE, NAME)
    assert outcome.out == body
    assert outcome.record.faults[0].changes == 0
    assert run(body, EXCHANGE, NOTHING).finding_names == []


def without(body: list[Payload], *kinds: str) -> list[Payload]:
    """Return the events without some kinds."""
    return [one for one in body if not one["type"].endswith(kinds)]


def sent(out: bytes) -> tuple[list[str], list[str]]:
    """Return the deltas and complete inputs of a stream, whose sequence numbers must increase."""
    events = payloads(out)
    numbers = [one["sequence_number"] for one in events]
    assert numbers == sorted(set(numbers))
    return (
        [one["delta"] for one in events if one["type"].endswith("_input.delta")],
        [one["input"] for one in events if one["type"].endswith("_input.done")],
    )


@pytest.mark.parametrize(
    ("events", "defect", "deltas"),
    [
        (without(valid(PATCH), ".delta"), ["missing-deltas"], [PATCH]),
        (without(valid(PATCH), ".delta", "_input.done"), ["missing-deltas"], [PATCH]),
        ([*valid(PATCH[:9])[:3], *valid(PATCH)[3:]], ["short-deltas"], [PATCH[:9], PATCH[9:]]),
        (valid(PATCH[:9], PATCH[9:]), [], [PATCH[:9], PATCH[9:]]),
    ],
    ids=["no delta", "only the item", "one of two deltas", "healthy"],
)
def test_input_without_deltas_is_sent_as_a_delta(events: list[Payload], defect: list[str], deltas: list[str]) -> None:
    """Input that no delta contains is sent as a delta before the event with the complete input."""
    body = sse(*numbered(0, *events))
    assert inspected(body, EXCHANGE).finding_names == defect
    assert sent(repaired(body, EXCHANGE).out) == (deltas, [PATCH])


def test_the_input_of_a_held_event_is_sent_once() -> None:
    """The input of a held event is sent once, as a delta and as complete input."""
    nameless = added(place=1, name="")
    body = sse(*numbered(0, CREATED, nameless, *valid(PATCH)[1:], *valid(PATCH)[-1:]))
    assert sent(repaired(body, EXCHANGE).out) == ([PATCH], [PATCH])


def test_input_that_contradicts_its_deltas_is_unchanged() -> None:
    """Input that contradicts the deltas is forwarded unchanged."""
    body = sse(*numbered(0, *valid("*** other")[:3], *valid(PATCH)[3:]))
    assert repaired(body, EXCHANGE).out == body


@pytest.mark.parametrize(
    ("events", "defect"),
    [
        ([CREATED, *valid(PATCH)[3:]], "missing-start"),
        ([CREATED, *valid(PATCH)[-1:]], "unstreamed-calls"),
        (without(valid(PATCH), "output_item.done"), "unclosed-call"),
        ([*valid(PATCH)[:-1], completed()], "empty-output"),
        ([*valid(PATCH)[:3], *valid("")[3:-1], valid(PATCH)[-1]], "short-closing"),
        ([*valid(PATCH)[:-1], *valid(PATCH)[-2:]], "repeated-stop"),
        ([*valid(PATCH)[:2], *valid(PATCH)[1:]], "repeated-start"),
        (valid(PATCH)[:-1], "missing-finish"),
    ],
)
def test_missing_events_of_a_custom_call_are_added(events: list[Payload], defect: str) -> None:
    """The missing, repeated or incomplete events of a custom call are repaired as those of a function call."""
    body = sse(*numbered(0, *events))
    assert defect in inspected(body, EXCHANGE).finding_names
    outcome = repaired(body, EXCHANGE)
    again = inspected(outcome.out, EXCHANGE)
    assert again.finding_names == []
    assert [(one.kind, one.id, one.name, one.arguments) for one in again.record.calls] == [
        (Kind.CUSTOM, "call_0", "apply_patch", PATCH)
    ]
    assert sent(outcome.out) == ([PATCH], [PATCH])


def test_two_custom_calls_of_one_id() -> None:
    """The second of two custom calls with one id gets another id, or is dropped if it is equal."""
    for text, calls in ((PATCH, 1), ("*** other", 2)):
        second = json.loads(json.dumps(valid(text)[1:-1]).replace("ctc_0", "ctc_1").replace('_index": 0', '_index": 1'))
        body = sse(*numbered(0, *valid(PATCH)[:-1], *second, completed()))
        again = inspected(repaired(body, EXCHANGE).out, EXCHANGE)
        assert again.finding_names == []
        assert len({one.id for one in again.record.calls}) == len(again.record.calls) == calls
