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

from tests.conftest import FLOWS
from tests.counted import functions_called
from tests.proxy.flows import flows_in
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.proxy.flow_facts import REPLAY
from toolstream_core.proxy.provider import Provider
from toolstream_core.redaction import Redaction, TextMode, redacted_body
from toolstream_core.saved.flow import LlmFlow, read_flow
from toolstream_core.saved.matching import Match, Matcher, MatchOutcome, request_difference
from toolstream_core.saved.read import load, with_response
from toolstream_core.saved.redact import redact as redact_flow
from toolstream_core.saved.redact import save
from toolstream_core.wire.frame import Form

PROTOCOLS = (
    *("openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions"),
    *("ollama", "cohere-v2", "bedrock"),
)
KEY = RequestKey(protocol="openai-chat", model="gpt-4.1-mini", form=Form.EVENTS, tools=frozenset(), results=0, words="")
FIRST, SECOND = load(FLOWS / "openai-chat-single.flow")
PATH = "/v1/chat/completions"


def fixture_with(source: str, like: str = "openai-chat-single", **changes: Any) -> LlmFlow:
    """Return a saved flow with another request key."""
    fixture = load(FLOWS / f"{like}.flow")[0]
    return replace(fixture, source=source, request_key=replace(fixture.request_key, **changes))


def of_model(source: str, model: str) -> LlmFlow:
    """Return a saved flow of this model."""
    fixture = fixture_with(source, model=model)
    fixture.record.model = model
    return fixture


def best_source(key: RequestKey, *fixtures: LlmFlow) -> str | None:
    """Return the source of the best match, which must not depend on the order of the flows."""
    forwards, backwards = Matcher(fixtures).best(key), Matcher(fixtures[::-1]).best(key)
    assert (forwards and forwards.source) == (backwards and backwards.source)
    return forwards.source if forwards else None


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
def test_the_most_similar_model_is_preferred(nearer: str, farther: str) -> None:
    """An equal model precedes one with another vendor, date or tag, one of the same family, and any other."""
    assert best_source(KEY, of_model("far", farther), of_model("near", nearer)) == "near"
    assert best_source(KEY, of_model("far", farther)) == "far"


@pytest.mark.parametrize(
    ("results", "available", "best"),
    [(0, (0, 1, 2), 0), (1, (0, 1, 2), 1), (3, (0, 1, 2), 2), (1, (0, 2), 0), (0, (2, 3), 2)],
)
def test_the_nearest_turn_is_preferred(results: int, available: tuple[int, ...], best: int) -> None:
    """An equal number of results precedes the nearest lower and then the nearest higher number."""
    fixtures = [fixture_with(str(turn), results=turn) for turn in available]
    assert best_source(replace(KEY, results=results), *fixtures) == str(best)


def test_calls_of_offered_tools_are_preferred() -> None:
    """Calls of offered tools precede text, and text precedes calls of other tools."""
    weather, text = fixture_with("weather"), fixture_with("text", like="openrouter-no-deltas", model="gpt-4.1-mini")
    playlists = fixture_with("playlists", like="openai-chat-no-arguments")
    offering = replace(KEY, tools=frozenset({"get_weather", "other"}))
    assert best_source(offering, playlists, text, weather) == "weather"
    assert best_source(offering, playlists, text) == "text"
    assert best_source(offering, playlists) == "playlists"


