"""Arguments reach the client once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import inspected, payloads, repaired, sse
from tests.protocols.chat.test_id_alone import EXCHANGE, chunk
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

OPEN: Payload = {"index": 0, "id": "call_o", "type": "function", "function": {"name": "search", "arguments": ""}}
FINISH = chunk(finish="tool_calls")


def more(text: str) -> Payload:
    """Return an entry with only arguments."""
    return {"index": 0, "function": {"arguments": text}}


def arguments(out: bytes) -> str:
    """Return the arguments of the call as a client joins them."""
    entries = [
        entry
        for event in payloads(out)
        for choice in json_access.items(json_access.get(event, "choices"))
        for entry in json_access.items(json_access.get(choice, "delta", "tool_calls"))
    ]
    return "".join(str(json_access.get(entry, "function", "arguments") or "") for entry in entries)


@pytest.mark.parametrize(
    "after", [['{"q":', "2}"], ["{", '{"r":', "2}"], ["{", '"q":1', "2}"]], ids=["another", "garbage", "a longer one"]
)
def test_withheld_text_that_is_not_a_repetition_is_sent(after: list[str]) -> None:
    """Text that was withheld as a possible repetition is sent once it proves to be something else."""
    fragments = ['{"q":', "1}", *after]
    outcome = repaired(sse(chunk(OPEN), *(chunk(more(fragment)) for fragment in fragments), FINISH, "[DONE]"), EXCHANGE)
    assert arguments(outcome.out) == "".join(fragments)


@pytest.mark.parametrize("form", ["delta", "message"])
def test_a_message_completes_incomplete_arguments(form: str) -> None:
    """The rest of incomplete arguments is sent from the final message, before the finish reason."""
    last = {"role": "assistant", "tool_calls": [{**OPEN, "function": {"name": "search", "arguments": '{"q": 1}'}}]}

    def event(entry: Payload) -> Payload:
        one = chunk()
        return {**one, "choices": [{"index": 0, form: {"tool_calls": [entry]}, "finish_reason": None}]}

    end = {**FINISH, "choices": [{**FINISH["choices"][0], "message": last}]}
    body = sse(event(OPEN), event(more('{"q":')), end, "[DONE]")
    outcome = repaired(body, EXCHANGE)
    assert (
        inspected(body, EXCHANGE).calls
        == outcome.calls
        == inspected(outcome.out, EXCHANGE).calls
        == [("search", {"q": 1})]
    )
    assert arguments(outcome.out) == '{"q": 1}'


def test_two_entries_of_one_call_in_an_event_are_both_sent() -> None:
    """The arguments of two entries of one call in an event are both sent, even if the result is not JSON."""
    body = sse(
        chunk({**OPEN, "function": {"name": "search", "arguments": '{"q"'}}), chunk(more(':"x"}'), more(':"x"}'))
    )
    assert arguments(repaired(body, EXCHANGE).out) == '{"q":"x"}:"x"}'


def test_no_finish_reason_is_added_after_trailing_garbage() -> None:
    """No finish reason is added to a truncated stream whose arguments end with garbage."""
    outcome = repaired(sse(chunk(OPEN), chunk(more('{"q":1}]'))), EXCHANGE)
    assert b'finish_reason":"tool_calls' not in outcome.out
    assert "truncated-stream" in outcome.finding_names
