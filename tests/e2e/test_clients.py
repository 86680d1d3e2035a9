"""The models of clients do what the real ones were seen to do, each with the streams that show it."""

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
WHOLE = chat(delta(ROME, id="call_a", name=NAME), delta(OSLO, 1, id="call_b", name=NAME))
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


def made(client: Client, body: bytes) -> list[tuple[str | None, str]] | str:
    """Ids and arguments of the calls that a client makes of an answer, or what it says as it gives up."""
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
        pytest.param(WHOLE, [A, B], [A, B], [A, B], id="whole calls"),
        pytest.param(ONE, [A], [("call_a", EMPTY)], [A], id="one call"),
        pytest.param(RISING, [A, B], [("call_a", EMPTY), ("call_b", EMPTY)], [A, B], id="rising indexes"),
        pytest.param(REUSED, [A, B], [("call_a", EMPTY), ("call_b", EMPTY)], [A, B], id="one index for all"),
        pytest.param(SHORTER, NOT_JSON, [("call_long", ROME), B], [("call_long", ROME), B], id="a later id is shorter"),
        pytest.param(TOGETHER, [A], [A], [A], id="several calls in an event"),
        pytest.param(UNENDED, [], [], [], id="no [DONE]"),
        pytest.param(NO_ARGUMENTS, [("call_a", EMPTY)], [("call_a", EMPTY)], [("call_a", EMPTY)], id="no arguments"),
    ],
)
def test_aichat(body: bytes, published: object, unguarded: object, fixed: object) -> None:
    """Its three states break at different streams."""
    assert made(aichat.PUBLISHED, body) == published
    assert made(aichat.UNGUARDED, body) == unguarded
    assert made(aichat.FIXED, body) == fixed


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        pytest.param(ONE, [A], id="one call"),
        pytest.param(RISING, [A, B], id="one after the other"),
        pytest.param(TOGETHER, [A, B], id="several whole calls in an event"),
        pytest.param(EMPTY_IDS, "unexpected token at '\"Rome\"}'", id="empty ids"),
        pytest.param(REPEATED_IDS, "unexpected token at '\"Rome\"}'", id="repeated ids"),
        pytest.param(INTERLEAVED, f"unexpected token at '{ROME[:8]}{OSLO[:8]}{ROME[8:]}{OSLO[8:]}'", id="interleaved"),
    ],
)
def test_ruby_llm_chat(body: bytes, calls: object) -> None:
    """An id on a continuation is one too many."""
    assert made(ruby_llm.CHAT, body) == calls


def test_ruby_llm_null_arguments() -> None:
    """The continuation that says nothing at all."""
    nothing = delta("")
    nothing["function"]["arguments"] = None
    body = chat(delta(ROME, id="call_a", name=NAME), nothing)
    assert made(ruby_llm.CHAT, body) == "undefined method 'empty?' for nil"


def responses(added: Json, *deltas: Json) -> list[str]:
    """The events that the client looks at."""
    first = {"type": "response.output_item.added", "item": {"type": "function_call", **added}}
    more = ({"type": "response.function_call_arguments.delta", **each} for each in deltas)
    return events(b"".join(map(sse_event, (first, *more))))


ADDED = {"id": "fc_1", "call_id": "call_a", "name": NAME}


def test_ruby_llm_responses_with_the_items_id() -> None:
    """As it is in practice: a second call, without a name, and each delta in place of the one before."""
    assert made(ruby_llm.RESPONSES, RESPONSES) == "unexpected token at '\"}'"
    first, second = ruby_llm.RESPONSES.assemble(responses(ADDED, {"item_id": "fc_1", "delta": ROME}))
    assert first == Call("call_a", NAME, "")
    assert second == Call("fc_1", None, ROME)
    with pytest.raises(CrashError, match="missing keyword: :city"):
        ruby_llm.RESPONSES.run(first, TOOLS)
    with pytest.raises(CrashError, match="undefined method 'to_sym' for nil"):
        ruby_llm.RESPONSES.run(second, TOOLS)