def test_the_last_user_message_decides_between_equal_matches() -> None:
    """A recorded conversation is replayed for its own message."""
    fixtures = [fixture_with("a", words="red?"), fixture_with("b", words="blue?")]
    assert best_source(replace(KEY, words="blue?"), *fixtures) == "b"
    first = Matcher(fixtures).best(replace(KEY, words="green?"))
    assert first is fixtures[0]


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "gemini", "openai-responses", "bedrock", "cohere-v2"])
def test_a_request_with_results_continues_the_conversation_of_its_calls(protocol: str) -> None:
    """A client with another prompt gets the end of the conversation whose calls it returns."""
    turns_of = {name: load(FLOWS / f"{protocol}-{name}.flow") for name in ("no-arguments", "single")}
    for name, (_, second) in turns_of.items():
        request = json.loads(re.sub(rb'"text": ?"[^"]*[?]"', b'"text":"Other words?"', second.request_body))
        for message in request.get("messages") or request.get("input") or ():
            if message.get("role") == "user" and isinstance(message["content"], str):
                message["content"] = "Other words?"
        key = replace(second.request_key, words="Other words?")
        best = Matcher([fixture for fixtures in turns_of.values() for fixture in fixtures]).best(
            key, request, second.path
        )
        assert best is second, name


def test_an_unstreamed_response_does_not_match_a_streaming_request() -> None:
    """A streamed response matches an unstreamed request, as it can be assembled."""
    streamed, unstreamed, _ = load(FLOWS / "openrouter-no-deltas.flow")
    assert Matcher([unstreamed]).best(KEY) is None
    assert Matcher([unstreamed, streamed]).best(KEY) is streamed
    assert Matcher([streamed]).best(replace(KEY, form=Form.WHOLE)) is streamed
    assert Matcher([streamed, unstreamed]).best(replace(unstreamed.request_key)) is unstreamed


def test_an_http_error_is_the_last_choice() -> None:
    """An HTTP error matches requests of any form."""
    unstreamed = load(FLOWS / "openrouter-no-deltas.flow")[1]
    failed = replace(unstreamed, status=429)
    assert Matcher([failed]).best(KEY) is failed
    assert Matcher([failed, fixture_with("far", model="claude")]).best(KEY) is not failed


def test_another_protocol_never_matches() -> None:
    """All other fields may be equal."""
    assert Matcher(load(FLOWS / "anthropic-single.flow")).best(KEY) is None


def matched(matcher: Matcher, request: Any, path: str = PATH) -> Match:
    """Return the match of a request."""
    match = matcher.match(path, json.dumps(request).encode())
    assert match
    return match


