"""Repairs of truncated, overlapping and malformed Messages streams, and their cost."""

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
"""The facts of a request with unknown tools."""


def event(kind: str, **fields: Any) -> bytes:
    """Return an event."""
    payload = {"type": kind, **fields}
    return f"event: {kind}\ndata: ".encode() + encoded(payload) + b"\n\n"


def start(index: Any, kind: str = "tool_use", **fields: Any) -> bytes:
    """Return the start of a block; the block of a tool has an id and a name."""
    tool = {"id": f"toolu_{index}", "name": "f", "input": {}} if kind.endswith("tool_use") else {}
    return event("content_block_start", index=index, content_block={"type": kind, **tool, **fields})


def more(index: Any, text: Any, kind: str = "input_json_delta") -> bytes:
    """Return a delta."""
    key = {"input_json_delta": "partial_json", "text_delta": "text", "thinking_delta": "thinking"}[kind]
    return event("content_block_delta", index=index, delta={"type": kind, key: text})


def stop(index: Any) -> bytes:
    """Return the stop of a block."""
    return event("content_block_stop", index=index)


HEAD = event("message_start", message={"id": "m", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}})
DELTA = event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 1})
STOP = event("message_stop")
CALL = start(0) + more(0, '{"a":1}') + stop(0)


def frames(body: bytes) -> list[tuple[str, Payload]]:
    """Return name and payload of every event; all must be terminated and valid JSON."""
    framer = SseFramer()
    cut = [*framer.feed(body), *framer.feed(b"")]
    assert not any(frame.trailing for frame in cut)
    return [(frame.name, json.loads(frame.data)) for frame in cut if frame.data is not None]


def joined(body: bytes, key: str = "partial_json") -> str:
    """Return the joined text of deltas of one kind."""
    deltas = [payload.get("delta") for _, payload in frames(body)]
    return "".join(str(delta.get(key, "")) for delta in deltas if isinstance(delta, dict))


def clean_and_reset(body: bytes) -> list[Outcome]:
    """Return the outcomes with a clean end and with a reset connection."""
    return [repaired(body, HERE), repaired(body, HERE, broken="reset")]


def test_a_header_alone_is_not_completed() -> None:
    """Nothing is added after a header without arguments, so it does not become a call with `{}`."""
    for outcome in clean_and_reset(HEAD + start(0)):
        assert outcome.out == HEAD + start(0)
        assert "missing-finish" not in outcome.finding_names
    assert "truncated-stream" in repaired(HEAD + start(0), HERE).finding_names


def test_an_unclosed_call_with_an_empty_object_is_not_completed() -> None:
    """An unclosed call with `{}` is not ended, as that may be a placeholder, unless the tool has no parameters."""
    body = HEAD + start(0, name="ping") + more(0, "{}")
    assert repaired(body, HERE).out == body
    assert b"message_stop" in repaired(body, exchange("anthropic")).out


def test_a_stopped_call_without_arguments_is_complete() -> None:
    """After a stopped call without arguments, the end of the message is added."""
    out = repaired(HEAD + start(0) + stop(0), HERE).out
    assert [name for name, _ in frames(out)][-2:] == ["message_delta", "message_stop"]


def test_the_token_limit_ends_no_call() -> None:
    """A stop is added to a header before `tool_use`, but not before `max_tokens`."""
    cut = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={"output_tokens": 1})
    assert repaired(HEAD + start(0) + cut + STOP, HERE).out == HEAD + start(0) + cut + STOP
    assert stop(0) in repaired(HEAD + start(0) + DELTA + STOP, HERE).out
    usage = event("message_delta", usage={"output_tokens": 1})
    assert repaired(HEAD + start(0) + usage, HERE).out == HEAD + start(0) + usage


@pytest.mark.parametrize("fragments", [('"{\\"ci', 'ty\\": ', '\\"Pari'), ('": 3}',), ('"',)])
def test_arguments_that_begin_with_a_quote_are_forwarded(fragments: tuple[str, ...]) -> None:
    """Truncated arguments that begin with a quote are forwarded, and the call is not ended."""
    body = HEAD + start(0) + b"".join(more(0, fragment) for fragment in fragments)
    for outcome in clean_and_reset(body):
        assert joined(outcome.out) == "".join(fragments)
        assert stop(0) not in outcome.out
        assert "message_stop" not in [name for name, _ in frames(outcome.out)]


