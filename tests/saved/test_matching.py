from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.counted import functions_called
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.proxy.flow_facts import REPLAY
from toolstream_core.proxy.provider import Provider
from toolstream_core.redaction import Redaction, TextMode, redacted_body
from toolstream_core.saved.flow import LlmFlow, read_flow
from toolstream_core.saved.matching import Match, Matcher, Outcome, parting
from toolstream_core.saved.read import load, with_response
from toolstream_core.saved.redact import redact as redact_flow
from toolstream_core.saved.redact import save
from toolstream_core.wire.frame import Form

FLOWS = Path(__file__).resolve().parents[2] / "flows"
PROTOCOLS = (
    *("openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions"),
    *("ollama", "cohere-v2", "bedrock"),
)
ASKED = RequestKey(
    dialect="openai-chat", model="gpt-4.1-mini", form=Form.EVENTS, tools=frozenset(), results=0, words=""
)
FIRST, SECOND = load(FLOWS / "openai-chat-single.flow")
PATH = "/v1/chat/completions"


def saved(source: str, like: str = "openai-chat-single", **asked: Any) -> LlmFlow:
    """A flow that differs from a saved one in what was asked."""
    fixture = load(FLOWS / f"{like}.flow")[0]
    return replace(fixture, source=source, request_key=replace(fixture.request_key, **asked))


def named(source: str, model: str) -> LlmFlow:
    """A flow of this model."""
    fixture = saved(source, model=model)
    fixture.record.model = model
    return fixture


def chosen(wanted: RequestKey, *fixtures: LlmFlow) -> str | None:
    """The source of the one that fits best, which must not depend on the order."""
    one, other = Matcher(fixtures).best(wanted), Matcher(fixtures[::-1]).best(wanted)
    assert (one and one.source) == (other and other.source)
    return one.source if one else None


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [
        ("gpt-4.1-mini", "openai/gpt-4.1-mini"),
        ("gpt-4.1-mini-2025-04-14", "gpt-5"),
        ("openai/gpt-4.1-mini", "gpt-5"),
        ("gpt-5", "claude-sonnet-4-6"),
        ("GPT-4.1-mini-latest", "gpt-4.1"),
    ],
)
def test_the_model_that_is_nearer(nearer: str, farther: str) -> None:
    """The same; the same but for vendor, date and tag; the same family; any."""
    assert chosen(ASKED, named("far", farther), named("near", nearer)) == "near"
    assert chosen(ASKED, named("far", farther)) == "far"


@pytest.mark.parametrize(
    ("results", "there", "best"),
    [
        (0, (0, 1, 2), 0),
        (1, (0, 1, 2), 1),
        (3, (0, 1, 2), 2),
        (1, (0, 2), 0),
        (0, (2, 3), 2),
    ],
)
def test_the_turn_that_is_nearer(results: int, there: tuple[int, ...], best: int) -> None:
    """The same, else the nearest lower, else the nearest higher."""
    fixtures = [saved(str(turn), results=turn) for turn in there]
    assert chosen(replace(ASKED, results=results), *fixtures) == str(best)


def test_calls_that_the_request_offers() -> None:
    """Then text, then calls of tools that it does not offer."""
    weather, text = saved("weather"), saved("text", like="openrouter-no-deltas", model="gpt-4.1-mini")
    playlists = saved("playlists", like="openai-chat-no-arguments")
    offering = replace(ASKED, tools=frozenset({"get_weather", "other"}))
    assert chosen(offering, playlists, text, weather) == "weather"
    assert chosen(offering, playlists, text) == "text"
    assert chosen(offering, playlists) == "playlists"


def test_the_users_last_words_decide_between_equals() -> None:
    """So a recorded conversation is played back in its own words."""
    fixtures = [saved("a", words="red?"), saved("b", words="blue?")]
    assert chosen(replace(ASKED, words="blue?"), *fixtures) == "b"
    first = Matcher(fixtures).best(replace(ASKED, words="green?"))
    assert first is fixtures[0]


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "gemini", "openai-responses", "bedrock", "cohere-v2"])
def test_a_conversation_goes_on_where_its_calls_were_made(protocol: str) -> None:
    """Whatever the client says: with its own prompt, it is given the end of the conversation that it is in."""
    of = {name: load(FLOWS / f"{protocol}-{name}.flow") for name in ("no-arguments", "single")}
    for name, (_, second) in of.items():
        request = json.loads(re.sub(rb'"text": ?"[^"]*[?]"', b'"text":"Other words?"', second.request_body))
        for message in request.get("messages") or request.get("input") or ():
            if message.get("role") == "user" and isinstance(message["content"], str):
                message["content"] = "Other words?"
        asked = replace(second.request_key, words="Other words?")
        best = Matcher([fixture for one in of.values() for fixture in one]).best(asked, request, second.path)
        assert best is second, name


