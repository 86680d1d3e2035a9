"""Calls of custom tools that come as function calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected, inspected, repaired, run, sse
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


def patched(said: str) -> list[Payload]:
    """The events of a call of the custom tool, as a function call."""
    events = call(said)
    return [{**one, "item": {**one["item"], "name": "apply_patch"}} if "item" in one else one for one in events]


def valid(*pieces: str) -> list[Payload]:
    """The events of a custom tool's call."""
    text, place = "".join(pieces), {"item_id": "ctc_0", "output_index": 0}
    content = {"type": "custom_tool_call", "id": "ctc_0", "call_id": "call_0", "name": "apply_patch"}
    kind = "response.custom_tool_call_input"
    return [
        CREATED,
        {"type": "response.output_item.added", "output_index": 0, "item": {**content, "input": ""}},
        *({"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces),
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
def test_which_text_is_meant(arguments: str, text: str | None) -> None:
    """The only one that there is."""
    assert unwrapped(arguments) == text


@pytest.mark.parametrize("output", [[item(ARGUMENTS, name="apply_patch")], []], ids=["in the response", "not there"])
@pytest.mark.parametrize("events", [patched(ARGUMENTS), patched(PATCH), patched(ARGUMENTS)[-1:], []])
def test_the_call_is_said_as_its_tool_takes_it(events: list[Payload], output: list[Payload]) -> None:
    """In all of its events, and in the completed response."""
    if not (events or output):
        return
    body = sse(*numbered(0, CREATED, *events, completed(*output)))
    assert NAME in inspected(body, EXCHANGE).finding_names
    went = repaired(body, EXCHANGE, NAME, "missing-start", "unstreamed-calls", "empty-output", "unclosed-call")
    assert b"function_call" not in went.out
    again = inspected(went.out, EXCHANGE)
    assert again.finding_names == []
    assert [(one.kind, one.id, one.name, one.arguments) for one in again.record.calls] == [
        (Kind.CUSTOM, "call_0", "apply_patch", PATCH)
    ]
    last = json.loads(went.out.rstrip().rsplit(b"data: ", 1)[1])
    assert [one["input"] for one in last["response"]["output"]] == [PATCH]


def test_safe_repairs_leave_it() -> None:
    """What a provider says that function calls do not know may be refused in the next request."""
    body = sse(CREATED, *patched(ARGUMENTS), completed(item(ARGUMENTS, name="apply_patch")))
    went = repaired(body, EXCHANGE)
    assert went.out == body
    assert went.finding_names == [NAME]


@pytest.mark.parametrize("arguments", ['{"input":"a","workdir":"b"}', '{"input":'])
def test_what_is_not_plain_goes_on_as_it_came(arguments: str) -> None:
    """Behind nothing else, and whole."""
    body = sse(CREATED, *patched(arguments), completed(item(arguments, name="apply_patch")))
    assert repaired(body, EXCHANGE, NAME).out == body


@pytest.mark.parametrize("broken", [None, "reset"])
def test_half_a_call_goes_on_as_it_came(broken: str | None) -> None:
    """Where the body ends before it does."""
    body = sse(CREATED, added(name="apply_patch"), delta('{"input":"*** B'))
    assert repaired(body, EXCHANGE, NAME, broken=broken).out == body
    incomplete = sse(
        CREATED, added(name="apply_patch"), closed('{"input":"a"}', name="apply_patch", status="incomplete")
    )
    assert repaired(incomplete, EXCHANGE, NAME).out == incomplete


def test_a_custom_tool_that_is_called_validly_passes() -> None:
    """And is read as what it is."""
    body = sse(*valid("*** Begin", " Patch"))
    went = repaired(body, EXCHANGE)
    assert went.out == body
    assert went.finding_names == []
    (one,) = went.record.calls
    assert (one.kind, one.arguments, one.complete) == (Kind.CUSTOM, "*** Begin Patch", True)


@pytest.mark.parametrize("pieces", [(PATCH,), ('*** "Beg', "in\n", "")])
def test_the_plant_is_undone_by_its_repair(pieces: tuple[str, ...]) -> None:
    """Each delta's text is escaped by itself."""
    body = sse(*numbered(0, *valid(*pieces)))
    broken = injected(body, EXCHANGE, NAME)
    assert broken.record.faults[0].changes > 0
    assert b"custom_tool_call" not in broken.out
    assert inspected(broken.out, EXCHANGE).finding_names == [NAME]
    assert inspected(broken.out, EXCHANGE).calls == [("apply_patch", {"input": "".join(pieces)})]
    fixed = inspected(repaired(broken.out, EXCHANGE, NAME).out, EXCHANGE)
    assert fixed.record.calls[0].arguments == "".join(pieces)
    assert fixed.finding_names == []


def test_the_plant_leaves_functions_alone() -> None:
    """There is nothing for it to act on."""
    body = sse(CREATED, *call('{"a":1}'), completed(item('{"a":1}')))
    left = injected(body, EXCHANGE, NAME)
    assert left.out == body
    assert left.record.faults[0].changes == 0
    assert run(body, EXCHANGE, NOTHING).finding_names == []


def without(body: list[Payload], *kinds: str) -> list[Payload]:
    """The events without those of some kinds."""
    return [one for one in body if not one["type"].endswith(kinds)]


def sent(out: bytes) -> tuple[list[str], list[str]]:
    """The deltas and the complete input in a stream."""
    events = [json.loads(line[6:]) for line in out.splitlines() if line[:5] == b"data:"]
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
def test_input_that_no_delta_has_is_sent_as_one(events: list[Payload], defect: list[str], deltas: list[str]) -> None:
    """Before the event that has all of it."""
    body = sse(*numbered(0, *events))
    assert inspected(body, EXCHANGE).finding_names == defect
    assert sent(repaired(body, EXCHANGE).out) == (deltas, [PATCH])


def test_input_of_an_event_that_waits_is_sent_once() -> None:
    """The client has the deltas that came before the event, not those that came before the event is sent."""
    nameless = added(place=1, name="")
    body = sse(*numbered(0, CREATED, nameless, *valid(PATCH)[1:], *valid(PATCH)[-1:]))
    assert sent(repaired(body, EXCHANGE).out) == ([PATCH], [PATCH])


def test_input_that_contradicts_its_deltas_is_forwarded() -> None:
    """No delta can take back what the client has."""
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
def test_events_that_a_call_lacks_are_sent(events: list[Payload], defect: str) -> None:
    """As for a function call."""
    body = sse(*numbered(0, *events))
    assert defect in inspected(body, EXCHANGE).finding_names
    went = repaired(body, EXCHANGE)
    again = inspected(went.out, EXCHANGE)
    assert again.finding_names == []
    assert [(one.kind, one.id, one.name, one.arguments) for one in again.record.calls] == [
        (Kind.CUSTOM, "call_0", "apply_patch", PATCH)
    ]
    assert sent(went.out) == ([PATCH], [PATCH])


def test_calls_of_one_id_are_two_unless_they_are_equal() -> None:
    """The second one gets its own id, or is dropped."""
    for text, calls in ((PATCH, 1), ("*** other", 2)):
        second = json.loads(json.dumps(valid(text)[1:-1]).replace("ctc_0", "ctc_1").replace('_index": 0', '_index": 1'))
        body = sse(*numbered(0, *valid(PATCH)[:-1], *second, completed()))
        again = inspected(repaired(body, EXCHANGE).out, EXCHANGE)
        assert again.finding_names == []
        assert len({one.id for one in again.record.calls}) == len(again.record.calls) == calls