@pytest.mark.parametrize("at", range(1, len(DELTA + STOP)))
def test_nothing_is_joined_to_a_truncated_event(at: int) -> None:
    """After a truncated event, the stream is unchanged, or the event is dropped and complete end events are added."""
    body = HEAD + CALL + (DELTA + STOP)[:at]
    for outcome in clean_and_reset(body):
        if outcome.out != body:
            assert [name for name, _ in frames(outcome.out)][-2:] == ["message_delta", "message_stop"]


def test_no_end_is_added_after_a_truncated_start() -> None:
    """No end is added after the truncated start of a second call."""
    for at in range(1, len(start(1)) - 2):
        body = HEAD + CALL + start(1)[:at]
        assert repaired(body, HERE).out == body


def test_no_end_is_added_after_another_truncated_stop_reason() -> None:
    """No end is added after a truncated stop reason other than `tool_use`."""
    other = event("message_delta", delta={"stop_reason": "max_tokens"}, usage={})
    body = HEAD + CALL + other[: other.index(b"tokens")]
    assert repaired(body, HERE).out == body


def test_held_text_is_sent_after_an_unterminated_last_event() -> None:
    """Held arguments are sent as a complete event, even if the last event is unterminated and the connection reset."""
    body = HEAD + start(0) + more(0, '"{').rstrip()
    assert joined(repaired(body, HERE, broken="reset").out) == '"{'


@pytest.mark.parametrize("rest", [b"", more(0, '{"a"'), more(0, '{"a"') + DELTA + STOP, event("error", error={})])
def test_text_in_an_incomplete_call_is_forwarded(rest: bytes) -> None:
    """Text inside an incomplete call is forwarded before the end of the message."""
    body = HEAD + start(0) + more(0, "Let me look.", "text_delta") + rest
    for outcome in clean_and_reset(body):
        assert joined(outcome.out, "text") == "Let me look."
        assert outcome.out.index(b"Let me") < outcome.out.find(b"message_delta") % (len(outcome.out) + 1)


def test_unmoved_text_in_a_call_is_not_a_change() -> None:
    """Text inside an incomplete call that keeps its place is not recorded as a change."""
    body = HEAD + start(0) + more(0, "Let me look.", "text_delta")
    for outcome in clean_and_reset(body):
        assert (outcome.out, outcome.record.changed) == (body, 0)


def test_text_in_a_complete_call_is_moved_after_it() -> None:
    """Text inside a complete call is moved to a block after it, and the later indexes are shifted."""
    body = HEAD + start(0) + more(0, "So.", "text_delta") + more(0, '{"a":1}') + stop(0) + start(1) + stop(1)
    assert [
        p["index"]
        for name, p in frames(repaired(body + DELTA + STOP, HERE).out)
        if name.endswith("_start") and "index" in p
    ] == [0, 1, 2]


def test_a_stop_with_other_content_is_forwarded() -> None:
    """A stop event with other content is forwarded unchanged."""
    odd = b'event: content_block_stop\ndata: {"choices":[{"delta":{"content":"be"}}]}\n\n'
    last = b'event: message_stop\ndata: {"text":"be"}\n\n'
    body = HEAD + CALL + odd + DELTA + STOP + last
    assert repaired(body, HERE).out == body


def test_arguments_after_a_stop_are_forwarded() -> None:
    """Arguments after the stop of their call are forwarded unchanged."""
    body = HEAD + CALL + more(0, '{"pas') + DELTA + STOP
    assert repaired(body, HERE).out == body


def test_indexes_after_a_doubled_call_are_shifted() -> None:
    """The block after a doubled call is sent with a shifted index, without another finding."""
    again = start(1, id="toolu_0") + more(1, '{"a":1}') + stop(1)
    outcome = repaired(HEAD + CALL + again + start(2) + more(2, '{"b":1}') + stop(2) + DELTA + STOP, HERE)
    assert outcome.finding_names == ["doubled-call"]
    assert outcome.out == HEAD + CALL + (start(1, id="toolu_2") + more(1, '{"b":1}') + stop(1)) + DELTA + STOP


