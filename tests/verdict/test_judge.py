"""The verdict on a response, by calls and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import needs_shared
from toolstream_core.engine.session import read_body
from toolstream_core.model import ABSENT, Call, Kind, StreamFacts
from toolstream_core.protocols.requests.conversation import conversation
from toolstream_core.report.verdict import headline
from toolstream_core.verdict import Outcome, added, history_of, judge, to_run
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse, dropped

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.protocols.requests.conversation import Conversation
    from toolstream_core.verdict import Verdict


def made(**more: Any) -> dict[str, Any]:
    """A call as a Gemini client says it again."""
    return {"functionCall": {"name": "ls", "args": {"p": 1}, **more}}


def gave_result(**more: Any) -> dict[str, Any]:
    """Its result."""
    return {"functionResponse": {"name": "ls", "response": {"r": 1}, **more}}


@pytest.mark.parametrize(
    ("ids", "calls", "results", "outcome"),
    [
        ("a", [made(id="a")], [gave_result(id="a")], Outcome.OK),
        ("a", [made(id="a")], [gave_result()], Outcome.OK),
        ("a", [made()], [gave_result()], Outcome.OK),
        ("a", [made()], [gave_result(id="a")], Outcome.OK),
        ("ab", [made(), made()], [gave_result(id="b"), gave_result(id="a")], Outcome.OK),
        ("ab", [made(), made()], [gave_result(id="a"), gave_result(id="x")], Outcome.WRONG_ID),
        (" ", [made()], [gave_result(id="own")], Outcome.OK),
        (" ", [made(id="own")], [gave_result(id="other")], Outcome.WRONG_ID),
        ("a", [made(id="a")], [gave_result(id="b")], Outcome.WRONG_ID),
    ],
)
def test_ids_in_one_of_the_two(ids: str, calls: list[Any], results: list[Any], outcome: Outcome) -> None:
    """An id is optional there."""
    sent = [Call(0, at, Kind.FUNCTION, one.strip(), "ls", '{"p":1}', complete=True) for at, one in enumerate(ids)]
    said = conversation({"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]})
    assert judge(sent, said).outcome is outcome


A = Call(0, 0, Kind.FUNCTION, "c1", "ls", '{"p": 1}', complete=True)
B = Call(0, 1, Kind.FUNCTION, "c2", "cat", '{"q": "x"}', complete=True)
HALF = Call(0, 0, Kind.FUNCTION, "c1", "ls", '{"p', complete=False)
ASKED = {"role": "user", "content": "go"}


def said(id_: str | None, name: str, arguments: str) -> dict[str, Any]:
    """A call as a Chat Completions client says it again."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def gave(id_: str | None, text: str = "r") -> dict[str, Any]:
    """A tool's result."""
    return {"role": "tool", "tool_call_id": id_, "content": text}


def verdict(sent: list[Call], calls: list[Any], results: list[Any], *, ids_kept: bool = False) -> Verdict:
    """The verdict on a next request with these calls and results."""
    after = {"messages": [ASKED, {"role": "assistant", "tool_calls": calls}, *results]}
    return judge(sent, new({"messages": [ASKED]}, after), ids_kept=ids_kept)


def new(before: dict[str, Any], after: dict[str, Any]) -> Conversation:
    """What a request says beyond the one before it."""
    return added(history_of(conversation(before)), conversation(after))


A_, B_ = said("c1", "ls", '{"p":1}'), said("c2", "cat", '{"q":"x"}')


