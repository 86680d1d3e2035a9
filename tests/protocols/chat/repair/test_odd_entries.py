"""Chat Completions streams with two defects at once: repairs keep the calls, and each defect is reported once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, payloads, repaired, run, sse
from tests.protocols.chat.repair.test_end_of_stream import (
    CHAT,
    UNKNOWN,
    arguments,
    chunk,
    finishes,
    header,
    more,
)
from toolstream_core.engine.session import Session
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

FINISH = chunk({}, "tool_calls")
ERROR = {"error": {"message": "overloaded"}}


def entry(arguments: object, **more: Any) -> Payload:
    """Return a chunk with any arguments."""
    function = {"name": "f", "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function, **more}]})


def read(body: bytes) -> list[tuple[str, str, bool]]:
    """Return the calls of a stream."""
    return [(call.name, call.arguments, call.complete) for call in inspected(body, UNKNOWN).record.calls]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([header("f", '{"a"'), "[DONE]", more(":1}")], id="the rest after [DONE]"),
        pytest.param([header("f", '{"a"'), FINISH, "[DONE]", more(":1}")], id="finish, [DONE], the rest"),
        pytest.param([FINISH, header("f")], id="a header after the finish"),
        pytest.param([header("f"), ERROR, FINISH], id="no arguments, and an error before the finish"),
        pytest.param([header("f"), chunk({}, "length"), FINISH, "[DONE]"], id="no arguments, cut off, and a finish"),
        pytest.param([header("f"), header("g", '{"a"', 1), FINISH, "[DONE]"], id="no and incomplete arguments"),
        pytest.param([header("f", "{}"), header("g", "{}", 1), more('{"a":1}')], id="one {} is no placeholder"),
        pytest.param([header("f", '"{}"'), more('{"a":1}')], id="an encoded {} before the arguments"),
        pytest.param([header("f", "{}"), more('{"a":1}'), more('{"a":1}')], id="{}, then the same twice"),
        pytest.param([header("f", '{"a":"'), more("x"), more('{"a":"xyz"}')], id="cumulative inside a string"),
        pytest.param([more('{"a":1}'), FINISH, header("f", "", 1)], id="a later header after the finish"),
        pytest.param([more('{"a":'), more('{"a":"x"}'), header("f", '{"a')], id="cumulative, then a part repeated"),
        pytest.param([header("f", "{}"), more('"{\\"a\\":1}"')], id="{} before encoded arguments"),
        pytest.param([entry(False), more('{"a":1}')], id="a boolean before the arguments"),
        pytest.param([entry(["x"]), more('{"a":1}')], id="a list before the arguments"),
    ],
)  # fmt: skip
def test_repairs_keep_the_calls(events: list[Payload | str]) -> None:
    """The calls of a stream with two defects are the same before and after the repair."""
    body = sse(*events)
    assert read(repaired(body, UNKNOWN).out) == read(body)


def test_no_arguments_are_added_before_late_arguments() -> None:
    """If every chunk has a finish reason, that of a header adds no `{}` before the call's arguments."""
    body = sse(
        {**header("f", "{}"), "choices": [{**header("f", "{}")["choices"][0], "finish_reason": "tool_calls"}]},
        {**header("g", "", 1), "choices": [{**header("g", "", 1)["choices"][0], "finish_reason": "tool_calls"}]},
        {**more("{}", 1), "choices": [{**more("{}", 1)["choices"][0], "finish_reason": "tool_calls"}]},
    )
    assert arguments(repaired(body, UNKNOWN).out) == {0: "{}", 1: "{}"}


@pytest.mark.parametrize("garbage", ["1}", "[TOOL_CALLS]null"])
def test_no_end_is_added_after_garbage(garbage: str) -> None:
    """No end is added to a truncated stream whose arguments end with garbage."""
    out = repaired(sse(header("f", '{"a":'), more("1}"), more(garbage)), UNKNOWN).out
    assert finishes(out) == []
    assert b"[DONE]" not in out


@pytest.mark.parametrize("key", ["function_call", "message"])
def test_a_repair_shows_no_call_that_was_hidden(key: str) -> None:
    """A legacy call or a message that a client ignores is still ignored after the repair removed repeated entries."""
    function = {"name": "f", "arguments": '{"a":1}'}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    delta: Payload = {"tool_calls": [call]}
    one = chunk({**delta, "function_call": function} if key == "function_call" else delta)
    if key == "message":
        one["choices"][0]["message"] = {"tool_calls": [{**call, "id": "c2"}]}
    body = sse(one, one)
    assert read(body) == [("f", '{"a":1}', True)]
    assert read(repaired(body, UNKNOWN).out) == [("f", '{"a":1}', True)]


