"""Chat Completions streams that are broken in two ways at once: what is read stays what is read, and is told once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, run, sse
from tests.protocols.chat.repair.test_end_of_stream import (
    CHAT,
    UNKNOWN,
    arguments,
    chunk,
    finishes,
    header,
    more,
    payloads,
)
from toolstream_core.engine.session import Session
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

FINISH = chunk({}, "tool_calls")
ERROR = {"error": {"message": "overloaded"}}


def entry(arguments: object, **more: Any) -> Payload:
    """A chunk with any arguments."""
    function = {"name": "f", "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function, **more}]})


def read(body: bytes) -> list[tuple[str, str, bool]]:
    """The calls of a stream."""
    return [(call.name, call.arguments, call.complete) for call in inspected(body, UNKNOWN).record.calls]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([header("f", '{"a"'), "[DONE]", more(":1}")], id="the rest behind [DONE]"),
        pytest.param([header("f", '{"a"'), FINISH, "[DONE]", more(":1}")], id="finish, [DONE], the rest"),
        pytest.param([FINISH, header("f")], id="a header behind the finish"),
        pytest.param([header("f"), ERROR, FINISH], id="no arguments, and an error before the finish"),
        pytest.param([header("f"), chunk({}, "length"), FINISH, "[DONE]"], id="no arguments, cut off, and a finish"),
        pytest.param([header("f"), header("g", '{"a"', 1), FINISH, "[DONE]"], id="no arguments beside half ones"),
        pytest.param([header("f", "{}"), header("g", "{}", 1), more('{"a":1}')], id="one {} was what it says"),
        pytest.param([header("f", '"{}"'), more('{"a":1}')], id="an encoded {} before the arguments"),
        pytest.param([header("f", "{}"), more('{"a":1}'), more('{"a":1}')], id="{}, then the same twice"),
        pytest.param([header("f", '{"a":"'), more("x"), more('{"a":"xyz"}')], id="cumulative within a string"),
        pytest.param([header("f"), header("g", '{"a"', 1), FINISH, more(":1}", 1)], id="the rest behind the finish"),
        pytest.param([more('{"a":1}'), FINISH, header("f", "", 1)], id="a later header behind the finish"),
        pytest.param([more('{"a":'), more('{"a":"x"}'), header("f", '{"a')], id="cumulative, then half of it again"),
        pytest.param([header("f", "{}"), more('"{\\"a\\":1}"')], id="{} before encoded arguments"),
        pytest.param([entry(False), more('{"a":1}')], id="a truth value before the arguments"),
        pytest.param([entry(["x"]), more('{"a":1}')], id="a list before the arguments"),
    ],
)  # fmt: skip
def test_what_is_read_stays_what_is_read(events: list[Payload | str]) -> None:
    """Before a repair and behind it."""
    body = sse(*events)
    assert read(repaired(body, UNKNOWN).out) == read(body)


def test_nothing_made_up_joins_arguments_that_still_come() -> None:
    """Where a finish comes with every chunk, one behind the header of a later call is no word that it has none."""
    body = sse(
        {**header("f", "{}"), "choices": [{**header("f", "{}")["choices"][0], "finish_reason": "tool_calls"}]},
        {**header("g", "", 1), "choices": [{**header("g", "", 1)["choices"][0], "finish_reason": "tool_calls"}]},
        {**more("{}", 1), "choices": [{**more("{}", 1)["choices"][0], "finish_reason": "tool_calls"}]},
    )
    assert arguments(repaired(body, UNKNOWN).out) == {0: "{}", 1: "{}"}


@pytest.mark.parametrize("behind", ["1}", "[TOOL_CALLS]null"])
def test_no_end_is_made_up_behind_garbage_that_stays_in_doubt(behind: str) -> None:
    """Nobody said that the answer is over, and nobody knows what the arguments are."""
    out = repaired(sse(header("f", '{"a":'), more("1}"), more(behind)), UNKNOWN).out
    assert finishes(out) == []
    assert b"[DONE]" not in out


@pytest.mark.parametrize("key", ["function_call", "message"])
def test_a_repair_shows_no_call_that_was_hidden(key: str) -> None:
    """A delta's entries count before a legacy call, and before a message; they still do where they say nothing."""
    again = {"name": "f", "arguments": '{"a":1}'}
    call = {"index": 0, "id": "c1", "type": "function", "function": again}
    delta: Payload = {"tool_calls": [call]}
    one = chunk({**delta, "function_call": again} if key == "function_call" else delta)
    if key == "message":
        one["choices"][0]["message"] = {"tool_calls": [{**call, "id": "c2"}]}
    body = sse(one, one)
    assert read(body) == [("f", '{"a":1}', True)]
    assert read(repaired(body, UNKNOWN).out) == [("f", '{"a":1}', True)]


