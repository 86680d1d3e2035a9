"""Responses streams that are truncated inside a call, or have two defects at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fuzz import readers
from tests.fuzz.case import Case
from tests.fuzz.drive import Log, drive
from tests.invariants.driven import inspected, payloads, repaired, run, sse
from tests.protocols.responses.events import CREATED, added, call, closed, completed, delta, done, item, numbered
from toolstream_core.defects.table import named
from toolstream_core.model import StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings

if TYPE_CHECKING:
    from tests.protocols.responses.events import Payload

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")
ARGUMENTS = '{"a":1}'


def client_calls(out: bytes) -> list[tuple[str, Any]]:
    """Return names and arguments of the calls of a client that uses indexes, and the last arguments of each."""
    found = readers.read("openai-responses", out, "text/event-stream").calls.values()
    return [(one.name, one.value if one.value is not None else one.text) for one in found]


def changes(body: bytes, broken: str | None = None) -> list[tuple[str, ...]]:
    """Return the names of each change by safe repairs."""
    log = Log()
    case = Case("openai-responses", body, path=EXCHANGE.path, broken=broken)
    drive(case, Settings(SAFE), [body], log)
    return [one.names for one in log.changes]


@pytest.mark.parametrize("broken", [None, "reset"])
@pytest.mark.parametrize("arguments", [ARGUMENTS, '{"a"', "x"])
def test_arguments_of_an_added_item_are_sent_as_a_delta(arguments: str, broken: str | None) -> None:
    """Complete or incomplete arguments of an added item without deltas are sent as a delta."""
    outcome = repaired(sse(CREATED, added(arguments)), EXCHANGE, broken=broken)
    assert client_calls(outcome.out) == [("f", json.loads(arguments) if arguments == ARGUMENTS else arguments)]
    assert inspected(outcome.out, EXCHANGE).record.calls[0].arguments == arguments


@pytest.mark.parametrize("kind", ["incomplete", "failed"])
def test_they_are_sent_before_an_unsuccessful_end(kind: str) -> None:
    """Arguments of an added item are sent as a delta before a failed or incomplete response."""
    outcome = repaired(sse(CREATED, added(ARGUMENTS), completed(kind=kind)), EXCHANGE)
    assert client_calls(outcome.out) == [("f", {"a": 1})]


def test_arguments_of_an_added_item_are_sent_before_its_deltas() -> None:
    """A fragment in an added item is sent before the deltas, unless they repeat it."""
    for first, second in (('{"a"', ":1}"), (ARGUMENTS, ARGUMENTS)):
        body = sse(CREATED, added(first), delta(second), done(ARGUMENTS), closed(ARGUMENTS), completed(item(ARGUMENTS)))
        outcome = repaired(body, EXCHANGE)
        assert inspected(outcome.out, EXCHANGE).finding_names == []
        assert "".join(one["delta"] for one in payloads(outcome.out) if "delta" in one) == ARGUMENTS


@pytest.mark.parametrize(
    "rest",
    [
        [closed('{"des":1}', 1, call_id="call_0")],
        [delta('{"des":1}', 1)],
        [delta('{"des":1}', 1), closed('{"des":1}', 1, call_id="call_0")],
    ],
    ids=["closed", "in a delta", "both"],
)
@pytest.mark.parametrize("head", [[], [added()]], ids=["not added", "added"])
@pytest.mark.parametrize("end", [[], [completed(item('{"des":1}'))]], ids=["no end", "completed"])
def test_an_item_that_repeats_the_beginning_of_a_call(
    head: list[Payload], rest: list[Payload], end: list[Payload]
) -> None:
    """An item of the same call that repeats its beginning replaces the arguments so far."""
    again = added(place=1, call_id="call_0")
    outcome = repaired(sse(CREATED, *head, closed('{"des'), again, *rest, *end), EXCHANGE)
    assert client_calls(outcome.out) == [("f", {"des": 1})]
    assert inspected(outcome.out, EXCHANGE).calls == [("f", {"des": 1})]
    assert repaired(outcome.out, EXCHANGE).out == outcome.out


def test_two_empty_calls_of_one_id_are_kept() -> None:
    """Two calls of one id without arguments are both kept, as their arguments may differ."""
    outcome = repaired(sse(CREATED, added(), added(place=1, call_id="call_0")), EXCHANGE)
    assert len(inspected(outcome.out, EXCHANGE).record.calls) == 2
    assert "doubled-call" not in outcome.finding_names


def test_a_call_with_another_open_item_is_incomplete() -> None:
    """A call whose first item was closed empty is incomplete while another of its items is open."""
    body = sse(CREATED, closed(""), added(place=1, call_id="call_0"))
    assert [one.complete for one in inspected(body, EXCHANGE).record.calls] == [False]
    assert [one.complete for one in inspected(repaired(body, EXCHANGE).out, EXCHANGE).record.calls] == [False]


def test_no_arguments_are_added_before_those_of_the_response() -> None:
    """No `{}` is sent for a call closed without arguments if the response has its arguments."""
    body = sse(CREATED, closed(""), completed(item(ARGUMENTS)))
    outcome = repaired(body, EXCHANGE)
    assert "{}" not in [one.get("delta") for one in payloads(outcome.out)]
    assert client_calls(outcome.out) == client_calls(body) == [("f", {"a": 1})]


@pytest.mark.parametrize("head", [[], [added()]], ids=["not added", "added"])
def test_later_events_replace_arguments_with_a_lost_delta(head: list[Payload]) -> None:
    """If the deltas are valid JSON despite a lost delta, the later complete arguments are used."""
    intended = '{"path":"~/a"}'
    body = sse(
        CREATED, *head, delta('{"path":"'), delta('a"}'), done(intended), closed(intended), completed(item(intended))
    )
    assert inspected(body, EXCHANGE).calls == [("f", {"path": "~/a"})]
    assert client_calls(repaired(body, EXCHANGE).out) == [("f", {"path": "~/a"})]


def test_garbage_in_a_closed_item_does_not_replace_the_deltas() -> None:
    """Garbage in the event that closes a call does not replace the complete object of its deltas."""
    outcome = repaired(
        sse(CREATED, added(), delta(ARGUMENTS), closed("\ue000" + ARGUMENTS), completed(item(ARGUMENTS))), EXCHANGE
    )
    assert "short-closing" in outcome.finding_names
    assert client_calls(outcome.out) == [("f", {"a": 1})]
    assert inspected(outcome.out, EXCHANGE).finding_names == []


def test_a_second_closing_event_is_dropped() -> None:
    """A second event that closes an item is dropped, also with other arguments."""
    outcome = repaired(sse(CREATED, *call(ARGUMENTS), closed('{"a'), completed(item(ARGUMENTS))), EXCHANGE)
    assert "repeated-stop" in outcome.finding_names
    assert outcome.out == sse(CREATED, *call(ARGUMENTS), completed(item(ARGUMENTS)))


def test_items_of_one_id_are_kept_apart() -> None:
    """A call of the response with the item id of a streamed call is a call of its own."""
    other = item('{"b":2}', id="fc_0", call_id="call_9", name="g")
    body = sse(CREATED, added(), delta(ARGUMENTS), completed(other))
    outcome = repaired(body, EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).calls == [("f", {"a": 1}), ("g", {"b": 2})]
    assert client_calls(outcome.out) == [("f", {"a": 1}), ("g", {"b": 2})]


def test_no_item_is_added_at_the_index_of_an_unknown_item() -> None:
    """An item without an index is not added at the index of held arguments of an unknown item."""
    nowhere = {key: value for key, value in added(place=1).items() if key != "output_index"}
    body = sse(CREATED, done('{"b":2}'), nowhere, delta(ARGUMENTS, 1) | {"output_index": 1})
    assert ("f", {"a": 1}) in client_calls(repaired(body, EXCHANGE, broken="reset").out)


def test_held_events_are_sent_before_another_item_at_their_index() -> None:
    """Held events of an unknown item are sent before another item is added at their index."""
    foreign = delta('{"b":2}') | {"item_id": "fc_9"}
    body = sse(CREATED, foreign, added(id="fc_7", call_id="call_7"))
    assert repaired(body, EXCHANGE).out == body


def test_an_id_is_added_to_an_item_and_reported() -> None:
    """An item without an id gets the id of its events, and this is reported."""
    event = added()
    del event["item"]["id"]
    outcome = repaired(sse(CREATED, event, delta('{"a"')), EXCHANGE, broken="reset")
    assert outcome.finding_names[0] == "rotating-item-id"
    first, second = payloads(outcome.out)[1:]
    assert first["item"]["id"] == second["item_id"]


UNCHANGED = {
    "arguments of an item that is never added": sse(done(ARGUMENTS)),
    "incomplete arguments": sse(done('{"a')),
    "a header without a name": sse(added(name="")),
}


@pytest.mark.parametrize("body", UNCHANGED.values(), ids=UNCHANGED)
def test_held_events_that_are_sent_unchanged_are_no_change(body: bytes) -> None:
    """Held events that are sent unchanged at their place are not recorded as changes."""
    assert repaired(body, EXCHANGE, broken="reset").out == body
    assert changes(body, "reset") == []


def test_held_events_keep_their_place() -> None:
    """Events after a held event are held, too, so their order is kept."""
    other = {"type": "response.in_progress", "response": {}}
    for first, name in ((done(ARGUMENTS), "missing-start"), (added(name=""), "missing-name")):
        body = sse(CREATED, first, other)
        outcome = repaired(body, EXCHANGE, broken="reset")
        assert outcome.out == body
        assert name in outcome.finding_names
        assert changes(body, "reset") == []


def test_every_change_has_a_name() -> None:
    """Every recorded change has the name of a defect."""
    assert all(changes(sse(CREATED, added(), closed(""))))
    event = added()
    del event["item"]["id"]
    assert changes(sse(CREATED, event)) == [("rotating-item-id",)]


def test_findings_of_sequence_numbers_do_not_depend_on_shapes() -> None:
    """Defects of sequence numbers are reported equally, whether text is skipped or read for a shape."""
    text = {"type": "response.output_text.delta", "output_index": 0, "delta": "x"}
    repeated = [{**text, "sequence_number": number} for number in (8, 8, 3, 12)]
    late = [{**one, "sequence_number": 5} for one in (added(),)]
    for body in (sse(*numbered(0, CREATED), *repeated), sse(*numbered(0, CREATED), *repeated[:1], *late)):
        findings = [
            run(body, EXCHANGE, settings).finding_names
            for settings in (NOTHING, Settings(SAFE), Settings(SAFE, ("crlf",)))
        ]
        assert findings[0] == findings[1] == findings[2]
    body = sse(*numbered(0, CREATED), *late, {"type": "x", "sequence_number": 5})
    assert "sequence-numbers" in inspected(body, EXCHANGE).finding_names
    assert (
        run(body, EXCHANGE, Settings(named(["missing-start"]))).finding_names == inspected(body, EXCHANGE).finding_names
    )


def test_two_interleaved_calls_of_one_id_are_kept() -> None:
    """Two interleaved calls of one id are both kept, although the second looks like a fragment of the first."""
    second = {"call_id": "call_0"}
    body = sse(
        CREATED, added(), delta('{"a"'), added(place=1, **second), closed(ARGUMENTS), closed('{"a":2}', 1, **second)
    )
    intended = [("f", {"a": 1}), ("f", {"a": 2})]
    assert inspected(body, EXCHANGE).calls == intended
    outcome = repaired(body, EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).calls == client_calls(outcome.out) == intended


def test_a_call_repeated_in_another_encoding_is_one_call() -> None:
    """A call that the response has twice, once doubly encoded, is sent once."""
    output = [item(json.dumps(ARGUMENTS)), item('{"a": 1}', 1, call_id="call_0")]
    outcome = repaired(sse(CREATED, completed(*output)), EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).calls == [("f", {"a": 1})]
    assert outcome.out.count(b'"response.output_item.added"') == 1


def test_arguments_of_a_repeated_start_are_sent() -> None:
    """The arguments of an item's repeated `added` events are sent, without repetitions."""
    body = sse(CREATED, added('{"a":'), added("1}"))
    assert client_calls(repaired(body, EXCHANGE, broken="reset").out) == [("f", {"a": 1})]
    repeated = repaired(sse(CREATED, added('{"a":'), added('{"a":'), delta("1}")), EXCHANGE, broken="reset")
    assert client_calls(repeated.out) == [("f", {"a": 1})]