def test_who_asks_for_a_stream_is_not_given_a_whole_answer() -> None:
    """The other way round works: it is put together."""
    streamed, whole, _ = load(FLOWS / "openrouter-no-deltas.flow")
    assert Matcher([whole]).best(ASKED) is None
    assert Matcher([whole, streamed]).best(ASKED) is streamed
    assert Matcher([streamed]).best(replace(ASKED, form=Form.WHOLE)) is streamed
    assert Matcher([streamed, whole]).best(replace(whole.request_key)) is whole


def test_an_http_error_comes_behind_all_other_answers() -> None:
    """It can be given in any form."""
    whole = load(FLOWS / "openrouter-no-deltas.flow")[1]
    failed = replace(whole, status=429)
    assert Matcher([failed]).best(ASKED) is failed
    assert Matcher([failed, saved("far", model="claude")]).best(ASKED) is not failed


def test_another_protocol_never_fits() -> None:
    """Whatever else does."""
    assert Matcher(load(FLOWS / "anthropic-single.flow")).best(ASKED) is None


def matched(matcher: Matcher, request: Any, path: str = PATH) -> Match:
    """What a request is answered with."""
    match = matcher.match(path, json.dumps(request).encode())
    assert match
    return match


def shuffled(value: Any) -> Any:
    """The same value with its keys in another order."""
    if isinstance(value, dict):
        return {key: shuffled(inner) for key, inner in reversed(value.items())}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def of_all() -> Matcher:
    """All saved flows."""
    return Matcher(load(FLOWS))


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_a_recorded_request_is_answered_exactly(of_all: Matcher, path: Path) -> None:
    """Whatever the order of its keys, and below whatever base URL."""
    for fixture in load(path):
        match = matched(of_all, shuffled(fixture.request), f"/gateway{fixture.path}")
        assert (match.outcome, match.saved and match.saved.source) == (Outcome.EXACT, fixture.source)


@pytest.mark.parametrize(
    "change",
    [{"metadata": {"session": "x"}}, {"user": "u"}, {"prompt_cache_key": "k"}, {"safety_identifier": "s"}],
)
def test_what_differs_by_its_nature_does_not_count(change: dict[str, Any]) -> None:
    """Names of sessions and users."""
    assert matched(Matcher([FIRST]), {**FIRST.request, **change}).outcome is Outcome.EXACT


def test_a_flag_that_says_the_default_does_not_count() -> None:
    """`stream: false` is no other request than none."""
    whole = load(FLOWS / "openrouter-no-deltas.flow")[1]
    without = {key: value for key, value in whole.request.items() if key != "stream"}
    for request in (without, {**without, "stream": False}):
        match = matched(Matcher([whole]), request)
        assert (match.outcome, match.saved) == (Outcome.EXACT, whole)


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"temperature": 1}, "temperature: recorded nothing, requested 1"),
        ({"model": "gpt-5"}, 'model: recorded "gpt-4.1-mini", requested "gpt-5"'),
        ({"messages": []}, "messages[0]: recorded {"),
        ({"stream": False}, "form: recorded server-sent events, requested one JSON document"),
    ],
)
def test_another_request_diverges(change: dict[str, Any], at: str) -> None:
    """It is told where, and answered all the same."""
    match = matched(Matcher([FIRST, SECOND]), {**FIRST.request, **change})
    assert (match.outcome, match.saved) == (Outcome.DIVERGED, FIRST)
    assert str(match.parting).startswith(at)


def test_a_strict_matcher_refuses_what_diverges() -> None:
    """And names the nearest flows, the nearest first."""
    other = load(FLOWS / "anthropic-single.flow")[0]
    match = matched(Matcher([other, SECOND, FIRST], strict=True), {**FIRST.request, "temperature": 1})
    assert (match.outcome, match.saved) == (Outcome.REFUSED, None)
    assert [near.source for near in match.near] == [FIRST.source, SECOND.source, other.source]
    assert match.near[0].why == "differs at temperature: recorded nothing, requested 1"
    assert match.near[2].why == f"uses another protocol, anthropic ({other.request_key.model})"
    assert matched(Matcher([FIRST], strict=True), FIRST.request).outcome is Outcome.EXACT


