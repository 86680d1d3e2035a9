"""Responses streams that are broken amid a call, or in two ways at once: nothing is lost, nothing made up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fuzz import readers
from tests.fuzz.case import Case
from tests.fuzz.drive import Log, drive
from tests.invariants.driven import inspected, repaired, run, sse
from tests.protocols.responses.events import CREATED, added, call, closed, completed, delta, done, item, numbered
from toolstream_core.defects.table import named
from toolstream_core.model import StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings

if TYPE_CHECKING:
    from tests.protocols.responses.events import Payload

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")
WHOLE = '{"a":1}'


def plain(out: bytes) -> list[tuple[str, Any]]:
    """Names and arguments of the calls of a client that goes by places, and takes the last word on each."""
    found = readers.read("openai-responses", out, "text/event-stream").calls.values()
    return [(one.name, one.value if one.value is not None else one.text) for one in found]


def changes(body: bytes, broken: str | None = None) -> list[tuple[str, ...]]:
    """The names of each change that safe repairs tell."""
    log = Log()
    case = Case("openai-responses", body, path=EXCHANGE.path, broken=broken)
    drive(case, Settings(SAFE), [body], log)
    return [one.names for one in log.changes]


@pytest.mark.parametrize("broken", [None, "reset"])
@pytest.mark.parametrize("said", [WHOLE, '{"a"', "x"])
def test_what_an_item_was_added_with_is_said_where_nothing_follows(said: str, broken: str | None) -> None:
    """Whole or half, in a delta."""
    went = repaired(sse(CREATED, added(said)), EXCHANGE, broken=broken)
    assert plain(went.out) == [("f", json.loads(said) if said == WHOLE else said)]
    assert inspected(went.out, EXCHANGE).record.calls[0].arguments == said


@pytest.mark.parametrize("kind", ["incomplete", "failed"])
def test_it_is_said_before_an_end_that_is_none(kind: str) -> None:
    """The response says nothing of the call."""
    went = repaired(sse(CREATED, added(WHOLE), completed(kind=kind)), EXCHANGE)
    assert plain(went.out) == [("f", {"a": 1})]


def test_a_part_that_an_item_was_added_with_goes_before_its_deltas() -> None:
    """A whole one is said by them once more."""
    for first, second in (('{"a"', ":1}"), (WHOLE, WHOLE)):
        body = sse(CREATED, added(first), delta(second), done(WHOLE), closed(WHOLE), completed(item(WHOLE)))
        went = repaired(body, EXCHANGE)
        assert inspected(went.out, EXCHANGE).finding_names == []
        assert "".join(one["delta"] for one in _events(went.out) if "delta" in one) == WHOLE


def _events(out: bytes) -> list[Payload]:
    return [json.loads(block.partition(b"data: ")[2]) for block in out.split(b"\n\n")[:-1]]


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
def test_an_item_that_says_the_begin_of_the_call_again(
    head: list[Payload], rest: list[Payload], end: list[Payload]
) -> None:
    """It has the arguments so far, not the next ones."""
    again = added(place=1, call_id="call_0")
    went = repaired(sse(CREATED, *head, closed('{"des'), again, *rest, *end), EXCHANGE)
    assert plain(went.out) == [("f", {"des": 1})]
    assert inspected(went.out, EXCHANGE).calls == [("f", {"des": 1})]
    assert repaired(went.out, EXCHANGE).out == went.out


def test_two_calls_of_one_id_that_say_nothing_yet_stay_two() -> None:
    """Nobody knows whether they would say the same."""
    went = repaired(sse(CREATED, added(), added(place=1, call_id="call_0")), EXCHANGE)
    assert len(inspected(went.out, EXCHANGE).record.calls) == 2
    assert "doubled-call" not in went.finding_names


def test_a_call_goes_on_where_another_item_of_it_is_added() -> None:
    """It is not whole by what closed the first one, which said nothing."""
    body = sse(CREATED, closed(""), added(place=1, call_id="call_0"))
    assert [one.complete for one in inspected(body, EXCHANGE).record.calls] == [False]
    assert [one.complete for one in inspected(repaired(body, EXCHANGE).out, EXCHANGE).record.calls] == [False]


def test_arguments_that_only_the_response_says_are_not_made_up_before() -> None:
    """The event that closes the call has none."""
    body = sse(CREATED, closed(""), completed(item(WHOLE)))
    went = repaired(body, EXCHANGE)
    assert "{}" not in [one.get("delta") for one in _events(went.out)]
    assert plain(went.out) == plain(body) == [("f", {"a": 1})]


@pytest.mark.parametrize("head", [[], [added()]], ids=["not added", "added"])
def test_a_delta_that_was_lost_within_a_string_makes_no_other_call(head: list[Payload]) -> None:
    """What came is JSON all the same; the events behind it say what was meant."""
    intended = '{"path":"~/a"}'
    body = sse(
        CREATED, *head, delta('{"path":"'), delta('a"}'), done(intended), closed(intended), completed(item(intended))
    )
    assert inspected(body, EXCHANGE).calls == [("f", {"path": "~/a"})]
    assert plain(repaired(body, EXCHANGE).out) == [("f", {"path": "~/a"})]


def test_garbage_in_the_event_that_closes_a_call_does_not_stand_against_its_deltas() -> None:
    """They said a whole object."""
    went = repaired(sse(CREATED, added(), delta(WHOLE), closed("\ue000" + WHOLE), completed(item(WHOLE))), EXCHANGE)
    assert "short-closing" in went.finding_names
    assert plain(went.out) == [("f", {"a": 1})]
    assert inspected(went.out, EXCHANGE).finding_names == []


def test_an_item_that_is_closed_again_with_less_is_not_closed_twice() -> None:
    """The second event is one too many, whatever its arguments."""
    went = repaired(sse(CREATED, *call(WHOLE), closed('{"a'), completed(item(WHOLE))), EXCHANGE)
    assert "repeated-stop" in went.finding_names
    assert went.out == sse(CREATED, *call(WHOLE), completed(item(WHOLE)))


def test_items_of_one_id_are_told_apart_where_one_is_said_anew() -> None:
    """The response has a call of its own under an item id that was streamed."""
    other = item('{"b":2}', id="fc_0", call_id="call_9", name="g")
    body = sse(CREATED, added(), delta(WHOLE), completed(other))
    went = repaired(body, EXCHANGE)
    assert inspected(went.out, EXCHANGE).calls == [("f", {"a": 1}), ("g", {"b": 2})]
    assert plain(went.out) == [("f", {"a": 1}), ("g", {"b": 2})]


def test_no_item_is_put_at_the_place_of_one_that_nobody_knows_yet() -> None:
    """Its arguments would be those of the other."""
    nowhere = {key: value for key, value in added(place=1).items() if key != "output_index"}
    body = sse(CREATED, done('{"b":2}'), nowhere, delta(WHOLE, 1) | {"output_index": 1})
    assert ("f", {"a": 1}) in plain(repaired(body, EXCHANGE, broken="reset").out)


def test_what_waits_goes_before_another_item_at_its_place() -> None:
    """Else it would be that one's."""
    foreign = delta('{"b":2}') | {"item_id": "fc_9"}
    body = sse(CREATED, foreign, added(id="fc_7", call_id="call_7"))
    assert repaired(body, EXCHANGE).out == body