def shuffled(value: Any) -> Any:
    """Return the value with the keys of its objects reversed."""
    if isinstance(value, dict):
        return {key: shuffled(inner) for key, inner in reversed(value.items())}
    return [shuffled(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def matcher_of_all() -> Matcher:
    """Return a matcher with all saved flows."""
    return Matcher(load(FLOWS))


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_a_recorded_request_matches_exactly(matcher_of_all: Matcher, path: Path) -> None:
    """The order of keys and the base URL do not matter."""
    for fixture in load(path):
        match = matched(matcher_of_all, shuffled(fixture.request), f"/gateway{fixture.path}")
        assert (match.outcome, match.saved and match.saved.source) == (MatchOutcome.EXACT, fixture.source)


@pytest.mark.parametrize(
    "change", [{"metadata": {"session": "x"}}, {"user": "u"}, {"prompt_cache_key": "k"}, {"safety_identifier": "s"}]
)
def test_fields_that_always_differ_are_ignored(change: dict[str, Any]) -> None:
    """Ids of sessions and users do not count."""
    assert matched(Matcher([FIRST]), {**FIRST.request, **change}).outcome is MatchOutcome.EXACT


def test_an_explicit_default_is_ignored() -> None:
    """`stream: false` equals a missing `stream`."""
    unstreamed = load(FLOWS / "openrouter-no-deltas.flow")[1]
    without_stream = {key: value for key, value in unstreamed.request.items() if key != "stream"}
    for request in (without_stream, {**without_stream, "stream": False}):
        match = matched(Matcher([unstreamed]), request)
        assert (match.outcome, match.saved) == (MatchOutcome.EXACT, unstreamed)


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
    """The match has the first difference and a response."""
    match = matched(Matcher([FIRST, SECOND]), {**FIRST.request, **change})
    assert (match.outcome, match.saved) == (MatchOutcome.DIVERGED, FIRST)
    assert str(match.difference).startswith(at)


def test_a_strict_matcher_rejects_other_requests() -> None:
    """It names the nearest flows in order."""
    other = load(FLOWS / "anthropic-single.flow")[0]
    match = matched(Matcher([other, SECOND, FIRST], strict=True), {**FIRST.request, "temperature": 1})
    assert (match.outcome, match.saved) == (MatchOutcome.REFUSED, None)
    assert [near.source for near in match.near] == [FIRST.source, SECOND.source, other.source]
    assert match.near[0].why == "differs at temperature: recorded nothing, requested 1"
    assert match.near[2].why == f"uses another protocol, anthropic ({other.request_key.model})"
    assert matched(Matcher([FIRST], strict=True), FIRST.request).outcome is MatchOutcome.EXACT


def test_an_unstreamed_response_is_named_as_near_to_a_streaming_request() -> None:
    """It cannot be sent, and the reason is given."""
    unstreamed = load(FLOWS / "openrouter-no-deltas.flow")[1]
    match = matched(Matcher([unstreamed]), {**unstreamed.request, "stream": True})
    assert match.outcome is MatchOutcome.REFUSED
    assert [near.why for near in match.near] == ["was not streamed; the request asks for server-sent events"]


def test_equal_requests_get_their_responses_in_order() -> None:
    """A retry gets the next response, then the last one again, also if it diverges."""
    failed, done = replace(FIRST, status=429, source="failed"), replace(FIRST, source="done")
    for request in (FIRST.request, {**FIRST.request, "temperature": 1}):
        matcher = Matcher([failed, SECOND, done])
        responses = [matched(matcher, request).saved for _ in range(4)]
        assert [fixture and fixture.source for fixture in responses] == ["failed", "done", "done", "done"]


def conversation(file: str) -> tuple[LlmFlow, dict[str, Any]]:
    """Return a saved response with calls, and the request that has their results."""
    first, second = load(FLOWS / f"{file}.flow")[:2]
    return first, second.request


CONVERSATIONS = [f"{protocol}-{kind}" for protocol in PROTOCOLS for kind in ("single", "parallel", "no-arguments")]


@pytest.mark.parametrize("file", CONVERSATIONS)
def test_a_call_with_a_result_is_not_sent_again(file: str) -> None:
    """In each protocol, a request with the results of all calls is finished, with any ids of the calls."""
    first, request = conversation(file)
    path = first.path
    match = Matcher([first]).match(path, json.dumps(request).encode())
    assert match is not None
    assert (match.outcome, match.saved) == (MatchOutcome.FINISHED, first)
    for call in first.record.calls:
        request = json.loads(json.dumps(request).replace(call.id or "no id", f"own-{call.position}"))
    match = Matcher([first]).match(path, json.dumps(request).encode())
    assert match is not None
    assert match.outcome is MatchOutcome.FINISHED


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_returned_with_other_arguments_is_sent_again(protocol: str) -> None:
    """A result for one of two calls also sends the calls again."""
    first, request = conversation(f"{protocol}-single")
    [call] = first.record.calls
    value = next(value for value in json.loads(call.arguments).values() if isinstance(value, str))
    changed = json.dumps(request).replace(json.dumps(value)[1:-1], "elsewhere")
    match = Matcher([first]).match(first.path, changed.encode())
    assert match is not None
    assert (match.outcome, match.saved) == (MatchOutcome.DIVERGED, first)
    both, _ = conversation(f"{protocol}-parallel")
    match = Matcher([both]).match(first.path, json.dumps(request).encode())
    assert match is not None
    assert (match.outcome, match.saved) == (MatchOutcome.DIVERGED, both)


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ({"content": [{"type": "text", "text": "mild"}]}, MatchOutcome.FINISHED),
        ({"content": "mild", "is_error": False}, MatchOutcome.FINISHED),
        ({"content": "mild", "is_error": True}, MatchOutcome.DIVERGED),
        ({"content": '{"error": "no such tool"}'}, MatchOutcome.DIVERGED),
    ],
)
def test_a_rejected_call_is_sent_again(content: dict[str, Any], outcome: MatchOutcome) -> None:
    """A model would repeat a call whose result is an error."""
    first, request = conversation("anthropic-single")
    result = {**request["messages"][-1]["content"][-1], **content}
    messages = [*request["messages"][:-1], {"role": "user", "content": [result]}]
    match = Matcher([first]).match(first.path, json.dumps({**request, "messages": messages}).encode())
    assert match is not None
    assert match.outcome is outcome