@pytest.mark.parametrize(
    ("sent", "calls", "results", "outcome"),
    [
        ([A, B], [A_, B_], [gave("c1"), gave("c2")], Outcome.OK),
        ([A, B], [B_, A_], [gave("c2"), gave("c1")], Outcome.OK),
        ([A, B], [A_], [gave("c1")], Outcome.LOST_CALL),
        ([A], [A_, said("c9", "ls", '{"p": 1}')], [gave("c1"), gave("c9")], Outcome.DUPLICATE_CALL),
        ([A], [A_, said("c9", "rm", "{}")], [gave("c1"), gave("c9")], Outcome.PHANTOM_CALL),
        ([A], [said("c1", "ls", "{}")], [gave("c1")], Outcome.RETURNED_WITHOUT_ARGUMENTS),
        ([A], [said("c1", "ls", "")], [gave("c1")], Outcome.RETURNED_WITHOUT_ARGUMENTS),
        ([A], [said("c1", "ls", '{"p":2}')], [gave("c1")], Outcome.WRONG_ARGUMENTS),
        ([A], [said("c1", "ls", '{"p":1}{"p":1}')], [gave("c1")], Outcome.WRONG_ARGUMENTS),
        ([A], [said("c1", "lsls", '{"p":1}')], [gave("c1")], Outcome.WRONG_NAME),
        ([A], [said("c1c1", "lsls", "{}")], [gave("c1c1")], Outcome.WRONG_NAME),
        ([A], [said("c1", "ls", '{"p":1.0}')], [gave("c1")], Outcome.OK),
        ([A], [said("c1", "ls", '{"p":true}')], [gave("c1")], Outcome.WRONG_ARGUMENTS),
        ([A, B], [A_, said("c2", "cat", "{}")], [gave("c1"), gave("c2")], Outcome.WRONG_ARGUMENTS),
        ([A, B], [said("c2", "cat", '{"p": 1}{"q": "x"}')], [gave("c2")], Outcome.RETURNED_MERGED),
        ([A, B], [said("c2", "cat", json.dumps({"bad": '{"p": 1}{"q": "x"}'}))], [gave("c2")], Outcome.RETURNED_MERGED),
        ([A, B], [said("c2", "lscat", "{}")], [gave("c2")], Outcome.RETURNED_MERGED),
        ([A, B], [said("c1", "cat", '{"p":1}')], [gave("c1")], Outcome.RETURNED_MERGED),
        ([A, B], [said("c2", "ls", '{"q":"x"}')], [gave("c2")], Outcome.RETURNED_MERGED),
        ([A], [said("c1", "ls", ""), said("", "", '{"p":1}')], [gave("c1"), gave("")], Outcome.SPLIT_CALL),
        ([A], [said("c1", "ls", '{"p'), said("x", "", '": 1}')], [gave("c1")], Outcome.SPLIT_CALL),
        ([A], [A_, said("", "", "")], [gave("c1"), gave("")], Outcome.PHANTOM_CALL),
        ([A], [A_], [gave("c7")], Outcome.WRONG_ID),
        ([A], [A_], [gave("c1"), gave("c7")], Outcome.WRONG_ID),
        ([A, B], [A_, B_], [gave("c7"), gave("c2"), gave("c1")], Outcome.WRONG_ID),
        ([A, B], [A_, said("c1", "cat", '{"q":"x"}')], [gave("c1"), gave("c1")], Outcome.WRONG_ID),
        (
            [A, B],
            [said(None, "ls", '{"p":1}'), said(None, "cat", '{"q":"x"}')],
            [gave(None), gave(None)],
            Outcome.WRONG_ID,
        ),
        ([A], [A_], [gave("c1"), gave("c1", "again")], Outcome.DUPLICATE_CALL),
        ([A], [A_], [], Outcome.MISSING_RESULT),
        ([A], [], [], Outcome.RETRIED),
        ([HALF], [said("c1", "ls", '{"p')], [gave("c1")], Outcome.RETURNED_INCOMPLETE_CALL),
        ([HALF], [said("c1", "ls", "{}")], [gave("c1")], Outcome.RETURNED_INCOMPLETE_CALL),
    ],
)
def test_outcomes(sent: list[Call], calls: list[Any], results: list[Any], outcome: Outcome) -> None:
    """One for each way to go wrong; only the first lines are understood."""
    judged = verdict(sent, calls, results)
    assert (judged.outcome, judged.understood) == (outcome, outcome is Outcome.OK)


