"""Messages streams that end early, overlap, or say odd things: what repairs must not do to them, and what they cost."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from tests.counted import functions_called
from tests.invariants.driven import Outcome, Payload, exchange, inspected, repaired, run
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.anthropic.resolver import AnthropicCalls
from toolstream_core.settings import SAFE, Settings
from toolstream_core.wire.sse import SseFramer
from toolstream_core.wire.write import encoded

HERE = StreamFacts(path="/v1/messages", content_type="text/event-stream")
"""Nothing is known of the tools."""


def event(kind: str, **said: Any) -> bytes:
    """One event."""
    payload = {"type": kind, **said}
    return f"event: {kind}\ndata: ".encode() + encoded(payload) + b"\n\n"


def start(index: Any, kind: str = "tool_use", **said: Any) -> bytes:
    """A block starts; a tool's with an id and a name."""
    tool = {"id": f"toolu_{index}", "name": "f", "input": {}} if kind.endswith("tool_use") else {}
    return event("content_block_start", index=index, content_block={"type": kind, **tool, **said})


def more(index: Any, text: Any, kind: str = "input_json_delta") -> bytes:
    """A delta."""
    key = {"input_json_delta": "partial_json", "text_delta": "text", "thinking_delta": "thinking"}[kind]
    return event("content_block_delta", index=index, delta={"type": kind, key: text})


def stop(index: Any) -> bytes:
    """A block stops."""
    return event("content_block_stop", index=index)


HEAD = event("message_start", message={"id": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}})
DELTA = event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 1})
STOP = event("message_stop")
CALL = start(0) + more(0, '{"a":1}') + stop(0)


def frames(body: bytes) -> list[tuple[str, Payload]]:
    """Every event, by name; fails where one is no JSON or lacks its end."""
    framer = SseFramer()
    cut = [*framer.feed(body), *framer.feed(b"")]
    assert not any(frame.trailing for frame in cut)
    return [(frame.name, json.loads(frame.data)) for frame in cut if frame.data is not None]


def said(body: bytes, key: str = "partial_json") -> str:
    """What deltas of one kind say, joined."""
    deltas = [payload.get("delta") for _, payload in frames(body)]
    return "".join(str(delta.get(key, "")) for delta in deltas if isinstance(delta, dict))


def both(body: bytes) -> list[Outcome]:
    """At a clean end, and where the connection broke."""
    return [repaired(body, HERE), repaired(body, HERE, broken="reset")]


def test_a_header_alone_is_no_call() -> None:
    """Nothing is added that would make one with `{}` of it."""
    for went in both(HEAD + start(0)):
        assert went.out == HEAD + start(0)
        assert "missing-finish" not in went.finding_names
    assert "truncated-stream" in repaired(HEAD + start(0), HERE).finding_names


def test_an_empty_object_that_nothing_stops_is_no_call() -> None:
    """It may stand for arguments that did not come; not where the tool takes none."""
    body = HEAD + start(0, name="ping") + more(0, "{}")
    assert repaired(body, HERE).out == body
    assert b"message_stop" in repaired(body, exchange("anthropic")).out


def test_a_call_without_arguments_that_was_stopped_is_one() -> None:
    """Its stop says that it is over."""
    out = repaired(HEAD + start(0) + stop(0), HERE).out
    assert [name for name, _ in frames(out)][-2:] == ["message_delta", "message_stop"]


def test_a_limit_ends_no_call() -> None:
    """A header that `max_tokens` follows is not stopped; one that `tool_use` follows is."""
    cut = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={"output_tokens": 1})
    assert repaired(HEAD + start(0) + cut + STOP, HERE).out == HEAD + start(0) + cut + STOP
    assert stop(0) in repaired(HEAD + start(0) + DELTA + STOP, HERE).out
    usage = event("message_delta", usage={"output_tokens": 1})
    assert repaired(HEAD + start(0) + usage, HERE).out == HEAD + start(0) + usage