def turns(times: int, opening: str = "hi") -> list[dict[str, Any]]:
    """Return the requests of a client that runs a call without its arguments, turn after turn."""
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
def test_a_loop_is_stopped(requests: list[dict[str, Any]]) -> None:
    """The limit counts equal requests and those of a growing conversation; without a limit, both go on."""
    matcher = Matcher([FIRST], repeats=8)
    responses = [matched(matcher, request) for request in requests]
    assert [match.saved for match in responses] == [FIRST] * 8 + [None] * 2
    [near] = responses[-1].near
    assert near == (FIRST.source, "reached the limit of 8 equal requests (toolstream_provider_repeats)")
    assert {match.outcome for match in responses[8:]} == {MatchOutcome.REFUSED}
    unlimited = Matcher([FIRST])
    assert [matched(unlimited, request).saved for request in requests] == [FIRST] * 10
    assert matched(matcher, turns(1, opening="Another one?")[0]).saved is FIRST


def turns_with_result(fixture: LlmFlow) -> list[dict[str, Any]]:
    """Return the requests of a client that runs the call of a response."""
    [call] = fixture.record.calls
    function = {"name": call.name, "arguments": call.arguments}
    echo = {"role": "assistant", "tool_calls": [{"id": call.id, "type": "function", "function": function}]}
    results = [echo, {"role": "tool", "tool_call_id": call.id, "content": "13 degrees"}]
    return [fixture.request, {**fixture.request, "messages": [*fixture.request["messages"], *results]}]


@pytest.mark.parametrize("fixtures", [[FIRST], [FIRST, SECOND]], ids=["finished", "recorded"])
def test_a_conversation_that_continues_is_no_loop(fixtures: list[LlmFlow]) -> None:
    """Twenty runs with results are not stopped, and a loop between them is."""
    matcher = Matcher(fixtures, repeats=8)
    for _ in range(20):
        assert [matched(matcher, request).saved for request in turns_with_result(FIRST)] == [fixtures[0], fixtures[-1]]
    assert [matched(matcher, FIRST.request).saved for _ in range(10)] == [FIRST] * 8 + [None] * 2


def test_a_new_run_of_a_loop_is_counted_anew() -> None:
    """A new run starts with fewer results than the previous run had."""
    matcher = Matcher([FIRST], repeats=8)
    for _ in range(3):
        assert [matched(matcher, request).saved for request in turns(10)] == [FIRST] * 8 + [None] * 2
    assert [matched(matcher, request).saved for request in turns_with_result(FIRST)] == [FIRST] * 2


def test_a_rejected_call_of_an_unknown_tool_is_finished() -> None:
    """If the tool was not offered, a client's rejection is the result and gets the final text."""
    recorded = load(FLOWS / "openai-chat-single.flow")[0]
    [call] = recorded.record.calls
    without_tool = {**recorded.request, "tools": [{"type": "function", "function": {"name": "other"}}]}
    entry = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    results = [{"role": "tool", "tool_call_id": call.id, "content": '{"error":"unknown tool"}'}]
    after = {"messages": [*without_tool["messages"], {"role": "assistant", "tool_calls": [entry]}, *results]}
    for request, outcome in ((recorded.request, "diverged"), (without_tool, "finished")):
        flow = with_response(recorded.flow, request, recorded.chunks)
        known = read_flow(flow, "a")
        assert known is not None
        assert matched(Matcher([known], repeats=8), {**request, **after}).outcome == outcome


