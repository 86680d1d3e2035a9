"""Which answer a request follows where neither ids nor the conversation so far say it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.verdict.test_conversations import SYSTEM, Run, call, turn, user
from toolstream_core.protocols.requests.conversation import conversation

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
    run.answer("r0", call("c1"))
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
    run.answer("r0", call("c1"))
    run.ask("r1", *follows, place=place)
    assert run.lines == []


def test_ids_that_are_made_up_for_each_request() -> None:
    """The calls of earlier turns are no new ones."""
    run = Run()
    for number in range(4):
        said = [turn(f"{number}-{at}", json.dumps({"p": at}), f"r{at}") for at in range(number)]
        run.ask(f"r{number}", user("go"), *(message for one in said for message in one))
        run.answer(f"r{number}", call("", json.dumps({"p": number})))
    assert run.lines == [(f"r{at}", "ok", f"r{at + 1}", 0) for at in range(3)]


def test_parallel_conversations_of_the_same_prompt_without_ids() -> None:
    """The calls that came back tell them apart."""
    run = Run()
    contents = [{"role": "user", "parts": [{"text": "go"}]}]
    for token in "abc":
        run.seen.request(token, "gemini", conversation({"contents": contents}))
    for token in "abc":
        run.answer(token, call("", json.dumps({"p": token})))
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
    run.answer("r0", call("c1"))
    run.ask("r1", user(text))
    assert run.lines == lines
