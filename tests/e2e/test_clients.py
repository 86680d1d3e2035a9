"""The client models behave as the real clients do, each at the streams that show it."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.clients import aichat, openclaw, pi_ai, ruby_llm, spring_ai
from tests.e2e.clients.conversation import DONE, Call, CrashError, Json, converse, events
from tests.e2e.clients.sets import SETS
from tests.e2e.clients.streams import chat, delta, saved, self_contained, sse_event
from tests.invariants import strict
from tests.invariants.healthy import streams
from tests.tables import INJECTORS
from toolstream_core.engine.session import Session
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from tests.e2e.clients.conversation import Client, Tools
    from tests.invariants.healthy import Healthy

ROME, OSLO = '{"city":"Rome"}', '{"city":"Oslo"}'
TOOLS: Tools = {"get_weather": ["city"], "list_files": []}
NAME = "get_weather"
ONE = chat(delta("", id="call_a", name=NAME), delta('{"city":'), delta('"Rome"}'))
COMPLETE = chat(delta(ROME, id="call_a", name=NAME), delta(OSLO, 1, id="call_b", name=NAME))
TOGETHER = chat([delta(ROME, id="call_a", name=NAME), delta(OSLO, 1, id="call_b", name=NAME)])
RISING = chat(delta("", id="call_a", name=NAME), delta(ROME), delta("", 1, id="call_b", name=NAME), delta(OSLO, 1))
REUSED = chat(delta("", id="call_a", name=NAME), delta(ROME), delta("", id="call_b", name=NAME), delta(OSLO))
SHORTER = chat(delta(ROME, id="call_long", name=NAME), delta(OSLO, 1, id="call_b", name=NAME))
INTERLEAVED = chat(
    [delta("", id="call_a", name=NAME)],
    [delta("", 1, id="call_b", name=NAME)],
    [delta('{"city":')],
    [delta('{"city":', 1)],
    [delta('"Rome"}')],
    [delta('"Oslo"}', 1)],
)
EMPTY_IDS = chat(delta("", id="call_a", name=NAME), delta('{"city":', id=""), delta('"Rome"}', id=""))
EMPTY_NAMES = chat(delta("", id="call_a", name=NAME), delta(ROME, id="", name=""))
REPEATED_IDS = chat(delta("", id="call_a", name=NAME), delta('{"city":', id="call_a"), delta('"Rome"}', id="call_a"))
REPEATED = chat(delta("", id="call_a", name=NAME), delta(ROME, id="call_a", name=NAME))
UNINDEXED = chat(delta(ROME, None, id="call_a", name=NAME))
UNENDED = chat(delta(ROME, id="call_a", name=NAME), end=b"")
MESSAGE = chat(message={"role": "assistant", "tool_calls": [delta(ROME, id="call_a", name=NAME)]})
NO_ARGUMENTS = chat(delta("", id="call_a", name="list_files"))
RESPONSES = saved("ruby-llm-responses")[0].body
A = ("call_a", ROME)
B = ("call_b", OSLO)
EMPTY = "{}"


def assembled(client: Client, body: bytes) -> list[tuple[str | None, str]] | str:
    """Ids and arguments of the calls that a client assembles from a response, or the message of its crash."""
    try:
        calls = client.assemble(events(body))
    except CrashError as error:
        return str(error)
    assert {call.name for call in calls} <= {*TOOLS, None, ""}
    return [(call.id, call.arguments) for call in calls]


NOT_JSON = f"Tool call '{NAME}' have non-JSON arguments '{ROME}{OSLO}'"


@pytest.mark.parametrize(
    ("body", "published", "unguarded", "fixed"),
    [
        pytest.param(COMPLETE, [A, B], [A, B], [A, B], id="complete calls"),
        pytest.param(ONE, [A], [("call_a", EMPTY)], [A], id="one call"),
        pytest.param(RISING, [A, B], [("call_a", EMPTY), ("call_b", EMPTY)], [A, B], id="rising indexes"),
        pytest.param(REUSED, [A, B], [("call_a", EMPTY), ("call_b", EMPTY)], [A, B], id="one index for all"),
        pytest.param(SHORTER, NOT_JSON, [("call_long", ROME), B], [("call_long", ROME), B], id="a later id is shorter"),
        pytest.param(TOGETHER, [A], [A], [A], id="several calls in an event"),
        pytest.param(UNENDED, [], [], [], id="no [DONE]"),
        pytest.param(NO_ARGUMENTS, [("call_a", EMPTY)], [("call_a", EMPTY)], [("call_a", EMPTY)], id="no arguments"),
    ],
)
def test_aichat_assembles_calls_by_id_and_index(
    body: bytes, published: object, unguarded: object, fixed: object
) -> None:
    """Aichat's three versions fail at different streams."""
    assert assembled(aichat.PUBLISHED, body) == published
    assert assembled(aichat.UNGUARDED, body) == unguarded
    assert assembled(aichat.FIXED, body) == fixed


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        pytest.param(ONE, [A], id="one call"),
        pytest.param(RISING, [A, B], id="one after the other"),
        pytest.param(TOGETHER, [A, B], id="several complete calls in an event"),
        pytest.param(EMPTY_IDS, "unexpected token at '\"Rome\"}'", id="empty ids"),
        pytest.param(REPEATED_IDS, "unexpected token at '\"Rome\"}'", id="repeated ids"),
        pytest.param(INTERLEAVED, f"unexpected token at '{ROME[:8]}{OSLO[:8]}{ROME[8:]}{OSLO[8:]}'", id="interleaved"),
    ],
)
def test_ruby_llm_fails_at_ids_on_later_fragments(body: bytes, calls: object) -> None:
    """ruby_llm treats an id on a later fragment as another call."""
    assert assembled(ruby_llm.CHAT, body) == calls