@pytest.mark.parametrize("pieces", [('"{\\"ci', 'ty\\": ', '\\"Pari'), ('": 3}',), ('"',)])
def test_arguments_that_begin_with_a_quote_go_out(pieces: tuple[str, ...]) -> None:
    """Cut off, or without their head, they are nobody's whole arguments, and all that the client has."""
    body = HEAD + start(0) + b"".join(more(0, piece) for piece in pieces)
    for went in both(body):
        assert said(went.out) == "".join(pieces)
        assert stop(0) not in went.out
        assert "message_stop" not in [name for name, _ in frames(went.out)]


@pytest.mark.parametrize("at", range(1, len(DELTA + STOP)))
def test_nothing_is_joined_to_a_cut_event(at: int) -> None:
    """An ending that is made up is an event of its own, and the fragment is gone; or the stream ends as it did."""
    body = HEAD + CALL + (DELTA + STOP)[:at]
    for went in both(body):
        if went.out != body:
            assert [name for name, _ in frames(went.out)][-2:] == ["message_delta", "message_stop"]


def test_a_cut_event_of_another_kind_is_no_end() -> None:
    """A second call had begun: whether the answer was whole nobody knows."""
    for at in range(1, len(start(1)) - 2):
        body = HEAD + CALL + start(1)[:at]
        assert repaired(body, HERE).out == body


def test_a_cut_reason_that_is_another_is_no_end() -> None:
    """Only `tool_use` is what would be said."""
    other = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={})
    body = HEAD + CALL + other[: other.index(b"tokens")]
    assert repaired(body, HERE).out == body


def test_the_last_event_whole_but_for_its_blank_line() -> None:
    """What was kept goes out behind it, as an event of its own, also where the connection broke."""
    body = HEAD + start(0) + more(0, '"{').rstrip()
    assert said(repaired(body, HERE, broken="reset").out) == '"{'


@pytest.mark.parametrize("rest", [b"", more(0, '{"a"'), more(0, '{"a"') + DELTA + STOP, event("error", error={})])
def test_text_in_a_call_that_is_cut_off_goes_out(rest: bytes) -> None:
    """In its place: before whatever ends the message."""
    body = HEAD + start(0) + more(0, "Let me look.", "text_delta") + rest
    for went in both(body):
        assert said(went.out, "text") == "Let me look."
        assert went.out.index(b"Let me") < went.out.find(b"message_delta") % (len(went.out) + 1)


def test_text_in_a_call_that_goes_on_where_it_came_is_no_change() -> None:
    """Nothing is mended."""
    body = HEAD + start(0) + more(0, "Let me look.", "text_delta")
    for went in both(body):
        assert (went.out, went.record.changed) == (body, 0)


def test_text_in_a_whole_call_goes_behind_it() -> None:
    """In a block of its own, and what follows counts on from there."""
    body = HEAD + start(0) + more(0, "So.", "text_delta") + more(0, '{"a":1}') + stop(0) + start(1) + stop(1)
    assert [
        p["index"]
        for name, p in frames(repaired(body + DELTA + STOP, HERE).out)
        if name.endswith("_start") and "index" in p
    ] == [0, 1, 2]


def test_a_stop_that_says_more_than_a_stop_goes_on() -> None:
    """Whatever it is, it is not lost."""
    odd = b'event: content_block_stop\ndata: {"choices":[{"delta":{"content":"be"}}]}\n\n'
    last = b'event: message_stop\ndata: {"text":"be"}\n\n'
    body = HEAD + CALL + odd + DELTA + STOP + last
    assert repaired(body, HERE).out == body


def test_arguments_behind_a_stop_go_on() -> None:
    """They are nothing that a repair could place."""
    body = HEAD + CALL + more(0, '{"pas') + DELTA + STOP
    assert repaired(body, HERE).out == body


