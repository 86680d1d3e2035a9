"""Small versions of streams that the fuzzer found to violate an invariant."""

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
    call_delta,
    call_header,
    chat,
    cohere,
    completed,
    converse,
    delta,
    entry,
    indexless,
    input_delta,
    item_added,
    item_done,
    sse,
    start,
    stop,
    text_block,
    tool_start,
)
from tests.fuzz.hunt import violations
from tests.fuzz.invariants import INVARIANTS, ClientOutcome
from tests.fuzz.messages import MESSAGES, of_lines

FOUND: Final = [json.loads(line) for line in Path(__file__).with_name("found.jsonl").read_text("utf-8").splitlines()]
"""Each has a descriptive name and a body: `text`, or `messages` for AWS event stream messages.

With `invariants`, only these hold: a call is resolved differently after the repair, without harm.
"""


@pytest.mark.parametrize("ended", ["clean", "broken"])
@pytest.mark.parametrize("row", FOUND, ids=lambda row: row["name"])
def test_found_streams_violate_no_invariant(row: dict[str, Any], ended: str) -> None:
    """With safe repairs, a stream that the fuzzer found violates no invariant."""
    messages = "messages" in row
    body = of_lines([row["messages"].encode()]) if messages else row["text"].encode(errors="surrogateescape")
    kind = MESSAGES if messages else "application/x-ndjson" if body[:1] == b"{" else "text/event-stream"
    case = Case(row["protocol"], body, kind, broken="reset" if ended == "broken" else None)
    assert list(violations(case, row.get("invariants", INVARIANTS))) == []


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
        sse(tool_start(0), input_delta(0, '{"a":1')),
        (sse(input_delta(0, "2", {})), sse(input_delta(0, "2", "input")), UNREAD),
        sse(input_delta(0, "2}")),
    ),
    "cohere-v2": (
        sse(cohere(0, call_header("f")), cohere(0, {"function": {"arguments": '{"a":1'}}, "tool-call-delta")),
        (sse(cohere(0, {"function": {"arguments": "2"}}, "length")), b'data: {"type":"tool-call\n\n'),
        sse(cohere(0, {"function": {"arguments": "2}"}}, "tool-call-delta")),
    ),
    "bedrock": (
        converse(start(0, F), delta(0, {"input": '{"a":1'})),
        (converse(("contentBlock", {"delta": {"toolUse": {"input": "2"}}})),),
        converse(delta(0, {"input": "2}"}), stop(0)),
    ),
}
"""Unfinished calls in two parts, and events that no client reads between the parts."""

WITHOUT_ONE_INDEX: dict[str, bytes] = {
    "cohere-v2": sse(cohere(0, call_header("f")), call_delta(0, '{"a":"'), call_delta(None, "1"), call_delta(0, '2"}')),
    "bedrock": converse(
        start(0, F), delta(0, {"input": '{"a":"'}), indexless(delta(0, {"input": "1"})), delta(0, {"input": '2"}'})
    ),
}
"""A fragment without an index between fragments with an index."""


@pytest.mark.parametrize("protocol", WITHOUT_ONE_INDEX)
def test_a_fragment_without_an_index_is_not_added_to_a_call(protocol: str) -> None:
    """A fragment without an index, between fragments with one, is not added to the call, as without toolstream."""
    kind = MESSAGES if protocol == "bedrock" else "text/event-stream"
    case = Case(protocol, WITHOUT_ONE_INDEX[protocol], kind)
    assert list(violations(case)) == []
    outcome = ClientOutcome(case)
    assert [call.text for call in outcome.repaired.calls.values() if call.name] == ['{"a":"2"}']
    assert outcome.off.finding_names == outcome.on.finding_names
    assert outcome.on.finding_names - {"cut-off-call"} == {"missing-index", "truncated-stream"}


@pytest.mark.parametrize("protocol", WITH_A_GAP)
def test_no_end_is_added_after_an_unread_event(protocol: str) -> None:
    """No end is added to a message with an unread event; without that event, it is."""
    begin, unread, rest = WITH_A_GAP[protocol]
    kind = MESSAGES if protocol == "bedrock" else "text/event-stream"
    assert Outcome(Case(protocol, begin + rest, kind)).on.out != begin + rest
    for gap in unread:
        assert Outcome(Case(protocol, begin + gap + rest, kind)).on.out == begin + gap + rest


def test_items_are_joined_only_by_their_own_repair() -> None:
    """The items of one call are joined if `item-per-fragment` is selected, and not by another repair."""
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
def test_comments_after_a_held_event_keep_their_place(comments: int, *, closes: bool) -> None:
    """Comments after a held event leave the stream unchanged, also at the end of the body."""
    text = '{"a' if closes else "{}"
    held = [argument_delta(0, "fc_1", text), *([item_done(0, "fc_1", text)] if closes else [])]
    body = sse(item_added(0, "fc_1"), *held, *[b": keep-alive\n\n"] * comments)
    assert Outcome(Case("openai-responses", body)).on.out == body
    ended = body + sse(item_done(0, "fc_1", text), completed(item_done(0, "fc_1", text)))
    assert closes or Outcome(Case("openai-responses", ended)).on.out == ended


@pytest.mark.parametrize(
    ("repair", "body"),
    [("reused-index", sse(tool_start(2))), ("offset-index", sse(text_block(0), tool_start(0, id="toolu_1")))],
)
def test_a_block_index_is_changed_only_by_its_own_repair(repair: str, body: bytes) -> None:
    """The repair of one index defect does not change a block with the other."""
    assert Outcome(Case("anthropic", body, repair=(repair,))).on.out == body
    assert Outcome(Case("anthropic", body, repair=("reused-index", "offset-index"))).on.out != body


SAME_ID_OTHER_NAME: dict[str, bytes] = {
    "anthropic": sse(tool_start(1), input_delta(1, '{"a":1}'), text_block(0), tool_start(1, name="g")),
    "bedrock": converse(start(0, F), delta(0, {"input": '{"a":1}'}), start(0, F | {"name": "g"})),
    "cohere-v2": sse(cohere(0, call_header("f", '{"a":1}')), cohere(0, call_header("g") | {"id": "f_1"})),
}


@pytest.mark.parametrize("protocol", SAME_ID_OTHER_NAME)
def test_a_start_with_the_open_call_s_id_and_another_name_is_another_call(protocol: str) -> None:
    """A start with the id of the open call but another name starts a call, which is incomplete without arguments."""
    kind = MESSAGES if protocol == "bedrock" else "text/event-stream"
    outcome = Outcome(Case(protocol, SAME_ID_OTHER_NAME[protocol], kind))
    calls = [("f", '{"a":1}', True), ("g", "", False)]
    assert outcome.off.calls == outcome.reread.calls == calls


def test_a_tool_without_parameters_is_found_despite_a_decorated_name() -> None:
    """A call of a tool without parameters is complete, even with a decorated name and the index of another call."""
    offered = {"tools": [{"type": "function", "function": {"name": "snooze", "parameters": {"required": []}}}]}
    body = sse(
        chat(entry(0, "", id="c1", name="functions.snooze")),
        chat(entry(0, '{"a":1}', id="c2", name="g")),
        chat({}, "tool_calls"),
    )
    case = Case("openai-chat", body, request=offered)
    assert list(violations(case)) == []
    assert ("snooze", "{}", True) in Outcome(case).reread.calls