def test_a_whole_answer_is_near_to_who_wants_a_stream() -> None:
    """It cannot be given, and says why."""
    whole = load(FLOWS / "openrouter-no-deltas.flow")[1]
    match = matched(Matcher([whole]), {**whole.request, "stream": True})
    assert match.outcome is Outcome.REFUSED
    assert [near.why for near in match.near] == ["was not streamed; the request asks for server-sent events"]


def test_equal_requests_get_their_answers_one_after_the_other() -> None:
    """And then the last one again: a retry gets what the retry got, also one that diverges."""
    failed, done = replace(FIRST, status=429, source="failed"), replace(FIRST, source="done")
    for request in (FIRST.request, {**FIRST.request, "temperature": 1}):
        matcher = Matcher([failed, SECOND, done])
        given = [matched(matcher, request).saved for _ in range(4)]
        assert [one and one.source for one in given] == ["failed", "done", "done", "done"]


def conversation(file: str) -> tuple[LlmFlow, dict[str, Any]]:
    """A saved answer with calls, and the request that brings their results."""
    first, second = load(FLOWS / f"{file}.flow")[:2]
    return first, second.request


CONVERSATIONS = [f"{protocol}-{kind}" for protocol in PROTOCOLS for kind in ("single", "parallel", "no-arguments")]


@pytest.mark.parametrize("file", CONVERSATIONS)
def test_a_call_whose_result_has_come_is_not_served_again(file: str) -> None:
    """In each protocol, whether the conversation was recorded to its end or not; ids do not count, results do."""
    first, request = conversation(file)
    path = first.path
    match = Matcher([first]).match(path, json.dumps(request).encode())
    assert match is not None
    assert (match.outcome, match.saved) == (Outcome.FINISHED, first)
    for call in first.record.calls:
        request = json.loads(json.dumps(request).replace(call.id or "no id", f"own-{call.position}"))
    match = Matcher([first]).match(path, json.dumps(request).encode())
    assert match is not None
    assert match.outcome is Outcome.FINISHED


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_that_came_back_otherwise_is_served_again(protocol: str) -> None:
    """With other arguments, or for one of two calls alone."""
    first, request = conversation(f"{protocol}-single")
    [call] = first.record.calls
    value = next(value for value in json.loads(call.arguments).values() if isinstance(value, str))
    changed = json.dumps(request).replace(json.dumps(value)[1:-1], "elsewhere")
    match = Matcher([first]).match(first.path, changed.encode())
    assert match is not None
    assert (match.outcome, match.saved) == (Outcome.DIVERGED, first)
    both, _ = conversation(f"{protocol}-parallel")
    match = Matcher([both]).match(first.path, json.dumps(request).encode())
    assert match is not None
    assert (match.outcome, match.saved) == (Outcome.DIVERGED, both)


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ({"content": [{"type": "text", "text": "mild"}]}, Outcome.FINISHED),
        ({"content": "mild", "is_error": False}, Outcome.FINISHED),
        ({"content": "mild", "is_error": True}, Outcome.DIVERGED),
        ({"content": '{"error": "no such tool"}'}, Outcome.DIVERGED),
    ],
)
def test_a_rejection_is_no_result(content: dict[str, Any], response: Outcome) -> None:
    """The model would call again, and so does the flow."""
    first, request = conversation("anthropic-single")
    result = {**request["messages"][-1]["content"][-1], **content}
    messages = [*request["messages"][:-1], {"role": "user", "content": [result]}]
    match = Matcher([first]).match(first.path, json.dumps({**request, "messages": messages}).encode())
    assert match is not None
    assert match.outcome is response