def test_server_side_state_is_counted_by_its_calls() -> None:
    """The next request has results only."""
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


def test_a_parallel_conversation_does_not_hide_a_loop() -> None:
    """A conversation is recognized by its first user message."""
    matcher = Matcher([FIRST], repeats=8)
    responses = []
    for loop in turns(10, opening="Another one?"):
        responses.append(matched(matcher, loop).saved)
        assert all(matched(matcher, request).saved is FIRST for request in turns_with_result(FIRST))
    assert responses == [FIRST] * 8 + [None] * 2


def test_recorded_repetitions_do_not_count() -> None:
    """Ten recorded retries are sent first, then the last one up to the limit."""
    recorded = [replace(FIRST, source=str(at)) for at in range(10)]
    matcher = Matcher(recorded, repeats=8)
    responses = [matched(matcher, FIRST.request).saved for _ in range(18)]
    assert [fixture and fixture.source for fixture in responses] == [*map(str, range(10)), *["9"] * 7, None]


def test_a_recorded_repetition_of_a_call_is_replayed() -> None:
    """If the model repeated the call although it had the result, the recorded repetition is sent."""
    [call] = FIRST.record.calls
    repetition = replace(
        FIRST, source="again", request=SECOND.request, request_body=SECOND.request_body, request_key=SECOND.request_key
    )
    matcher = Matcher([FIRST, repetition])
    first = matched(matcher, {**SECOND.request, "temperature": 1})
    assert (first.outcome, first.saved) == (MatchOutcome.DIVERGED, repetition)
    echo, result = SECOND.request["messages"][-2:]
    echo, result = ({**message} for message in json.loads(json.dumps([echo, result]).replace(call.id, "call_again")))
    longer = [*SECOND.request["messages"], echo, result]
    assert matched(matcher, {**SECOND.request, "messages": longer, "temperature": 1}).outcome is MatchOutcome.FINISHED


@pytest.mark.parametrize(
    ("text", "outcome"), [("missing argument", MatchOutcome.DIVERGED), ("mild", MatchOutcome.FINISHED)]
)
def test_a_result_that_led_to_a_repeated_call_does_not_finish_it(text: str, outcome: MatchOutcome) -> None:
    """With server-side state, only the result shows that the client misread the call."""
    first, second = load(FLOWS / "openai-responses-single.flow")
    [call] = first.record.calls

    def request_with(result: str) -> dict[str, Any]:
        output = {"type": "function_call_output", "call_id": call.id, "output": result}
        return {**first.request, "previous_response_id": "resp_1", "input": [output]}

    body = json.dumps(request_with("missing argument")).encode()
    repetition = replace(second, record=first.record, request=json.loads(body), request_body=body)
    changed = json.dumps({**request_with(text), "temperature": 1}).encode()
    match = Matcher([first, repetition]).match(first.path, changed)
    assert match is not None
    assert match.outcome is outcome


def test_the_history_decides_between_equal_last_messages() -> None:
    """Two conversations with the same last message are distinguished by their first."""

    def request_with(*texts: str) -> dict[str, Any]:
        return {**FIRST.request, "messages": [{"role": "user", "content": text} for text in texts]}

    def recorded(*texts: str) -> LlmFlow:
        body = json.dumps(request_with(*texts)).encode()
        words = replace(FIRST.request_key, words=texts[-1])
        return replace(FIRST, source=texts[0], request=json.loads(body), request_body=body, request_key=words)

    matcher = Matcher([recorded("red", "go on"), recorded("blue", "well", "go on")])
    for first in ("red", "blue"):
        match = matched(matcher, request_with(first, "changed", "go on"))
        assert (match.outcome, match.saved and match.saved.source) == (MatchOutcome.DIVERGED, first)


