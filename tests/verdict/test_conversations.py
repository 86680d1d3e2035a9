"""The request that follows each response, and the verdicts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolstream_core.model import Call, Kind, StreamFacts
from toolstream_core.protocols.requests.conversation import conversation
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse

PLACE = "openai-chat api m"
SYSTEM = {"role": "system", "content": "be good"}


def call(id_: str, arguments: str = '{"p":1}', *, choice: int = 0, complete: bool = True) -> Call:
    """A call of `ls`."""
    return Call(choice, 0, Kind.FUNCTION, id_, "ls", arguments, complete=complete)


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def turn(id_: str, arguments: str = '{"p":1}', result: str = "r") -> list[dict[str, Any]]:
    """The returned call of `ls` and its result."""
    function = {"name": "ls", "arguments": arguments}
    message = {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function}]}
    return [message, {"role": "tool", "tool_call_id": id_, "content": result}]


class Run:
    """Conversations, and their verdicts in order."""

    def __init__(self, **bounds: Any) -> None:
        """`bounds` are those of `Conversations`."""
        self.verdicts: list[Judged[SentResponse]] = []
        self.conversations = Conversations[SentResponse](self.verdicts.append, **bounds)

    def request(self, token: str, *messages: Any, place: str = PLACE) -> None:
        """A request of Chat Completions."""
        self.conversations.request(token, place, conversation({"messages": list(messages)}))

    def response(self, token: str, *calls: Call, left: bool = False, **more: Any) -> None:
        """The end of a response with these calls."""
        self.conversations.response(token, SentResponse(calls=calls, **more), left=left)

    @property
    def lines(self) -> list[tuple[str, str, str | None, int]]:
        """The verdicts: response, outcome, next request, number of retries."""
        return [(one.token, one.verdict.outcome.value, one.request, one.verdict.count) for one in self.verdicts]


@pytest.fixture
def run() -> Run:
    """No requests yet."""
    return Run()


def test_many_turns(run: Run) -> None:
    """Each response is judged once, by the next request, although later requests contain its call too."""
    history: list[Any] = [SYSTEM, user("go")]
    for number in range(4):
        run.request(f"r{number}", *history)
        run.response(f"r{number}", call(f"c{number}"))
        history += turn(f"c{number}", "{}" if number == 2 else '{"p":1}')
    run.request("r4", *history)
    run.response("r4")
    assert run.lines == [
        ("r0", "ok", "r1", 0),
        ("r1", "ok", "r2", 0),
        ("r2", "returned-without-arguments", "r3", 0),
        ("r3", "ok", "r4", 0),
    ]
    run.conversations.close()
    assert len(run.lines) == 4


def test_the_same_id_in_every_turn(run: Run) -> None:
    """Some providers count ids anew in each response."""
    history: list[Any] = [user("go")]
    for number in range(3):
        run.request(f"r{number}", *history)
        run.response(f"r{number}", call("call_0"))
        history += turn("call_0", "{}" if number == 1 else '{"p":1}')
    run.request("r3", *history)
    assert [line[:2] for line in run.lines] == [("r0", "ok"), ("r1", "returned-without-arguments"), ("r2", "ok")]


def test_parallel_conversations_of_the_same_prompt(run: Run) -> None:
    """They are distinguished by ids, also if the responses end in another order."""
    for token in "abc":
        run.request(token, user("go"))
    for token in "cab":
        run.response(token, call(f"id-{token}"))
    for token, arguments in (("b", "{}"), ("a", '{"p":1}'), ("c", '{"p":2}')):
        run.request(f"{token}2", user("go"), *turn(f"id-{token}", arguments))
    assert sorted(run.lines) == [
        ("a", "ok", "a2", 0),
        ("b", "returned-without-arguments", "b2", 0),
        ("c", "wrong-arguments", "c2", 0),
    ]


def test_the_same_text_with_other_parameters_of_a_tool_is_another_conversation(run: Run) -> None:
    """As an extractor that asks for other data with the same tool: no request repeats another."""
    for token, wanted in (("a", "names"), ("b", "topics")):
        parameters = {"type": "object", "properties": {wanted: {"type": "array"}}}
        tool = {"type": "function", "function": {"name": "submit", "parameters": parameters}}
        body = {"model": "m", "messages": [SYSTEM, user("go")], "tools": [tool]}
        run.conversations.llm_request(token, StreamFacts(host="api", path="/v1/chat/completions", request=body))
        run.response(token, call(f"id-{token}"))
    assert run.lines == []


def test_a_second_run_without_ids(run: Run) -> None:
    """Its requests equal those of the first run, and follow its own responses."""
    for number in "12":
        run.request(f"a{number}", user("go"))
        run.response(f"a{number}", call(""))
        run.request(f"b{number}", user("go"), *turn(""))
        run.response(f"b{number}")
    assert run.lines == [("a1", "ok", "b1", 0), ("a2", "ok", "b2", 0)]


def test_parallel_conversations_without_ids(run: Run) -> None:
    """They are distinguished by the user's messages."""
    for token in "ab":
        run.request(token, SYSTEM, user(token))
        run.response(token, call(""))
    run.request("b2", SYSTEM, user("b"), *turn("mine", "{}"))
    run.request("a2", SYSTEM, user("a"), *turn("mine"))
    assert run.lines == [("b", "returned-without-arguments", "b2", 0), ("a", "ok", "a2", 0)]