def test_two_finishes_amid_arguments_go_behind_them() -> None:
    """The second says no more than the first."""
    out = repaired(sse(header("f", '{"a"'), FINISH, FINISH, more(":1}"), "[DONE]"), UNKNOWN)
    assert finishes(out.out) == ["tool_calls"]
    assert payloads(out.out)[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert "cut-off-call" not in out.record.changes


@pytest.mark.parametrize("between", [ERROR, chunk({"reasoning_content": "hm"})], ids=["an error", "a thought"])
def test_a_finish_that_was_made_length_is_told_where_the_arguments_go_on(between: Payload) -> None:
    """Whatever is read of the call in the end."""
    went = repaired(sse(header("f", '{"a"'), FINISH, between, more(":1}")), UNKNOWN)
    assert went.out.count(b'"length"') == 1
    assert went.finding_names.count("cut-off-call") == 1


def test_text_behind_a_finish_is_told_with_any_repair_or_shape() -> None:
    """Text is not looked at one by one, but behind a finish."""
    body = sse(*[chunk({"content": word}) for word in ("a", "b")], chunk({}, "stop"), chunk({"content": "c"}), "[DONE]")
    for wanted in (Settings(), Settings(SAFE), Settings(shapes=("event-ids",))):
        assert run(body, UNKNOWN, wanted).finding_names == ["early-finish"]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(sse(chunk({"content": "c"}, id="other")), id="another id"),
        pytest.param(sse(chunk({"content": "c"})).replace(b'"index":0', b'"index":NaN'), id="no number"),
        pytest.param(sse(chunk({"content": "c"})).replace(b'"c"}', b'"c"x}'), id="no JSON"),
    ],
)
def test_what_is_wrong_with_text_alone_is_told_by_no_shape(odd: bytes) -> None:
    """A shape looks at each event; what is told must not depend on that."""
    body = sse(*[chunk({"content": word}) for word in ("a", "b", "b")]) + odd + sse(chunk({}, "stop"), "[DONE]")
    assert odd not in sse(chunk({"content": "c"}))
    assert (
        run(body, UNKNOWN, Settings(shapes=("event-ids",))).finding_names
        == inspected(body, UNKNOWN).finding_names
        == []
    )


def test_an_error_by_name_beside_arguments_that_come_again_is_told() -> None:
    """Judged or mended."""
    again = b"event: error\n" + sse(more('{"a":1}'))
    body = sse(header("f", '{"a":1}')) + again + sse(FINISH, "[DONE]")
    assert inspected(body, UNKNOWN).finding_names == repaired(body, UNKNOWN).finding_names
    assert "in-band-error" in inspected(body, UNKNOWN).finding_names


def test_the_second_part_of_a_name_is_kept_with_an_id_that_comes_again() -> None:
    """The chunk says something, though its id goes."""
    part = {"index": 0, "id": "call_0", "function": {"name": "_weather", "arguments": ""}}
    body = sse(header("get"), chunk({"tool_calls": [part]}), more("{}"), FINISH, "[DONE]")
    assert b"_weather" in repaired(body, replace(UNKNOWN, request={"tools": []})).out


def test_half_arguments_that_come_with_the_finish_are_not_lost() -> None:
    """A string that may hold an object waits, but not beyond the finish."""
    one = header("f", '"{\\"a\\"')
    one["choices"][0]["finish_reason"] = "tool_calls"
    out = repaired(sse(one, "[DONE]"), UNKNOWN).out
    assert arguments(out) == {0: '"{\\"a\\"'}
    assert finishes(out) == ["length"]


def test_a_placeholder_that_garbage_follows_comes_back() -> None:
    """What it stood for would have been an object."""
    body = sse(header("f", "{}"), header("g", "{}", 1), more('{"a":1}', 1), more("1}"))
    assert arguments(repaired(body, UNKNOWN).out) == {0: "{}1}", 1: '{"a":1}'}


def test_a_header_that_comes_again_behind_the_finish_says_nothing() -> None:
    """The finish is not moved behind it: the connection may break before it is said."""
    body = sse(header("f"), FINISH, header("f"))
    assert finishes(repaired(body, UNKNOWN, broken="reset").out) == ["tool_calls"]


def test_a_header_that_comes_again_with_the_finish_gets_no_arguments_behind_it() -> None:
    """`{}` stands before the first finish."""
    one = header("f")
    one["choices"][0]["finish_reason"] = "tool_calls"
    out = repaired(sse(one, one), UNKNOWN).out
    assert repaired(out, UNKNOWN).out == out
    assert arguments(out) == {0: "{}"}


def test_a_call_is_no_repetition_of_one_that_nobody_can_read() -> None:
    """The one that comes again is all that a client has."""
    body = sse(header("f", "ull"), more('{"a":1}'), {**header("f", '{"a":1}', 1)}, FINISH, "[DONE]")
    body = body.replace(b"call_1", b"call_0")
    assert arguments(repaired(body, UNKNOWN).out)[1] == '{"a":1}'


