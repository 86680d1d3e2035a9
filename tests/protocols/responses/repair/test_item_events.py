"""Output items of Responses streams, mended."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from tests.invariants.driven import inspected, repaired, sse
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
from toolstream_core.calls.json_text import meaning
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")


def test_a_placeholder_behind_a_late_name_is_said_once() -> None:
    """The delta that waited goes on before the event that says the arguments whole."""
    events = [added(name=""), delta("{}"), done("{}"), closed("{}"), completed(item("{}"))]
    went = repaired(sse(CREATED, *events), EXCHANGE)
    assert went.out.count(b'"delta":"{}"') == 1
    assert inspected(went.out, EXCHANGE).finding_names == []


def test_a_piece_that_is_json_by_itself_is_no_call() -> None:
    """Each piece of the arguments in an item of its own, `":"` among them."""
    pieces = ('{"', "a", '":"', "b", '"}')
    events = []
    for at, piece in enumerate(pieces):
        own = {"call_id": "call_0"}
        events += [added(place=at, **own), delta(piece, at), closed(piece, at, **own)]
    went = repaired(sse(CREATED, *events, completed(item('{"a":"b"}'))), EXCHANGE)
    assert went.calls == inspected(went.out, EXCHANGE).calls == [("f", {"a": "b"})]


def test_pieces_of_which_one_is_nobodys_make_no_whole_call() -> None:
    """Without it they may be JSON, and are not what was meant."""
    own = {"call_id": "call_0"}
    lost = {key: value for key, value in delta("ence", 3).items() if key != "item_id"}
    events = [closed('{"'), added(place=1, **own), delta('":"', 1), lost, added(place=2, **own), delta('"}', 2)]
    went = repaired(sse(CREATED, *events), EXCHANGE)
    assert went.out.endswith(sse(lost)) or sse(lost) in went.out
    assert b"output_item.done" not in went.out
    assert sse(added(place=2, **own), delta('"}', 2)) in went.out


def test_a_delta_behind_a_call_that_was_said_from_its_closing_says_it_again() -> None:
    """And goes, as it would behind its own deltas."""
    out = repaired(sse(closed('{"a":{}}'), delta('{"a":{}}')), EXCHANGE).out
    assert out.count(b'"delta":"{') == 1


def test_an_event_known_by_its_name_alone_keeps_it() -> None:
    """Its data has no type, and its number is counted on."""
    nameless = {key: value for key, value in delta("1").items() if key != "type"}
    head = sse(*numbered(0, CREATED, added(), delta('{"a":')))
    late = json.dumps({**nameless, "sequence_number": 2})
    name = "event: response.function_call_arguments.delta\n"
    rest = sse(*numbered(4, delta("}"), closed('{"a":1}'), completed(item('{"a":1}'))))
    went = repaired(head + f"{name}data: {late}\n\n".encode() + rest, EXCHANGE)
    assert "sequence-numbers" in went.finding_names
    assert went.out.count(name.encode()) == 1
    assert inspected(went.out, EXCHANGE).calls == [("f", {"a": 1})]


def test_deltas_behind_the_whole_arguments_are_not_said_again() -> None:
    """The client was given what they bring."""
    events = [added(), delta('{"a"'), closed('{"a":1}'), delta(":1}"), completed(item('{"a":1}'))]
    went = repaired(sse(CREATED, *events), EXCHANGE)
    assert {"short-deltas", "replayed-arguments"} <= set(went.finding_names)
    assert went.out.count(b'"delta":":1}"') == 1
    assert inspected(went.out, EXCHANGE).calls == [("f", {"a": 1})]


def test_numbers_rise_where_events_that_waited_are_given_back() -> None:
    """A call that never gets a name waits to the end."""
    two = [added(name=""), added(place=1), delta('{"a"'), delta('{"b"', 1)]
    out = repaired(sse(*numbered(0, CREATED, *two)), EXCHANGE, broken="reset").out
    numbers = [json.loads(block[6:])["sequence_number"] for block in out.split(b"\n\n")[:-1]]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 5


@pytest.mark.parametrize("size", [0, 1, 400])
@pytest.mark.parametrize("fast", [True, False])
def test_numbers_rise_behind_text_that_passed_unseen(size: int, *, fast: bool) -> None:
    """A call that only the response carries is put behind it."""
    text = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0}
    words = [{**text, "delta": word} for word in ("It", " is", " two", " words")]
    body = sse(*numbered(0, CREATED, *words), completed(item('{"a":1}')))
    line = Session(EXCHANGE, Settings(SAFE), fast=fast)
    pieces = [bytes(piece) for piece in itertools.batched(body, size)] if size else [body]
    out = b"".join([*(sent for piece in pieces for sent in line.feed(piece)), *line.end()])
    payloads = [json.loads(data[6:]) for data in out.split(b"\n") if data.startswith(b"data: ")]
    numbers = [payload["sequence_number"] for payload in payloads if "sequence_number" in payload]
    assert numbers == list(range(9))


def test_a_call_costs_the_same_whatever_came_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls under one id, of which each is compared with those before it: what each means is found out once."""
    compared = found_out = 0
    ordinary = ArgumentText.meaning.fget  # type: ignore[attr-defined]  # of a property, for mypy a text

    def counted(self: ArgumentText) -> str:
        nonlocal compared
        compared += 1
        return str(ordinary(self))

    def counted_out(text: str) -> str:
        nonlocal found_out
        found_out += 1
        return meaning(text)

    monkeypatch.setattr(ArgumentText, "meaning", property(counted))
    monkeypatch.setattr(arguments, "meaning", counted_out)
    amounts = []
    for many in (200, 400):
        compared = found_out = 0
        events = [event for at in range(many) for event in call(f'{{"a":{at}}}', at)]
        own = [{**one, "item": {**one["item"], "call_id": "call_0"}} if "item" in one else one for one in events]
        whole = completed(*(one["item"] for one in own if one["type"] == "response.output_item.done"))
        assert len(repaired(sse(CREATED, *own, whole), EXCHANGE).record.calls) == many
        amounts.append(compared)
        assert found_out <= 4 * many
    assert amounts[1] < 2.5 * amounts[0]