def test_a_server_tool_is_not_stopped_inside_its_input() -> None:
    """A block that starts inside a server tool's input is held until that block has stopped."""
    result = start(1, "web_search_tool_result", tool_use_id="toolu_0", content=[])
    head = HEAD + start(0, "server_tool_use") + more(0, '{"query": "s')
    for outcome in clean_and_reset(head + result):
        assert outcome.out == head + result
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


def test_blocks_of_other_types_keep_their_events() -> None:
    """If another block is repaired, blocks of other types keep all their events, with shifted indexes."""
    body = HEAD + start(2, input=None) + more(2, '{"a":1}') + stop(2) + b"".join(FOREIGN) + DELTA + STOP
    outcome = repaired(body, HERE)
    assert set(outcome.finding_names) == {"missing-input", "offset-index"}
    moved = [(name, {**p, "index": p["index"] - 2}) for name, p in frames(b"".join(FOREIGN))]
    assert [one for one in frames(outcome.out) if one[1].get("index", 0) > 0] == moved
    assert [call.name for call in outcome.record.calls if call.kind == "function"] == ["f"]


ODD: list[Any] = [None, [], {}, [1], {"a": {"b": [1]}}, 1.5, -1, True, "", "x", "0", 10**19]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_odd_types_raise_nothing(odd: Any) -> None:
    """Values of other types in any field raise nothing."""
    body = HEAD + start(odd) + more(odd, '{"a":') + more(odd, odd) + more(odd, "1}") + stop(odd)
    body += event("message_delta", delta={"stop_reason": odd}, usage=odd) + event("message_delta", delta=odd)
    body += event("content_block_start", index=1, content_block=odd) + event("ping", type=odd) + STOP
    repaired(body, HERE)
    body = HEAD + start(0, id=odd, name=odd, input=odd) + stop(0) + start(1, id=odd, name=odd, input=odd) + stop(1)
    repaired(body + DELTA + STOP, HERE)


