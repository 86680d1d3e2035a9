"""What healthy clients do with calls is no bug, in any protocol; what clients with bugs do is named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.saved.unwrap.test_reading import bare
from tests.verdict.test_protocols import echoed
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.report.judging import Judging
from toolstream_core.saved import har

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.model import Call
    from toolstream_core.report.verdict import ReportedVerdict

type Json = Any
type Change = Callable[[str], Json]

ADDRESSES = {
    "openai-chat": "https://api.openai.com/v1/chat/completions",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "openai-responses": "https://api.openai.com/v1/responses",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
    "ollama": "http://localhost:11434/api/chat",
}
KEYS = {"openai-responses": "input", "gemini": "contents"}
ALL = tuple(ADDRESSES)


def calls_of(protocol: str) -> list[Call]:
    """The two calls of the response."""
    record = read_body([bare(f"{protocol}-parallel")], StreamFacts())
    assert record is not None
    return list(record.calls)


def user(protocol: str, text: str) -> Json:
    """A message of the user."""
    return {"role": "user", "parts": [{"text": text}]} if protocol == "gemini" else {"role": "user", "content": text}


def returned(protocol: str, change: Callable[[Json], Json] = lambda value: value) -> list[Json]:
    """The calls with changed arguments, and a result for each."""
    calls = calls_of(protocol)
    arguments = [json.dumps(change(json.loads(call.arguments))) for call in calls]
    return echoed(protocol, calls, arguments, [call.id for call in calls])


def verdict_on(protocol: str, messages: Sequence[Json], **more: Json) -> ReportedVerdict:
    """The verdict on a client whose next request has these messages."""
    key = KEYS.get(protocol, "messages")
    body = bare(f"{protocol}-parallel").decode()
    entries = [
        {
            "request": {"method": "POST", "url": ADDRESSES[protocol], "postData": {"text": json.dumps(request)}},
            "response": {"status": 200, "content": {"text": body, "mimeType": "text/event-stream"}},
        }
        for request in ({key: [user(protocol, "go")], "stream": True}, {key: messages, "stream": True, **more})
    ]
    judging = Judging()
    exchanges = har.exchanges(json.dumps({"log": {"entries": entries}}).encode(), "x.har")
    reported = (verdict for one in exchanges for verdict in judging.take(one, read_body(one.chunks, one.facts)))
    return next(one for one in reported if one.source.endswith("#0"))


def _renamed(protocol: str, way: Callable[[str], str]) -> list[Json]:
    text = json.dumps(returned(protocol))
    for call in calls_of(protocol):
        for key in ("name", "tool_name"):
            text = text.replace(f'"{key}": "{call.name}"', f'"{key}": "{way(call.name)}"')
    renamed: list[Json] = json.loads(text)
    return renamed


def _own_ids(protocol: str) -> list[Json]:
    text = json.dumps(returned(protocol))
    for number, call in enumerate(calls_of(protocol)):
        text = text.replace(call.id, f"own-{number}") if call.id else text
    own: list[Json] = json.loads(text)
    return own


HEALTHY: dict[str, Change] = {
    "as sent": returned,
    "other order of keys": lambda protocol: returned(protocol, lambda value: dict(reversed(value.items()))),
    "defaults added": lambda protocol: returned(protocol, lambda value: {**value, "limit": 10, "deep": False}),
    "null added": lambda protocol: returned(protocol, lambda value: {**value, "cursor": None}),
    "own ids": _own_ids,
    "names with a namespace": lambda protocol: _renamed(protocol, lambda name: f"mcp__x__{name}"),
    "names after a dot": lambda protocol: _renamed(protocol, lambda name: f"functions.{name}"),
    "earlier messages left out": returned,
    "the user goes on": lambda protocol: [*returned(protocol), user(protocol, "thanks")],
}


@pytest.mark.parametrize("protocol", ALL)
@pytest.mark.parametrize("how", HEALTHY)
def test_a_healthy_client_has_no_bug(how: str, protocol: str) -> None:
    """In any protocol."""
    before = [] if how == "earlier messages left out" else [user(protocol, "go")]
    found = verdict_on(protocol, [*before, *HEALTHY[how](protocol)])
    assert (found.verdict.outcome.value, found.verdict.problems, found.explained.text) == ("ok", (), "")


CALL, *RESULTS = returned("openai-chat")
FIRST, SECOND = CALL["tool_calls"]
GO = user("openai-chat", "go")


def _with(*calls: Json) -> Json:
    return {**CALL, "tool_calls": list(calls)}


def _function(call: Json, **changed: str) -> Json:
    return {**call, "function": {**call["function"], **changed}}


def _under_new_ids() -> list[Json]:
    return [{**one, "tool_call_id": f"fc_{one['tool_call_id']}"} for one in RESULTS]


@pytest.mark.parametrize(
    "messages",
    [
        [_with(SECOND, FIRST), *reversed(RESULTS)],
        [_with(FIRST), RESULTS[0], _with(SECOND), RESULTS[1]],
        [CALL, *({**one, "content": [{"type": "text", "text": "r"}]} for one in RESULTS)],
        [CALL, *({**one, "content": "The user denied this call."} for one in RESULTS)],
        [CALL, RESULTS[0], {**RESULTS[1], "content": "Error: rejected by the user"}],
        [{**CALL, "content": "I will look."}, *RESULTS],
        [_with({**FIRST, "index": 0}, {**SECOND, "index": 1}), *RESULTS],
        [CALL, *({**one, "name": "f"} for one in RESULTS)],
        [_with(*({**one, "id": f"fc_{one['id']}"} for one in (FIRST, SECOND))), *_under_new_ids()],
        [_with({**FIRST, "id": SECOND["id"]}, {**SECOND, "id": FIRST["id"]}), *RESULTS],
        [CALL, *({**one, "content": "[Old tool result content cleared]"} for one in RESULTS)],
    ],
)
def test_other_valid_messages_are_no_bug(messages: list[Json]) -> None:
    """Calls in another order or one by one, results as lists, refusals, text that was rewritten."""
    assert verdict_on("openai-chat", [GO, *messages]).verdict.outcome.value == "ok"


def test_results_alone_are_enough_where_the_server_keeps_the_calls() -> None:
    """The Responses API continues a response by its id."""
    outputs = [one for one in returned("openai-responses") if one["type"] == "function_call_output"]
    first = bare("openai-responses-parallel").split(b"data: ")[1].splitlines()[0]
    name = json.loads(first)["response"]["id"]
    found = verdict_on("openai-responses", outputs, previous_response_id=name)
    assert found.verdict.outcome.value == "results-only"


@pytest.mark.parametrize(
    "results", [RESULTS[:1], [*RESULTS, RESULTS[0]], [{**one, "tool_call_id": "x"} for one in RESULTS]]
)
def test_results_do_not_explain_how_a_client_read_the_stream(results: list[Json]) -> None:
    """The calls were returned as sent: no reason is given for a result that is missing, doubled or under another id."""
    found = verdict_on("openai-chat", [GO, CALL, *results])
    assert found.verdict.outcome.value in {"wrong-id", "missing-result", "duplicate-call"}
    assert (found.explained.text, found.explained.fix) == ("", "")


JOINED = FIRST["function"]["arguments"] + SECOND["function"]["arguments"]
BUGS: dict[str, tuple[str, list[Json]]] = {
    "joined": ("returned-merged", [_with(_function(FIRST, arguments=JOINED)), RESULTS[0]]),
    "last fragment lost": (
        "wrong-arguments",
        [_with(FIRST, _function(SECOND, arguments=SECOND["function"]["arguments"][:-2])), *RESULTS],
    ),
    "first fragment lost": (
        "wrong-arguments",
        [_with(_function(FIRST, arguments=FIRST["function"]["arguments"][2:]), SECOND), *RESULTS],
    ),
    "a member lost": ("wrong-arguments", [_with(FIRST, _function(SECOND, arguments='{"from": "Oslo"}')), *RESULTS]),
    "members of another call": (
        "wrong-arguments",
        [
            _with(_function(FIRST, arguments='{"zone": "Africa/Nairobi", "from": "Oslo", "to": "Nairobi"}'), SECOND),
            *RESULTS,
        ],
    ),
    "one without arguments": ("wrong-arguments", [_with(_function(FIRST, arguments="{}"), SECOND), *RESULTS]),
    "only the first": ("lost-call", [_with(FIRST), RESULTS[0]]),
    "only the last": ("lost-call", [_with(SECOND), RESULTS[1]]),
    "twice": ("duplicate-call", [_with(FIRST, FIRST, SECOND), RESULTS[0], *RESULTS]),
    "twice under another id": (
        "duplicate-call",
        [_with(FIRST, {**FIRST, "id": "z"}, SECOND), *RESULTS, {**RESULTS[0], "tool_call_id": "z"}],
    ),
    "the last one under the first id": ("lost-call", [_with({**SECOND, "id": FIRST["id"]}), RESULTS[0]]),
    "no result": ("missing-result", [CALL]),
    "no second result": ("missing-result", [CALL, RESULTS[0]]),
    "result under another id": ("wrong-id", [CALL, RESULTS[0], {**RESULTS[1], "tool_call_id": "z"}]),
    "name doubled": ("wrong-name", [_with(_function(FIRST, name="get_timeget_time"), SECOND), *RESULTS]),
    "name cut": ("wrong-name", [_with(_function(FIRST, name="time"), SECOND), *RESULTS]),
    "never sent": (
        "phantom-call",
        [
            _with(FIRST, SECOND, {"id": "p", "type": "function", "function": {"name": "rm", "arguments": "{}"}}),
            *RESULTS,
            {**RESULTS[0], "tool_call_id": "p"},
        ],
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_client_with_a_bug_is_named(bug: str) -> None:
    """By what it did with the calls."""
    outcome, messages = BUGS[bug]
    assert verdict_on("openai-chat", [GO, *messages]).verdict.outcome.value == outcome


@pytest.mark.parametrize("protocol", ALL)
def test_lost_and_exchanged_arguments_are_named(protocol: str) -> None:
    """In any protocol."""
    go = user(protocol, "go")
    assert verdict_on(protocol, [go, *returned(protocol, lambda _: {})]).verdict.outcome.value == (
        "returned-without-arguments"
    )
    calls = calls_of(protocol)
    exchanged = [call.arguments for call in reversed(calls)]
    messages = echoed(protocol, calls, exchanged, [call.id for call in calls])
    assert verdict_on(protocol, [go, *messages]).verdict.outcome.value == "wrong-arguments"