@pytest.mark.parametrize("first", ['"{\\"a\\":', '{"a":1}{"a":'])
def test_what_was_kept_back_is_not_given_where_the_whole_arguments_come(first: str) -> None:
    """Half a string, or half a repetition, before an event that says them all: the deltas are those arguments."""
    events = [added(), delta(first), done('{"a":1}'), closed('{"a":1}'), completed(item('{"a":1}'))]
    went = repaired(sse(CREATED, *events), EXCHANGE)
    pieces = [json.loads(line[6:]).get("delta", "") for line in went.out.split(b"\n") if line.startswith(b"data: ")]
    assert "".join(pieces) == '{"a":1}'
    assert inspected(went.out, EXCHANGE).finding_names == []


def test_a_call_of_the_response_alone_is_said_without_the_garbage_behind_it() -> None:
    """What is behind it makes it no half one."""
    said = '{"a":1}<|endoftext|>'
    went = repaired(sse(CREATED, completed(item(said))), EXCHANGE)
    assert inspected(went.out, EXCHANGE).finding_names == []
    assert b'"delta":"{\\"a\\":1}"' in went.out


def test_what_is_no_text_and_does_not_fit_a_whole_call_stays_as_it_came() -> None:
    """As text it would be joined to the arguments, which clients have whole."""
    odd = {**delta(""), "delta": ['{"a":1}']}
    body = sse(added(), delta('{"a":1}'), odd)
    assert repaired(body, EXCHANGE).out.startswith(body)


def test_a_list_that_an_item_is_added_with_is_no_part_of_its_arguments() -> None:
    """It goes on as it came."""
    opens = added()
    opens["item"]["arguments"] = [None]
    body = sse(opens, delta('{"a":1}'), closed('{"a":1}'))
    assert repaired(body, EXCHANGE).out.startswith(sse(opens, delta('{"a":1}')))


def test_no_end_is_made_where_a_closed_call_is_said_otherwise() -> None:
    """Nobody knows which of the two was meant."""
    body = sse(*call('{"a":1}'), done('{"b":2}'))
    assert b"response.completed" not in repaired(body, EXCHANGE).out
    assert b"response.completed" in repaired(sse(*call('{"a":1}'), done('{"a": 1}')), EXCHANGE).out


def test_a_bare_response_that_says_other_arguments_stays_bare() -> None:
    """Clients do not read it, and have the call as it was streamed."""
    bare = b"event: response.completed\n" + sse({"id": "r", "output": [item('{"a":1}')]})
    went = repaired(sse(added(), done('{"a":{}}')) + bare, EXCHANGE)
    assert went.out.endswith(bare)
    assert "bare-response" in went.finding_names


def test_items_that_share_an_id_stay_two_in_the_response() -> None:
    """Each is known by its call_id, too."""
    first, second = item('{"a":1}', call_id="c0"), item('{"a":2}', call_id="c1")
    events = [{"type": "response.output_item.done", "item": first}, {**closed("", 1), "item": second}]
    out = repaired(sse(*events, completed(second)), EXCHANGE).out
    last = json.loads(out.split(b"data: ")[-1])
    assert sorted(one["arguments"] for one in last["response"]["output"]) == ['{"a":1}', '{"a":2}']


def test_two_items_of_a_response_under_one_id_stay_where_they_differ() -> None:
    """Neither says the other again."""
    said = completed(item('{"a":1}', call_id="c0"), item('{"a":2}', 1, call_id="c0"))
    last = json.loads(repaired(sse(delta("2}", 1), said), EXCHANGE).out.split(b"data: ")[-1])
    assert [one["arguments"] for one in last["response"]["output"]] == ['{"a":1}', '{"a":2}']