@pytest.mark.parametrize("id_", ["", "c7"])
def test_an_empty_id_is_another_id(id_: str) -> None:
    """It shows how the client read the ids."""
    judged = verdict([A], [said(id_, "ls", '{"p":1}')], [gave("c9")])
    assert (judged.outcome, judged.may_be_explained) == (Outcome.WRONG_ID, True)


def test_an_id_that_the_provider_sent_twice_is_not_the_clients() -> None:
    """The client returned both calls as they were sent: the stream explains it, and the headline says who did what."""
    twice = [A, Call(0, 1, Kind.FUNCTION, "c1", "cat", '{"q": "x"}', complete=True)]
    judged = verdict(twice, [A_, said("c1", "cat", '{"q":"x"}')], [gave("c1"), gave("c1")])
    assert (judged.outcome, judged.may_be_explained) == (Outcome.WRONG_ID, True)
    assert judged.problems[0].text == "id 'c1' was sent and returned for 2 calls"
    assert headline(judged, twice).startswith("The provider sent call 0 ls and call 1 cat under one id")
    own = verdict([A, B], [A_, said("c1", "cat", '{"q":"x"}')], [gave("c1"), gave("c1")])
    assert headline(own, [A, B]) == "The client mixed up the ids of call 0 ls and call 1 cat"


def test_the_arguments_of_one_call_alone() -> None:
    """The outcome is about arguments that differ between calls, and the text fits it."""
    judged = verdict([A, B], [A_, said("c2", "cat", "{}")], [gave("c1"), gave("c2")])
    assert [one.text for one in judged.problems] == ["returned without its arguments, unlike other calls"]


def test_a_result_that_no_call_has_is_named() -> None:
    """Once, and not where another problem explains its id."""
    assert [one.text for one in verdict([A], [A_], [gave("c1"), gave("c7")]).problems] == [
        "a result has the id 'c7', which no call has"
    ]
    assert len(verdict([A], [A_], [gave("c7")]).problems) == 1


def test_results_of_earlier_calls_are_no_results_without_a_call() -> None:
    """A tool that runs for long gives its result in a later turn; an old call may be left out, its result kept."""
    before = {"messages": [ASKED, {"role": "assistant", "tool_calls": [said("c0", "run", "{}")]}, gave("c0", "later")]}
    turn = {"role": "assistant", "tool_calls": [A_]}
    late = {"messages": [*before["messages"], turn, gave("c1"), gave("c0", "done")]}
    assert judge([A], new(before, late)).outcome is Outcome.OK
    cut = {"messages": [ASKED, gave("c0", "later"), turn, gave("c1")]}
    assert judge([A], new(before, cut)).outcome is Outcome.OK


def test_the_server_may_have_the_call_of_a_result() -> None:
    """Where it stores the conversation."""
    call = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"p":1}'}
    results = [{"type": "function_call_output", "call_id": one, "output": "r"} for one in ("c1", "c7")]
    after = {"input": ["go", call, *results]}
    assert judge([A], conversation(after)).outcome is Outcome.WRONG_ID
    assert judge([A], conversation(after | {"conversation": "conv_1"})).outcome is Outcome.OK


def test_an_empty_id_is_no_id_of_the_clients_own() -> None:
    """Clients may give calls other ids, but providers refuse an empty one, which a client kept of a continuation."""
    judged = verdict([A], [said("", "ls", '{"p":1}')], [gave("")])
    assert [(one.outcome, one.text) for one in judged.problems] == [
        (Outcome.WRONG_ID, "returned with id '', sent with 'c1'")
    ]
    assert verdict([A], [said("own", "ls", '{"p":1}')], [gave("own")]).outcome is Outcome.OK
    nothing: Any = None
    assert verdict([A], [said(nothing, "ls", '{"p":1}')], [gave("")]).outcome is Outcome.OK