def test_a_doubled_call_with_text_in_it_leaves_the_text() -> None:
    """The call goes, the text does not, and is told."""
    again = start(1, id="toolu_0") + more(1, "Hm.", "text_delta") + more(1, '{"a":1}') + stop(1)
    out, _ = went = repaired(HEAD + CALL + again + DELTA + STOP, HERE)
    assert set(went.finding_names) == {"foreign-delta", "doubled-call"}
    assert out.count(b"tool_use") == 2
    assert said(out, "text") == "Hm."


def test_behind_a_doubled_call_indexes_are_right() -> None:
    """The next block is where it belongs on the wire, and moves for the client; nothing is told of that."""
    again = start(1, id="toolu_0") + more(1, '{"a":1}') + stop(1)
    went = repaired(HEAD + CALL + again + start(2) + more(2, '{"b":1}') + stop(2) + DELTA + STOP, HERE)
    assert went.finding_names == ["doubled-call"]
    assert went.out == HEAD + CALL + (start(1, id="toolu_2") + more(1, '{"b":1}') + stop(1)) + DELTA + STOP


def test_a_server_tool_is_not_stopped_inside_its_input() -> None:
    """The block behind it waits for the rest."""
    result = start(1, "web_search_tool_result", tool_use_id="toolu_0", content=[])
    head = HEAD + start(0, "server_tool_use") + more(0, '{"query": "s')
    for went in both(head + result):
        assert went.out == head + result
    tail = more(0, 'un"}') + stop(0)
    assert (
        repaired(head + result + tail + stop(1) + DELTA + STOP, HERE).out
        == head + tail + result + stop(1) + DELTA + STOP
    )


FOREIGN = [
    start(3, "thinking", thinking="", signature=""),
    more(3, "hm", "thinking_delta"),
    event("content_block_delta", index=3, delta={"type": "signature_delta", "signature": "c2ln"}),
    stop(3),
    start(4, "server_tool_use"),
    more(4, '{"q"'),
    more(4, ":1}"),
    stop(4),
    start(5, "web_search_tool_result", tool_use_id="toolu_4", content=[]),
    stop(5),
    start(6, "mcp_tool_use", server_name="s"),
    more(6, "{}"),
    stop(6),
    start(7, "container_upload", file_id="x"),
    stop(7),
    start(8, "compaction", content=None),
    event("content_block_delta", index=8, delta={"type": "compaction_delta", "content": "so far"}),
    stop(8),
    start(9, "new_tool_use"),
    more(9, '{"new":'),
    more(9, "1}"),
    stop(9),
    start(10, "text", text=""),
    more(10, "So", "text_delta"),
    event("content_block_delta", index=10, delta={"type": "citations_delta", "citation": {"cited_text": "x"}}),
    stop(10),
]


def test_what_a_client_does_not_run_goes_unharmed() -> None:
    """Also where something else is mended: every block keeps its events, under the index at which it started."""
    body = HEAD + start(2, input=None) + more(2, '{"a":1}') + stop(2) + b"".join(FOREIGN) + DELTA + STOP
    went = repaired(body, HERE)
    assert set(went.finding_names) == {"missing-input", "offset-index"}
    moved = [(name, {**p, "index": p["index"] - 2}) for name, p in frames(b"".join(FOREIGN))]
    assert [one for one in frames(went.out) if one[1].get("index", 0) > 0] == moved
    assert [call.name for call in went.record.calls if call.kind == "function"] == ["f"]


ODD: list[Any] = [None, [], {}, [1], {"a": {"b": [1]}}, 1.5, -1, True, "", "x", "0", 10**19]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_odd_types_raise_nothing(odd: Any) -> None:
    """Wherever they stand, everything goes on."""
    body = HEAD + start(odd) + more(odd, '{"a":') + more(odd, odd) + more(odd, "1}") + stop(odd)
    body += event("message_delta", delta={"stop_reason": odd}, usage=odd) + event("message_delta", delta=odd)
    body += event("content_block_start", index=1, content_block=odd) + event("ping", type=odd) + STOP
    repaired(body, HERE)
    body = HEAD + start(0, id=odd, name=odd, input=odd) + stop(0) + start(1, id=odd, name=odd, input=odd) + stop(1)
    repaired(body + DELTA + STOP, HERE)