def test_ruby_llm_crashes_at_null_arguments() -> None:
    """ruby_llm crashes at a later fragment whose arguments are null."""
    null = delta("")
    null["function"]["arguments"] = None
    body = chat(delta(ROME, id="call_a", name=NAME), null)
    assert assembled(ruby_llm.CHAT, body) == "undefined method 'empty?' for nil"


def responses(added: Json, *deltas: Json) -> list[str]:
    """The events that the client reads."""
    first = {"type": "response.output_item.added", "item": {"type": "function_call", **added}}
    more = ({"type": "response.function_call_arguments.delta", **each} for each in deltas)
    return events(b"".join(map(sse_event, (first, *more))))


ADDED = {"id": "fc_1", "call_id": "call_a", "name": NAME}


def test_ruby_llm_treats_an_item_id_as_another_call() -> None:
    """At a delta with an item id ruby_llm starts a call without a name, and each delta replaces the previous one."""
    assert assembled(ruby_llm.RESPONSES, RESPONSES) == "unexpected token at '\"}'"
    first, second = ruby_llm.RESPONSES.assemble(responses(ADDED, {"item_id": "fc_1", "delta": ROME}))
    assert first == Call("call_a", NAME, "")
    assert second == Call("fc_1", None, ROME)
    with pytest.raises(CrashError, match="missing keyword: :city"):
        ruby_llm.RESPONSES.run(first, TOOLS)
    with pytest.raises(CrashError, match="undefined method 'to_sym' for nil"):
        ruby_llm.RESPONSES.run(second, TOOLS)


def test_ruby_llm_loses_the_name_at_a_call_id() -> None:
    """At a delta with the call's id ruby_llm loses the name."""
    data = responses(ADDED, {"call_id": "call_a", "delta": ROME})
    assert ruby_llm.RESPONSES.assemble(data) == [Call("call_a", None, ROME)]


def test_ruby_llm_reads_self_contained_deltas() -> None:
    """ruby_llm reads a delta that has the call's id, name and complete arguments."""
    [call] = ruby_llm.RESPONSES.assemble(events(self_contained(RESPONSES)))
    assert (call.name, call.arguments) == (NAME, '{"city":"Tromsø"}')
    assert ruby_llm.RESPONSES.run(call, TOOLS) == DONE


@pytest.mark.parametrize(
    ("body", "reported", "aggregating"),
    [
        pytest.param(COMPLETE, [A, B], [A, B], id="complete calls"),
        pytest.param(TOGETHER, [A, B], [A, B], id="several complete calls in an event"),
        pytest.param(EMPTY_IDS, [("call_a", ""), ("", '{"city":'), ("", '"Rome"}')], [A], id="empty ids"),
        pytest.param(
            INTERLEAVED,
            [("call_a", ""), ("call_b", ""), *[("", part) for part in (ROME[:8], OSLO[:8], ROME[8:], OSLO[8:])]],
            [("call_a", ""), ("call_b", f"{ROME[:8]}{OSLO[:8]}{ROME[8:]}{OSLO[8:]}")],
            id="interleaved",
        ),
    ],
)
def test_openclaw_treats_deltas_as_calls(body: bytes, reported: object, aggregating: object) -> None:
    """OpenClaw starts a call at every delta, and with its aggregator at every id."""
    assert assembled(openclaw.REPORTED, body) == reported
    assert assembled(openclaw.AGGREGATING, body) == aggregating