def test_a_loop_is_counted(run: Run) -> None:
    """The count starts anew with the next response."""
    for number in range(3):
        run.request(f"r{number}", user("go"))
        run.response(f"r{number}", call(f"c{number}"))
    run.request("r3", user("go"), *turn("c2"))
    assert run.lines == [("r0", "retried", "r1", 1), ("r1", "retried", "r2", 2), ("r2", "ok", "r3", 0)]


def test_the_same_request_to_two_models_is_no_retry(run: Run) -> None:
    """Some clients compare models."""
    run.request("a", user("go"))
    run.response("a", call("c1"))
    run.request("b", user("go"), place="openai-chat api other")
    assert run.lines == []


def test_a_side_request(run: Run) -> None:
    """A request for a title to another model does not end the conversation."""
    run.request("r0", user("go"))
    run.response("r0", call("c0"))
    run.request("title", user("go"), user("a title, please"), place="openai-chat api small")
    run.response("title")
    run.request("r1", user("go"), *turn("c0"), place="openai-chat api m without tools")
    assert run.lines == [("r0", "ok", "r1", 0)]


def test_two_equal_requests_whose_conversations_both_continue(run: Run) -> None:
    """The first response gets a second verdict. A request without ids gets none."""
    for token in "ab":
        run.request(token, user("go"))
        run.response(token, call(f"id-{token}"))
    run.request("a2", user("go"), *turn("id-a"))
    run.conversations.no_response("a2")
    run.request("b2", user("go"), *turn("id-b"))
    run.conversations.no_response("b2")
    run.request("c", user("go"), user("more"))
    assert run.lines == [("a", "retried", "b", 1), ("a", "ok", "a2", 0), ("b", "ok", "b2", 0)]


def test_a_failed_request_is_no_response(run: Run) -> None:
    """Its retry follows the response before it, which is judged once."""
    run.request("r0", user("go"))
    run.response("r0", call("c0"))
    run.request("r1", user("go"), *turn("c0"))
    run.conversations.no_response("r1")
    run.request("r2", user("go"), *turn("c0"))
    assert run.lines == [("r0", "ok", "r1", 0)]
    run.conversations.close()
    assert len(run.lines) == 1


def test_a_client_that_does_not_wait_for_the_end(run: Run) -> None:
    """Its next request arrives before the end of the connection."""
    run.request("r0", user("go"))
    run.request("r1", user("go"), *turn("c0", "{}"))
    assert run.lines == []
    run.response("r0", call("c0"), left=True)
    assert run.lines == [("r0", "returned-without-arguments", "r1", 0)]


def test_silent_clients(run: Run) -> None:
    """They are reported after a time, at the end, or when the client disconnects."""
    for token in "abcd":
        run.request(token, user(token))
        run.response(token, *([] if token == "d" else [call(f"id-{token}")]), left=token == "b")
    run.conversations.silent("a")
    assert [(one.token, one.verdict.outcome) for one in run.conversations.missing()] == [("c", Outcome.SILENT)]
    run.conversations.close()
    assert run.lines == [("b", "aborted", None, 0), ("a", "silent", None, 0), ("c", "silent", None, 0)]