REJECTION, RAN = '{"error":"bad arguments"}', "Exit code: 0\nOutput:\nx"


@pytest.mark.parametrize(
    ("sent", "calls", "results", "outcome"),
    [
        ([HALF], [said("c1", "ls", "{}")], [gave("c1", REJECTION)], Outcome.CALL_REJECTED),
        ([HALF], [said("c1", "ls", "{}")], [gave("c1", RAN)], Outcome.RAN_INCOMPLETE_CALL),
        ([HALF], [said("c1", "ls", "{}")], [gave("c1", "Error: bad arguments")], Outcome.RETURNED_INCOMPLETE_CALL),
        ([HALF], [said("c1", "ls", "{}")], [], Outcome.RETURNED_INCOMPLETE_CALL),
        ([A], [A_], [gave("c1"), gave("c1", REJECTION)], Outcome.CALL_REJECTED),
        ([A], [A_, said("c9", "ls", '{"p":1}')], [gave("c1"), gave("c9", REJECTION)], Outcome.CALL_REJECTED),
        ([A], [A_, said("c9", "ls", '{"p":1}')], [gave("c1"), gave("c9")], Outcome.DUPLICATE_CALL),
    ],
)
def test_a_result_shows_whether_a_call_ran(
    sent: list[Call], calls: list[Any], results: list[Any], outcome: Outcome
) -> None:
    """A rejected call is understood."""
    judged = verdict(sent, calls, results)
    assert (judged.outcome, judged.understood) == (outcome, outcome is Outcome.CALL_REJECTED)


def test_a_half_call_is_rightly_dropped() -> None:
    """By asking again, and by not asking again."""
    assert verdict([HALF], [], []).understood
    silent = judge([HALF], None)
    assert (silent.outcome, silent.understood) == (Outcome.SILENT, True)
    assert not judge([A], None).understood


def test_ids_count_where_they_were_sent_as_they_are() -> None:
    """A client that makes up ids of its own tells calls apart; it did not keep what it was sent."""
    calls, results = [said("mine", "ls", '{"p":1}')], [gave("mine")]
    assert verdict([A], calls, results).understood
    assert verdict([A], calls, results, ids_kept=True).outcome is Outcome.WRONG_ID


def test_results_alone_are_enough_where_the_server_keeps_the_calls() -> None:
    """`previous_response_id`; each call needs its own."""
    output = {"type": "function_call_output", "call_id": "c1", "output": "r"}
    said = new({"input": "go"}, {"previous_response_id": "resp_1", "input": [output]})
    assert judge([A], said).outcome is Outcome.RESULTS_ONLY
    assert judge([A, B], said).outcome is Outcome.MISSING_RESULT
    assert judge([HALF], said).outcome is Outcome.RETURNED_INCOMPLETE_CALL
    assert judge([A, B], said, dropped={1}).outcome is Outcome.RESULTS_ONLY
    assert judge([A], new({"input": "go"}, {"input": ["go", output]})).outcome is Outcome.RESULTS_ONLY


def test_protocols_without_ids() -> None:
    """Gemini and Ollama: results belong to calls by the tool's name, or in their order."""
    calls = [{"functionCall": {"name": "ls", "args": {"p": 1}}}, {"functionCall": {"name": "ls", "args": {"p": 2}}}]
    results = [{"functionResponse": {"name": "ls", "response": {"r": n}}} for n in (1, 2)]
    sent = [Call(0, at, Kind.FUNCTION, "", "ls", json.dumps({"p": at + 1}), complete=True) for at in (0, 1)]
    before = {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}
    for kept, outcome in ((results, Outcome.OK), (results[:1], Outcome.MISSING_RESULT)):
        after = {"contents": [*before["contents"], {"role": "model", "parts": calls}, {"role": "user", "parts": kept}]}
        assert judge(sent, new(before, after)).outcome is outcome
    bare = [ASKED, {"role": "assistant", "tool_calls": [{"function": {"name": "ls", "arguments": {"p": 1}}}]}]
    after_ = {"messages": [*bare, {"role": "tool", "content": "r"}]}
    assert judge(sent[:1], new({"messages": [ASKED]}, after_)).outcome is Outcome.OK


