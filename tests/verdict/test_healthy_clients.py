"""Valid behaviour of clients is no bug in any protocol, and bugs of clients are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.saved.unwrap.test_reading import bare
from tests.verdict.test_protocols import returned_messages
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
    return returned_messages(protocol, calls, arguments, [call.id for call in calls])


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


def renamed(protocol: str, way: Callable[[str], str]) -> list[Json]:
    """The returned calls and results with changed names."""
    text = json.dumps(returned(protocol))
    for call in calls_of(protocol):
        for key in ("name", "tool_name"):
            text = text.replace(f'"{key}": "{call.name}"', f'"{key}": "{way(call.name)}"')
    messages: list[Json] = json.loads(text)
    return messages


def own_ids(protocol: str) -> list[Json]:
    """The returned calls and results with ids of the client's own."""
    text = json.dumps(returned(protocol))
    for number, call in enumerate(calls_of(protocol)):
        text = text.replace(call.id, f"own-{number}") if call.id else text
    messages: list[Json] = json.loads(text)
    return messages


HEALTHY: dict[str, Change] = {
    "as sent": returned,
    "other order of keys": lambda protocol: returned(protocol, lambda value: dict(reversed(value.items()))),
    "defaults added": lambda protocol: returned(protocol, lambda value: {**value, "limit": 10, "deep": False}),
    "null added": lambda protocol: returned(protocol, lambda value: {**value, "cursor": None}),
    "own ids": own_ids,
    "names with a namespace": lambda protocol: renamed(protocol, lambda name: f"mcp__x__{name}"),
    "names after a dot": lambda protocol: renamed(protocol, lambda name: f"functions.{name}"),
    "earlier messages left out": returned,
    "the user goes on": lambda protocol: [*returned(protocol), user(protocol, "thanks")],
}


@pytest.mark.parametrize("protocol", ALL)
@pytest.mark.parametrize("how", HEALTHY)
def test_a_healthy_client_has_no_bug(how: str, protocol: str) -> None:
    """In no protocol does this behaviour have a problem."""
    before = [] if how == "earlier messages left out" else [user(protocol, "go")]
    found = verdict_on(protocol, [*before, *HEALTHY[how](protocol)])
    assert (found.verdict.outcome.value, found.verdict.problems, found.explained.text) == ("ok", (), "")


CALL, *RESULTS = returned("openai-chat")
FIRST, SECOND = CALL["tool_calls"]
GO = user("openai-chat", "go")


def message_with(*calls: Json) -> Json:
    """A message of the assistant with these calls."""
    return {**CALL, "tool_calls": list(calls)}


def with_function(call: Json, **changed: str) -> Json:
    """The call with another name or other arguments."""
    return {**call, "function": {**call["function"], **changed}}


def results_with_new_ids() -> list[Json]:
    """The results with a prefix in their ids."""
    return [{**one, "tool_call_id": f"fc_{one['tool_call_id']}"} for one in RESULTS]


@pytest.mark.parametrize(
    "messages",
    [
        [message_with(SECOND, FIRST), *reversed(RESULTS)],
        [message_with(FIRST), RESULTS[0], message_with(SECOND), RESULTS[1]],
        [CALL, *({**one, "content": [{"type": "text", "text": "r"}]} for one in RESULTS)],
        [CALL, *({**one, "content": "The user denied this call."} for one in RESULTS)],
        [CALL, RESULTS[0], {**RESULTS[1], "content": "Error: rejected by the user"}],
        [{**CALL, "content": "I will look."}, *RESULTS],
        [message_with({**FIRST, "index": 0}, {**SECOND, "index": 1}), *RESULTS],
        [CALL, *({**one, "name": "f"} for one in RESULTS)],
        [message_with(*({**one, "id": f"fc_{one['id']}"} for one in (FIRST, SECOND))), *results_with_new_ids()],
        [message_with({**FIRST, "id": SECOND["id"]}, {**SECOND, "id": FIRST["id"]}), *RESULTS],
        [CALL, *({**one, "content": "[Old tool result content cleared]"} for one in RESULTS)],
    ],
)
def test_other_valid_messages_are_no_bug(messages: list[Json]) -> None:
    """Reordered or separate calls, results as lists, refusals, and rewritten text."""
    assert verdict_on("openai-chat", [GO, *messages]).verdict.outcome.value == "ok"