def turns(times: int, opening: str = "hi") -> list[dict[str, Any]]:
    """The requests of a client that runs a call without its arguments, again and again."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": opening}]
    requests = []
    for turn in range(times):
        requests.append({**FIRST.request, "messages": [*messages]})
        function = {"name": FIRST.record.calls[0].name, "arguments": "{}"}
        call = {"id": f"call_{turn}", "type": "function", "function": function}
        messages += [{"role": "assistant", "tool_calls": [call]}]
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "missing argument"}]
    return requests


@pytest.mark.parametrize("requests", [[FIRST.request] * 10, turns(10)], ids=["retries", "turns"])
def test_a_loop_is_ended(requests: list[dict[str, Any]]) -> None:
    """A response answers eight equal requests, or those of a conversation that only gets longer; 0 is no limit."""
    matcher = Matcher([FIRST], repeats=8)
    responses = [matched(matcher, request) for request in requests]
    assert [one.saved for one in responses] == [FIRST] * 8 + [None] * 2
    [near] = responses[-1].near
    assert near == (FIRST.source, "reached the limit of 8 equal requests (toolstream_provider_repeats)")
    assert {one.outcome for one in responses[8:]} == {Outcome.REFUSED}
    without = Matcher([FIRST])
    assert [matched(without, request).saved for request in requests] == [FIRST] * 10
    assert matched(matcher, turns(1, opening="Another one?")[0]).saved is FIRST


def fixed(fixture: LlmFlow) -> list[dict[str, Any]]:
    """The requests of a client that runs the call of a response."""
    [call] = fixture.record.calls
    function = {"name": call.name, "arguments": call.arguments}
    echo = {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": function}]}
    results = [echo, {"role": "tool", "tool_call_id": call.id, "content": "13 degrees"}]
    return [fixture.request, {**fixture.request, "messages": [*fixture.request["messages"], *results]}]


@pytest.mark.parametrize("fixtures", [[FIRST], [FIRST, SECOND]], ids=["finished", "recorded"])
def test_a_conversation_that_goes_on_is_no_loop(fixtures: list[LlmFlow]) -> None:
    """Twenty runs of a client that runs the call, with a client between them that does not: that one is stopped."""
    matcher = Matcher(fixtures, repeats=8)
    for _ in range(20):
        assert [matched(matcher, one).saved for one in fixed(FIRST)] == [fixtures[0], fixtures[-1]]
    assert [matched(matcher, FIRST.request).saved for _ in range(10)] == [FIRST] * 8 + [None] * 2


def test_a_new_run_of_a_loop_is_served_again() -> None:
    """It begins with fewer results than the run before ended with."""
    matcher = Matcher([FIRST], repeats=8)
    for _ in range(3):
        assert [matched(matcher, one).saved for one in turns(10)] == [FIRST] * 8 + [None] * 2
    assert [matched(matcher, one).saved for one in fixed(FIRST)] == [FIRST] * 2


def test_the_rejection_of_a_call_that_nobody_can_run_is_its_result() -> None:
    """The model made up the tool: a client that says so gets the final text."""
    saved = load(FLOWS / "openai-chat-single.flow")[0]
    [call] = saved.record.calls
    asked = {**saved.request, "tools": [{"type": "function", "function": {"name": "other"}}]}
    entry = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    results = [{"role": "tool", "tool_call_id": call.id, "content": '{"error":"unknown tool"}'}]
    after = {"messages": [*asked["messages"], {"role": "assistant", "tool_calls": [entry]}, *results]}
    for request, outcome in ((saved.request, "diverged"), (asked, "finished")):
        flow = with_response(saved.flow, request, saved.chunks)
        known = read_flow(flow, "a")
        assert known is not None
        assert matched(Matcher([known], repeats=8), {**request, **after}).outcome == outcome


def test_a_conversation_that_the_server_keeps_is_counted_by_its_calls() -> None:
    """Its next request holds results only."""
    first = load(FLOWS / "openai-responses-single.flow")[0]
    [call] = first.record.calls
    results = [{"type": "function_call_output", "call_id": call.id, "output": "13 degrees"}]
    after = {**first.request, "previous_response_id": "resp_1", "input": results}
    rejected = {**after, "input": [{**results[0], "output": '{"error":"no city"}'}]}

    def source(request: dict[str, Any]) -> str | None:
        match = matcher.match(first.path, json.dumps(request).encode())
        assert match is not None
        return match.outcome if match.saved else None

    matcher = Matcher([first], repeats=8)
    for _ in range(20):
        assert [source(first.request), source(after)] == ["exact", "finished"]
    for _ in range(3):
        assert source(first.request) == "exact"
        assert [source(rejected) for _ in range(10)] == ["diverged"] * 8 + [None] * 2
    assert [source(first.request), source(after)] == ["exact", "finished"]


def test_another_conversation_that_goes_on_does_not_hide_a_loop() -> None:
    """Each begins with its own user message."""
    matcher = Matcher([FIRST], repeats=8)
    given = []
    for loop in turns(10, opening="Another one?"):
        given.append(matched(matcher, loop).saved)
        assert all(matched(matcher, one).saved is FIRST for one in fixed(FIRST))
    assert given == [FIRST] * 8 + [None] * 2


def test_each_recorded_repetition_is_served_before_the_limit_counts() -> None:
    """Ten retries were recorded: ten are served, then the last one seven times more."""
    recorded = [replace(FIRST, source=str(at)) for at in range(10)]
    matcher = Matcher(recorded, repeats=8)
    given = [matched(matcher, FIRST.request).saved for _ in range(18)]
    assert [one and one.source for one in given] == [*map(str, range(10)), *["9"] * 7, None]


def test_a_poll_that_was_recorded_goes_on() -> None:
    """The model called the same again although it had the result: so it was recorded, and so it is served."""
    [call] = FIRST.record.calls
    again = replace(
        FIRST, source="again", request=SECOND.request, request_body=SECOND.request_body, request_key=SECOND.request_key
    )
    matcher = Matcher([FIRST, again])
    first = matched(matcher, {**SECOND.request, "temperature": 1})
    assert (first.outcome, first.saved) == (Outcome.DIVERGED, again)
    echo, result = SECOND.request["messages"][-2:]
    echo, result = ({**one} for one in json.loads(json.dumps([echo, result]).replace(call.id, "call_again")))
    longer = [*SECOND.request["messages"], echo, result]
    assert matched(matcher, {**SECOND.request, "messages": longer, "temperature": 1}).outcome is Outcome.FINISHED


@pytest.mark.parametrize(("text", "response"), [("missing argument", Outcome.DIVERGED), ("mild", Outcome.FINISHED)])
def test_of_results_alone_one_that_led_to_the_same_call_is_none(text: str, response: Outcome) -> None:
    """Where the server keeps the conversation, only the result shows that the client read the call otherwise."""
    first, second = load(FLOWS / "openai-responses-single.flow")
    [call] = first.record.calls

    def asked(result: str) -> dict[str, Any]:
        output = {"type": "function_call_output", "call_id": call.id, "output": result}
        return {**first.request, "previous_response_id": "resp_1", "input": [output]}

    body = json.dumps(asked("missing argument")).encode()
    again = replace(second, record=first.record, request=json.loads(body), request_body=body)
    changed = json.dumps({**asked(text), "temperature": 1}).encode()
    match = Matcher([first, again]).match(first.path, changed)
    assert match is not None
    assert match.outcome is response


def test_of_those_alike_the_one_with_the_same_history_is_given() -> None:
    """Two conversations that stand at the same words."""

    def asked(*texts: str) -> dict[str, Any]:
        return {**FIRST.request, "messages": [{"role": "user", "content": text} for text in texts]}

    def recorded(*texts: str) -> LlmFlow:
        body = json.dumps(asked(*texts)).encode()
        words = replace(FIRST.request_key, words=texts[-1])
        return replace(FIRST, source=texts[0], request=json.loads(body), request_body=body, request_key=words)

    matcher = Matcher([recorded("red", "go on"), recorded("blue", "well", "go on")])
    for first in ("red", "blue"):
        match = matched(matcher, asked(first, "changed", "go on"))
        assert (match.outcome, match.saved and match.saved.source) == (Outcome.DIVERGED, first)


def test_a_saved_request_is_known_by_what_it_was_before(tmp_path: Path) -> None:
    """As the client sends it, secrets and all; also where further patterns were hidden."""
    key = "sk-proj-" + "A1b2" * 12
    with (FLOWS / "openai-chat-single.flow").open("rb") as file:
        flow = next(iter(FlowReader(file).stream()))
    assert isinstance(flow, http.HTTPFlow)
    asked = json.loads(flow.request.content or b"")
    asked["messages"][0]["content"] += f" {key} and project BLUEBIRD-7"
    flow.request.content = json.dumps(asked).encode()
    for name, redaction in (("a", Redaction()), ("b", Redaction(patterns=("BLUEBIRD-\\d",)))):
        save([flow], tmp_path / f"{name}.flow", redaction)
        [fixture] = load(tmp_path / f"{name}.flow")
        assert key.encode() not in fixture.request_body
        again = http.HTTPFlow(flow.client_conn, flow.server_conn)
        again.request = flow.request.copy()
        assert Provider([fixture], strict=True).respond(again)
        assert again.metadata[REPLAY]["answer"] == "exact"


def test_what_was_redacted_may_be_anything() -> None:
    """Hidden by the same redaction, by another one, by its mark."""
    key = "sk-" + "a1b2" * 8
    request = {**FIRST.request, "messages": [{"role": "user", "content": f"use {key}!"}]}

    def saved_as(hidden: str) -> LlmFlow:
        body = json.dumps(request).replace(key, hidden)
        return replace(FIRST, request=json.loads(body), request_body=body.encode())

    def redact(body: bytes, text: str) -> bytes:
        assert text == "keep"
        return body.replace(key.encode(), b"*" * len(key))

    match = Matcher([saved_as("*" * len(key))]).match(PATH, json.dumps(request).encode(), redact)
    assert match
    assert match.outcome is Outcome.EXACT
    for hidden in ("[redacted]", "*" * 20):
        assert matched(Matcher([saved_as(hidden)]), request).outcome is Outcome.EXACT
        wrong = json.loads(json.dumps(request).replace("use ", "take "))
        assert matched(Matcher([saved_as(hidden)]), wrong).outcome is Outcome.DIVERGED


def test_a_request_for_something_else_is_not_matched() -> None:
    """It asks for no completion."""
    assert Matcher([FIRST]).match("/v1/embeddings", b'{"model":"m","input":"x"}') is None


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ({"a": 1}, {"a": 1.0}, None),
        ({"a": 1}, {"a": True}, "a: recorded 1, requested true"),
        ({"a": None}, {}, "a: recorded null, requested nothing"),
        ({"a b": [{}, 2]}, {"a b": [{}]}, '["a b"][1]: recorded 2, requested nothing'),
        ([], {}, "body: recorded [], requested {}"),
        ({"a": "x" * 99 + "1"}, {"a": "x" * 99 + "2"}, 'a: recorded …"xxxxxxxxxxxx1", requested …"xxxxxxxxxxxx2"'),
        ({"a": "\x1b[2J"}, {"a": ""}, 'a: recorded "\\u001b[2J", requested ""'),
        ({"a": "x********y********z"}, {"a": "x1y2z"}, None),
        ({"a": "x********y********z"}, {"a": "x1z2y"}, 'a: recorded "x********y********z", requested "x1z2y"'),
        ({"a": "***"}, {"a": "any"}, None),
        ({"a": "********b"}, {"a": "b"}, None),
        ({"a": "ab********b"}, {"a": "ab"}, 'a: recorded "ab********b", requested "ab"'),
        ({"a": "**bold**"}, {"a": "bold"}, 'a: recorded "**bold**", requested "bold"'),
    ],
)
def test_where_two_requests_part(one: Any, other: Any, told: str | None) -> None:
    """By path, with both values, which are cut and steer no terminal."""
    where = parting(one, other)
    assert (where and str(where)) == told


@pytest.mark.parametrize("text", ["mask", "shape"])
def test_a_client_may_say_again_what_a_redacted_answer_told_it(text: str) -> None:
    """The rest of its request is as it was before the redaction."""
    redaction = Redaction(text=TextMode(text))

    def redact(body: bytes, mode: str) -> bytes:
        return redacted_body(body, Redaction(text=TextMode(mode)))

    path = FLOWS / "openai-chat-single.flow"
    with path.open("rb") as file:
        flows = [flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow)]
    fixtures = [read_flow(redact_flow(flow, redaction), f"x#{at}") for at, flow in enumerate(flows)]
    matcher = Matcher([one for one in fixtures if one is not None], strict=True)
    asked = json.loads(flows[1].request.content or b"")
    recorded = json.loads(redact(flows[1].request.content or b"", text))
    asked["messages"][1] = recorded["messages"][1]
    match = matcher.match(PATH, json.dumps(asked).encode(), redact)
    assert match
    assert (match.outcome, match.saved and match.saved.source) == (Outcome.EXACT, "x#1")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_a_request_does_not_part_from_itself(value: Any) -> None:
    """Whatever it says."""
    assert parting({"a": value}, {"a": value}) is None


def test_thousands_of_recorded_requests_are_found_at_once() -> None:
    """By their hash: among 3,000 it takes about as many calls of functions as among 30."""

    def called(number: int) -> int:
        many = [_asking(f"question {at}") for at in range(number)]
        matcher = Matcher(many)
        matched(matcher, FIRST.request)
        assert all(matched(matcher, one.request).saved is one for one in many)
        return functions_called(lambda: [matched(matcher, one.request) for one in many[-10:]])

    assert called(3000) < 1.2 * called(30)


def _asking(text: str) -> LlmFlow:
    request = {**FIRST.request, "messages": [{"role": "user", "content": text}]}
    return replace(FIRST, source=text, request=request, request_body=json.dumps(request).encode())