def test_ruby_llm_responses_with_the_calls_id() -> None:
    """Where a delta's id is the call's, the name is lost."""
    data = responses(ADDED, {"call_id": "call_a", "delta": ROME})
    assert ruby_llm.RESPONSES.assemble(data) == [Call("call_a", None, ROME)]


def test_ruby_llm_responses_with_deltas_that_say_all() -> None:
    """The one form that it reads right."""
    [call] = ruby_llm.RESPONSES.assemble(events(self_contained(RESPONSES)))
    assert (call.name, call.arguments) == (NAME, '{"city":"Tromsø"}')
    assert ruby_llm.RESPONSES.run(call, TOOLS) == DONE


@pytest.mark.parametrize(
    ("body", "reported", "aggregating"),
    [
        pytest.param(WHOLE, [A, B], [A, B], id="whole calls"),
        pytest.param(TOGETHER, [A, B], [A, B], id="several whole calls in an event"),
        pytest.param(EMPTY_IDS, [("call_a", ""), ("", '{"city":'), ("", '"Rome"}')], [A], id="empty ids"),
        pytest.param(
            INTERLEAVED,
            [("call_a", ""), ("call_b", ""), *[("", part) for part in (ROME[:8], OSLO[:8], ROME[8:], OSLO[8:])]],
            [("call_a", ""), ("call_b", f"{ROME[:8]}{OSLO[:8]}{ROME[8:]}{OSLO[8:]}")],
            id="interleaved",
        ),
    ],
)
def test_openclaw(body: bytes, reported: object, aggregating: object) -> None:
    """Every delta a call; afterwards every id."""
    assert made(openclaw.REPORTED, body) == reported
    assert made(openclaw.AGGREGATING, body) == aggregating


def test_openclaw_runs_all() -> None:
    """As reported: the first without arguments, the others as unknown tools."""
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
def test_spring_ai(body: bytes, rc1: object, fixed: object) -> None:
    """What the fix mended, and what it broke."""
    assert made(spring_ai.RC1, body) == rc1
    assert made(spring_ai.FIXED, body) == fixed


def test_spring_ai_runs_with_nulls_and_with_the_first_object() -> None:
    """What became of a call is only seen in its tool."""
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
def test_pi_ai(body: bytes, calls: object) -> None:
    """Deltas and nothing else."""
    assert made(pi_ai.REPORTED, body) == calls


def test_pi_ai_text_between() -> None:
    """It ends the block of the call, so that the rest is a call without a name."""
    words = sse_event({"choices": [{"delta": {"content": "Hm."}}]})
    first, rest = chat(delta("", id="call_a", name=NAME), end=b""), chat(delta(ROME))
    calls = pi_ai.REPORTED.assemble(events(first + words + rest))
    assert calls == [Call("call_a", NAME, ""), Call("", "", ROME)]
    assert [pi_ai.REPORTED.run(call, TOOLS) for call in calls] == [
        f'Validation failed for tool "{NAME}"',
        "Tool  not found",
    ]


def test_the_report_on_aichat() -> None:
    """What the provider sees next: arguments that are an empty object, and the tool's error."""
    first, second = saved("glm-5")
    bodies = iter((first.body, second.body))
    conversation = converse(aichat.UNGUARDED, first.request, lambda _: next(bodies))
    assert conversation.following
    *_, said, gave = conversation.following["messages"]
    call = {"name": "web_search", "arguments": {}}
    assert said["tool_calls"] == [{"id": "call_95df1cc8dabc4b959bbbc431", "type": "function", "function": call}]
    assert gave["content"] == "run() missing 1 required positional argument: 'query'"
    assert conversation.text == "Most use the console component of ESP-IDF."


AT_ONCE = (openclaw.REPORTED,)
"""What needs each call in one event, which it cannot be where the finish comes in its midst."""
HEALTHY = {
    dialect: [one for one in streams() if one.dialect == dialect] for dialect in ("openai-chat", "openai-responses")
}


