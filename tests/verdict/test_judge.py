"""The verdict on a response, by the returned calls and results."""

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


def gemini_call(**more: Any) -> dict[str, Any]:
    """A call as a Gemini client returns it."""
    return {"functionCall": {"name": "ls", "args": {"p": 1}, **more}}


def gemini_result(**more: Any) -> dict[str, Any]:
    """The result of a call of Gemini."""
    return {"functionResponse": {"name": "ls", "response": {"r": 1}, **more}}


@pytest.mark.parametrize(
    ("ids", "calls", "results", "outcome"),
    [
        ("a", [gemini_call(id="a")], [gemini_result(id="a")], Outcome.OK),
        ("a", [gemini_call(id="a")], [gemini_result()], Outcome.OK),
        ("a", [gemini_call()], [gemini_result()], Outcome.OK),
        ("a", [gemini_call()], [gemini_result(id="a")], Outcome.OK),
        ("a", [gemini_call(id=None)], [gemini_result(id=None)], Outcome.OK),
        ("ab", [gemini_call(), gemini_call()], [gemini_result(id="b"), gemini_result(id="a")], Outcome.OK),
        ("ab", [gemini_call(), gemini_call()], [gemini_result(id="a"), gemini_result(id="x")], Outcome.WRONG_ID),
        (" ", [gemini_call()], [gemini_result(id="own")], Outcome.OK),
        (" ", [gemini_call(id="own")], [gemini_result(id="other")], Outcome.WRONG_ID),
        ("a", [gemini_call(id="a")], [gemini_result(id="b")], Outcome.WRONG_ID),
    ],
)
def test_gemini_ids_are_optional(ids: str, calls: list[Any], results: list[Any], outcome: Outcome) -> None:
    """Ids may be missing in calls, in results, or in both."""
    sent = [Call(0, at, Kind.FUNCTION, one.strip(), "ls", '{"p":1}', complete=True) for at, one in enumerate(ids)]
    messages = conversation({"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]})
    assert judge(sent, messages).outcome is outcome


A = Call(0, 0, Kind.FUNCTION, "c1", "ls", '{"p": 1}', complete=True)
B = Call(0, 1, Kind.FUNCTION, "c2", "cat", '{"q": "x"}', complete=True)
INCOMPLETE = Call(0, 0, Kind.FUNCTION, "c1", "ls", '{"p', complete=False)
USER = {"role": "user", "content": "go"}


def returned(id_: str | None, name: str, arguments: str) -> dict[str, Any]:
    """A call as a Chat Completions client returns it."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(id_: str | None, text: str = "r") -> dict[str, Any]:
    """The result of a tool."""
    return {"role": "tool", "tool_call_id": id_, "content": text}


def verdict(sent: list[Call], calls: list[Any], results: list[Any], *, ids_kept: bool = False) -> Verdict:
    """The verdict on a next request with these calls and results."""
    after = {"messages": [USER, {"role": "assistant", "tool_calls": calls}, *results]}
    return judge(sent, new_part({"messages": [USER]}, after), ids_kept=ids_kept)


def new_part(before: dict[str, Any], after: dict[str, Any]) -> Conversation:
    """The part of a request that the request before it does not have."""
    return added(history_of(conversation(before)), conversation(after))


A_, B_ = returned("c1", "ls", '{"p":1}'), returned("c2", "cat", '{"q":"x"}')


@pytest.mark.parametrize(
    ("sent", "calls", "results", "outcome"),
    [
        ([A, B], [A_, B_], [result("c1"), result("c2")], Outcome.OK),
        ([A, B], [B_, A_], [result("c2"), result("c1")], Outcome.OK),
        ([A, B], [A_], [result("c1")], Outcome.LOST_CALL),
        ([A], [A_, returned("c9", "ls", '{"p": 1}')], [result("c1"), result("c9")], Outcome.DUPLICATE_CALL),
        ([A], [A_, returned("c9", "rm", "{}")], [result("c1"), result("c9")], Outcome.PHANTOM_CALL),
        ([A], [returned("c1", "ls", "{}")], [result("c1")], Outcome.RETURNED_WITHOUT_ARGUMENTS),
        ([A], [returned("c1", "ls", "")], [result("c1")], Outcome.RETURNED_WITHOUT_ARGUMENTS),
        ([A], [returned("c1", "ls", '{"p":2}')], [result("c1")], Outcome.WRONG_ARGUMENTS),
        ([A], [returned("c1", "ls", '{"p":1}{"p":1}')], [result("c1")], Outcome.WRONG_ARGUMENTS),
        ([A], [returned("c1", "lsls", '{"p":1}')], [result("c1")], Outcome.WRONG_NAME),
        ([A], [returned("c1c1", "lsls", "{}")], [result("c1c1")], Outcome.WRONG_NAME),
        ([A], [returned("c1", "ls", '{"p":1.0}')], [result("c1")], Outcome.OK),
        ([A], [returned("c1", "ls", '{"p":true}')], [result("c1")], Outcome.WRONG_ARGUMENTS),
        ([A, B], [A_, returned("c2", "cat", "{}")], [result("c1"), result("c2")], Outcome.WRONG_ARGUMENTS),
        ([A, B], [returned("c2", "cat", '{"p": 1}{"q": "x"}')], [result("c2")], Outcome.RETURNED_MERGED),
        (
            [A, B],
            [returned("c2", "cat", json.dumps({"bad": '{"p": 1}{"q": "x"}'}))],
            [result("c2")],
            Outcome.RETURNED_MERGED,
        ),
        ([A, B], [returned("c2", "lscat", "{}")], [result("c2")], Outcome.RETURNED_MERGED),
        ([A, B], [returned("c1", "cat", '{"p":1}')], [result("c1")], Outcome.RETURNED_MERGED),
        ([A, B], [returned("c2", "ls", '{"q":"x"}')], [result("c2")], Outcome.RETURNED_MERGED),
        ([A], [returned("c1", "ls", ""), returned("", "", '{"p":1}')], [result("c1"), result("")], Outcome.SPLIT_CALL),
        ([A], [returned("c1", "ls", '{"p'), returned("x", "", '": 1}')], [result("c1")], Outcome.SPLIT_CALL),
        ([A], [A_, returned("", "", "")], [result("c1"), result("")], Outcome.PHANTOM_CALL),
        ([A], [A_], [result("c7")], Outcome.WRONG_ID),
        ([A], [A_], [result("c1"), result("c7")], Outcome.WRONG_ID),
        ([A, B], [A_, B_], [result("c7"), result("c2"), result("c1")], Outcome.WRONG_ID),
        ([A, B], [A_, returned("c1", "cat", '{"q":"x"}')], [result("c1"), result("c1")], Outcome.WRONG_ID),
        (
            [A, B],
            [returned(None, "ls", '{"p":1}'), returned(None, "cat", '{"q":"x"}')],
            [result(None), result(None)],
            Outcome.WRONG_ID,
        ),
        ([A], [A_], [result("c1"), result("c1", "again")], Outcome.DUPLICATE_CALL),
        ([A], [A_], [], Outcome.MISSING_RESULT),
        ([A], [], [], Outcome.RETRIED),
        ([INCOMPLETE], [returned("c1", "ls", '{"p')], [result("c1")], Outcome.RETURNED_INCOMPLETE_CALL),
        ([INCOMPLETE], [returned("c1", "ls", "{}")], [result("c1")], Outcome.RETURNED_INCOMPLETE_CALL),
    ],
)
def test_outcomes(sent: list[Call], calls: list[Any], results: list[Any], outcome: Outcome) -> None:
    """Each way to misread the calls has its outcome, and only `ok` is understood."""
    judged = verdict(sent, calls, results)
    assert (judged.outcome, judged.understood) == (outcome, outcome is Outcome.OK)


@pytest.mark.parametrize(
    ("data", "request_", "expected"),
    [
        ('{"choices":[{"index":0,"delta":{"content":"Hi."}}]}', {}, False),
        ('{"choices":[{"index":0,"delta":{"content":"Hi."}}]}', {"background": True}, True),
        ('{"choices":[{"index":0,"delta":{"content":"<invoke name=\\"ls\\"></invoke>"}}]}', {}, True),
        ('{"choices":[{"index":0,"delta":{"tool_calls":[', {}, True),
        ('{"error":{"code":"tool_use_failed","failed_generation":"{}"}}', {}, True),
    ],
)
def test_responses_that_may_have_further_calls(data: str, request_: dict[str, Any], expected: bool) -> None:
    """In the text, in the background, in an event that cannot be read, and in an error."""
    events = ('{"choices":[{"index":0,"delta":{"role":"assistant"}}]}', data)
    body = "".join(f"data: {one}\n\n" for one in events).encode()
    record = read_body([body], StreamFacts(path="/v1/chat/completions", request=request_))
    assert record is not None
    assert SentResponse.of(record, request_).has_further is expected


@pytest.mark.parametrize("name", ["functions.ls:0", "ls<|channel|>commentary", "ls[ARGS]"])
def test_a_client_may_remove_what_is_around_a_name(name: str) -> None:
    """The tool is `ls`; a client that calls it so has understood."""
    sent = Call(0, 0, Kind.FUNCTION, "c1", name, '{"p": 1}', complete=True)
    assert verdict([sent], [A_], [result("c1")]).outcome is Outcome.OK


def test_a_call_in_the_text_may_be_returned() -> None:
    """A client may read a leaked call itself, but no call twice."""
    after = {"messages": [USER, {"role": "assistant", "tool_calls": [A_]}, result("c1")]}
    new = new_part({"messages": [USER]}, after)
    assert judge([], new).outcome is Outcome.PHANTOM_CALL
    assert judge([], new, has_further=True).outcome is Outcome.OK
    twice = {"messages": [USER, {"role": "assistant", "tool_calls": [A_, A_]}, result("c1")]}
    assert judge([A], new_part({"messages": [USER]}, twice), has_further=True).outcome is Outcome.DUPLICATE_CALL


def test_a_client_may_continue_without_an_incomplete_call() -> None:
    """The request is not a repetition: the user asks for the rest."""
    after = {"messages": [USER, {"role": "user", "content": "continue"}]}
    judged = judge([INCOMPLETE], new_part({"messages": [USER]}, after))
    assert (judged.outcome, judged.problems) == (Outcome.OK, ())
    assert judge([INCOMPLETE], new_part({"messages": [USER]}, {"messages": [USER]})).outcome is Outcome.RETRIED


@pytest.mark.parametrize("id_", ["", "c7"])
def test_an_empty_id_is_another_id(id_: str) -> None:
    """Its explanation shows how the client read ids."""
    judged = verdict([A], [returned(id_, "ls", '{"p":1}')], [result("c9")])
    assert (judged.outcome, judged.may_be_explained) == (Outcome.WRONG_ID, True)


def test_an_id_that_the_provider_sent_twice_is_not_the_clients_bug() -> None:
    """The client returned the calls as they were sent, and the headline blames the provider."""
    twice = [A, Call(0, 1, Kind.FUNCTION, "c1", "cat", '{"q": "x"}', complete=True)]
    judged = verdict(twice, [A_, returned("c1", "cat", '{"q":"x"}')], [result("c1"), result("c1")])
    assert (judged.outcome, judged.may_be_explained) == (Outcome.WRONG_ID, True)
    assert judged.problems[0].text == "id 'c1' was sent and returned for 2 calls"
    assert headline(judged, twice).startswith("The provider sent call 0 ls and call 1 cat under one id")
    mixed_up = verdict([A, B], [A_, returned("c1", "cat", '{"q":"x"}')], [result("c1"), result("c1")])
    assert headline(mixed_up, [A, B]) == "The client mixed up the ids of call 0 ls and call 1 cat"


def test_a_call_without_arguments_among_others() -> None:
    """The text says that only some arguments were lost."""
    judged = verdict([A, B], [A_, returned("c2", "cat", "{}")], [result("c1"), result("c2")])
    assert [one.text for one in judged.problems] == ["returned without its arguments, unlike other calls"]


def test_a_result_without_a_call_is_named() -> None:
    """It is reported once, and not if another problem explains its id."""
    assert [one.text for one in verdict([A], [A_], [result("c1"), result("c7")]).problems] == [
        "a result has the id 'c7', which no call has"
    ]
    assert len(verdict([A], [A_], [result("c7")]).problems) == 1


def test_results_of_earlier_calls_are_no_results_without_a_call() -> None:
    """A slow tool returns its result in a later turn, and its call may be left out by then."""
    before = {
        "messages": [USER, {"role": "assistant", "tool_calls": [returned("c0", "run", "{}")]}, result("c0", "later")]
    }
    turn = {"role": "assistant", "tool_calls": [A_]}
    late = {"messages": [*before["messages"], turn, result("c1"), result("c0", "done")]}
    assert judge([A], new_part(before, late)).outcome is Outcome.OK
    cut = {"messages": [USER, result("c0", "later"), turn, result("c1")]}
    assert judge([A], new_part(before, cut)).outcome is Outcome.OK


def test_the_server_may_have_the_call_of_a_result() -> None:
    """The server may store the conversation."""
    call = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"p":1}'}
    results = [{"type": "function_call_output", "call_id": one, "output": "r"} for one in ("c1", "c7")]
    after = {"input": ["go", call, *results]}
    assert judge([A], conversation(after)).outcome is Outcome.WRONG_ID
    assert judge([A], conversation(after | {"conversation": "conv_1"})).outcome is Outcome.OK


def test_an_empty_id_is_no_id_of_the_clients_own() -> None:
    """A client may use ids of its own, but providers refuse an empty one."""
    judged = verdict([A], [returned("", "ls", '{"p":1}')], [result("")])
    assert [(one.outcome, one.text) for one in judged.problems] == [
        (Outcome.WRONG_ID, "returned with id '', sent with 'c1'")
    ]
    assert verdict([A], [returned("own", "ls", '{"p":1}')], [result("own")]).outcome is Outcome.OK
    nothing: Any = None
    assert verdict([A], [returned(nothing, "ls", '{"p":1}')], [result("")]).outcome is Outcome.OK


REJECTION, RAN = '{"error":"bad arguments"}', "Exit code: 0\nOutput:\nx"


@pytest.mark.parametrize(
    ("sent", "calls", "results", "outcome"),
    [
        ([INCOMPLETE], [returned("c1", "ls", "{}")], [result("c1", REJECTION)], Outcome.CALL_REJECTED),
        ([INCOMPLETE], [returned("c1", "ls", "{}")], [result("c1", RAN)], Outcome.RAN_INCOMPLETE_CALL),
        (
            [INCOMPLETE],
            [returned("c1", "ls", "{}")],
            [result("c1", "Error: bad arguments")],
            Outcome.RETURNED_INCOMPLETE_CALL,
        ),
        ([INCOMPLETE], [returned("c1", "ls", "{}")], [], Outcome.RETURNED_INCOMPLETE_CALL),
        ([A], [A_], [result("c1"), result("c1", REJECTION)], Outcome.CALL_REJECTED),
        ([A], [A_, returned("c9", "ls", '{"p":1}')], [result("c1"), result("c9", REJECTION)], Outcome.CALL_REJECTED),
        ([A], [A_, returned("c9", "ls", '{"p":1}')], [result("c1"), result("c9")], Outcome.DUPLICATE_CALL),
    ],
)
def test_a_result_shows_whether_a_call_ran(
    sent: list[Call], calls: list[Any], results: list[Any], outcome: Outcome
) -> None:
    """A rejected call is understood."""
    judged = verdict(sent, calls, results)
    assert (judged.outcome, judged.understood) == (outcome, outcome is Outcome.CALL_REJECTED)


def test_an_incomplete_call_may_be_dropped() -> None:
    """The client may retry the request or not."""
    assert verdict([INCOMPLETE], [], []).understood
    silent = judge([INCOMPLETE], None)
    assert (silent.outcome, silent.understood) == (Outcome.SILENT, True)
    assert not judge([A], None).understood


def test_a_client_may_give_calls_ids_of_its_own() -> None:
    """Any distinct id is accepted, except a repeated one; if the sent ids were kept, no extended or cut one either."""
    for own in ("mine", "call_c1"):
        calls, results = [returned(own, "ls", '{"p":1}')], [result(own)]
        assert verdict([A], calls, results).understood
        assert verdict([A], calls, results, ids_kept=True).understood
    for changed in ("c1c1", "c", "c1_1"):
        calls, results = [returned(changed, "ls", '{"p":1}')], [result(changed)]
        assert verdict([A], calls, results).understood is (changed != "c1c1")
        assert verdict([A], calls, results, ids_kept=True).outcome is Outcome.WRONG_ID


def test_results_alone_are_enough_if_the_server_stores_the_calls() -> None:
    """With `previous_response_id`, each call needs a result."""
    output = {"type": "function_call_output", "call_id": "c1", "output": "r"}
    messages = new_part({"input": "go"}, {"previous_response_id": "resp_1", "input": [output]})
    assert judge([A], messages).outcome is Outcome.RESULTS_ONLY
    assert judge([A, B], messages).outcome is Outcome.MISSING_RESULT
    assert judge([INCOMPLETE], messages).outcome is Outcome.RETURNED_INCOMPLETE_CALL
    assert judge([A, B], messages, dropped={1}).outcome is Outcome.RESULTS_ONLY
    assert judge([A], new_part({"input": "go"}, {"input": ["go", output]})).outcome is Outcome.RESULTS_ONLY


def test_protocols_without_ids() -> None:
    """In Gemini and Ollama, results are matched by the tool's name or by order."""
    calls = [{"functionCall": {"name": "ls", "args": {"p": 1}}}, {"functionCall": {"name": "ls", "args": {"p": 2}}}]
    results = [{"functionResponse": {"name": "ls", "response": {"r": n}}} for n in (1, 2)]
    sent = [Call(0, at, Kind.FUNCTION, "", "ls", json.dumps({"p": at + 1}), complete=True) for at in (0, 1)]
    before = {"contents": [{"role": "user", "parts": [{"text": "go"}]}]}
    for kept, outcome in ((results, Outcome.OK), (results[:1], Outcome.MISSING_RESULT)):
        after = {"contents": [*before["contents"], {"role": "model", "parts": calls}, {"role": "user", "parts": kept}]}
        assert judge(sent, new_part(before, after)).outcome is outcome
    bare = [USER, {"role": "assistant", "tool_calls": [{"function": {"name": "ls", "arguments": {"p": 1}}}]}]
    after_ = {"messages": [*bare, {"role": "tool", "content": "r"}]}
    assert judge(sent[:1], new_part({"messages": [USER]}, after_)).outcome is Outcome.OK


def test_calls_in_text_and_those_of_the_server() -> None:
    """Some agents write calls in messages, and calls of the provider need no result."""
    text = "Calling ls with {'p': 1}. Observation: r"
    after = new_part({"messages": [USER]}, {"messages": [USER, {"role": "assistant", "content": text}]})
    assert judge([A], after).outcome is Outcome.AS_TEXT
    assert to_run([Call(0, 0, Kind.SERVER, "s", "web_search", "{}", complete=True)]) == []


COARSE = {
    "retried-or-lost": {Outcome.RETRIED, Outcome.LOST_CALL, Outcome.NOT_RETURNED},
    "wrong-name-or-count": {Outcome.WRONG_NAME, Outcome.LOST_CALL, Outcome.SPLIT_CALL, Outcome.RETURNED_MERGED},
    "half-call": {Outcome.RETURNED_INCOMPLETE_CALL},
}
"""Verdicts of the recorded conversations that are less exact, or have another name."""
PATHS = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
OK_OR_NOT, CLASSES = 0.995, 0.98


@needs_shared
def test_verdicts_on_recorded_clients_are_correct(shared: Path) -> None:
    """Published clients read malformed streams, and their tools recorded what ran."""
    folder = shared / "followups"
    if not folder.is_dir():
        pytest.skip("no recorded conversations")
    cells = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]
    assert len(cells) > 600
    judgements = [(cell, judged(cell, (folder / "streams" / cell["stream"]).read_bytes())) for cell in cells]
    sent = [cell for cell, verdict in judgements if returned_in(verdict) == (cell["sent"], cell["results"])]
    correct = [cell for cell, verdict in judgements if (verdict.outcome is Outcome.OK) == (cell["verdict"] == "ok")]
    classes = [
        cell
        for cell, verdict in judgements
        if verdict.outcome in COARSE.get(cell["verdict"], set()) or verdict.outcome == cell["verdict"]
    ]
    assert len(sent) >= OK_OR_NOT * len(cells)
    assert len(correct) >= OK_OR_NOT * len(cells)
    assert len(classes) >= CLASSES * len(cells)


def judged(cell: dict[str, Any], stream: bytes) -> Verdict:
    """The verdict on a recorded conversation."""
    key = "input" if cell["dialect"] == "openai-responses" else "messages"
    tools = [
        {"type": "function", "name": name, "function": {"name": name, "parameters": {"required": ["x"]}}}
        for name in ("web_search", "get_weather")
    ]
    exchange = StreamFacts(path=PATHS[cell["dialect"]], content_type="text/event-stream", request={"tools": tools})
    record = read_body([stream], exchange)
    assert record is not None
    verdicts: list[Judged[SentResponse]] = []
    conversations = Conversations[SentResponse](verdicts.append)
    conversations.request("first", cell["dialect"], conversation({key: cell["asked"]}))
    conversations.response("first", SentResponse(calls=record.calls, dropped=dropped(record)))
    if cell["next"] is not None:
        conversations.request("next", cell["dialect"], conversation({key: cell["next"]}))
    [judged] = [*verdicts, *conversations.missing()]
    return judged.verdict


def returned_in(verdict: Verdict) -> tuple[list[dict[str, Any]], list[Any]]:
    """The returned calls and the ids of their results, as the recorded conversations have them."""

    def given(value: Any) -> Any:
        return None if value is ABSENT else value

    calls = [{key: given(value) for key, value in one.written._asdict().items()} for one in verdict.sent]
    return calls, [given(one.written_id) for one in verdict.results]