def test_complete_arguments_take_precedence_over_later_garbage() -> None:
    """Complete arguments of `done` take precedence over garbage after them and over incomplete deltas."""
    intended = '{"path":"x"}'
    body = sse(CREATED, added(), delta('{"'), delta('":"x"}'), done(intended), closed('{"path":"\\-"}'), completed())
    assert client_calls(repaired(body, EXCHANGE).out) == [("f", {"path": "x"})]


def test_a_fragment_after_the_closing_event_is_added() -> None:
    """A fragment as another item after the closing event was sent is added, and the call is closed again."""
    other = {"type": "response.in_progress", "response": {}}
    fragment = [added(place=2, call_id="call_0"), delta('{"b":1}', 2), closed('{"b":1}', 2, call_id="call_0")]
    outcome = repaired(sse(CREATED, closed(""), other, *fragment), EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).calls == client_calls(outcome.out) == [("f", {"b": 1})]


def test_an_event_without_a_type_is_held() -> None:
    """A delta without a type, recognised by its event name, is held until its item is added."""
    late = json.dumps({key: value for key, value in delta('{"a"').items() if key != "type"})
    body = f"event: response.function_call_arguments.delta\ndata: {late}\n\n".encode() + sse(added(), delta(":1}"))
    assert client_calls(repaired(sse(CREATED) + body, EXCHANGE, broken="reset").out) == [("f", {"a": 1})]


