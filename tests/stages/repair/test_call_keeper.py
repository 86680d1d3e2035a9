"""A call that a plain client has whole from the raw bytes it has behind the repairs, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.fuzz import readers
from tests.fuzz.case import Case
from tests.fuzz.drive import Outcome
from tests.fuzz.events import (
    CALLS_END,
    MESSAGE_START,
    TOOL_USE,
    F,
    argument_delta,
    chat,
    cohere,
    completed,
    converse,
    delta,
    entry,
    filled,
    item_added,
    message_delta,
    named,
    partial,
    sse,
    start,
    stop,
    stopped,
    tool_use,
    without_index,
)
from tests.fuzz.messages import MESSAGES
from tests.fuzz.mutate import split
from toolstream_core.calls.plain_call import MAX_TEXT
from toolstream_core.stages.repair.call_keeper import UNREAD

if TYPE_CHECKING:
    from collections.abc import Sequence

OPENED = entry(0, "", id="c1", name="f", type="function")

type Stream = tuple[str, bytes, tuple[str, str], bytes]

STREAMS: dict[str, Stream] = {
    "pieces under another index and the call's id, then its own": (
        "openai-chat",
        sse(
            *(chat(OPENED), chat(entry(7, 'tion": ', id="c1")), chat(entry(7, '"Flore', id="c1"))),
            chat(entry(0, "{}")),
        ),
        ("f", "{}"),
        sse(chat({}, "stop"), b"data: [DONE]\n\n"),
    ),
    "whole arguments without an index under the call's id, then its own": (
        "openai-chat",
        sse(
            *(chat(OPENED), chat(entry(None, "{", id="c1")), chat(entry(None, "}", id="c1"))),
            *(chat(entry(0, '{"a":')), chat(entry(0, "1}"))),
        ),
        ("f", '{"a":1}'),
        sse(chat({}, "tool_calls"), b"data: [DONE]\n\n"),
    ),
    "an item's piece without an index, then its own": (
        "openai-responses",
        sse(
            *(item_added(0, "fc_1"), without_index(argument_delta(0, "fc_1", "tool_use"))),
            *(argument_delta(0, "fc_1", ""), argument_delta(0, "fc_1", "{}")),
        ),
        ("f", "{}"),
        sse(completed()),
    ),
    "arguments in a block's start, and in a delta behind another message's": (
        "anthropic",
        sse(MESSAGE_START, tool_use(0, input='{"a":1}'), MESSAGE_START, partial(0, '{"a":1}'), stopped(0)),
        ("f", '{"a":1}'),
        sse(message_delta("end_turn"), {"type": "message_stop"}),
    ),
    "pieces of no call amid a call, then its own": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), filled(0, "{"), filled(1, '{"a":1}'), cohere(1, named("g"))),
            filled(0, '"a":1}'),
        ),
        ("f", '{"a":1}'),
        sse(CALLS_END),
    ),
    "arguments of no block before the block's own": (
        "bedrock",
        converse(
            *(start(0, F), delta(1, {"input": '"b":1}}'}), stop(1), start(2, F | {"toolUseId": "u", "name": "g"})),
            delta(0, {"input": '{"a":1}'}),
        ),
        ("f", '{"a":1}'),
        converse(TOOL_USE),
    ),
}
"""Protocol, the calls, what a plain client has of them, and how the answer ends."""

each_stream = pytest.mark.parametrize("name", STREAMS)


def ran(dialect: str, body: bytes, **more: object) -> Outcome:
    """With safe repairs."""
    case = Case(dialect, body, MESSAGES if dialect == "bedrock" else "text/event-stream")
    return Outcome(Case(**{**vars(case), **more}))


def had(dialect: str, body: bytes) -> list[tuple[str, str]]:
    """What a plain client has."""
    plain = readers.read(dialect, body, MESSAGES if dialect == "bedrock" else "text/event-stream")
    return [(call.name, call.text) for call in plain.calls.values() if call.value is not None]


@each_stream
@pytest.mark.parametrize("ended", [True, False])
def test_the_call_is_said_again(name: str, *, ended: bool) -> None:
    """Before what says that the answer is over, or at its end."""
    dialect, calls, wanted, ending = STREAMS[name]
    body = calls + ending if ended else calls
    assert wanted in had(dialect, body)
    run = ran(dialect, body).on
    assert run.error is None
    ends = len(split(ending)) if ended else 0
    assert wanted in had(dialect, b"".join(split(run.out)[: -ends or None]))


@pytest.mark.parametrize("name", [one for one in STREAMS if "own" in one and "block" not in one and "amid" not in one])
def test_it_is_told_for_what_was_repaired(name: str) -> None:
    """The change is in the audit, under names that are findings. No block protocol loses a call in these streams."""
    dialect, calls, wanted, _ = STREAMS[name]
    run = ran(dialect, calls).on
    made = run.repairs_row[-1]
    assert json.dumps(wanted[1])[1:-1].encode() in made.after
    assert made.names
    assert set(made.names) <= run.names


def test_a_finish_that_said_otherwise_says_tool_calls() -> None:
    """A client that goes by it would run nothing."""
    _, calls, _, ending = STREAMS["pieces under another index and the call's id, then its own"]
    out = ran("openai-chat", calls + ending).on.out
    assert b'"finish_reason":"tool_calls"' in out
    assert b'"stop"' not in out


def test_the_last_event_of_a_response_has_it_too() -> None:
    """Some clients read nothing else."""
    _, calls, _, ending = STREAMS["an item's piece without an index, then its own"]
    last = ran("openai-responses", calls + ending).on.out.strip().rpartition(b"data: ")[2]
    assert [item["arguments"] for item in json.loads(last)["response"]["output"]] == ["{}"]


def test_a_half_call_is_not_said_again() -> None:
    """Nobody has it."""
    dialect, calls, *_ = STREAMS["pieces of no call amid a call, then its own"]
    out = ran(dialect, calls[: calls.rindex(b"event: ")]).on.out
    assert had(dialect, out) == []


def test_a_long_call_is_not_looked_after() -> None:
    """It would have to be kept."""
    long = json.dumps({"a": "x" * MAX_TEXT})
    body = sse(chat(OPENED), chat(entry(7, "tion", id="c1")), chat(entry(7, '"F', id="c1")), chat(entry(0, long)))
    assert had("openai-chat", body) == [("f", long)]
    assert had("openai-chat", ran("openai-chat", body).on.out) == []


def pieces(count: int) -> Sequence[dict[str, object]]:
    """A text in so many deltas, under an index and an id that change."""
    return [chat(entry(7 + at % 2, "x", id="c1")) for at in range(count)]


def test_many_events_that_were_changed_are_not_kept() -> None:
    """They are read before they are too many."""
    body = sse(chat(OPENED), *pieces(3 * UNREAD), chat(entry(0, "{}")))
    assert had("openai-chat", ran("openai-chat", body).on.out) == [("f", "{}")]


def test_nothing_is_said_again_where_nothing_was_repaired() -> None:
    """The bytes pass as they came."""
    dialect, calls, _, ending = STREAMS["pieces of no call amid a call, then its own"]
    assert ran(dialect, calls + ending, repair=("leaked-xml",)).on.out == calls + ending