def test_a_decorated_name_is_that_of_a_tool_that_needs_arguments() -> None:
    """No `{}` is made up for it."""
    body = sse(header("functions.get_weather"), FINISH, "[DONE]")
    went = repaired(body, CHAT)
    assert arguments(went.out) == {0: ""}
    assert "lost-arguments" in went.finding_names


def test_a_finish_that_was_held_is_said_before_half_an_event() -> None:
    """It was said; nothing else is made up there."""
    body = sse(header("f", '{"a"'), FINISH, more(":1}")) + b'data: {"id":"c","obj'
    assert finishes(repaired(body, UNKNOWN).out) == ["tool_calls"]
    assert finishes(repaired(sse(header("f", '{"a":1}')) + b'data: {"id":"c","obj', UNKNOWN).out) == []


def misnamed(said: object) -> Payload:
    """A header whose arguments are under another key."""
    function = {"name": "f", "parameters": said}
    return chunk({"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]})


def test_arguments_in_another_form_throughout_are_mended() -> None:
    """Each of them goes at once."""
    pieces = [misnamed('{"a"'), chunk({"tool_calls": [{"index": 0, "function": {"parameters": ":1}"}}]})]
    assert arguments(repaired(sse(*pieces, FINISH, "[DONE]"), UNKNOWN).out) == {0: '{"a":1}'}
    assert b'"arguments":"{\\"a\\""' in b"".join(Session(UNKNOWN, Settings(SAFE)).feed(sse(pieces[0])))


STRAY: list[tuple[str, Payload]] = [
    ("no index", chunk({"tool_calls": [{"function": {"arguments": 'ney"}'}}]})),
    ("another object", chunk({"tool_calls": [{"id": "call_0", "function": {"name": "f", "arguments": '{"b":2}'}}]})),
    ("the old form", chunk({"function_call": {"arguments": "x"}})),
]


@pytest.mark.parametrize("stray", [one for _, one in STRAY], ids=[name for name, _ in STRAY])
def test_what_does_not_fit_a_whole_call_stays_as_it_came(stray: Payload) -> None:
    """Nobody knows whose it is: with an index, clients that pass over it would have no call any more."""
    body = sse(header("f", '{"a":1}'), stray)
    assert repaired(body, UNKNOWN).out == body


def test_no_end_is_made_of_arguments_that_clients_cannot_read() -> None:
    """Whatever was meant: joined, they are no JSON."""
    for body in (sse(header("f", '{"a":1}'), more("x:")), sse(header("f", ']{"a":1}'), more('{"a":1}'))):
        assert repaired(body, UNKNOWN).out == body


def test_a_last_event_without_its_end_makes_no_whole_call_a_broken_one() -> None:
    """Clients do not read it, so they have the call whole; what says the rest of one gets its end."""
    garbage = sse(header("f", '{"a":1}'), more(': 2}"')).rstrip()
    went = repaired(garbage, UNKNOWN)
    assert went.out == garbage
    assert "unterminated-event" in went.finding_names
    assert repaired(sse(header("f", '{"a"'), more(":1}")).rstrip(), UNKNOWN).out.count(b"\n\n") > 1


def test_no_arguments_are_made_at_a_finish_that_more_of_the_answer_follows() -> None:
    """They may come behind that."""
    thought = chunk({"reasoning_content": "Now"})
    body = sse(header("f"), FINISH, thought, more('{"a":1}'), "[DONE]")
    assert read(repaired(body, UNKNOWN).out) == [("f", '{"a":1}', True)]
    assert arguments(repaired(body, UNKNOWN).out) == {0: '{"a":1}'}
    assert arguments(repaired(sse(header("f"), FINISH, thought, "[DONE]"), UNKNOWN).out) == {0: "{}"}


def test_no_arguments_are_made_at_a_finish_that_an_error_follows() -> None:
    """Nobody knows what was meant."""
    body = sse(header("f"), FINISH, ERROR)
    assert repaired(body, UNKNOWN).out == body


def test_a_call_says_no_other_again_that_goes_on_with_arguments_of_its_own() -> None:
    """A `{}` was all that both had said."""
    again = chunk({"tool_calls": [{"index": 1, "id": "call_0", "function": {"name": "f", "arguments": "{}"}}]})
    body = sse(header("f", "{}"), again, more('{"a":1}'), FINISH, "[DONE]")
    assert read(repaired(body, UNKNOWN).out) == [("f", '{"a":1}', True), ("f", "{}", True)]
    assert read(repaired(sse(header("f", "{}"), again, FINISH, "[DONE]"), UNKNOWN).out) == [("f", "{}", True)]


def test_a_list_without_its_end_gets_none() -> None:
    """It is no event."""
    body = sse(header("f", '{"a":1}')) + b"data: [[]]"
    assert repaired(body, UNKNOWN).out == body