def costs(make: Any, count: int) -> list[int]:
    """Return the number of Python calls for each tenth of `count` blocks."""
    session = Session(exchange("anthropic"), Settings(SAFE))
    session.feed(HEAD)
    bodies = [b"".join(make(at) for at in range(tenth * count // 10, (tenth + 1) * count // 10)) for tenth in range(10)]
    counts = []
    for body in bodies:
        chunks = [one + b"\n\n" for one in body.split(b"\n\n")[:-1]]
        counts.append(functions_called(partial(_feed, session, chunks), builtins=False))
    assert session.error is None
    return counts


def _feed(session: Session, chunks: list[bytes]) -> None:
    for chunk in chunks:
        session.feed(chunk)


MAKES = {
    "calls": lambda at: start(at) + more(at, '{"a":1}') + stop(at),
    "text": lambda at: start(at, "text", text="") + more(at, "a", "text_delta") + stop(at),
    "one id": lambda at: start(at, id="toolu_1") + more(at, f'{{"a":{at}}}') + stop(at),
    "offset": lambda at: start(at + 1) + more(at + 1, '{"a":1}') + stop(at + 1),
    "one index": lambda at: start(0, id=f"toolu_{at}") + more(0, '{"a":1}') + stop(0),
    "never stopped": lambda at: start(at) + more(at, '{"a":1}'),
    "incomplete, never stopped": lambda at: start(at) + more(at, '{"a":'),
    "stopped twice": lambda at: start(at) + more(at, '{"a":1}') + stop(at) + stop(at),
}


@pytest.mark.parametrize("name", MAKES)
def test_thousands_of_blocks_cost_the_same_each(name: str) -> None:
    """The last blocks of a long stream cost as much as the first blocks."""
    counts = costs(MAKES[name], 500)
    assert counts[-1] < 1.5 * counts[1]


def test_findings_are_the_same_without_repairs() -> None:
    """A truncated stream has the same findings with and without repairs."""
    body = HEAD + start(0) + more(0, "Let me look.", "text_delta") + more(0, '"{\\"a') + start(1) + more(1, '{"a":1}')
    for at in range(len(HEAD), len(body)):
        assert repaired(body[:at], HERE).finding_names == inspected(body[:at], HERE).finding_names


def test_text_without_a_type_is_forwarded_unchanged() -> None:
    """A text delta with an event name but without `type` is forwarded unchanged."""
    bare = b'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"Let me look."}}\n\n'
    assert bare in repaired(start(0) + bare, HERE).out


def indexes(body: bytes, kind: str) -> list[Any]:
    """Return the indexes of all events of one kind."""
    return [payload.get("index") for name, payload in frames(body) if name == kind]


@pytest.mark.parametrize("foreign", [0, 1, 7, None, -1])
def test_foreign_arguments_are_added_to_none_of_two_calls(foreign: Any) -> None:
    """With two open calls and shifted indexes, foreign arguments get an index that no block has."""
    f, g = start(1, name="f"), start(2, name="g")
    body = HEAD + more(0, '{"lost"') + f + g + more(5 if foreign == 1 else foreign, '{"b":') + stop(2) + DELTA + STOP
    out = repaired(body, HERE).out
    assert indexes(out, "content_block_start") == [0, 1]
    assert all(index >= AnthropicCalls.foreign_index for index in indexes(out, "content_block_delta"))


def test_foreign_arguments_are_added_to_the_only_open_call() -> None:
    """Arguments of an unknown index get the index of the only open call."""
    body = HEAD + start(0) + more(3, '{"a":1}') + stop(0) + DELTA + STOP
    assert indexes(repaired(body, HERE).out, "content_block_delta") == [0]


def test_arguments_at_the_index_of_a_text_block_belong_to_the_call() -> None:
    """Arguments at an index that a call and a text block share belong to the call."""
    text = start(0, "text", text="")
    body = HEAD + start(0) + text + more(0, '{"a":') + more(0, "1}") + DELTA + STOP
    outcome = repaired(body, HERE)
    assert outcome.calls == [("f", {"a": 1})]
    assert inspected(outcome.out, HERE).calls == outcome.calls


@pytest.mark.parametrize("between", [more(0, ""), more(0, "{}"), more(0, "") + more(0, "{}")])
def test_a_placeholder_is_dropped_despite_empty_fragments_after_it(between: bytes) -> None:
    """A placeholder `{}` is dropped, also with empty fragments or further placeholders after it."""
    body = HEAD + start(0) + more(0, "{}") + between + more(0, '{"a":1}') + stop(0) + DELTA + STOP
    assert joined(repaired(body, HERE).out) == '{"a":1}'


def test_a_placeholder_in_a_held_block_is_forwarded_at_the_end() -> None:
    """A `{}` in a held block is forwarded if the body ends."""
    body = HEAD + start(0) + start(1) + more(1, "{}")
    assert joined(repaired(body, HERE).out) == "{}"


def test_an_unclosed_repeated_call_is_dropped() -> None:
    """A repeated call with complete arguments is dropped without a stop."""
    again = start(1, id="toolu_0") + more(1, '{"a": 1}')
    assert inspected(repaired(HEAD + CALL + again + DELTA + STOP, HERE).out, HERE).calls == [("f", {"a": 1})]


MISTYPED = event("content_block_delta", index=0, delta={"type": 2, "partial_json": "{}"})


@pytest.mark.parametrize("first", [start(0), start(0) + more(0, '{"a"') + stop(0), start(0) + MISTYPED + stop(0)])
def test_the_complete_copy_of_an_incomplete_call_is_not_dropped(first: bytes) -> None:
    """A complete call is not dropped as a repetition of an incomplete call."""
    again = start(1, id="toolu_0") + more(1, "{}") + stop(1)
    out = repaired(HEAD + first + again + DELTA + STOP, HERE).out
    assert ("f", "{}", True) in [
        (call.name, call.arguments, call.complete) for call in inspected(out, HERE).record.calls
    ]


@pytest.mark.parametrize("rest", ["}", '{"', "\ud83d"])
def test_no_end_is_added_after_arguments_with_other_text(rest: str) -> None:
    """No end is added after complete arguments that are followed by other text."""
    body = HEAD + start(0) + more(0, '{"a":') + more(0, "1}" + rest)
    assert b"message_stop" not in repaired(body, HERE).out


def test_a_held_block_at_the_end_is_not_a_change() -> None:
    """A held block is forwarded unchanged at the end of the body, which is not recorded as a change."""
    block = start(1, "server_tool_use")
    body = HEAD + start(0, "server_tool_use") + block
    outcome = repaired(body, HERE)
    assert (outcome.out, outcome.record.changed) == (body, 0)
    assert "overlapping-blocks" in outcome.finding_names


@pytest.mark.parametrize("quiet", [event("ping"), b": keep-alive\n\n", event("vendor", index=0), b"data: 3\n\n"])
@pytest.mark.parametrize("count", [1, 12])
def test_other_events_stay_after_a_placeholder(quiet: bytes, count: int) -> None:
    """Events of no block after a held `{}` keep their place, also many of them."""
    complete = HEAD + start(0) + more(0, "{}") + count * quiet + stop(0) + DELTA + STOP
    assert repaired(complete, HERE).out == complete
    truncated = HEAD + start(0) + more(0, "{}") + count * quiet
    assert repaired(truncated, HERE, broken="reset").out == truncated


def test_a_repeated_start_after_an_added_stop_is_no_other_call() -> None:
    """A start repeated after a stop that the repair added is not another call."""
    thinking = start(1, "thinking", thinking="")
    body = HEAD + start(0) + more(0, '{"a":1}') + thinking + start(0) + stop(0) + stop(1) + DELTA + STOP
    assert inspected(repaired(body, HERE).out, HERE).calls == [("f", {"a": 1})]


def test_no_end_is_added_after_foreign_arguments() -> None:
    """No end is added to a message with arguments of an unknown call."""
    body = HEAD + more(5, '{"b"') + start(0) + more(0, '{"a":1}')
    assert b"message_stop" not in repaired(body, HERE).out


@pytest.mark.parametrize("empty", ["", "{}", " {} ", "null", None])
def test_an_empty_input_in_a_start_is_no_arguments(empty: Any) -> None:
    """No delta is added for an empty input in a start, as it would complete the call."""
    out = repaired(HEAD + start(0, input=empty), HERE).out
    assert out == HEAD + start(0)


def test_a_call_repeated_after_text_is_dropped() -> None:
    """A call that is repeated after text at its index is dropped."""
    body = HEAD + CALL + more(0, "\n", "text_delta") + start(0) + more(0, '{"a":1}') + stop(0) + DELTA + STOP
    assert inspected(repaired(body, HERE).out, HERE).calls == [("f", {"a": 1})]


def test_an_object_may_be_a_placeholder() -> None:
    """An empty object in the place of text before arguments is dropped as a placeholder."""
    body = HEAD + start(0) + more(0, {}) + more(0, '{"a":') + more(0, "1}") + stop(0) + DELTA + STOP
    assert joined(repaired(body, HERE).out) == '{"a":1}'


def test_a_call_after_message_stop_ends_with_the_next_message_stop() -> None:
    """A second `message_stop` is dropped as a repetition, unless a call precedes it."""
    body = HEAD + CALL + DELTA + STOP + start(1) + STOP
    assert repaired(body, HERE).out.count(STOP) == 2
    assert repaired(HEAD + CALL + DELTA + STOP + STOP, HERE).out.count(STOP) == 1


def test_a_call_repeated_after_an_added_stop_is_sent_once() -> None:
    """A call repeated after a stop that the repair added is sent once."""
    body = HEAD + start(0) + more(0, '{"a":1}') + DELTA + start(0) + more(0, '{"a":1}') + stop(0) + STOP
    assert joined(repaired(body, HERE).out) == '{"a":1}'


def test_a_plain_fragment_among_cumulative_fragments_is_sent_once() -> None:
    """With a plain fragment among cumulative fragments, each character is sent once."""
    fragments = ('{"_', '{"_pe', "r", '{"_person": 1}')
    body = HEAD + start(0) + b"".join(more(0, fragment) for fragment in fragments) + stop(0) + DELTA + STOP
    assert joined(repaired(body, HERE).out) == '{"_person": 1}'


def test_a_foreign_fragment_is_not_added_to_complete_arguments() -> None:
    """A foreign fragment is not added to a call with complete arguments."""
    body = HEAD + start(0) + more(0, '{"a":1}') + more(1, "iro") + stop(0) + DELTA + STOP
    assert indexes(repaired(body, HERE).out, "content_block_delta") == [0, AnthropicCalls.foreign_index + 1]


@pytest.mark.parametrize("first", ['{"a":1}', ']{"a":1}'], ids=["complete", "invalid"])
def test_a_start_repeated_after_arguments_is_forwarded(first: str) -> None:
    """A start repeated after arguments is forwarded and reported: clients discard the earlier arguments there."""
    body = HEAD + start(0) + more(0, first) + start(0) + more(0, '{"b":2}')
    for outcome in clean_and_reset(body):
        assert outcome.out.startswith(body)
        assert "repeated-start" in outcome.finding_names
    assert stop(0) not in repaired(body, HERE).out


def test_a_repeated_start_in_a_held_block_is_forwarded() -> None:
    """A start repeated after arguments in a held block is forwarded with the block."""
    held = start(1) + more(1, '{"a":1}') + start(1) + more(1, '{"b":2}') + stop(1)
    outcome = repaired(HEAD + start(0, "text", text="") + held + stop(0) + DELTA + STOP, HERE)
    assert outcome.out == HEAD + start(0, "text", text="") + stop(0) + held + DELTA + STOP


def test_no_end_is_added_after_a_repeated_start() -> None:
    """No end is added after a repeated start: clients discard the earlier arguments and would read `{}`."""
    body = HEAD + start(0) + more(0, '{"a":1}') + start(0)
    assert repaired(body, HERE).out == body


def test_text_inside_an_unclosed_call_stays_before_the_next_call() -> None:
    """Text inside an unclosed call stays before the start of the next call."""
    body = HEAD + start(0) + more(0, "Oslo", "text_delta") + start(1)
    for outcome in clean_and_reset(body):
        assert outcome.out == body


def test_an_unterminated_last_event_does_not_break_a_complete_call() -> None:
    """An unterminated last event with garbage is not terminated: clients ignore it and have a complete call."""
    body = HEAD + start(0) + more(0, '{"a":1}') + start(1) + more(1, '{"a":1}') + more(0, "x").rstrip()
    assert repaired(body, HERE).out.endswith(more(0, "x").rstrip())


@pytest.mark.parametrize("value", [1.0, True, ["{}"]])
def test_a_fragment_of_another_type_is_forwarded_unchanged(value: Any) -> None:
    """A fragment that is neither text nor an object is forwarded unchanged: as text, it would damage the arguments."""
    body = HEAD + start(0) + more(0, value) + more(0, '{"a":1}') + stop(0) + DELTA + STOP
    outcome = repaired(body, HERE)
    assert outcome.out == body
    assert outcome.finding_names == ["object-arguments"]


def test_foreign_arguments_that_start_an_object_are_not_added_to_the_open_call() -> None:
    """Foreign arguments that start another object are not added to the open call."""
    body = HEAD + start(0) + more(0, '{"a":1') + more(1, '{"a": 1}') + more(0, "}") + stop(0) + DELTA + STOP
    out = repaired(body, HERE).out
    assert more(0, '{"a":1') + more(AnthropicCalls.foreign_index + 1, '{"a": 1}') + more(0, "}") in out


@pytest.mark.parametrize("foreign", [('{"b":2}',), ('{"b":', "2}"), ("x",)], ids=str)
def test_foreign_arguments_are_not_added_to_a_call_with_its_own(foreign: tuple[str, ...]) -> None:
    """Foreign arguments of an unknown index are not added to a call that has fragments of its own."""
    own = [more(0, '{"a":'), more(0, "1}")]
    events = [*own[:-1], *(more(5, fragment) for fragment in foreign), own[-1]]
    body = HEAD + start(0) + b"".join(events) + stop(0) + DELTA + STOP
    outcome = repaired(body, HERE)
    others = [payload for _, payload in frames(outcome.out) if payload.get("index") == AnthropicCalls.foreign_index + 5]
    assert "".join(one["delta"]["partial_json"] for one in others) == "".join(foreign)
    assert joined(outcome.out).replace("".join(foreign), "", 1) == '{"a":1}'


def test_arguments_of_another_index_are_added_to_a_call_without_own() -> None:
    """Arguments of another index, all or the first, are added to an open call without its own, despite keep-alives."""
    fragments = [more(5, '{"a"'), b": keep-alive\n\n", more(5, ":1")]
    for last in (more(5, "}"), more(0, "}")):
        body = HEAD + start(0) + b"".join(fragments) + last + stop(0) + DELTA + STOP
        out = repaired(body, HERE).out
        assert inspected(out, HERE).calls == [("f", {"a": 1})]
        assert {payload["index"] for name, payload in frames(out) if name.startswith("content_block")} == {0}


def test_blank_text_in_a_call_is_dropped_with_a_held_block() -> None:
    """Blank text inside a call is dropped, also while another block is held."""
    own = start(0) + start(1) + more(0, '{"a"') + more(0, "\n", "text_delta") + more(0, ":1}") + more(1, "{}")
    assert joined(repaired(HEAD + own, HERE).out, "text") == ""


def test_input_in_the_start_is_not_sent_before_held_arguments() -> None:
    """Input in a start is not sent as a delta before held arguments, which take precedence."""
    body = HEAD + start(0, input=[[]]) + more(0, '"{\\"ci')
    assert joined(repaired(body, HERE).out) == '"{\\"ci'


@pytest.mark.parametrize("shape", ["whole-calls", "one-call-per-event", "even-ids"])
def test_text_outside_blocks_has_the_same_findings_with_a_shape(shape: str) -> None:
    """Text outside blocks has the same findings, whether the fast path skips it or a shape reads each event."""
    text = HEAD + start(0, "text") + more(0, "a", "text_delta") + stop(0)
    body = text + more(1, "1}") + more(1, "b", "text_delta")
    assert run(body, HERE, Settings(SAFE, shapes=(shape,))).finding_names == inspected(body, HERE).finding_names


def test_text_outside_blocks_stays_after_text_inside_a_call() -> None:
    """Text outside blocks and text inside a call keep their order."""
    body = HEAD + start(1) + more(1, "a", "text_delta") + more(0, "b", "text_delta")
    assert joined(repaired(body, HERE).out, "text") == "ab"


def test_arguments_repeated_after_an_added_stop_are_dropped() -> None:
    """Arguments that are repeated after a stop that the repair added are dropped."""
    body = HEAD + start(0) + more(0, '{"a":1}') + start(1) + more(0, '{"a":1}') + more(1, "{}") + stop(1) + DELTA + STOP
    assert joined(repaired(body, HERE).out) == '{"a":1}{}'


def test_a_repeated_start_has_the_added_id() -> None:
    """A repeated start of a call whose duplicate id was replaced has the new id, too."""
    again = start(1, id="toolu_0")
    body = HEAD + start(0) + stop(0) + again + more(1, '{"a"') + more(1, '{"a"') + again
    ids = [
        payload["content_block"]["id"]
        for name, payload in frames(repaired(body, HERE).out)
        if name.endswith("block_start")
    ]
    assert ids[1] == ids[2] != ids[0]


def test_a_delta_after_the_stop_of_an_incomplete_call_is_moved_before_it() -> None:
    """A delta after the stop of an incomplete call is moved before the stop: clients ignore it after that."""
    body = HEAD + start(0) + more(0, '{"a":') + stop(0) + more(0, "1}") + DELTA + STOP
    outcome = repaired(body, HERE)
    assert outcome.out == HEAD + start(0) + more(0, '{"a":') + more(0, "1}") + stop(0) + DELTA + STOP
    assert outcome.finding_names == ["unknown-block"]


def test_a_delta_after_the_stop_of_a_complete_call_is_unchanged() -> None:
    """A delta after the stop of a complete call is forwarded unchanged."""
    body = HEAD + start(0) + more(0, '{"a":1}') + stop(0) + more(0, "x") + DELTA + STOP
    assert repaired(body, HERE).out == body