def through(body: bytes, healthy: Healthy, words: Words) -> bytes:
    """What goes on of an answer to the healthy one's request."""
    line = Session(healthy.exchange, settings(words))
    return b"".join([*line.feed(body), *line.end()])


@functools.cache
def mendable(healthy: Healthy, fault: str) -> bytes | None:
    """The stream with a fault in it, where the strictest client reads it once it is mended."""
    broken = through(healthy.body, healthy, Words(fault=[fault])) if fault else healthy.body
    changed = through(broken, healthy, Words(repair=["safe"]))
    return broken if read_strictly(changed, healthy) == meant_by(healthy) else None


@functools.cache
def shaped(healthy: Healthy, fault: str, name: str) -> list[str] | None:
    """The events of such a stream as a client's set makes them."""
    broken = mendable(healthy, fault)
    return None if broken is None else events(through(broken, healthy, Words(shape=[f"for:{name}"])))


@functools.cache
def meant_by(healthy: Healthy) -> list[tuple[str, Json]]:
    """The calls, by the strictest client."""
    return strict.calls(healthy.dialect, healthy.body, healthy.exchange)


@pytest.mark.parametrize(
    ("name", "client"),
    [pytest.param(name, client, id=client.name) for name, clients in SETS.items() for client in clients],
)
def test_what_a_client_needs_is_enough(name: str, client: Client) -> None:
    """What the strictest client reads of a broken stream once it is mended, this one reads with its own set."""
    dialect = "openai-responses" if client is ruby_llm.RESPONSES else "openai-chat"
    read = 0
    for healthy in HEALTHY[dialect]:
        intended = meant_by(healthy)
        for fault in ["", *INJECTORS[dialect]]:
            told = shaped(healthy, fault, name)
            if told is None or (fault == "early-finish" and client in AT_ONCE):
                continue
            made = [(call.name, json.loads(call.arguments or "{}")) for call in client.assemble(told)]
            assert sorted(made, key=repr) == sorted(intended, key=repr), (healthy.name, fault)
            read += 1
    assert read >= 100


def read_strictly(body: bytes, healthy: Healthy) -> object:
    """The calls, or the error of the strictest client."""
    try:
        return strict.calls(healthy.dialect, body, healthy.exchange)
    except (AssertionError, LookupError, ValueError) as error:
        return error


@pytest.mark.parametrize("client", SETS["aichat"], ids=lambda client: client.name)
def test_aichat_reads_calls_behind_an_early_finish(client: Client) -> None:
    """Wherever it comes: the finish waits, with its terminator, until every call has been said."""
    first, *fragments = (delta("", id="call_a", name=NAME), *(delta(part) for part in ('{"city":', '"Rome"}')))
    second = delta(OSLO, 1, id="call_b", name=NAME)
    healthy = next(one for one in HEALTHY["openai-chat"] if one.name == "fragments of two")
    finish = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
    entries = [chat(one).partition(b"\n\n")[0] + b"\n\n" for one in (first, *fragments, second)]
    assert all(b'"tool_calls":[' in entry.replace(b" ", b"") for entry in entries)
    for at in range(1, len(entries)):
        body = b"".join([*entries[:at], finish, *entries[at:], finish, b"data: [DONE]\n\n"])
        made = client.assemble(events(through(body, healthy, Words(shape=["for:aichat"]))))
        assert [(call.name, call.arguments) for call in made] == [(NAME, ROME), (NAME, OSLO)], at


def test_an_unknown_tool() -> None:
    """Some give up, some tell the model."""
    call = Call("call_a", "fly", EMPTY)
    for client in (aichat.FIXED, ruby_llm.CHAT, spring_ai.RC1):
        with pytest.raises(CrashError):
            client.run(call, TOOLS)
    for client in (openclaw.REPORTED, pi_ai.REPORTED):
        assert client.run(call, TOOLS) != DONE