def test_calls_in_text_and_those_of_the_server() -> None:
    """Some agents write calls into messages; what the provider runs is not asked for."""
    text = "Calling ls with {'p': 1}. Observation: r"
    after = new({"messages": [ASKED]}, {"messages": [ASKED, {"role": "assistant", "content": text}]})
    assert judge([A], after).outcome is Outcome.AS_TEXT
    assert to_run([Call(0, 0, Kind.SERVER, "s", "web_search", "{}", complete=True)]) == []


COARSE = {
    "retried-or-lost": {Outcome.RETRIED, Outcome.LOST_CALL},
    "wrong-name-or-count": {Outcome.WRONG_NAME, Outcome.LOST_CALL, Outcome.SPLIT_CALL, Outcome.RETURNED_MERGED},
    "half-call": {Outcome.RETURNED_INCOMPLETE_CALL},
}
"""Verdicts of the recorded conversations that say less than ours, or in another word."""
PATHS = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
OK_OR_NOT, CLASSES = 0.995, 0.98


@needs_shared
def test_real_clients_are_judged_as_they_were_seen(shared: Path) -> None:
    """Conversations of published clients with broken streams, whose tools were watched from inside."""
    folder = shared / "followups"
    if not folder.is_dir():
        pytest.skip("no recorded conversations")
    cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
    assert len(cells) > 600
    judgements = [(cell, judged(cell, (folder / "streams" / cell["stream"]).read_bytes())) for cell in cells]
    sent = [cell for cell, verdict in judgements if came_back(verdict) == (cell["sent"], cell["results"])]
    right = [cell for cell, verdict in judgements if (verdict.outcome is Outcome.OK) == (cell["verdict"] == "ok")]
    classes = [
        cell
        for cell, verdict in judgements
        if verdict.outcome in COARSE.get(cell["verdict"], set()) or verdict.outcome == cell["verdict"]
    ]
    assert len(sent) >= OK_OR_NOT * len(cells)
    assert len(right) >= OK_OR_NOT * len(cells)
    assert len(classes) >= CLASSES * len(cells)


def judged(cell: dict[str, Any], stream: bytes) -> Verdict:
    """The verdict on one recorded conversation, its requests and its answer one after the other."""
    key = "input" if cell["dialect"] == "openai-responses" else "messages"
    tools = [
        {"type": "function", "name": name, "function": {"name": name, "parameters": {"required": ["x"]}}}
        for name in ("web_search", "get_weather")
    ]
    exchange = StreamFacts(path=PATHS[cell["dialect"]], content_type="text/event-stream", request={"tools": tools})
    record = read_body([stream], exchange)
    assert record is not None
    told: list[Judged[SentResponse]] = []
    seen = Conversations[SentResponse](told.append)
    seen.request("first", cell["dialect"], conversation({key: cell["asked"]}))
    seen.response("first", SentResponse(calls=record.calls, dropped=dropped(record)))
    if cell["next"] is not None:
        seen.request("next", cell["dialect"], conversation({key: cell["next"]}))
    [judged] = [*told, *seen.missing()]
    return judged.verdict


def came_back(verdict: Verdict) -> tuple[list[dict[str, Any]], list[Any]]:
    """The calls and the ids of the results that came back, as the recorded conversations have them."""

    def given(value: Any) -> Any:
        return None if value is ABSENT else value

    calls = [{key: given(value) for key, value in one.written._asdict().items()} for one in verdict.sent]
    return calls, [given(one.written_id) for one in verdict.results]