def test_results_alone_are_enough_if_the_server_stores_the_calls() -> None:
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
    """The calls were returned correctly, so missing, doubled and wrong results have no explanation."""
    found = verdict_on("openai-chat", [GO, CALL, *results])
    assert found.verdict.outcome.value in {"wrong-id", "missing-result", "duplicate-call"}
    assert (found.explained.text, found.explained.fix) == ("", "")


JOINED = FIRST["function"]["arguments"] + SECOND["function"]["arguments"]
BUGS: dict[str, tuple[str, list[Json]]] = {
    "joined": ("returned-merged", [message_with(with_function(FIRST, arguments=JOINED)), RESULTS[0]]),
    "last fragment lost": (
        "wrong-arguments",
        [message_with(FIRST, with_function(SECOND, arguments=SECOND["function"]["arguments"][:-2])), *RESULTS],
    ),
    "first fragment lost": (
        "wrong-arguments",
        [message_with(with_function(FIRST, arguments=FIRST["function"]["arguments"][2:]), SECOND), *RESULTS],
    ),
    "a member lost": (
        "wrong-arguments",
        [message_with(FIRST, with_function(SECOND, arguments='{"from": "Oslo"}')), *RESULTS],
    ),
    "members of another call": (
        "wrong-arguments",
        [
            message_with(
                with_function(FIRST, arguments='{"zone": "Africa/Nairobi", "from": "Oslo", "to": "Nairobi"}'), SECOND
            ),
            *RESULTS,
        ],
    ),
    "one without arguments": (
        "wrong-arguments",
        [message_with(with_function(FIRST, arguments="{}"), SECOND), *RESULTS],
    ),
    "only the first": ("lost-call", [message_with(FIRST), RESULTS[0]]),
    "only the last": ("lost-call", [message_with(SECOND), RESULTS[1]]),
    "twice": ("duplicate-call", [message_with(FIRST, FIRST, SECOND), RESULTS[0], *RESULTS]),
    "twice under another id": (
        "duplicate-call",
        [message_with(FIRST, {**FIRST, "id": "z"}, SECOND), *RESULTS, {**RESULTS[0], "tool_call_id": "z"}],
    ),
    "the last one under the first id": ("lost-call", [message_with({**SECOND, "id": FIRST["id"]}), RESULTS[0]]),
    "no result": ("missing-result", [CALL]),
    "no second result": ("missing-result", [CALL, RESULTS[0]]),
    "result under another id": ("wrong-id", [CALL, RESULTS[0], {**RESULTS[1], "tool_call_id": "z"}]),
    "name doubled": ("wrong-name", [message_with(with_function(FIRST, name="get_timeget_time"), SECOND), *RESULTS]),
    "name cut": ("wrong-name", [message_with(with_function(FIRST, name="time"), SECOND), *RESULTS]),
    "never sent": (
        "phantom-call",
        [
            message_with(FIRST, SECOND, {"id": "p", "type": "function", "function": {"name": "rm", "arguments": "{}"}}),
            *RESULTS,
            {**RESULTS[0], "tool_call_id": "p"},
        ],
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_of_a_client_has_its_verdict(bug: str) -> None:
    """The verdict depends on the returned calls and results."""
    outcome, messages = BUGS[bug]
    assert verdict_on("openai-chat", [GO, *messages]).verdict.outcome.value == outcome


@pytest.mark.parametrize("protocol", ALL)
def test_lost_and_exchanged_arguments_are_named(protocol: str) -> None:
    """In all protocols."""
    go = user(protocol, "go")
    assert verdict_on(protocol, [go, *returned(protocol, lambda _: {})]).verdict.outcome.value == (
        "returned-without-arguments"
    )
    calls = calls_of(protocol)
    exchanged = [call.arguments for call in reversed(calls)]
    messages = returned_messages(protocol, calls, exchanged, [call.id for call in calls])
    assert verdict_on(protocol, [go, *messages]).verdict.outcome.value == "wrong-arguments"