def test_calls_that_only_the_response_distinguishes() -> None:
    """Two calls of one id in the response, of which one was streamed, are both kept."""
    output = [item(ARGUMENTS), item('{"a":2}', 1, call_id="call_0")]
    body = sse(CREATED, added(place=1, call_id="call_0"), delta('{"a":2}', 1), completed(*output))
    intended = [("f", {"a": 1}), ("f", {"a": 2})]
    assert sorted(inspected(body, EXCHANGE).calls, key=str) == intended
    outcome = repaired(body, EXCHANGE)
    assert (
        sorted(inspected(outcome.out, EXCHANGE).calls, key=str)
        == sorted(client_calls(outcome.out), key=str)
        == intended
    )


def test_a_repeated_call_without_a_start_is_dropped() -> None:
    """A repetition of a call without an `added` event is dropped with all of its deltas."""
    repetition = [delta('{"a": 1}', 1), closed('{"a": 1}', 1, call_id="call_0")]
    for events in ([*call(ARGUMENTS), *repetition], [*repetition[:1], *call(ARGUMENTS), *repetition[1:]]):
        outcome = repaired(sse(CREATED, *events, completed(item(ARGUMENTS))), EXCHANGE)
        assert "doubled-call" in outcome.finding_names
        assert outcome.out == sse(CREATED, *call(ARGUMENTS), completed(item(ARGUMENTS)))


