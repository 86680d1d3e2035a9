"""Which request follows which response, and the verdict on each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolstream_core.model import Call, Kind
from toolstream_core.protocols.requests.conversation import conversation
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse

PLACE = "openai-chat api m"
SYSTEM = {"role": "system", "content": "be good"}


def call(id_: str, arguments: str = '{"p":1}', *, choice: int = 0, complete: bool = True) -> Call:
    """A call of `ls`."""
    return Call(choice, 0, Kind.FUNCTION, id_, "ls", arguments, complete=complete)


def user(text: str) -> dict[str, Any]:
    """What a person said."""
    return {"role": "user", "content": text}


def turn(id_: str, arguments: str = '{"p":1}', result: str = "r") -> list[dict[str, Any]]:
    """A call of `ls` said again, and its result."""
    function = {"name": "ls", "arguments": arguments}
    said = {"role": "assistant", "tool_calls": [{"id": id_, "type": "function", "function": function}]}
    return [said, {"role": "tool", "tool_call_id": id_, "content": result}]


class Run:
    """Conversations whose verdicts are kept."""

    def __init__(self, **bounds: Any) -> None:
        """`bounds` are those of `Conversations`."""
        self.told: list[Judged[SentResponse]] = []
        self.seen = Conversations[SentResponse](self.told.append, **bounds)

    def ask(self, token: str, *messages: Any, place: str = PLACE) -> None:
        """A request for Chat Completions."""
        self.seen.request(token, place, conversation({"messages": list(messages)}))

    def response(self, token: str, *calls: Call, left: bool = False, **more: Any) -> None:
        """An answer with these calls is over."""
        self.seen.response(token, SentResponse(calls=calls, **more), left=left)

    @property
    def lines(self) -> list[tuple[str, str, str | None, int]]:
        """What was told."""
        return [(one.token, one.verdict.outcome.value, one.request, one.verdict.count) for one in self.told]


@pytest.fixture
def run() -> Run:
    """Nothing has been asked."""
    return Run()


def test_many_turns(run: Run) -> None:
    """Each answer is judged once, by the request right after it, although later ones say its call again."""
    history: list[Any] = [SYSTEM, user("go")]
    for number in range(4):
        run.ask(f"r{number}", *history)
        run.response(f"r{number}", call(f"c{number}"))
        history += turn(f"c{number}", "{}" if number == 2 else '{"p":1}')
    run.ask("r4", *history)
    run.response("r4")
    assert run.lines == [
        ("r0", "ok", "r1", 0),
        ("r1", "ok", "r2", 0),
        ("r2", "returned-without-arguments", "r3", 0),
        ("r3", "ok", "r4", 0),
    ]
    run.seen.close()
    assert len(run.lines) == 4


def test_the_same_id_in_every_turn(run: Run) -> None:
    """Some providers count ids anew in each answer."""
    history: list[Any] = [user("go")]
    for number in range(3):
        run.ask(f"r{number}", *history)
        run.response(f"r{number}", call("call_0"))
        history += turn("call_0", "{}" if number == 1 else '{"p":1}')
    run.ask("r3", *history)
    assert [line[:2] for line in run.lines] == [("r0", "ok"), ("r1", "returned-without-arguments"), ("r2", "ok")]


def test_parallel_conversations_of_the_same_prompt(run: Run) -> None:
    """Ids tell them apart, also where the answers came in another order."""
    for token in "abc":
        run.ask(token, user("go"))
    for token in "cab":
        run.response(token, call(f"id-{token}"))
    for token, arguments in (("b", "{}"), ("a", '{"p":1}'), ("c", '{"p":2}')):
        run.ask(f"{token}2", user("go"), *turn(f"id-{token}", arguments))
    assert sorted(run.lines) == [
        ("a", "ok", "a2", 0),
        ("b", "returned-without-arguments", "b2", 0),
        ("c", "wrong-arguments", "c2", 0),
    ]


def test_parallel_conversations_without_ids(run: Run) -> None:
    """What the person said tells them apart."""
    for token in "ab":
        run.ask(token, SYSTEM, user(token))
        run.response(token, call(""))
    run.ask("b2", SYSTEM, user("b"), *turn("mine", "{}"))
    run.ask("a2", SYSTEM, user("a"), *turn("mine"))
    assert run.lines == [("b", "returned-without-arguments", "b2", 0), ("a", "ok", "a2", 0)]


def test_a_loop_is_counted(run: Run) -> None:
    """The same again and again; then it goes on, and the next answer starts anew."""
    for number in range(3):
        run.ask(f"r{number}", user("go"))
        run.response(f"r{number}", call(f"c{number}"))
    run.ask("r3", user("go"), *turn("c2"))
    assert run.lines == [("r0", "retried", "r1", 1), ("r1", "retried", "r2", 2), ("r2", "ok", "r3", 0)]


def test_the_same_asked_of_two_models_is_no_retry(run: Run) -> None:
    """A client that compares models."""
    run.ask("a", user("go"))
    run.response("a", call("c1"))
    run.ask("b", user("go"), place="openai-chat api other")
    assert run.lines == []


def test_a_request_beside_the_conversation(run: Run) -> None:
    """The same messages go to another model, for a title; the conversation goes on."""
    run.ask("r0", user("go"))
    run.response("r0", call("c0"))
    run.ask("title", user("go"), user("a title, please"), place="openai-chat api small")
    run.response("title")
    run.ask("r1", user("go"), *turn("c0"), place="openai-chat api m without tools")
    assert run.lines == [("r0", "ok", "r1", 0)]


def test_the_same_twice_and_then_the_first_goes_on(run: Run) -> None:
    """The second verdict on the first answer counts; without its ids there is none."""
    for token in "ab":
        run.ask(token, user("go"))
        run.response(token, call(f"id-{token}"))
    run.ask("a2", user("go"), *turn("id-a"))
    run.seen.no_response("a2")
    run.ask("b2", user("go"), *turn("id-b"))
    run.seen.no_response("b2")
    run.ask("c", user("go"), user("more"))
    assert run.lines == [("a", "retried", "b", 1), ("a", "ok", "a2", 0), ("b", "ok", "b2", 0)]


def test_a_failed_request_is_no_answer(run: Run) -> None:
    """Its repetition goes on from the answer before it, which is judged once."""
    run.ask("r0", user("go"))
    run.response("r0", call("c0"))
    run.ask("r1", user("go"), *turn("c0"))
    run.seen.no_response("r1")
    run.ask("r2", user("go"), *turn("c0"))
    assert run.lines == [("r0", "ok", "r1", 0)]
    run.seen.close()
    assert len(run.lines) == 1


def test_a_client_that_does_not_wait_for_the_end(run: Run) -> None:
    """It has seen the finish reason; the next request comes before the connection's end."""
    run.ask("r0", user("go"))
    run.ask("r1", user("go"), *turn("c0", "{}"))
    assert run.lines == []
    run.response("r0", call("c0"), left=True)
    assert run.lines == [("r0", "returned-without-arguments", "r1", 0)]