def test_openclaw_runs_every_delta() -> None:
    """As reported, OpenClaw runs the first delta without arguments and the others as unknown tools."""
    calls = openclaw.REPORTED.assemble(events(EMPTY_IDS))
    assert [openclaw.REPORTED.run(call, TOOLS) for call in calls] == ["Missing: city", "Unknown tool", "Unknown tool"]
    assert openclaw.AGGREGATING.run(Call("", NAME, "{}{}"), TOOLS) == "Invalid arguments"


NO_VALUE = "No value present"


@pytest.mark.parametrize(
    ("body", "rc1", "fixed"),
    [
        pytest.param(ONE, [A], [A], id="one call"),
        pytest.param(RISING, [A, B], [A, B], id="rising indexes"),
        pytest.param(EMPTY_IDS, NO_VALUE, [A], id="empty ids"),
        pytest.param(REPEATED_IDS, NO_VALUE, [A], id="repeated ids"),
        pytest.param(EMPTY_NAMES, [("call_a", ""), ("", ROME)], [A], id="empty names"),
        pytest.param(REPEATED, [("call_a", ""), A], [A], id="repeated names"),
        pytest.param(
            INTERLEAVED,
            [("call_a", ""), ("call_b", f"{ROME[:8]}{OSLO[:8]}{ROME[8:]}{OSLO[8:]}")],
            [A, B],
            id="interleaved",
        ),
        pytest.param(REUSED, [A, B], [("call_a", ROME + OSLO)], id="one index for all"),
        pytest.param(UNINDEXED, [A], "`index` is not set", id="no index"),
        pytest.param(
            chat(delta("", id="call_a", name=NAME), [delta(ROME), delta(OSLO, 1, id="call_b", name=NAME)]),
            "no more than one tool call per message currently supported",
            [A, B],
            id="several entries in an event",
        ),
    ],
)
def test_spring_ai_assembles_calls_by_id_or_index(body: bytes, rc1: object, fixed: object) -> None:
    """Spring AI 2.0.1 reads streams that RC1 misreads, and fails at others that RC1 reads."""
    assert assembled(spring_ai.RC1, body) == rc1
    assert assembled(spring_ai.FIXED, body) == fixed


def test_spring_ai_runs_with_nulls_and_with_the_first_object() -> None:
    """Spring AI runs a call with nulls for missing arguments, or with the first of several objects."""
    assert spring_ai.RC1.run(Call("call_a", NAME, ""), TOOLS) == "run with city=null"
    assert spring_ai.FIXED.run(Call("call_a", NAME, ROME + OSLO), TOOLS) == DONE
    with pytest.raises(CrashError, match="toolName cannot be null or empty"):
        spring_ai.RC1.run(Call("", "", ROME), TOOLS)


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        pytest.param(RISING, [A, B], id="rising indexes"),
        pytest.param(EMPTY_IDS, [A], id="empty ids"),
        pytest.param(REPEATED_IDS, [A], id="repeated ids"),
        pytest.param(MESSAGE, [], id="calls in the final message"),
        pytest.param(saved("openrouter-no-deltas")[0].body, [], id="no calls"),
    ],
)
def test_pi_ai_reads_only_deltas(body: bytes, calls: object) -> None:
    """Pi SDK reads calls in deltas, and ignores calls in the final message."""
    assert assembled(pi_ai.REPORTED, body) == calls


def test_pi_ai_ends_a_call_at_text() -> None:
    """Text between the fragments of a call ends it for Pi SDK: the rest becomes a call without a name."""
    words = sse_event({"choices": [{"delta": {"content": "Hm."}}]})
    first, rest = chat(delta("", id="call_a", name=NAME), end=b""), chat(delta(ROME))
    calls = pi_ai.REPORTED.assemble(events(first + words + rest))
    assert calls == [Call("call_a", NAME, ""), Call("", "", ROME)]
    assert [pi_ai.REPORTED.run(call, TOOLS) for call in calls] == [
        f'Validation failed for tool "{NAME}"',
        "Tool  not found",
    ]


def test_aichat_returns_empty_arguments_as_reported() -> None:
    """As reported, aichat's next request has an empty object as arguments, and the tool's error."""
    first, second = saved("glm-5")
    bodies = iter((first.body, second.body))
    conversation = converse(aichat.UNGUARDED, first.request, lambda _: next(bodies))
    assert conversation.following
    *_, calling, result = conversation.following["messages"]
    call = {"name": "web_search", "arguments": {}}
    assert calling["tool_calls"] == [{"id": "call_95df1cc8dabc4b959bbbc431", "type": "function", "function": call}]
    assert result["content"] == "run() missing 1 required positional argument: 'query'"
    assert conversation.text == "Most use the console component of ESP-IDF."