def test_a_redacted_request_matches_its_original(tmp_path: Path) -> None:
    """The client's request has the secrets, also those of additional patterns."""
    key = "sk-proj-" + "A1b2" * 12
    flow = flows_in(FLOWS / "openai-chat-single.flow")[0]
    request = json.loads(flow.request.content or b"")
    request["messages"][0]["content"] += f" {key} and project BLUEBIRD-7"
    flow.request.content = json.dumps(request).encode()
    for name, redaction in (("a", Redaction()), ("b", Redaction(patterns=("BLUEBIRD-\\d",)))):
        save([flow], tmp_path / f"{name}.flow", redaction)
        [fixture] = load(tmp_path / f"{name}.flow")
        assert key.encode() not in fixture.request_body
        replayed = http.HTTPFlow(flow.client_conn, flow.server_conn)
        replayed.request = flow.request.copy()
        Provider([fixture], strict=True).respond(replayed)
        assert replayed.metadata[REPLAY]["answer"] == "exact"


def test_redacted_text_matches_any_text() -> None:
    """Text that was redacted by another redaction or marked as redacted matches, too."""
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
    assert match.outcome is MatchOutcome.EXACT
    for hidden in ("[redacted]", "*" * 20):
        assert matched(Matcher([saved_as(hidden)]), request).outcome is MatchOutcome.EXACT
        other_request = json.loads(json.dumps(request).replace("use ", "take "))
        assert matched(Matcher([saved_as(hidden)]), other_request).outcome is MatchOutcome.DIVERGED


def test_other_requests_are_not_matched() -> None:
    """An embeddings request asks for no completion."""
    assert Matcher([FIRST]).match("/v1/embeddings", b'{"model":"m","input":"x"}') is None


@pytest.mark.parametrize(
    ("recorded", "requested", "difference"),
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
def test_the_first_difference_of_two_requests(recorded: Any, requested: Any, difference: str | None) -> None:
    """The difference has a path and both values, shortened and escaped."""
    actual = request_difference(recorded, requested)
    assert (actual and str(actual)) == difference


@pytest.mark.parametrize("text", ["mask", "shape"])
def test_a_client_may_return_redacted_text(text: str) -> None:
    """The request repeats the redacted response, and its own text is unredacted."""
    redaction = Redaction(text=TextMode(text))

    def redact(body: bytes, mode: str) -> bytes:
        return redacted_body(body, Redaction(text=TextMode(mode)))

    flows = flows_in(FLOWS / "openai-chat-single.flow")
    fixtures = [read_flow(redact_flow(flow, redaction), f"x#{at}") for at, flow in enumerate(flows)]
    matcher = Matcher([fixture for fixture in fixtures if fixture is not None], strict=True)
    request = json.loads(flows[1].request.content or b"")
    recorded = json.loads(redact(flows[1].request.content or b"", text))
    request["messages"][1] = recorded["messages"][1]
    match = matcher.match(PATH, json.dumps(request).encode(), redact)
    assert match
    assert (match.outcome, match.saved and match.saved.source) == (MatchOutcome.EXACT, "x#1")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_a_request_has_no_difference_to_itself(value: Any) -> None:
    """Any value equals itself."""
    assert request_difference({"a": value}, {"a": value}) is None


def test_matching_does_not_depend_on_the_number_of_flows() -> None:
    """Requests are found by hash: among 3,000 flows, it takes about as many function calls as among 30."""

    def called(number: int) -> int:
        many = [_request_with(f"question {at}") for at in range(number)]
        matcher = Matcher(many)
        matched(matcher, FIRST.request)
        assert all(matched(matcher, fixture.request).saved is fixture for fixture in many)
        return functions_called(lambda: [matched(matcher, fixture.request) for fixture in many[-10:]])

    assert called(3000) < 1.2 * called(30)


def _request_with(text: str) -> LlmFlow:
    request = {**FIRST.request, "messages": [{"role": "user", "content": text}]}
    return replace(FIRST, source=text, request=request, request_body=json.dumps(request).encode())