def test_nothing_comes(run: Run) -> None:
    """Told after a while, at the end, or when the client left; and once more where it was not so after all."""
    for token in "abcd":
        run.ask(token, user(token))
        run.response(token, *([] if token == "d" else [call(f"id-{token}")]), left=token == "b")
    run.seen.silent("a")
    assert [(one.token, one.verdict.outcome) for one in run.seen.missing()] == [("c", Outcome.SILENT)]
    run.seen.close()
    assert run.lines == [("b", "aborted", None, 0), ("a", "silent", None, 0), ("c", "silent", None, 0)]


def test_a_request_after_all(run: Run) -> None:
    """It is judged by that; but a retry after the client left is told once."""
    run.ask("a", user("a"))
    run.response("a", call("c1"))
    run.seen.silent("a")
    run.ask("a2", user("a"), *turn("c1"))
    run.ask("b", user("b"))
    run.response("b", call("c2", '{"p', complete=False), left=True)
    run.ask("b2", user("b"))
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
def test_the_name_of_the_answer(run: Run, key: str, output: Any) -> None:
    """It tells which answer is meant where nothing else does."""
    for name in ("one", "two"):
        run.seen.request(name, PLACE, conversation({"input": f"go {name}"}))
        run.response(name, call("c0"), response_id=f"resp_{name}")
    for name in ("one", "two"):
        after = {key: f"resp_{name}", "input": [output]}
        run.seen.request(f"{name}2", PLACE, conversation(after))
    assert run.lines == [("one", "results-only", "one2", 0), ("two", "results-only", "two2", 0)]


def test_rewritten_history(run: Run) -> None:
    """The time in the system prompt, and old results that were shortened, are no new calls and no other one."""
    first, long = {**SYSTEM, "content": "10:01"}, "x" * 1000
    run.ask("r0", first, user("go"), *turn("c0", result=long))
    run.response("r0", call("c1"))
    again = {**SYSTEM, "content": "10:02"}
    run.ask("r1", again, user("go"), *turn("c0", result="[cleared]"), *turn("c1"))
    [judged] = run.told
    assert (judged.verdict.outcome, judged.request) == (Outcome.OK, "r1")
    assert [one.id for one in judged.verdict.sent] == ["c1"]