def test_two_finish_reasons_inside_arguments_are_moved_after_them() -> None:
    """Of two finish reasons inside arguments, one is sent after them."""
    out = repaired(sse(header("f", '{"a"'), FINISH, FINISH, more(":1}"), "[DONE]"), UNKNOWN)
    assert finishes(out.out) == ["tool_calls"]
    assert payloads(out.out)[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert "cut-off-call" not in out.record.changes


@pytest.mark.parametrize("between", [ERROR, chunk({"reasoning_content": "hm"})], ids=["an error", "a thought"])
def test_a_finish_reason_changed_to_length_is_reported(between: Payload) -> None:
    """If a finish reason was changed to `length` before the rest of the arguments, `cut-off-call` is reported."""
    outcome = repaired(sse(header("f", '{"a"'), FINISH, between, more(":1}")), UNKNOWN)
    assert outcome.out.count(b'"length"') == 1
    assert outcome.finding_names.count("cut-off-call") == 1


def test_text_after_a_finish_reason_is_always_reported() -> None:
    """Text after a finish reason is reported with any repairs and shapes."""
    body = sse(*[chunk({"content": word}) for word in ("a", "b")], chunk({}, "stop"), chunk({"content": "c"}), "[DONE]")
    for settings in (Settings(), Settings(SAFE), Settings(shapes=("event-ids",))):
        assert run(body, UNKNOWN, settings).finding_names == ["early-finish"]


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(sse(chunk({"content": "c"}, id="other")), id="another id"),
        pytest.param(sse(chunk({"content": "c"})).replace(b'"index":0', b'"index":NaN'), id="not a number"),
        pytest.param(sse(chunk({"content": "c"})).replace(b'"c"}', b'"c"x}'), id="not JSON"),
    ],
)
def test_defects_of_text_are_not_reported_with_a_shape(odd: bytes) -> None:
    """A defect of text chunks that is not reported without a shape is not reported with a shape."""
    body = sse(*[chunk({"content": word}) for word in ("a", "b", "b")]) + odd + sse(chunk({}, "stop"), "[DONE]")
    assert odd not in sse(chunk({"content": "c"}))
    assert (
        run(body, UNKNOWN, Settings(shapes=("event-ids",))).finding_names
        == inspected(body, UNKNOWN).finding_names
        == []
    )


def test_an_error_event_with_repeated_arguments_is_reported() -> None:
    """An `error` event with repeated arguments is reported with and without repairs."""
    repeated = b"event: error\n" + sse(more('{"a":1}'))
    body = sse(header("f", '{"a":1}')) + repeated + sse(FINISH, "[DONE]")
    assert inspected(body, UNKNOWN).finding_names == repaired(body, UNKNOWN).finding_names
    assert "in-band-error" in inspected(body, UNKNOWN).finding_names


def test_the_second_part_of_a_name_is_kept_with_a_repeated_id() -> None:
    """A chunk with the second part of a name is kept, although its repeated id is removed."""
    part = {"index": 0, "id": "call_0", "function": {"name": "_weather", "arguments": ""}}
    body = sse(header("get"), chunk({"tool_calls": [part]}), more("{}"), FINISH, "[DONE]")
    assert b"_weather" in repaired(body, replace(UNKNOWN, request={"tools": []})).out


def test_incomplete_arguments_with_the_finish_reason_are_sent() -> None:
    """Incomplete arguments in the chunk of the finish reason are sent, and the finish reason becomes `length`."""
    one = header("f", '"{\\"a\\"')
    one["choices"][0]["finish_reason"] = "tool_calls"
    out = repaired(sse(one, "[DONE]"), UNKNOWN).out
    assert arguments(out) == {0: '"{\\"a\\"'}
    assert finishes(out) == ["length"]


def test_a_placeholder_before_garbage_is_sent() -> None:
    """A withheld placeholder is sent if garbage follows it, not an object."""
    body = sse(header("f", "{}"), header("g", "{}", 1), more('{"a":1}', 1), more("1}"))
    assert arguments(repaired(body, UNKNOWN).out) == {0: "{}1}", 1: '{"a":1}'}


def test_a_finish_reason_is_not_moved_after_a_repeated_header() -> None:
    """A finish reason is not held for a repeated header after it."""
    body = sse(header("f"), FINISH, header("f"))
    assert finishes(repaired(body, UNKNOWN, broken="reset").out) == ["tool_calls"]


def test_no_arguments_are_added_to_a_header_repeated_with_the_finish_reason() -> None:
    """`{}` is added once if the header and finish reason are repeated."""
    one = header("f")
    one["choices"][0]["finish_reason"] = "tool_calls"
    out = repaired(sse(one, one), UNKNOWN).out
    assert repaired(out, UNKNOWN).out == out
    assert arguments(out) == {0: "{}"}


def test_a_call_does_not_repeat_an_invalid_call() -> None:
    """A call is not dropped as a repetition of a call with invalid arguments."""
    body = sse(header("f", "ull"), more('{"a":1}'), {**header("f", '{"a":1}', 1)}, FINISH, "[DONE]")
    body = body.replace(b"call_1", b"call_0")
    assert arguments(repaired(body, UNKNOWN).out)[1] == '{"a":1}'


