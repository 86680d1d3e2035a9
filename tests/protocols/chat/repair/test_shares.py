"""Arguments reach the client once: what was withheld, what a message completes, what one event says in two entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import inspected, repaired, sse
from tests.protocols.chat.test_id_alone import ASKED, chunk
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

OPEN: Payload = {"index": 0, "id": "call_o", "type": "function", "function": {"name": "search", "arguments": ""}}
FINISH = chunk(finish="tool_calls")


def more(text: str) -> Payload:
    """An entry with arguments alone."""
    return {"index": 0, "function": {"arguments": text}}


def arguments(out: bytes) -> str:
    """The arguments of the one call, as a client joins them."""
    events = [line.removeprefix(b"data: ") for line in out.splitlines() if line.startswith(b"data: {")]
    entries = [
        entry
        for event in map(json.loads, events)
        for choice in json_access.items(json_access.get(event, "choices"))
        for entry in json_access.items(json_access.get(choice, "delta", "tool_calls"))
    ]
    return "".join(str(json_access.get(entry, "function", "arguments") or "") for entry in entries)


@pytest.mark.parametrize(
    "after", [['{"q":', "2}"], ["{", '{"r":', "2}"], ["{", '"q":1', "2}"]], ids=["another", "garbage", "a longer one"]
)
def test_text_that_was_withheld_as_a_repetition_is_sent(after: list[str]) -> None:
    """It proves to be something else: the client gets all characters of it, once."""
    pieces = ['{"q":', "1}", *after]
    went = repaired(sse(chunk(OPEN), *(chunk(more(piece)) for piece in pieces), FINISH, "[DONE]"), ASKED)
    assert arguments(went.out) == "".join(pieces)


@pytest.mark.parametrize("form", ["delta", "message"])
def test_a_message_completes_arguments_that_broke_off(form: str) -> None:
    """In deltas or in entries of messages: the client gets the rest before the finish."""
    last = {"role": "assistant", "tool_calls": [{**OPEN, "function": {"name": "search", "arguments": '{"q": 1}'}}]}

    def event(entry: Payload) -> Payload:
        one = chunk()
        return {**one, "choices": [{"index": 0, form: {"tool_calls": [entry]}, "finish_reason": None}]}

    end = {**FINISH, "choices": [{**FINISH["choices"][0], "message": last}]}
    body = sse(event(OPEN), event(more('{"q":')), end, "[DONE]")
    went = repaired(body, ASKED)
    assert inspected(body, ASKED).calls == went.calls == inspected(went.out, ASKED).calls == [("search", {"q": 1})]
    assert arguments(went.out) == '{"q": 1}'


def test_two_entries_of_one_event_say_their_own_shares() -> None:
    """Also where they make no JSON together."""
    body = sse(
        chunk({**OPEN, "function": {"name": "search", "arguments": '{"q"'}}), chunk(more(':"x"}'), more(':"x"}'))
    )
    assert arguments(repaired(body, ASKED).out) == '{"q":"x"}:"x"}'


def test_no_finish_is_made_for_arguments_with_garbage_after_them() -> None:
    """The stream broke off: more may have been still to come."""
    went = repaired(sse(chunk(OPEN), chunk(more('{"q":1}]'))), ASKED)
    assert b'finish_reason":"tool_calls' not in went.out
    assert "truncated-stream" in went.finding_names