def test_a_header_belongs_to_earlier_events_of_its_item_id() -> None:
    """A header belongs to earlier events of its item id, although another open call has its call_id."""
    events = [added(place=1, call_id="call_0"), delta(ARGUMENTS), added()]
    body = sse(CREATED, *events)
    assert [(one.name, one.arguments) for one in inspected(body, EXCHANGE).record.calls] == [
        ("f", ""),
        ("f", ARGUMENTS),
    ]
    outcome = repaired(body, EXCHANGE, broken="reset")
    assert client_calls(outcome.out) == [("f", ""), ("f", {"a": 1})]
    assert outcome.out.count(b'"delta":') == 1


def test_a_late_name_after_an_early_delta() -> None:
    """If a delta precedes a header without a name, all events are repaired."""
    body = sse(CREATED, delta(""), added(name=""), done(ARGUMENTS), closed(ARGUMENTS), completed(item(ARGUMENTS)))
    outcome = repaired(body, EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).finding_names == []
    assert client_calls(outcome.out) == [("f", {"a": 1})]


def test_a_delta_without_identity_is_added_to_none_of_two_calls() -> None:
    """A delta without index and item id is not added to one of two open calls."""
    unidentified = {"type": "response.function_call_arguments.delta", "delta": ARGUMENTS}
    body = sse(CREATED, added(), added(place=1), unidentified, delta('{"a":2}', 1))
    assert repaired(body, EXCHANGE, broken="reset").out == body


def test_names_are_not_joined() -> None:
    """The name in a later event of an item replaces the earlier name."""
    body = sse(CREATED, added(name="g"), closed(ARGUMENTS))
    assert inspected(body, EXCHANGE).calls == [("g", {"a": 1})]
    assert inspected(sse(CREATED, added(name="f"), closed(ARGUMENTS, name="f_all")), EXCHANGE).calls == [
        ("f_all", {"a": 1})
    ]