def test_no_arguments_are_added_to_a_decorated_name() -> None:
    """No `{}` is added if the tool of a decorated name needs arguments."""
    body = sse(header("functions.get_weather"), FINISH, "[DONE]")
    outcome = repaired(body, CHAT)
    assert arguments(outcome.out) == {0: ""}
    assert "lost-arguments" in outcome.finding_names


def test_a_held_finish_reason_is_sent_before_a_truncated_event() -> None:
    """A held finish reason is sent before a truncated event; none is added there."""
    body = sse(header("f", '{"a"'), FINISH, more(":1}")) + b'data: {"id":"c","obj'
    assert finishes(repaired(body, UNKNOWN).out) == ["tool_calls"]
    assert finishes(repaired(sse(header("f", '{"a":1}')) + b'data: {"id":"c","obj', UNKNOWN).out) == []


def misnamed(arguments: object) -> Payload:
    """Return a header with its arguments under another key."""
    function = {"name": "f", "parameters": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]})


def test_misnamed_arguments_are_repaired_at_once() -> None:
    """Each fragment under another key is repaired and sent at once."""
    chunks = [misnamed('{"a"'), chunk({"tool_calls": [{"index": 0, "function": {"parameters": ":1}"}}]})]
    assert arguments(repaired(sse(*chunks, FINISH, "[DONE]"), UNKNOWN).out) == {0: '{"a":1}'}
    assert b'"arguments":"{\\"a\\""' in b"".join(Session(UNKNOWN, Settings(SAFE)).feed(sse(chunks[0])))


FOREIGN: list[tuple[str, Payload]] = [
    ("no index", chunk({"tool_calls": [{"function": {"arguments": 'ney"}'}}]})),
    ("another object", chunk({"tool_calls": [{"id": "call_0", "function": {"name": "f", "arguments": '{"b":2}'}}]})),
    ("the legacy form", chunk({"function_call": {"arguments": "x"}})),
]


@pytest.mark.parametrize("foreign", [one for _, one in FOREIGN], ids=[name for name, _ in FOREIGN])
def test_a_foreign_entry_after_a_complete_call_is_unchanged(foreign: Payload) -> None:
    """A foreign entry after a complete call is forwarded unchanged: with an index, it would damage the call."""
    body = sse(header("f", '{"a":1}'), foreign)
    assert repaired(body, UNKNOWN).out == body


def test_no_end_is_added_after_invalid_joined_arguments() -> None:
    """No end is added if the joined arguments are not valid JSON."""
    for body in (sse(header("f", '{"a":1}'), more("x:")), sse(header("f", ']{"a":1}'), more('{"a":1}'))):
        assert repaired(body, UNKNOWN).out == body


def test_an_unterminated_last_event_does_not_break_a_complete_call() -> None:
    """An unterminated event is terminated if it completes a call, and not if it would damage a complete call."""
    garbage = sse(header("f", '{"a":1}'), more(': 2}"')).rstrip()
    outcome = repaired(garbage, UNKNOWN)
    assert outcome.out == garbage
    assert "unterminated-event" in outcome.finding_names
    assert repaired(sse(header("f", '{"a"'), more(":1}")).rstrip(), UNKNOWN).out.count(b"\n\n") > 1


def test_no_arguments_are_added_before_further_events() -> None:
    """`{}` is not added at a finish reason while further events may contain the arguments, but at `[DONE]`."""
    thought = chunk({"reasoning_content": "Now"})
    body = sse(header("f"), FINISH, thought, more('{"a":1}'), "[DONE]")
    assert read(repaired(body, UNKNOWN).out) == [("f", '{"a":1}', True)]
    assert arguments(repaired(body, UNKNOWN).out) == {0: '{"a":1}'}
    assert arguments(repaired(sse(header("f"), FINISH, thought, "[DONE]"), UNKNOWN).out) == {0: "{}"}


def test_no_arguments_are_added_before_an_error() -> None:
    """No `{}` is added at a finish reason that an error follows."""
    body = sse(header("f"), FINISH, ERROR)
    assert repaired(body, UNKNOWN).out == body


def test_a_call_with_later_arguments_is_no_repetition() -> None:
    """Two calls with `{}` and one id are both kept if one gets arguments later."""
    again = chunk({"tool_calls": [{"index": 1, "id": "call_0", "function": {"name": "f", "arguments": "{}"}}]})
    body = sse(header("f", "{}"), again, more('{"a":1}'), FINISH, "[DONE]")
    assert read(repaired(body, UNKNOWN).out) == [("f", '{"a":1}', True), ("f", "{}", True)]
    assert read(repaired(sse(header("f", "{}"), again, FINISH, "[DONE]"), UNKNOWN).out) == [("f", "{}", True)]


def test_an_unterminated_list_is_not_terminated() -> None:
    """An unterminated last line with a list, which is no event, is not terminated."""
    body = sse(header("f", '{"a":1}')) + b"data: [[]]"
    assert repaired(body, UNKNOWN).out == body