def test_a_request_after_a_silent_verdict(run: Run) -> None:
    """It gives a new verdict. A retry after a disconnect is reported once."""
    run.request("a", user("a"))
    run.response("a", call("c1"))
    run.conversations.silent("a")
    run.request("a2", user("a"), *turn("c1"))
    run.request("b", user("b"))
    run.response("b", call("c2", '{"p', complete=False), left=True)
    run.request("b2", user("b"))
    run.response("b2", left=True)
    assert run.lines == [
        ("a", "silent", None, 0),
        ("a", "ok", "a2", 0),
        ("b", "aborted", None, 0),
        ("b2", "aborted", None, 1),
    ]


@pytest.mark.parametrize(
    ("key", "output"),
    [
        ("previous_response_id", {"type": "function_call_output", "call_id": "c0", "output": "r"}),
        ("previous_interaction_id", {"type": "function_result", "call_id": "c0", "name": "f", "result": "r"}),
    ],
)
def test_the_id_of_a_response(run: Run, key: str, output: Any) -> None:
    """It is used if nothing else identifies the response."""
    for name in ("one", "two"):
        run.conversations.request(name, PLACE, conversation({"input": f"go {name}"}))
        run.response(name, call("c0"), response_id=f"resp_{name}")
    for name in ("one", "two"):
        after = {key: f"resp_{name}", "input": [output]}
        run.conversations.request(f"{name}2", PLACE, conversation(after))
    assert run.lines == [("one", "results-only", "one2", 0), ("two", "results-only", "two2", 0)]


def test_rewritten_history(run: Run) -> None:
    """A changed system prompt and shortened results are neither new calls nor another conversation."""
    first, long = {**SYSTEM, "content": "10:01"}, "x" * 1000
    run.request("r0", first, user("go"), *turn("c0", result=long))
    run.response("r0", call("c1"))
    again = {**SYSTEM, "content": "10:02"}
    run.request("r1", again, user("go"), *turn("c0", result="[cleared]"), *turn("c1"))
    [judged] = run.verdicts
    assert (judged.verdict.outcome, judged.request) == (Outcome.OK, "r1")
    assert [one.id for one in judged.verdict.sent] == ["c1"]


def test_a_summary_in_place_of_the_history(run: Run) -> None:
    """The ids are enough."""
    run.request("r0", SYSTEM, user("go"), user("more"))
    run.response("r0", call("c1"))
    run.request("r1", user("summary"), *turn("c1"))
    assert run.lines == [("r0", "ok", "r1", 0)]


def test_one_of_several_choices(run: Run) -> None:
    """The client uses a choice, and the calls of the others are not lost."""
    run.request("r0", user("go"))
    run.response("r0", call("c0"), call("c1", '{"p":2}', choice=1))
    run.request("r1", user("go"), *turn("c1", '{"p":2}'))
    assert run.lines == [("r0", "ok", "r1", 0)]


def test_a_call_that_was_never_sent(run: Run) -> None:
    """A response without calls gets a verdict only if a call is returned."""
    run.request("r0", user("go"))
    run.response("r0")
    run.request("r1", user("go"), *turn("c0"))
    run.response("r1")
    run.request("r2", user("go"), *turn("c0"), user("thanks"))
    assert run.lines == [("r0", "phantom-call", "r1", 0)]


def test_a_call_that_may_be_dropped(run: Run) -> None:
    """A correct client does not run it."""
    run.request("r0", user("go"))
    run.response("r0", call("c0"), dropped=frozenset({0}))
    run.request("r1", user("go"), user("again, please"))
    [judged] = run.verdicts
    assert judged.verdict.understood


def test_memory_is_bounded() -> None:
    """The number of responses and their size are limited, and the oldest is reported and removed."""
    few = Run(max_responses=3)
    for number in range(5):
        few.request(f"r{number}", user(str(number)))
        few.response(f"r{number}", call(f"c{number}"))
    assert len(few.conversations) == 3
    assert few.lines == [("r0", "silent", None, 0), ("r1", "silent", None, 0)]
    small = Run(max_bytes=5000)
    for number in range(5):
        small.request(f"r{number}", user(str(number)))
        small.response(f"r{number}", call(f"c{number}", '{"p":"%s"}' % ("x" * 2000)))
    assert len(small.conversations) == 2
    small.conversations.close()
    assert len(small.conversations) == 0
    assert len(small.lines) == 5


