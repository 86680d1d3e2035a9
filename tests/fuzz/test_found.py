"""Streams that broke an invariant once, written small: each stands for a kind of stream that the fuzzer found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fuzz.case import Case
from tests.fuzz.drive import Outcome
from tests.fuzz.events import (
    UNREAD,
    F,
    argument_delta,
    chat,
    cohere,
    completed,
    converse,
    delta,
    entry,
    filled,
    indexless,
    item_added,
    item_done,
    named,
    partial,
    sse,
    start,
    stop,
    text_block,
    tool_use,
)
from tests.fuzz.hunt import broken
from tests.fuzz.invariants import INVARIANTS, Seen
from tests.fuzz.messages import MESSAGES, of_lines

FOUND: Final = [json.loads(line) for line in Path(__file__).with_name("found.jsonl").read_text("utf-8").splitlines()]
"""Each has a name that says what it stands for, and a body: `text`, or `messages` for AWS's binary messages.

With `invariants`, only these hold: a call is read otherwise after the repair, and no harm is done.
"""


@pytest.mark.parametrize("ended", ["clean", "broken"])
@pytest.mark.parametrize("row", FOUND, ids=lambda row: row["name"])
def test_what_was_found_keeps_every_invariant(row: dict[str, Any], ended: str) -> None:
    """With safe repairs."""
    messages = "messages" in row
    body = of_lines([row["messages"].encode()]) if messages else row["text"].encode(errors="surrogateescape")
    kind = MESSAGES if messages else "application/x-ndjson" if body[:1] == b"{" else "text/event-stream"
    case = Case(row["protocol"], body, kind, broken="reset" if ended == "broken" else None)
    assert list(broken(case, row.get("invariants", INVARIANTS))) == []


WITH_A_GAP: dict[str, tuple[bytes, tuple[bytes, ...], bytes]] = {
    "openai-chat": (
        sse(chat(entry(0, '{"a":1', id="call_1", name="f", type="function"))),
        (sse(chat(entry(0, "2"), key="choice")), b'data: {"choices":[\n\n'),
        sse(chat(entry(0, "2}"))),
    ),
    "openai-responses": (
        sse(item_added(0, "fc_1"), argument_delta(0, "fc_1", '{"a":1')),
        (sse(argument_delta(0, "fc_1", "2") | {"type": 0}), b'data: {"type":"response.\n\n'),
        sse(argument_delta(0, "fc_1", "2}")),
    ),
    "anthropic": (
        sse(tool_use(0), partial(0, '{"a":1')),
        (sse(partial(0, "2", {})), sse(partial(0, "2", "input")), UNREAD),
        sse(partial(0, "2}")),
    ),
    "cohere-v2": (
        sse(cohere(0, named("f")), cohere(0, {"function": {"arguments": '{"a":1'}}, "tool-call-delta")),
        (sse(cohere(0, {"function": {"arguments": "2"}}, "length")), b'data: {"type":"tool-call\n\n'),
        sse(cohere(0, {"function": {"arguments": "2}"}}, "tool-call-delta")),
    ),
    "bedrock": (
        converse(start(0, F), delta(0, {"input": '{"a":1'})),
        (converse(("contentBlock", {"delta": {"toolUse": {"input": "2"}}})),),
        converse(delta(0, {"input": "2}"}), stop(0)),
    ),
}
"""Calls that nothing ends, in two halves, and what stands between them."""

WITHOUT_ONE_INDEX: dict[str, bytes] = {
    "cohere-v2": sse(cohere(0, named("f")), filled(0, '{"a":"'), filled(None, "1"), filled(0, '2"}')),
    "bedrock": converse(
        start(0, F), delta(0, {"input": '{"a":"'}), indexless(delta(0, {"input": "1"})), delta(0, {"input": '2"}'})
    ),
}
"""A piece without an index between others that have one."""


@pytest.mark.parametrize("dialect", WITHOUT_ONE_INDEX)
def test_no_provider_leaves_out_the_index_of_some_pieces_alone(dialect: str) -> None:
    """So such a piece is not put into the call: a client that goes by the index has what it would have without us."""
    kind = MESSAGES if dialect == "bedrock" else "text/event-stream"
    case = Case(dialect, WITHOUT_ONE_INDEX[dialect], kind)
    assert list(broken(case)) == []
    seen = Seen(case)
    assert [call.text for call in seen.changed.calls.values() if call.name] == ['{"a":"2"}']
    assert seen.off.names == seen.on.names
    assert seen.on.names - {"cut-off-call"} == {"missing-index", "truncated-stream"}  # of nobody


@pytest.mark.parametrize("dialect", WITH_A_GAP)
def test_nothing_is_put_that_ends_a_message_of_which_a_part_was_not_read(dialect: str) -> None:
    """The same message without that event is ended."""
    begin, unread, rest = WITH_A_GAP[dialect]
    kind = MESSAGES if dialect == "bedrock" else "text/event-stream"
    assert Outcome(Case(dialect, begin + rest, kind)).on.out != begin + rest
    for gap in unread:
        assert Outcome(Case(dialect, begin + gap + rest, kind)).on.out == begin + gap + rest


def test_pieces_are_not_joined_where_that_repair_is_off() -> None:
    """Another one is on."""
    body = sse(
        item_added(2, "fc_1"),
        item_done(2, "fc_1", '":"'),
        item_added(3, "fc_2"),
        completed(item_done(0, "fc_9", '{"a":1}')),
    )
    assert Outcome(Case("openai-responses", body, repair=("missing-event-name",))).on.out == body
    assert Outcome(Case("openai-responses", body, repair=("item-per-fragment",))).on.out != body


@pytest.mark.parametrize("comments", [1, 8, 9, 20])
@pytest.mark.parametrize("closes", [False, True])
def test_comments_behind_an_event_that_is_held_stay_there(comments: int, *, closes: bool) -> None:
    """Nothing of the stream is changed, also where the body ends with them."""
    text = '{"a' if closes else "{}"
    held = [argument_delta(0, "fc_1", text), *([item_done(0, "fc_1", text)] if closes else [])]
    body = sse(item_added(0, "fc_1"), *held, *[b": keep-alive\n\n"] * comments)
    assert Outcome(Case("openai-responses", body)).on.out == body
    ended = body + sse(item_done(0, "fc_1", text), completed(item_done(0, "fc_1", text)))
    assert closes or Outcome(Case("openai-responses", ended)).on.out == ended


@pytest.mark.parametrize(
    ("repair", "body"),
    [("reused-index", sse(tool_use(2))), ("offset-index", sse(text_block(0), tool_use(0, id="toolu_1")))],
)
def test_a_block_keeps_its_index_where_that_repair_is_off(repair: str, body: bytes) -> None:
    """The repair of the other defect of indexes is on."""
    assert Outcome(Case("anthropic", body, repair=(repair,))).on.out == body
    assert Outcome(Case("anthropic", body, repair=("reused-index", "offset-index"))).on.out != body


ANOTHER_AT_ITS_INDEX: dict[str, bytes] = {
    "anthropic": sse(tool_use(1), partial(1, '{"a":1}'), text_block(0), tool_use(1, name="g")),
    "bedrock": converse(start(0, F), delta(0, {"input": '{"a":1}'}), start(0, F | {"name": "g"})),
    "cohere-v2": sse(cohere(0, named("f", '{"a":1}')), cohere(0, named("g") | {"id": "f_1"})),
}


@pytest.mark.parametrize("dialect", ANOTHER_AT_ITS_INDEX)
def test_a_start_under_the_id_of_the_open_call_is_another_call_where_its_name_is(dialect: str) -> None:
    """It has no arguments, and nothing says that it is over."""
    kind = MESSAGES if dialect == "bedrock" else "text/event-stream"
    outcome = Outcome(Case(dialect, ANOTHER_AT_ITS_INDEX[dialect], kind))
    calls = [("f", '{"a":1}', True), ("g", "", False)]
    assert outcome.off.calls == outcome.reread.calls == calls


def test_a_tool_that_needs_no_arguments_is_known_by_its_name_without_decoration() -> None:
    """The call without arguments shares its index with another one."""
    offered = {"tools": [{"type": "function", "function": {"name": "snooze", "parameters": {"required": []}}}]}
    body = sse(
        chat(entry(0, "", id="c1", name="functions.snooze")),
        chat(entry(0, '{"a":1}', id="c2", name="g")),
        chat({}, "tool_calls"),
    )
    case = Case("openai-chat", body, request=offered)
    assert list(broken(case)) == []
    assert ("snooze", "{}", True) in Outcome(case).reread.calls
