"""Repairs of output items in Responses streams."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from tests.invariants.driven import inspected, payloads, repaired, sse
from tests.protocols.responses.events import (
    CREATED,
    added,
    call,
    closed,
    completed,
    delta,
    done,
    item,
    numbered,
)
from toolstream_core.calls import arguments
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import canonical
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")


def test_a_held_delta_with_an_empty_object_is_sent_once() -> None:
    """A delta `{}` that was held for a late name is sent once, before the event with the complete arguments."""
    events = [added(name=""), delta("{}"), done("{}"), closed("{}"), completed(item("{}"))]
    outcome = repaired(sse(CREATED, *events), EXCHANGE)
    assert outcome.out.count(b'"delta":"{}"') == 1
    assert inspected(outcome.out, EXCHANGE).finding_names == []


def test_a_fragment_that_is_valid_json_is_no_call() -> None:
    """Fragments as items of their own are joined, even if a fragment is valid JSON."""
    fragments = ('{"', "a", '":"', "b", '"}')
    events = []
    for at, fragment in enumerate(fragments):
        own = {"call_id": "call_0"}
        events += [added(place=at, **own), delta(fragment, at), closed(fragment, at, **own)]
    outcome = repaired(sse(CREATED, *events, completed(item('{"a":"b"}'))), EXCHANGE)
    assert outcome.calls == inspected(outcome.out, EXCHANGE).calls == [("f", {"a": "b"})]


def test_fragments_with_an_unidentified_one_are_not_completed() -> None:
    """Fragments as items are not completed if one of them cannot be identified."""
    own = {"call_id": "call_0"}
    lost = {key: value for key, value in delta("ence", 3).items() if key != "item_id"}
    events = [closed('{"'), added(place=1, **own), delta('":"', 1), lost, added(place=2, **own), delta('"}', 2)]
    outcome = repaired(sse(CREATED, *events), EXCHANGE)
    assert outcome.out.endswith(sse(lost)) or sse(lost) in outcome.out
    assert b"output_item.done" not in outcome.out
    assert sse(added(place=2, **own), delta('"}', 2)) in outcome.out


def test_an_event_without_a_type_keeps_its_name() -> None:
    """An event without a type keeps its event name when its sequence number is repaired."""
    nameless = {key: value for key, value in delta("1").items() if key != "type"}
    head = sse(*numbered(0, CREATED, added(), delta('{"a":')))
    late = json.dumps({**nameless, "sequence_number": 2})
    name = "event: response.function_call_arguments.delta\n"
    rest = sse(*numbered(4, delta("}"), closed('{"a":1}'), completed(item('{"a":1}'))))
    outcome = repaired(head + f"{name}data: {late}\n\n".encode() + rest, EXCHANGE)
    assert "sequence-numbers" in outcome.finding_names
    assert outcome.out.count(name.encode()) == 1
    assert inspected(outcome.out, EXCHANGE).calls == [("f", {"a": 1})]


def test_sequence_numbers_increase_after_held_events() -> None:
    """Sequence numbers increase if held events of a call without a name are sent at the end."""
    two = [added(name=""), added(place=1), delta('{"a"'), delta('{"b"', 1)]
    out = repaired(sse(*numbered(0, CREATED, *two)), EXCHANGE, broken="reset").out
    numbers = [one["sequence_number"] for one in payloads(out)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 5


@pytest.mark.parametrize("size", [0, 1, 400])
@pytest.mark.parametrize("fast", [True, False])
def test_sequence_numbers_increase_after_skipped_text(size: int, *, fast: bool) -> None:
    """Sequence numbers increase if events of a call are added after skipped text."""
    text = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0}
    words = [{**text, "delta": word} for word in ("It", " is", " two", " words")]
    body = sse(*numbered(0, CREATED, *words), completed(item('{"a":1}')))
    session = Session(EXCHANGE, Settings(SAFE), fast=fast)
    chunks = [bytes(chunk) for chunk in itertools.batched(body, size)] if size else [body]
    out = b"".join([*(sent for chunk in chunks for sent in session.feed(chunk)), *session.end()])
    numbers = [payload["sequence_number"] for payload in payloads(out) if "sequence_number" in payload]
    assert numbers == list(range(9))


def test_calls_of_one_id_are_compared_at_a_constant_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """For many calls of one id, the numbers of comparisons and of parsed arguments are linear."""
    compared = parsed = 0
    original = ArgumentText.canonical.fget  # type: ignore[attr-defined]  # mypy takes the property for its value

    def count_comparison(self: ArgumentText) -> str:
        nonlocal compared
        compared += 1
        return str(original(self))

    def count_parsing(text: str) -> str:
        nonlocal parsed
        parsed += 1
        return canonical(text)

    monkeypatch.setattr(ArgumentText, "canonical", property(count_comparison))
    monkeypatch.setattr(arguments, "canonical", count_parsing)
    amounts = []
    for count in (200, 400):
        compared = parsed = 0
        events = [event for at in range(count) for event in call(f'{{"a":{at}}}', at)]
        own = [{**one, "item": {**one["item"], "call_id": "call_0"}} if "item" in one else one for one in events]
        end = completed(*(one["item"] for one in own if one["type"] == "response.output_item.done"))
        assert len(repaired(sse(CREATED, *own, end), EXCHANGE).record.calls) == count
        amounts.append(compared)
        assert parsed <= 4 * count
    assert amounts[1] < 2.5 * amounts[0]


@pytest.mark.parametrize("first", ['"{\\"a\\":', '{"a":1}{"a":'])
def test_withheld_text_is_dropped_if_complete_arguments_follow(first: str) -> None:
    """A withheld incomplete string or repetition is dropped if an event with the complete arguments follows."""
    events = [added(), delta(first), done('{"a":1}'), closed('{"a":1}'), completed(item('{"a":1}'))]
    outcome = repaired(sse(CREATED, *events), EXCHANGE)
    deltas = [one.get("delta", "") for one in payloads(outcome.out)]
    assert "".join(deltas) == '{"a":1}'
    assert inspected(outcome.out, EXCHANGE).finding_names == []


def test_a_call_of_the_response_is_streamed_without_its_garbage() -> None:
    """A call with trailing garbage that is only in the response is streamed without the garbage."""
    text = '{"a":1}<|endoftext|>'
    outcome = repaired(sse(CREATED, completed(item(text))), EXCHANGE)
    assert inspected(outcome.out, EXCHANGE).finding_names == []
    assert b'"delta":"{\\"a\\":1}"' in outcome.out


def test_a_list_after_a_complete_call_is_unchanged() -> None:
    """A delta with a list after complete arguments is forwarded unchanged: as text, it would damage them."""
    odd = {**delta(""), "delta": ['{"a":1}']}
    body = sse(added(), delta('{"a":1}'), odd)
    assert repaired(body, EXCHANGE).out.startswith(body)


def test_a_list_as_arguments_of_an_added_item_is_unchanged() -> None:
    """A list in the place of an added item's arguments is forwarded unchanged and not read."""
    opens = added()
    opens["item"]["arguments"] = [None]
    body = sse(opens, delta('{"a":1}'), closed('{"a":1}'))
    assert repaired(body, EXCHANGE).out.startswith(sse(opens, delta('{"a":1}')))