NEEDS_COMPLETE_CALLS = (openclaw.REPORTED,)
"""Clients that need each call in one event; after a finish reason inside a call that is impossible."""
HEALTHY = {
    protocol: [one for one in streams() if one.protocol == protocol] for protocol in ("openai-chat", "openai-responses")
}


def forwarded(body: bytes, healthy: Healthy, words: Words) -> bytes:
    """The forwarded bytes of a response to the request of `healthy`."""
    session = Session(healthy.exchange, settings(words))
    return b"".join([*session.feed(body), *session.end()])


@functools.cache
def broken_if_repairable(healthy: Healthy, fault: str) -> bytes | None:
    """The stream with an injected fault, or `None` if the strict client does not read the repaired stream."""
    broken = forwarded(healthy.body, healthy, Words(fault=[fault])) if fault else healthy.body
    changed = forwarded(broken, healthy, Words(repair=["safe"]))
    return broken if read_strictly(changed, healthy) == intended_calls(healthy) else None


@functools.cache
def shaped(healthy: Healthy, fault: str, name: str) -> list[str] | None:
    """The event data of a repairable stream, re-encoded with the shapes of a client."""
    broken = broken_if_repairable(healthy, fault)
    return None if broken is None else events(forwarded(broken, healthy, Words(shape=[f"for:{name}"])))


@functools.cache
def intended_calls(healthy: Healthy) -> list[tuple[str, Json]]:
    """The calls as the strict client reads them."""
    return strict.calls(healthy.protocol, healthy.body, healthy.exchange)


@pytest.mark.parametrize(
    ("name", "client"),
    [pytest.param(name, client, id=client.name) for name, clients in SETS.items() for client in clients],
)
def test_a_client_reads_broken_streams_with_its_shapes(name: str, client: Client) -> None:
    """Each client reads the intended calls of every repairable stream when its shapes re-encode the stream."""
    protocol = "openai-responses" if client is ruby_llm.RESPONSES else "openai-chat"
    read = 0
    for healthy in HEALTHY[protocol]:
        intended = intended_calls(healthy)
        for fault in ["", *INJECTORS[protocol]]:
            data = shaped(healthy, fault, name)
            if data is None or (fault == "early-finish" and client in NEEDS_COMPLETE_CALLS):
                continue
            calls = [(call.name, json.loads(call.arguments or "{}")) for call in client.assemble(data)]
            assert sorted(calls, key=repr) == sorted(intended, key=repr), (healthy.name, fault)
            read += 1
    assert read >= 100


def read_strictly(body: bytes, healthy: Healthy) -> object:
    """The calls that the strict client reads, or its error."""
    try:
        return strict.calls(healthy.protocol, body, healthy.exchange)
    except (AssertionError, LookupError, ValueError) as error:
        return error


@pytest.mark.parametrize("client", SETS["aichat"], ids=lambda client: client.name)
def test_aichat_reads_calls_after_an_early_finish(client: Client) -> None:
    """With `for:aichat`, a finish reason at any place, and `[DONE]`, are moved after the last call."""
    first, *fragments = (delta("", id="call_a", name=NAME), *(delta(part) for part in ('{"city":', '"Rome"}')))
    second = delta(OSLO, 1, id="call_b", name=NAME)
    healthy = next(one for one in HEALTHY["openai-chat"] if one.name == "fragments of two")
    finish = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
    entries = [chat(one).partition(b"\n\n")[0] + b"\n\n" for one in (first, *fragments, second)]
    assert all(b'"tool_calls":[' in entry.replace(b" ", b"") for entry in entries)
    for at in range(1, len(entries)):
        body = b"".join([*entries[:at], finish, *entries[at:], finish, b"data: [DONE]\n\n"])
        calls = client.assemble(events(forwarded(body, healthy, Words(shape=["for:aichat"]))))
        assert [(call.name, call.arguments) for call in calls] == [(NAME, ROME), (NAME, OSLO)], at


def test_an_unknown_tool_is_a_crash_or_a_result() -> None:
    """At an unknown tool some clients crash, and others return an error to the model."""
    call = Call("call_a", "fly", EMPTY)
    for client in (aichat.FIXED, ruby_llm.CHAT, spring_ai.RC1):
        with pytest.raises(CrashError):
            client.run(call, TOOLS)
    for client in (openclaw.REPORTED, pi_ai.REPORTED):
        assert client.run(call, TOOLS) != DONE