def test_a_summary_in_the_place_of_the_history(run: Run) -> None:
    """The ids are enough."""
    run.ask("r0", SYSTEM, user("go"), user("more"))
    run.response("r0", call("c1"))
    run.ask("r1", user("summary"), *turn("c1"))
    assert run.lines == [("r0", "ok", "r1", 0)]


def test_one_of_several_choices(run: Run) -> None:
    """The client goes on with one; the other's calls are not lost."""
    run.ask("r0", user("go"))
    run.response("r0", call("c0"), call("c1", '{"p":2}', choice=1))
    run.ask("r1", user("go"), *turn("c1", '{"p":2}'))
    assert run.lines == [("r0", "ok", "r1", 0)]


def test_a_call_out_of_nothing(run: Run) -> None:
    """An answer without calls is told of only where one comes back."""
    run.ask("r0", user("go"))
    run.response("r0")
    run.ask("r1", user("go"), *turn("c0"))
    run.response("r1")
    run.ask("r2", user("go"), *turn("c0"), user("thanks"))
    assert run.lines == [("r0", "phantom-call", "r1", 0)]


def test_what_may_be_dropped(run: Run) -> None:
    """The row of a defect says that a correct client does not run the call."""
    run.ask("r0", user("go"))
    run.response("r0", call("c0"), dropped=frozenset({0}))
    run.ask("r1", user("go"), user("again, please"))
    [judged] = run.told
    assert judged.verdict.understood


def test_memory_is_bounded() -> None:
    """By how many answers are kept, and by their size; the oldest are told of and forgotten."""
    few = Run(max_responses=3)
    for number in range(5):
        few.ask(f"r{number}", user(str(number)))
        few.response(f"r{number}", call(f"c{number}"))
    assert len(few.seen) == 3
    assert few.lines == [("r0", "silent", None, 0), ("r1", "silent", None, 0)]
    small = Run(max_bytes=5000)
    for number in range(5):
        small.ask(f"r{number}", user(str(number)))
        small.response(f"r{number}", call(f"c{number}", '{"p":"%s"}' % ("x" * 2000)))
    assert len(small.seen) == 2
    small.seen.close()
    assert len(small.seen) == 0
    assert len(small.lines) == 5


GO = [SYSTEM, user("go"), user("more")]
OTHER = '{"p":0}'
EARLIER = [SYSTEM, user("go"), *turn("old", OTHER), user("more")]


@pytest.mark.parametrize(
    ("asked", "follows"),
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
def test_a_conversation_that_was_rewritten(asked: list[Any], follows: list[Any]) -> None:
    """Summaries, merged messages, turns left out, ids made up anew: the request ends with the answer's call."""
    run = Run()
    run.ask("r0", *asked)
    run.response("r0", call("c1"))
    run.ask("r1", *follows)
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
    """What does not end with the very call, to the same model, follows nothing."""
    run = Run()
    run.ask("r0", *GO, place="the same")
    run.response("r0", call("c1"))
    run.ask("r1", *follows, place=place)
    assert run.lines == []


def test_ids_that_are_made_up_for_each_request() -> None:
    """The calls of earlier turns are no new ones."""
    run = Run()
    for number in range(4):
        said = [turn(f"{number}-{at}", json.dumps({"p": at}), f"r{at}") for at in range(number)]
        run.ask(f"r{number}", user("go"), *(message for one in said for message in one))
        run.response(f"r{number}", call("", json.dumps({"p": number})))
    assert run.lines == [(f"r{at}", "ok", f"r{at + 1}", 0) for at in range(3)]


def test_parallel_conversations_of_the_same_prompt_without_ids() -> None:
    """The calls that came back tell them apart."""
    run = Run()
    contents = [{"role": "user", "parts": [{"text": "go"}]}]
    for token in "abc":
        run.seen.request(token, "gemini", conversation({"contents": contents}))
    for token in "abc":
        run.response(token, call("", json.dumps({"p": token})))
    for token in "bac":
        made = {"functionCall": {"name": "ls", "args": {"p": token}}}
        gave = {"functionResponse": {"name": "ls", "response": {"r": 1}}}
        more = [{"role": "model", "parts": [made]}, {"role": "user", "parts": [gave]}]
        run.seen.request(f"{token}2", "gemini", conversation({"contents": contents + more}))
    assert run.lines == [(token, "ok", f"{token}2", 0) for token in "bac"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("go\n\nCall: ls(p=1)\nObservation: r", [("r0", "as-text", "r1", 0)]),
        ("go on with what ls says", []),
    ],
)
def test_calls_in_the_text_of_the_users_own_message(text: str, lines: list[Any]) -> None:
    """A prompt that grows; one that only begins alike is another conversation."""
    run = Run()
    run.ask("r0", user("go"))
    run.response("r0", call("c1"))
    run.ask("r1", user(text))
    assert run.lines == lines