def test_no_end_is_added_after_contradicting_arguments() -> None:
    """No end is added if an event after the closed call has other arguments."""
    body = sse(*call('{"a":1}'), done('{"b":2}'))
    assert b"response.completed" not in repaired(body, EXCHANGE).out
    assert b"response.completed" in repaired(sse(*call('{"a":1}'), done('{"a": 1}')), EXCHANGE).out


def test_items_with_one_id_are_both_in_the_response() -> None:
    """Two items with one id but different call_ids are both in the response."""
    first, second = item('{"a":1}', call_id="c0"), item('{"a":2}', call_id="c1")
    events = [{"type": "response.output_item.done", "item": first}, {**closed("", 1), "item": second}]
    out = repaired(sse(*events, completed(second)), EXCHANGE).out
    last = json.loads(out.split(b"data: ")[-1])
    assert sorted(one["arguments"] for one in last["response"]["output"]) == ['{"a":1}', '{"a":2}']


def test_different_calls_with_one_call_id_are_both_in_the_response() -> None:
    """Two calls of the response with one call_id but different arguments are kept."""
    end = completed(item('{"a":1}', call_id="c0"), item('{"a":2}', 1, call_id="c0"))
    last = json.loads(repaired(sse(delta("2}", 1), end), EXCHANGE).out.split(b"data: ")[-1])
    assert [one["arguments"] for one in last["response"]["output"]] == ['{"a":1}', '{"a":2}']


def test_arguments_after_an_item_closed_without_arguments_are_kept() -> None:
    """Arguments in a later event do not contradict an item that was closed without arguments."""
    bare = closed("")
    del bare["item"]["arguments"]
    body = sse(added(), bare, done('{"a":1}'))
    assert [(one.name, one.arguments) for one in inspected(repaired(body, EXCHANGE).out, EXCHANGE).record.calls] == [
        ("f", '{"a":1}')
    ]