def test_an_item_without_an_id_gets_one_and_it_is_told() -> None:
    """Events of it carry one."""
    event = added()
    del event["item"]["id"]
    went = repaired(sse(CREATED, event, delta('{"a"')), EXCHANGE, broken="reset")
    assert went.finding_names[0] == "rotating-item-id"
    first, second = _events(went.out)[1:]
    assert first["item"]["id"] == second["item_id"]


KEPT = {
    "arguments of an item that is never added": sse(done(WHOLE)),
    "a half of them": sse(done('{"a')),
    "a header without a name": sse(added(name="")),
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_what_waited_and_went_on_as_it_came_is_no_change(body: bytes) -> None:
    """Its bytes are the same, in the same place."""
    assert repaired(body, EXCHANGE, broken="reset").out == body
    assert changes(body, "reset") == []


def test_what_waits_keeps_its_place() -> None:
    """Events after it wait too, so nothing changes."""
    other = {"type": "response.in_progress", "response": {}}
    for first, name in ((done(WHOLE), "missing-start"), (added(name=""), "missing-name")):
        body = sse(CREATED, first, other)
        went = repaired(body, EXCHANGE, broken="reset")
        assert went.out == body
        assert name in went.finding_names
        assert changes(body, "reset") == []


def test_every_change_has_a_name() -> None:
    """Also where the event before waits for the end of the stream."""
    assert all(changes(sse(CREATED, added(), closed(""))))
    event = added()
    del event["item"]["id"]
    assert changes(sse(CREATED, event)) == [("rotating-item-id",)]


def test_sequence_numbers_are_judged_the_same_with_shapes_and_without() -> None:
    """Text goes by unread, unless a shape wants to see it."""
    text = {"type": "response.output_text.delta", "output_index": 0, "delta": "x"}
    again = [{**text, "sequence_number": number} for number in (8, 8, 3, 12)]
    late = [{**one, "sequence_number": 5} for one in (added(),)]
    for body in (sse(*numbered(0, CREATED), *again), sse(*numbered(0, CREATED), *again[:1], *late)):
        told = [
            run(body, EXCHANGE, wanted).finding_names for wanted in (NOTHING, Settings(SAFE), Settings(SAFE, ("crlf",)))
        ]
        assert told[0] == told[1] == told[2]
    body = sse(*numbered(0, CREATED), *late, {"type": "x", "sequence_number": 5})
    assert "sequence-numbers" in inspected(body, EXCHANGE).finding_names
    assert (
        run(body, EXCHANGE, Settings(named(["missing-start"]))).finding_names == inspected(body, EXCHANGE).finding_names
    )


def test_two_calls_of_one_id_at_the_same_time_are_two() -> None:
    """The second one seemed to be a piece of the first, until it was closed."""
    second = {"call_id": "call_0"}
    body = sse(CREATED, added(), delta('{"a"'), added(place=1, **second), closed(WHOLE), closed('{"a":2}', 1, **second))
    intended = [("f", {"a": 1}), ("f", {"a": 2})]
    assert inspected(body, EXCHANGE).calls == intended
    went = repaired(body, EXCHANGE)
    assert inspected(went.out, EXCHANGE).calls == plain(went.out) == intended


def test_a_call_that_the_response_says_twice_in_two_spellings_is_one() -> None:
    """One of them is encoded twice."""
    output = [item(json.dumps(WHOLE)), item('{"a": 1}', 1, call_id="call_0")]
    went = repaired(sse(CREATED, completed(*output)), EXCHANGE)
    assert inspected(went.out, EXCHANGE).calls == [("f", {"a": 1})]
    assert went.out.count(b'"response.output_item.added"') == 1


def test_an_item_that_is_added_again_with_the_next_part() -> None:
    """What it was added with is said, all of it."""
    body = sse(CREATED, added('{"a":'), added("1}"))
    assert plain(repaired(body, EXCHANGE, broken="reset").out) == [("f", {"a": 1})]
    again = repaired(sse(CREATED, added('{"a":'), added('{"a":'), delta("1}")), EXCHANGE, broken="reset")
    assert plain(again.out) == [("f", {"a": 1})]


def test_what_an_event_says_whole_stands_against_garbage_behind_it() -> None:
    """Also where deltas said another object, of which some were lost."""
    intended = '{"path":"x"}'
    body = sse(CREATED, added(), delta('{"'), delta('":"x"}'), done(intended), closed('{"path":"\\-"}'), completed())
    assert plain(repaired(body, EXCHANGE).out) == [("f", {"path": "x"})]


def test_a_piece_comes_when_the_call_had_been_closed() -> None:
    """The event that closes it has gone on already; the call is closed once more when it is whole."""
    other = {"type": "response.in_progress", "response": {}}
    piece = [added(place=2, call_id="call_0"), delta('{"b":1}', 2), closed('{"b":1}', 2, call_id="call_0")]
    went = repaired(sse(CREATED, closed(""), other, *piece), EXCHANGE)
    assert inspected(went.out, EXCHANGE).calls == plain(went.out) == [("f", {"b": 1})]


def test_an_event_that_its_name_alone_tells_waits_as_others_do() -> None:
    """A delta without a type comes before its item."""
    late = json.dumps({key: value for key, value in delta('{"a"').items() if key != "type"})
    body = f"event: response.function_call_arguments.delta\ndata: {late}\n\n".encode() + sse(added(), delta(":1}"))
    assert plain(repaired(sse(CREATED) + body, EXCHANGE, broken="reset").out) == [("f", {"a": 1})]


def test_calls_that_only_the_response_tells_apart() -> None:
    """Two under one id, of which one was streamed."""
    output = [item(WHOLE), item('{"a":2}', 1, call_id="call_0")]
    body = sse(CREATED, added(place=1, call_id="call_0"), delta('{"a":2}', 1), completed(*output))
    intended = [("f", {"a": 1}), ("f", {"a": 2})]
    assert sorted(inspected(body, EXCHANGE).calls, key=str) == intended
    went = repaired(body, EXCHANGE)
    assert sorted(inspected(went.out, EXCHANGE).calls, key=str) == sorted(plain(went.out), key=str) == intended


def test_a_call_whose_first_event_closes_it_may_be_an_earlier_one_again() -> None:
    """Deltas of it came before; none of its events goes on."""
    again = [delta('{"a": 1}', 1), closed('{"a": 1}', 1, call_id="call_0")]
    for events in ([*call(WHOLE), *again], [*again[:1], *call(WHOLE), *again[1:]]):
        went = repaired(sse(CREATED, *events, completed(item(WHOLE))), EXCHANGE)
        assert "doubled-call" in went.finding_names
        assert went.out == sse(CREATED, *call(WHOLE), completed(item(WHOLE)))


def test_a_header_belongs_to_what_came_before_it_under_its_item_id() -> None:
    """Although its call_id is that of another call, which is open. Nothing that waited goes on twice."""
    events = [added(place=1, call_id="call_0"), delta(WHOLE), added()]
    body = sse(CREATED, *events)
    assert [(one.name, one.arguments) for one in inspected(body, EXCHANGE).record.calls] == [("f", ""), ("f", WHOLE)]
    went = repaired(body, EXCHANGE, broken="reset")
    assert plain(went.out) == [("f", ""), ("f", {"a": 1})]
    assert went.out.count(b'"delta":') == 1


def test_a_late_name_where_the_header_is_not_the_first_event() -> None:
    """Each event goes on as what it is."""
    body = sse(CREATED, delta(""), added(name=""), done(WHOLE), closed(WHOLE), completed(item(WHOLE)))
    went = repaired(body, EXCHANGE)
    assert inspected(went.out, EXCHANGE).finding_names == []
    assert plain(went.out) == [("f", {"a": 1})]


def test_a_delta_that_could_be_of_two_calls_is_not_made_one_of_either() -> None:
    """It says neither place nor item."""
    nobodys = {"type": "response.function_call_arguments.delta", "delta": WHOLE}
    body = sse(CREATED, added(), added(place=1), nobodys, delta('{"a":2}', 1))
    assert repaired(body, EXCHANGE, broken="reset").out == body


def test_a_name_is_not_joined_to_another() -> None:
    """Each event of an item has the whole name."""
    body = sse(CREATED, added(name="g"), closed(WHOLE))
    assert inspected(body, EXCHANGE).calls == [("g", {"a": 1})]
    assert inspected(sse(CREATED, added(name="f"), closed(WHOLE, name="f_all")), EXCHANGE).calls == [
        ("f_all", {"a": 1})
    ]


@pytest.mark.parametrize("head", ["-0.5", '["x"]', "x", '{"b', '{"b":1}'])
def test_what_an_item_was_added_with_is_dropped_where_its_deltas_say_others(head: str) -> None:
    """They do not go on with it."""
    body = sse(CREATED, added(head), delta(WHOLE))
    assert plain(repaired(body, EXCHANGE, broken="reset").out) == [("f", {"a": 1})]
    inner = sse(CREATED, added('{"a":'), delta('{"b":1}'), delta("}"))
    assert plain(repaired(inner, EXCHANGE, broken="reset").out) == [("f", {"a": {"b": 1}})]


def test_an_event_that_says_no_place_goes_before_an_item_that_is_added() -> None:
    """Else it would be of that item."""
    nobodys = {"type": "response.function_call_arguments.done", "arguments": "{}"}
    body = sse(CREATED, nobodys, added())
    assert repaired(body, EXCHANGE, broken="reset").out == body
    assert changes(body, "reset") == []


def test_events_of_two_items_that_wait_are_sent_in_their_order() -> None:
    """Also where the events of the one come within those of the other."""
    two = [added(name=""), added(place=1, name=""), delta("{", 1), delta("{")]
    body = sse(CREATED, *two)
    assert repaired(body, EXCHANGE, broken="reset").out == body
    assert changes(body, "reset") == []


def test_arguments_of_a_second_header_are_told() -> None:
    """They are not in the first."""
    body = sse(CREATED, added(), added(WHOLE))
    went = repaired(body, EXCHANGE, broken="reset")
    assert {"prefilled-arguments", "repeated-start"} <= set(went.finding_names)
    assert plain(went.out) == [("f", {"a": 1})]


@pytest.mark.parametrize(
    "events",
    [
        [added(WHOLE), closed(WHOLE), delta(WHOLE)],
        [added('{"a'), delta('{"a"'), delta(":1}")],
        [delta('{"a"'), added(WHOLE), delta(":1}")],
        [delta('{"a"'), delta(":1}"), added(WHOLE), closed(WHOLE)],
    ],
    ids=["a delta behind the end", "half, and anew", "amid its deltas", "behind them"],
)
def test_a_header_with_arguments_counts_only_where_no_delta_says_them(events: list[Payload]) -> None:
    """In whatever order they come."""
    body = sse(CREATED, *events)
    assert inspected(body, EXCHANGE).calls == [("f", {"a": 1})]
    went = repaired(body, EXCHANGE)
    assert inspected(went.out, EXCHANGE).calls == plain(went.out) == [("f", {"a": 1})]


def test_two_items_of_one_id_and_place() -> None:
    """Each is closed under its own item id."""
    first, second = item(id="fc_8"), item(id="fc_9")
    heads = [{**added(), "item": one} for one in (first, second)]
    ends = [{**closed(""), "item": {**one, "arguments": said}} for one, said in ((first, WHOLE), (second, '{"a":2}'))]
    body = sse(CREATED, *heads, *ends)
    intended = [("f", {"a": 1}), ("f", {"a": 2})]
    assert inspected(body, EXCHANGE).calls == intended
    assert inspected(repaired(body, EXCHANGE).out, EXCHANGE).calls == intended


@pytest.mark.parametrize("said", [[[]], 7, "[]"])
def test_what_is_no_object_in_the_response_does_not_stand_against_one(said: object) -> None:
    """The call was streamed whole."""
    went = repaired(sse(CREATED, *call(WHOLE), completed({**item(), "arguments": said})), EXCHANGE)
    assert plain(went.out) == [("f", {"a": 1})]


def test_an_event_of_an_item_whose_id_is_anothers_too_keeps_its_own() -> None:
    """Under the shared one it would be the other's."""
    shared = {**added(place=1), "item": item(place=1, id="fc_0", name="g")}
    events = [added(), shared, delta('{"b"', 1) | {"item_id": "fc_0"}, delta("x") | {"item_id": "fc_9"}]
    body = sse(CREATED, *events)
    said = [(one.name, one.arguments) for one in inspected(body, EXCHANGE).record.calls]
    assert said == [("f", "x"), ("g", '{"b"')]
    went = repaired(body, EXCHANGE, broken="reset")
    assert [(one.name, one.arguments) for one in inspected(went.out, EXCHANGE).record.calls] == said