@pytest.mark.parametrize("head", ["-0.5", '["x"]', "x", '{"b', '{"b":1}'])
def test_arguments_of_an_added_item_are_dropped_if_the_deltas_differ(head: str) -> None:
    """Arguments of an added item that the deltas do not continue are dropped."""
    body = sse(CREATED, added(head), delta(ARGUMENTS))
    assert client_calls(repaired(body, EXCHANGE, broken="reset").out) == [("f", {"a": 1})]
    inner = sse(CREATED, added('{"a":'), delta('{"b":1}'), delta("}"))
    assert client_calls(repaired(inner, EXCHANGE, broken="reset").out) == [("f", {"a": {"b": 1}})]


def test_an_event_without_an_index_is_sent_before_an_added_item() -> None:
    """An event without index and item id stays before an item that is added after it."""
    unidentified = {"type": "response.function_call_arguments.done", "arguments": "{}"}
    body = sse(CREATED, unidentified, added())
    assert repaired(body, EXCHANGE, broken="reset").out == body
    assert changes(body, "reset") == []


def test_held_events_of_two_items_keep_their_order() -> None:
    """Interleaved held events of two items are sent in their order."""
    two = [added(name=""), added(place=1, name=""), delta("{", 1), delta("{")]
    body = sse(CREATED, *two)
    assert repaired(body, EXCHANGE, broken="reset").out == body
    assert changes(body, "reset") == []


def test_arguments_of_a_second_header_are_used() -> None:
    """Arguments in a repeated header are used."""
    body = sse(CREATED, added(), added(ARGUMENTS))
    outcome = repaired(body, EXCHANGE, broken="reset")
    assert "repeated-start" in outcome.finding_names
    assert client_calls(outcome.out) == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "events",
    [
        [added(ARGUMENTS), closed(ARGUMENTS), delta(ARGUMENTS)],
        [added('{"a'), delta('{"a"'), delta(":1}")],
        [delta('{"a"'), added(ARGUMENTS), delta(":1}")],
        [delta('{"a"'), delta(":1}"), added(ARGUMENTS), closed(ARGUMENTS)],
    ],
    ids=["a delta after the end", "incomplete, then repeated", "inside its deltas", "after them"],
)
def test_arguments_of_a_header_are_used_only_without_deltas(events: list[Payload]) -> None:
    """Arguments of a header are used only if no delta contains them, in any order of the events."""
    body = sse(CREATED, *events)
    assert inspected(body, EXCHANGE).calls == [("f", {"a": 1})]
    outcome = repaired(body, EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).calls == client_calls(outcome.out) == [("f", {"a": 1})]


def test_two_items_of_one_call_id_and_index() -> None:
    """Two items with one call_id and index are kept apart by their item ids."""
    first, second = item(id="fc_8"), item(id="fc_9")
    heads = [{**added(), "item": one} for one in (first, second)]
    ends = [
        {**closed(""), "item": {**one, "arguments": text}} for one, text in ((first, ARGUMENTS), (second, '{"a":2}'))
    ]
    body = sse(CREATED, *heads, *ends)
    intended = [("f", {"a": 1}), ("f", {"a": 2})]
    assert inspected(body, EXCHANGE).calls == intended
    assert inspected(repaired(body, EXCHANGE).out, EXCHANGE).calls == intended


@pytest.mark.parametrize("odd", [[[]], 7, "[]"])
def test_odd_arguments_in_the_response_do_not_replace_an_object(odd: object) -> None:
    """Arguments in the response that are no object do not replace the streamed object."""
    outcome = repaired(sse(CREATED, *call(ARGUMENTS), completed({**item(), "arguments": odd})), EXCHANGE)
    assert client_calls(outcome.out) == [("f", {"a": 1})]


def test_events_of_a_shared_item_id_keep_their_calls() -> None:
    """If two items share an item id, events with another item id keep it, and all fragments keep their calls."""
    shared = {**added(place=1), "item": item(place=1, id="fc_0", name="g")}
    events = [added(), shared, delta('{"b"', 1) | {"item_id": "fc_0"}, delta("x") | {"item_id": "fc_9"}]
    body = sse(CREATED, *events)
    calls = [(one.name, one.arguments) for one in inspected(body, EXCHANGE).record.calls]
    assert calls == [("f", "x"), ("g", '{"b"')]
    outcome = repaired(body, EXCHANGE, broken="reset")
    assert [(one.name, one.arguments) for one in inspected(outcome.out, EXCHANGE).record.calls] == calls