def steps(make: Any, count: int) -> list[int]:
    """How many Python calls each tenth of so many blocks takes."""
    line = Session(exchange("anthropic"), Settings(SAFE))
    line.feed(HEAD)
    bodies = [b"".join(make(at) for at in range(tenth * count // 10, (tenth + 1) * count // 10)) for tenth in range(10)]
    taken = []
    for body in bodies:
        chunks = [one + b"\n\n" for one in body.split(b"\n\n")[:-1]]
        taken.append(functions_called(partial(_fed, line, chunks), builtins=False))
    assert line.error is None
    return taken


def _fed(line: Session, chunks: list[bytes]) -> None:
    for chunk in chunks:
        line.feed(chunk)


MAKES = {
    "calls": lambda at: start(at) + more(at, '{"a":1}') + stop(at),
    "text": lambda at: start(at, "text", text="") + more(at, "a", "text_delta") + stop(at),
    "one id": lambda at: start(at, id="toolu_1") + more(at, f'{{"a":{at}}}') + stop(at),
    "offset": lambda at: start(at + 1) + more(at + 1, '{"a":1}') + stop(at + 1),
    "one index": lambda at: start(0, id=f"toolu_{at}") + more(0, '{"a":1}') + stop(0),
    "never stopped": lambda at: start(at) + more(at, '{"a":1}'),
    "half, never stopped": lambda at: start(at) + more(at, '{"a":'),
    "stopped twice": lambda at: start(at) + more(at, '{"a":1}') + stop(at) + stop(at),
}


@pytest.mark.parametrize("name", MAKES)
def test_thousands_of_blocks_cost_the_same_each(name: str) -> None:
    """The last ones as much as the first ones."""
    taken = steps(MAKES[name], 500)
    assert taken[-1] < 1.5 * taken[1]


def test_what_is_told_is_the_same_without_repairs() -> None:
    """For streams that were cut, too."""
    body = HEAD + start(0) + more(0, "Let me look.", "text_delta") + more(0, '"{\\"a') + start(1) + more(1, '{"a":1}')
    for at in range(len(HEAD), len(body)):
        assert repaired(body[:at], HERE).finding_names == inspected(body[:at], HERE).finding_names


def test_stray_text_that_its_event_line_names_alone_goes_as_it_came() -> None:
    """Its type is added to nothing that is not repaired otherwise."""
    bare = b'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"Let me look."}}\n\n'
    assert bare in repaired(start(0) + bare, HERE).out


def indexes(body: bytes, kind: str) -> list[Any]:
    """The indexes of all events of one kind."""
    return [payload.get("index") for name, payload in frames(body) if name == kind]


@pytest.mark.parametrize("stray", [0, 1, 7, None, -1])
def test_arguments_of_nobody_become_no_other_calls(stray: Any) -> None:
    """Two calls are open, and where blocks get other indexes they get one that no block has."""
    f, g = start(1, name="f"), start(2, name="g")
    body = HEAD + more(0, '{"lost"') + f + g + more(5 if stray == 1 else stray, '{"b":') + stop(2) + DELTA + STOP
    out = repaired(body, HERE).out
    assert indexes(out, "content_block_start") == [0, 1]
    assert all(index >= AnthropicCalls.foreign_index for index in indexes(out, "content_block_delta"))


def test_arguments_of_nobody_are_the_one_open_calls() -> None:
    """Which is a guess; of two nobody could tell."""
    body = HEAD + start(0) + more(3, '{"a":1}') + stop(0) + DELTA + STOP
    assert indexes(repaired(body, HERE).out, "content_block_delta") == [0]


def test_arguments_at_an_index_that_text_took_over_are_the_calls() -> None:
    """A block of text has none."""
    text = start(0, "text", text="")
    body = HEAD + start(0) + text + more(0, '{"a":') + more(0, "1}") + DELTA + STOP
    went = repaired(body, HERE)
    assert went.calls == [("f", {"a": 1})]
    assert inspected(went.out, HERE).calls == went.calls


@pytest.mark.parametrize("between", [more(0, ""), more(0, "{}"), more(0, "") + more(0, "{}")])
def test_a_placeholder_is_one_whatever_says_nothing_behind_it(between: bytes) -> None:
    """The client gets the arguments alone."""
    body = HEAD + start(0) + more(0, "{}") + between + more(0, '{"a":1}') + stop(0) + DELTA + STOP
    assert said(repaired(body, HERE).out) == '{"a":1}'


def test_a_placeholder_that_waited_with_its_block_goes_on() -> None:
    """Nothing of it is lost where the body ends."""
    body = HEAD + start(0) + start(1) + more(1, "{}")
    assert said(repaired(body, HERE).out) == "{}"


def test_a_doubled_call_to_which_arguments_come_late_is_none() -> None:
    """It comes back with its header; text that went on stays where it went."""
    again = start(1, id="toolu_0") + more(1, "Hm.", "text_delta") + stop(1)
    body = HEAD + start(0) + stop(0) + again + more(1, '{"a":1}') + DELTA + STOP
    went = repaired(body, HERE)
    assert said(went.out, "text") == "Hm."
    assert inspected(went.out, HERE).calls == [("f", {}), ("f", {"a": 1})]


def test_a_call_that_is_said_again_and_not_stopped_is_dropped() -> None:
    """Its arguments are whole, and nothing more came."""
    again = start(1, id="toolu_0") + more(1, '{"a": 1}')
    assert inspected(repaired(HEAD + CALL + again + DELTA + STOP, HERE).out, HERE).calls == [("f", {"a": 1})]


MISTYPED = event("content_block_delta", index=0, delta={"type": 2, "partial_json": "{}"})


@pytest.mark.parametrize("first", [start(0), start(0) + more(0, '{"a"') + stop(0), start(0) + MISTYPED + stop(0)])
def test_a_call_that_was_said_before_in_part_is_not_dropped(first: bytes) -> None:
    """The whole one is the one that the client needs."""
    again = start(1, id="toolu_0") + more(1, "{}") + stop(1)
    out = repaired(HEAD + first + again + DELTA + STOP, HERE).out
    assert ("f", "{}", True) in [
        (call.name, call.arguments, call.complete) for call in inspected(out, HERE).record.calls
    ]


@pytest.mark.parametrize("rest", ["}", '{"', "\ud83d"])
def test_whole_arguments_with_something_begun_behind_them_are_not_over(rest: str) -> None:
    """Nothing said so, and more was to come."""
    body = HEAD + start(0) + more(0, '{"a":') + more(0, "1}" + rest)
    assert b"message_stop" not in repaired(body, HERE).out


def test_a_block_that_waited_in_vain_is_no_change() -> None:
    """It goes on as it came, at the end."""
    block = start(1, "server_tool_use")
    body = HEAD + start(0, "server_tool_use") + block
    went = repaired(body, HERE)
    assert (went.out, went.record.changed) == (body, 0)
    assert "overlapping-blocks" in went.finding_names


@pytest.mark.parametrize("quiet", [event("ping"), b": keep-alive\n\n", event("vendor", index=0), b"data: 3\n\n"])
@pytest.mark.parametrize("count", [1, 12])
def test_what_concerns_no_block_stays_behind_an_empty_object(quiet: bytes, count: int) -> None:
    """It may be a placeholder, and waits for what follows; not for long."""
    whole = HEAD + start(0) + more(0, "{}") + count * quiet + stop(0) + DELTA + STOP
    assert repaired(whole, HERE).out == whole
    begun = HEAD + start(0) + more(0, "{}") + count * quiet
    assert repaired(begun, HERE, broken="reset").out == begun


def test_a_start_that_comes_again_behind_our_own_stop_is_no_other_call() -> None:
    """The block was stopped since another one started."""
    thinking = start(1, "thinking", thinking="")
    body = HEAD + start(0) + more(0, '{"a":1}') + thinking + start(0) + stop(0) + stop(1) + DELTA + STOP
    assert inspected(repaired(body, HERE).out, HERE).calls == [("f", {"a": 1})]


def test_arguments_of_nobody_leave_the_message_open() -> None:
    """A call is missing, so that nothing says that the turn is over."""
    body = HEAD + more(5, '{"b"') + start(0) + more(0, '{"a":1}')
    assert b"message_stop" not in repaired(body, HERE).out


@pytest.mark.parametrize("nothing", ["", "{}", " {} ", "null", None])
def test_a_start_with_an_input_that_says_nothing_has_no_arguments(nothing: Any) -> None:
    """No delta is made of it, which would be a whole call's."""
    out = repaired(HEAD + start(0, input=nothing), HERE).out
    assert out == HEAD + start(0)


def test_text_behind_a_stop_makes_no_other_call_of_the_one_said_again() -> None:
    """Only arguments would."""
    body = HEAD + CALL + more(0, "\n", "text_delta") + start(0) + more(0, '{"a":1}') + stop(0) + DELTA + STOP
    assert inspected(repaired(body, HERE).out, HERE).calls == [("f", {"a": 1})]


def test_arguments_that_are_an_object_may_be_a_placeholder_too() -> None:
    """The client gets what follows alone."""
    body = HEAD + start(0) + more(0, {}) + more(0, '{"a":') + more(0, "1}") + stop(0) + DELTA + STOP
    assert said(repaired(body, HERE).out) == '{"a":1}'


def test_a_call_behind_the_stop_of_the_message_is_over_with_the_next() -> None:
    """That one is no repetition."""
    body = HEAD + CALL + DELTA + STOP + start(1) + STOP
    assert repaired(body, HERE).out.count(STOP) == 2
    assert repaired(HEAD + CALL + DELTA + STOP + STOP, HERE).out.count(STOP) == 1


def test_a_call_that_comes_again_behind_our_own_stop_is_said_once() -> None:
    """With all its arguments."""
    body = HEAD + start(0) + more(0, '{"a":1}') + DELTA + start(0) + more(0, '{"a":1}') + stop(0) + STOP
    assert said(repaired(body, HERE).out) == '{"a":1}'


def test_a_usual_piece_amid_arguments_that_come_so_far_each_time_is_not_said_twice() -> None:
    """What the client has is what the next ones go on from."""
    pieces = ('{"_', '{"_pe', "r", '{"_person": 1}')
    body = HEAD + start(0) + b"".join(more(0, piece) for piece in pieces) + stop(0) + DELTA + STOP
    assert said(repaired(body, HERE).out) == '{"_person": 1}'


def test_a_stray_piece_is_not_put_behind_whole_arguments() -> None:
    """The call would be broken by it."""
    body = HEAD + start(0) + more(0, '{"a":1}') + more(1, "iro") + stop(0) + DELTA + STOP
    assert indexes(repaired(body, HERE).out, "content_block_delta") == [0, AnthropicCalls.foreign_index + 1]


@pytest.mark.parametrize(("first", "stops"), [('{"a":1}', 0), (']{"a":1}', 1)], ids=["whole", "broken"])
def test_a_start_that_comes_again_behind_arguments_goes_on_as_it_came(first: str, stops: int) -> None:
    """Clients forget there what came, so that arguments behind it are their call's; nobody knows what it is for."""
    body = HEAD + start(0) + more(0, first) + start(0) + more(0, '{"b":2}')
    for went in both(body):
        assert went.out.startswith(body)
        assert "repeated-start" in went.finding_names
    assert repaired(body, HERE).out.count(stop(0)) == stops


def test_a_start_that_comes_again_behind_arguments_goes_on_with_its_block_too() -> None:
    """Where that waits for another one."""
    waits = start(1) + more(1, '{"a":1}') + start(1) + more(1, '{"b":2}') + stop(1)
    went = repaired(HEAD + start(0, "text", text="") + waits + stop(0) + DELTA + STOP, HERE)
    assert went.out == HEAD + start(0, "text", text="") + stop(0) + waits + DELTA + STOP


def test_a_call_that_starts_again_with_nothing_behind_it_is_not_ended() -> None:
    """Its arguments are those before, which clients forget: an end would make `{}` of it."""
    body = HEAD + start(0) + more(0, '{"a":1}') + start(0)
    assert repaired(body, HERE).out == body


def test_text_within_a_call_stays_before_the_next_one() -> None:
    """Where neither is stopped."""
    body = HEAD + start(0) + more(0, "Oslo", "text_delta") + start(1)
    for went in both(body):
        assert went.out == body


def test_a_last_event_without_its_end_makes_no_whole_call_a_broken_one() -> None:
    """Clients do not read it, so they have the call whole."""
    body = HEAD + start(0) + more(0, '{"a":1}') + start(1) + more(1, '{"a":1}') + more(0, "x").rstrip()
    assert repaired(body, HERE).out.endswith(more(0, "x").rstrip())


@pytest.mark.parametrize("said", [1.0, True, ["{}"]])
def test_a_piece_that_is_neither_text_nor_an_object_is_none_of_any_arguments(said: Any) -> None:
    """It goes on as it came: as text it would spoil the arguments."""
    body = HEAD + start(0) + more(0, said) + more(0, '{"a":1}') + stop(0) + DELTA + STOP
    went = repaired(body, HERE)
    assert went.out == body
    assert went.finding_names == ["object-arguments"]


def test_arguments_of_nobody_that_begin_anew_are_not_put_to_the_open_call() -> None:
    """They are another call's."""
    body = HEAD + start(0) + more(0, '{"a":1') + more(1, '{"a": 1}') + more(0, "}") + stop(0) + DELTA + STOP
    out = repaired(body, HERE).out
    assert more(0, '{"a":1') + more(AnthropicCalls.foreign_index + 1, '{"a": 1}') + more(0, "}") in out


@pytest.mark.parametrize("stray", [('{"b":2}',), ('{"b":', "2}"), ("x",)], ids=str)
def test_arguments_of_nobody_are_not_those_of_a_call_that_has_its_own(stray: tuple[str, ...]) -> None:
    """Under whatever index they come: the call is the same as without them."""
    own = [more(0, '{"a":'), more(0, "1}")]
    events = [*own[:-1], *(more(5, piece) for piece in stray), own[-1]]
    body = HEAD + start(0) + b"".join(events) + stop(0) + DELTA + STOP
    went = repaired(body, HERE)
    others = [payload for _, payload in frames(went.out) if payload.get("index") == AnthropicCalls.foreign_index + 5]
    assert "".join(one["delta"]["partial_json"] for one in others) == "".join(stray)
    assert said(went.out).replace("".join(stray), "", 1) == '{"a":1}'


def test_arguments_under_another_index_are_those_of_the_call_that_has_none() -> None:
    """All of them, or their begin; a keep-alive between them changes nothing."""
    pieces = [more(5, '{"a"'), b": keep-alive\n\n", more(5, ":1")]
    for last in (more(5, "}"), more(0, "}")):
        body = HEAD + start(0) + b"".join(pieces) + last + stop(0) + DELTA + STOP
        out = repaired(body, HERE).out
        assert inspected(out, HERE).calls == [("f", {"a": 1})]
        assert {payload["index"] for name, payload in frames(out) if name.startswith("content_block")} == {0}


@pytest.mark.parametrize("odd", ['{"a":1', '{"a":1}', '{"a":', '{"a":2}', "null", '"{'])
def test_pieces_of_two_types_go_on_as_they_came(odd: str) -> None:
    """Clients read only one of the two."""
    typeless = event("content_block_delta", index=0, delta={"partial_json": odd})
    for pieces in (typeless + more(0, '{"a":1}'), more(0, '{"a":') + typeless + more(0, "1}")):
        out = repaired(HEAD + start(0) + pieces + stop(0) + DELTA + STOP, HERE).out
        deltas = [payload["delta"] for name, payload in frames(out) if name == "content_block_delta"]
        typed = [one["partial_json"] for one in deltas if one.get("type") == "input_json_delta"]
        others = [one["partial_json"] for one in deltas if "type" not in one]
        assert ("".join(typed), "".join(others)) == ('{"a":1}', odd)


def test_blank_text_in_a_call_goes_also_where_another_waits() -> None:
    """At the end, where the call is stopped for the sake of the other one."""
    own = start(0) + start(1) + more(0, '{"a"') + more(0, "\n", "text_delta") + more(0, ":1}") + more(1, "{}")
    assert said(repaired(HEAD + own, HERE).out, "text") == ""


def test_arguments_in_the_start_do_not_go_before_others_that_were_kept_back() -> None:
    """The deltas count."""
    body = HEAD + start(0, input=[[]]) + more(0, '"{\\"ci')
    assert said(repaired(body, HERE).out) == '"{\\"ci'


@pytest.mark.parametrize("shape", ["whole-calls", "one-call-per-event", "even-ids"])
def test_text_of_nobody_is_told_the_same_whoever_else_looks(shape: str) -> None:
    """Where no block is open text goes by unread, but for a shape that wants to see each event."""
    text = HEAD + start(0, "text") + more(0, "a", "text_delta") + stop(0)
    body = text + more(1, "1}") + more(1, "b", "text_delta")
    assert run(body, HERE, Settings(SAFE, shapes=(shape,))).finding_names == inspected(body, HERE).finding_names


def test_text_of_nobody_stays_behind_text_within_a_call() -> None:
    """In the order in which it came."""
    body = HEAD + start(1) + more(1, "a", "text_delta") + more(0, "b", "text_delta")
    assert said(repaired(body, HERE).out, "text") == "ab"


def test_arguments_that_come_again_behind_a_stop_of_ours_go() -> None:
    """They are known still."""
    body = HEAD + start(0) + more(0, '{"a":1}') + start(1) + more(0, '{"a":1}') + more(1, "{}") + stop(1) + DELTA + STOP
    assert said(repaired(body, HERE).out) == '{"a":1}{}'


def test_a_start_that_goes_on_again_has_the_id_that_the_client_knows() -> None:
    """That of the first one was made up, for it was another call's."""
    again = start(1, id="toolu_0")
    body = HEAD + start(0) + stop(0) + again + more(1, '{"a"') + more(1, '{"a"') + again
    began = [
        payload["content_block"]["id"]
        for name, payload in frames(repaired(body, HERE).out)
        if name.endswith("block_start")
    ]
    assert began[1] == began[2] != began[0]


def test_a_delta_after_the_stop_of_an_incomplete_call_goes_before_it() -> None:
    """Clients take no delta of a block that has stopped."""
    body = HEAD + start(0) + more(0, '{"a":') + stop(0) + more(0, "1}") + DELTA + STOP
    went = repaired(body, HERE)
    assert went.out == HEAD + start(0) + more(0, '{"a":') + more(0, "1}") + stop(0) + DELTA + STOP
    assert went.finding_names == ["unknown-block"]


def test_a_delta_after_the_stop_of_a_complete_call_stays() -> None:
    """It adds to arguments that are complete."""
    body = HEAD + start(0) + more(0, '{"a":1}') + stop(0) + more(0, "x") + DELTA + STOP
    assert repaired(body, HERE).out == body