def test_a_closed_item_without_arguments_contradicts_none() -> None:
    """What says them behind it goes on."""
    bare = closed("")
    del bare["item"]["arguments"]
    body = sse(added(), bare, done('{"a":1}'))
    assert [(one.name, one.arguments) for one in inspected(repaired(body, EXCHANGE).out, EXCHANGE).record.calls] == [
        ("f", '{"a":1}')
    ]


def test_a_call_that_turns_out_to_be_another_is_said() -> None:
    """It seemed to say the first one again, and its events went."""
    first, second = item('{"a":1}', call_id="c1"), item('{"a":2}', 1, call_id="c1")
    again = {**closed("", 100), "item": {**first, "id": "fc_1_again"}}
    opens = [added(call_id="c1"), added("", 1, call_id="c1"), delta("2", 1)]
    body = sse(*opens, {**closed(""), "item": first}, again, {**closed("", 1), "item": second})
    calls = inspected(repaired(body, EXCHANGE).out, EXCHANGE).record.calls
    assert [one.arguments for one in calls] == ['{"a":1}', '{"a":2}']


@pytest.mark.parametrize(("defect", "name"), [("late-name", ""), ("custom-as-function", "f")])
def test_an_item_is_added_although_a_delta_came_before_and_went_on(defect: str, name: str) -> None:
    """Only one repair is on, and not the one that keeps such a delta: the event that adds the item still comes."""
    request = {"tools": [{"type": "custom", "name": "f"}]}
    first, *rest = delta('{"a'), delta('":"1"}'), done('{"a":"1"}'), closed('{"a":"1"}'), completed(item('{"a":"1"}'))
    went = repaired(sse(CREATED, first, added(name=name), *rest), replace(EXCHANGE, request=request), defect)
    assert went.out == sse(CREATED, first, added(), *rest)


def test_fragments_that_come_as_items_are_one_item_with_all_its_events() -> None:
    """The event with the complete arguments is sent before the item is closed: Realtime clients read only that."""
    whole = '{"a":1}'
    pieces = [whole[:3], whole[3:]]
    items = [
        [added(place=at, call_id="call_0"), delta(piece, at), closed(piece, at, call_id="call_0")]
        for at, piece in enumerate(pieces)
    ]
    went = repaired(sse(CREATED, *(one for events in items for one in events), completed(item(whole))), EXCHANGE)
    assert "item-per-fragment" in went.finding_names
    assert went.out.count(b'"type":"response.function_call_arguments.done"') == 1
    assert went.calls == [("f", {"a": 1})]


def message(number: int, place: int) -> list[dict[str, object]]:
    """A message with a text, at a place."""
    own = {"item_id": f"msg_{number}", "output_index": place, "content_index": 0}
    text = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
    return [
        {"type": "response.output_item.added", "output_index": place, "item": {**text, "content": []}},
        {"type": "response.output_text.delta", **own, "delta": "Hm"},
        {"type": "response.output_text.delta", **own, "delta": " …"},
        {"type": "response.output_item.done", "output_index": place, "item": text},
    ]


def places(out: bytes) -> list[tuple[str, object]]:
    """The items that events are of, each with the `output_index`."""
    payloads = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: {")]
    own = [(one.get("item_id") or one["item"]["id"], one["output_index"]) for one in payloads if "output_index" in one]
    return list(dict.fromkeys(own))


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [*(whole := [added(), delta("{}"), done("{}"), closed("{}")]), *message(1, 0)],
            [("fc_0", 0), ("msg_1", 1)],
            id="after the call",
        ),
        pytest.param(
            [*whole[:2], *message(1, 0)[:2], *whole[2:], *message(1, 0)[2:]],
            [("fc_0", 0), ("msg_1", 1)],
            id="within the call",
        ),
        pytest.param(
            [*message(1, 0), *whole, *message(2, 1)],
            [("msg_1", 0), ("fc_0", 1), ("msg_2", 2)],
            id="at the place to which the call was moved",
        ),
        pytest.param(
            [*whole, *message(1, 0), *message(2, 0)],
            [("fc_0", 0), ("msg_1", 1), ("msg_2", 2)],
            id="two messages",
        ),
    ],
)
def test_a_message_at_the_place_of_a_call_gets_its_own(
    events: list[dict[str, object]], expected: list[tuple[str, int]], fast: bool
) -> None:
    """All its events, also those that otherwise are forwarded unread."""
    body = sse(CREATED, *events, completed(item("{}")))
    line = Session(EXCHANGE, Settings(SAFE), fast=fast)
    out = b"".join([*line.feed(body), *line.end()])
    assert places(out) == expected
    again = inspected(out, EXCHANGE)
    assert (again.finding_names, again.calls) == ([], [("f", {})])