GO = [SYSTEM, user("go"), user("more")]
OTHER = '{"p":0}'
EARLIER = [SYSTEM, user("go"), *turn("old", OTHER), user("more")]


@pytest.mark.parametrize(
    ("before", "follows"),
    [
        (GO, [user("summary"), *turn("own")]),
        (GO, [user("be good\n\ngo\n\nmore"), *turn("own")]),
        (GO, [SYSTEM, user("go"), user("more at 10:01"), *turn("own")]),
        (EARLIER, [SYSTEM, user("more"), *turn("own")]),
        (EARLIER, [SYSTEM, user("go"), user("more"), *turn("own")]),
        (EARLIER, [SYSTEM, user("go"), *turn("anew", OTHER), user("more"), *turn("own")]),
        (EARLIER, [SYSTEM, user("go"), *turn("anew", OTHER), user("more"), *turn("c1")]),
        (EARLIER, [SYSTEM, user("go"), *turn("old", "{}", "[cleared]"), user("more"), *turn("own")]),
    ],
)
def test_a_conversation_that_was_rewritten(before: list[Any], follows: list[Any]) -> None:
    """Summaries, merged messages, missing turns and new ids are allowed if the request ends with the call."""
    run = Run()
    run.request("r0", *before)
    run.response("r0", call("c1"))
    run.request("r1", *follows)
    assert run.lines == [("r0", "ok", "r1", 0)]


@pytest.mark.parametrize(
    ("follows", "place"),
    [
        ([user("summary"), *turn("own", '{"p":2}')], "the same"),
        ([user("summary"), *turn("own")], "another"),
        ([user("another"), user("go")], "the same"),
    ],
)
def test_another_conversation(follows: list[Any], place: str) -> None:
    """A request without the same call, or to another model, follows no response."""
    run = Run()
    run.request("r0", *GO, place="the same")
    run.response("r0", call("c1"))
    run.request("r1", *follows, place=place)
    assert run.lines == []


def test_ids_that_are_made_up_for_each_request() -> None:
    """Calls of earlier turns are not new calls."""
    run = Run()
    for number in range(4):
        turns = [turn(f"{number}-{at}", json.dumps({"p": at}), f"r{at}") for at in range(number)]
        run.request(f"r{number}", user("go"), *(message for one in turns for message in one))
        run.response(f"r{number}", call("", json.dumps({"p": number})))
    assert run.lines == [(f"r{at}", "ok", f"r{at + 1}", 0) for at in range(3)]


def test_parallel_conversations_of_the_same_prompt_without_ids() -> None:
    """They are distinguished by the returned calls."""
    run = Run()
    contents = [{"role": "user", "parts": [{"text": "go"}]}]
    for token in "abc":
        run.conversations.request(token, "gemini", conversation({"contents": contents}))
    for token in "abc":
        run.response(token, call("", json.dumps({"p": token})))
    for token in "bac":
        made = {"functionCall": {"name": "ls", "args": {"p": token}}}
        result = {"functionResponse": {"name": "ls", "response": {"r": 1}}}
        more = [{"role": "model", "parts": [made]}, {"role": "user", "parts": [result]}]
        run.conversations.request(f"{token}2", "gemini", conversation({"contents": contents + more}))
    assert run.lines == [(token, "ok", f"{token}2", 0) for token in "bac"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("go\n\nCall: ls(p=1)\nObservation: r", [("r0", "as-text", "r1", 0)]),
        ("go on with what ls says", []),
    ],
)
def test_calls_in_the_text_of_the_users_own_message(text: str, lines: list[Any]) -> None:
    """The prompt grows with each turn. A prompt that only begins with it is another conversation."""
    run = Run()
    run.request("r0", user("go"))
    run.response("r0", call("c1"))
    run.request("r1", user(text))
    assert run.lines == lines