def test_a_call_withheld_as_a_repetition_is_sent_if_it_differs() -> None:
    """A call whose events were withheld as a repetition is sent when it proves to be another call."""
    first, second = item('{"a":1}', call_id="c1"), item('{"a":2}', 1, call_id="c1")
    again = {**closed("", 100), "item": {**first, "id": "fc_1_again"}}
    opens = [added(call_id="c1"), added("", 1, call_id="c1"), delta("2", 1)]
    body = sse(*opens, {**closed(""), "item": first}, again, {**closed("", 1), "item": second})
    calls = inspected(repaired(body, EXCHANGE).out, EXCHANGE).record.calls
    assert [one.arguments for one in calls] == ['{"a":1}', '{"a":2}']


@pytest.mark.parametrize(("defect", "name"), [("late-name", ""), ("custom-as-function", "f")])
def test_an_item_is_added_after_an_early_delta(defect: str, name: str) -> None:
    """With one repair, an item is added after a delta that was sent before it."""
    request = {"tools": [{"type": "custom", "name": "f"}]}
    first, *rest = delta('{"a'), delta('":"1"}'), done('{"a":"1"}'), closed('{"a":"1"}'), completed(item('{"a":"1"}'))
    outcome = repaired(sse(CREATED, first, added(name=name), *rest), replace(EXCHANGE, request=request), defect)
    assert outcome.out == sse(CREATED, first, added(), *rest)


def test_fragments_as_items_are_joined_to_an_item_with_all_events() -> None:
    """Fragments as items are joined to one item, with the `done` event that Realtime clients read."""
    text = '{"a":1}'
    fragments = [text[:3], text[3:]]
    items = [
        [added(place=at, call_id="call_0"), delta(fragment, at), closed(fragment, at, call_id="call_0")]
        for at, fragment in enumerate(fragments)
    ]
    outcome = repaired(sse(CREATED, *(one for events in items for one in events), completed(item(text))), EXCHANGE)
    assert "item-per-fragment" in outcome.finding_names
    assert outcome.out.count(b'"type":"response.function_call_arguments.done"') == 1
    assert outcome.calls == [("f", {"a": 1})]


def message(number: int, place: int) -> list[dict[str, object]]:
    """Return the events of a message with a text."""
    own = {"item_id": f"msg_{number}", "output_index": place, "content_index": 0}
    text = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
    return [
        {"type": "response.output_item.added", "output_index": place, "item": {**text, "content": []}},
        {"type": "response.output_text.delta", **own, "delta": "Hm"},
        {"type": "response.output_text.delta", **own, "delta": " …"},
        {"type": "response.output_item.done", "output_index": place, "item": text},
    ]


def places(out: bytes) -> list[tuple[str, object]]:
    """Return the item ids of events with their `output_index`."""
    events = [one for one in payloads(out) if "output_index" in one]
    own = [(one.get("item_id") or one["item"]["id"], one["output_index"]) for one in events]
    return list(dict.fromkeys(own))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [*(call_events := [added(), delta("{}"), done("{}"), closed("{}")]), *message(1, 0)],
            [("fc_0", 0), ("msg_1", 1)],
            id="after the call",
        ),
        pytest.param(
            [*call_events[:2], *message(1, 0)[:2], *call_events[2:], *message(1, 0)[2:]],
            [("fc_0", 0), ("msg_1", 1)],
            id="inside the call",
        ),
        pytest.param(
            [*message(1, 0), *call_events, *message(2, 1)],
            [("msg_1", 0), ("fc_0", 1), ("msg_2", 2)],
            id="at the index to which the call was moved",
        ),
        pytest.param(
            [*call_events, *message(1, 0), *message(2, 0)],
            [("fc_0", 0), ("msg_1", 1), ("msg_2", 2)],
            id="two messages",
        ),
    ],
)
def test_a_message_at_the_index_of_a_call_gets_another_index(
    events: list[dict[str, object]], expected: list[tuple[str, int]], fast: bool
) -> None:
    """A message at the index of a call gets another index in all of its events, also those that are usually skipped."""
    body = sse(CREATED, *events, completed(item("{}")))
    session = Session(EXCHANGE, Settings(SAFE), fast=fast)
    out = b"".join([*session.feed(body), *session.end()])
    assert places(out) == expected
    again = inspected(out, EXCHANGE)
    assert (again.finding_names, again.calls) == ([], [("f", {})])
