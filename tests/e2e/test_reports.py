"""Five reported clients through the proxy: they fail as reported, and work with a repair or shape.

A client fails in the same way if the pattern is injected into a stream that it can read.
"""

from __future__ import annotations

import json
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import pytest

from tests.e2e.clients import aichat, openclaw, pi_ai, ruby_llm, spring_ai
from tests.e2e.clients.conversation import DONE, converse, text
from tests.e2e.clients.conversation import events as data_of
from tests.e2e.clients.sets import SETS
from tests.e2e.clients.streams import FLOWS, chat, delta, saved, self_contained
from tests.e2e.harness.script import event_stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.e2e.clients.conversation import Client, Conversation, Json
    from tests.e2e.harness.mitmdump import Options
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

type ExpectedCall = tuple[str, str, Any]
"""The id, name and arguments of a call."""

ZONE = {"zone": "Africa/Nairobi"}
DISTANCE = {"from": "Oslo", "to": "Nairobi"}
REPAIR, SHAPE, FAULT = "toolstream_repair", "toolstream_shape", "toolstream_fault"


class Wire(NamedTuple):
    """A request, the response with calls, the intended calls, and the response to their results."""

    path: str
    request: Json
    first: tuple[bytes, ...]
    """The chunks of the first response."""
    calls: tuple[ExpectedCall, ...]
    last: tuple[bytes, ...]


@cache
def recorded(name: str) -> Wire:
    """A saved flow, and its intended calls from the `.expect.json` file."""
    exchanges = saved(name)
    first, last = exchanges[0], exchanges[-1]
    expected = json.loads((FLOWS / f"{name}.expect.json").read_text())["answers"][0]["calls"]
    calls = tuple((call["id"], call["name"], json.loads(call["arguments"])) for call in expected)
    chunks = tuple(chunk.data for chunk in first.chunks)
    return Wire(first.path, first.request, chunks, calls, tuple(chunk.data for chunk in last.chunks))


def instead(name: str, body: bytes, *calls: ExpectedCall) -> Wire:
    """A saved flow with another first response."""
    return recorded(name)._replace(first=(body,), calls=calls or recorded(name).calls)


def parallel(second: int | None, later: str = "call_two", first: int | None = 0) -> Wire:
    """A response with two complete calls, each in one event; their indexes, and the id of the second call."""
    calls = (("call_one", "get_time", ZONE), (later, "get_distance", DISTANCE))
    entries = (
        delta(json.dumps(arguments), index, id=given, name=name)
        for index, (given, name, arguments) in zip((first, second), calls, strict=True)
    )
    return instead("openai-chat-parallel", chat(*entries), *calls)


def final_message() -> Wire:
    """A response with calls only in the `message` of the last event, as in the report on the Pi SDK."""
    _, unstreamed, _ = saved("openrouter-no-deltas")
    message = json.loads(unstreamed.body)["choices"][0]["message"]
    [call] = message["tool_calls"]
    function = call["function"]
    expected = (call["id"], function["name"], json.loads(function["arguments"]))
    return instead("openrouter-no-deltas", chat(message=message), expected)


class Observed(NamedTuple):
    """The conversation as the client had it, and the requests that upstream received."""

    conversation: Conversation
    requests: tuple[Json, ...]


def observe(proxies: Proxies, upstream: Upstream, client: Client, wire: Wire, options: Options) -> Observed:
    """Run a conversation through a proxy with these options."""
    plans = [upstream.plan(event_stream(chunks)) for chunks in (wire.first, wire.last)]
    waiting = iter(plans)
    proxy = proxies.get("regular", **options)
    with httpx2.Client(proxy=proxy.url, verify=ssl.create_default_context(cafile=proxy.ca)) as http:

        def post(request: Json) -> bytes:
            reply = http.post(f"{upstream.url}{wire.path}", json=request, headers=next(waiting).headers)
            assert (reply.status_code, reply.headers["content-type"]) == (200, "text/event-stream")
            return bytes(reply.content)

        conversation = converse(client, wire.request, post)
    first, last = plans
    used = [first, last] if conversation.following else [first]
    return Observed(conversation, tuple(json.loads(plan.request.body) for plan in used))


def works(observed: Observed, wire: Wire) -> bool:
    """The client read the intended calls and ran all tools, and the provider got its own ids back."""
    conversation = observed.conversation
    assert conversation.crash is None
    calls = [(call.name, json.loads(call.arguments or "{}")) for call in conversation.calls]
    assert calls == [(name, arguments) for _, name, arguments in wire.calls]
    assert set(conversation.results) == {DONE}
    assert conversation.text == text(data_of(b"".join(wire.last))) != ""
    call_ids, result_ids = ids(observed.requests[1])
    assert call_ids == result_ids == [given for given, _, _ in wire.calls]
    return True


def ids(request: Json) -> tuple[list[str], list[str]]:
    """The ids of the calls and of the results in a request."""
    if "input" in request:
        items = [(item.get("type"), item.get("call_id")) for item in request["input"]]
        kinds = ("function_call", "function_call_output")
        call_ids, result_ids = ([call_id for kind, call_id in items if kind == wanted] for wanted in kinds)
        return call_ids, result_ids
    messages = request["messages"]
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    return [call["id"] for call in calls], [one["tool_call_id"] for one in messages if one["role"] == "tool"]


class Report(NamedTuple):
    """A client, the stream that it got, and its failure."""

    name: str
    client: Client
    wire: Wire
    crash: str | None = None
    results: tuple[str, ...] = ()

    def fails(self, observed: Observed) -> bool:
        """Whether the client failed as reported."""
        return (observed.conversation.crash, observed.conversation.results) == (self.crash, self.results)


MISSING = "run() missing 1 required positional argument: 'query'"
NOT_JSON = f"Tool call 'get_timeget_distance' have non-JSON arguments '{json.dumps(ZONE)}{json.dumps(DISTANCE)}'"
NO_VALUE = "No value present"
NAMELESS = "toolName cannot be null or empty"
LOST = ("Missing: location", "Unknown tool", "Unknown tool")
GLM = Report("aichat, GLM-5", aichat.UNGUARDED, recorded("glm-5"), results=(MISSING,))
SHORTER = Report("aichat, a shorter id", aichat.PUBLISHED, parallel(1, "call_2"), crash=NOT_JSON)
RUBY = Report("ruby_llm", ruby_llm.RESPONSES, recorded("ruby-llm-responses"), crash="unexpected token at '\"}'")
OPENCLAW = Report("OpenClaw", openclaw.REPORTED, recorded("openclaw-empty-ids"), results=LOST)
OPENCLAW_RC1 = Report(
    "Spring AI RC1, OpenClaw's stream",
    spring_ai.RC1,
    recorded("openclaw-empty-ids"),
    crash=NAMELESS,
)
DEEPSEEK = Report("Spring AI RC1", spring_ai.RC1, recorded("deepseek-empty-id"), crash=NO_VALUE)
REUSED = Report("Spring AI 2.0.1, one index", spring_ai.FIXED, parallel(0), results=(DONE,))
UNINDEXED = Report("Spring AI 2.0.1, no index", spring_ai.FIXED, parallel(None, first=None), crash="`index` is not set")
SILENT = Report("Pi SDK", pi_ai.REPORTED, recorded("openrouter-no-deltas"))
MESSAGE = Report("Pi SDK, final message", pi_ai.REPORTED, final_message())
REPORTS = (GLM, SHORTER, RUBY, OPENCLAW, OPENCLAW_RC1, DEEPSEEK, REUSED, UNINDEXED, SILENT, MESSAGE)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_a_client_fails_as_reported(proxies: Proxies, secure: Upstream, report: Report) -> None:
    """Without options each client fails as reported."""
    assert report.fails(observe(proxies, secure, report.client, report.wire, {}))


def cases(remedies: Iterable[tuple[Report, str, Iterable[str]]]) -> Iterable[Any]:
    """A case for each value."""
    return [
        pytest.param(report, {option: value}, id=f"{report.name}: {value}")
        for report, option, values in remedies
        for value in values
    ]


@pytest.mark.parametrize(
    ("report", "options"),
    cases(
        [
            (GLM, SHAPE, ("for:aichat", "whole-calls")),
            (SHORTER, SHAPE, ("for:aichat", "even-ids")),
            (RUBY, SHAPE, ("for:ruby_llm", "self-contained-deltas")),
            (OPENCLAW, SHAPE, ("for:openclaw", "whole-calls")),
            (OPENCLAW_RC1, REPAIR, ("empty-id,empty-name", "safe")),
            (DEEPSEEK, REPAIR, ("empty-id", "safe")),
            (DEEPSEEK, SHAPE, ("for:spring-ai", "whole-calls")),
            (REUSED, REPAIR, ("safe",)),
            (REUSED, SHAPE, ("for:spring-ai",)),
            (UNINDEXED, REPAIR, ("safe",)),
            (UNINDEXED, SHAPE, ("for:spring-ai",)),
            (MESSAGE, REPAIR, ("safe",)),
            (MESSAGE, SHAPE, ("for:pi-ai",)),
        ]
    ),
)
def test_a_client_works(proxies: Proxies, secure: Upstream, report: Report, options: dict[str, str]) -> None:
    """With the option each client reads the stream at which it failed."""
    assert works(observe(proxies, secure, report.client, report.wire, options), report.wire)


def test_missing_calls_are_not_invented(proxies: Proxies, secure: Upstream) -> None:
    """Without a repeated request, a shape does not add calls that the stream does not have."""
    assert SILENT.fails(observe(proxies, secure, SILENT.client, SILENT.wire, {SHAPE: "for:pi-ai"}))


FLOW = recorded("openai-chat-single")
ONE_EVENT = instead("openclaw-empty-ids", chat(delta('{"location":"Tokyo"}', id="call_1", name="get_weather")))
SEARCH = ("call_1", "web_search", {"query": "ESP32"})
COMPLETE = instead("glm-5", chat(delta(json.dumps(SEARCH[2]), id=SEARCH[0], name=SEARCH[1])), SEARCH)
CONTAINED = instead("ruby-llm-responses", self_contained(b"".join(recorded("ruby-llm-responses").first)))
INJECTED = (
    Report("glm-5", aichat.UNGUARDED, COMPLETE, results=(MISSING,)),
    Report("responses-item-id", ruby_llm.RESPONSES, CONTAINED, crash="unexpected token at '\"}'"),
    Report("openclaw", openclaw.REPORTED, ONE_EVENT, results=LOST[:2]),
    Report("openclaw", spring_ai.RC1, FLOW, crash=NAMELESS),
    Report("deepseek", spring_ai.RC1, FLOW, crash=NO_VALUE),
    Report("reused-index", spring_ai.FIXED, parallel(1), results=(DONE,)),
    Report("missing-index", spring_ai.FIXED, parallel(1), crash="`index` is not set"),
    Report("openrouter-no-deltas", pi_ai.REPORTED, FLOW),
    Report("unstreamed-calls", pi_ai.REPORTED, FLOW),
)
"""Named by the fault; without it the client reads the stream."""


@pytest.mark.parametrize("report", INJECTED, ids=lambda report: f"{report.client.name}: {report.name}")
def test_a_client_fails_at_an_injected_fault(proxies: Proxies, secure: Upstream, report: Report) -> None:
    """A client fails as reported when the fault is injected into a stream that it can read."""
    faults = sorted({f"{one.name}:path=/{one.name}/*" for one in INJECTED})
    healthy = report.wire._replace(path=f"/healthy{report.wire.path}")
    assert works(observe(proxies, secure, report.client, healthy, {FAULT: faults}), report.wire)
    broken = report.wire._replace(path=f"/{report.name}{report.wire.path}")
    assert report.fails(observe(proxies, secure, report.client, broken, {FAULT: faults}))


SAVED = sorted(path.stem for path in FLOWS.glob("*.flow"))
PATHS = {ruby_llm.RESPONSES: "/responses"}


@pytest.mark.parametrize(
    ("client", "option"),
    [pytest.param(client, f"for:{name}", id=client.name) for name, clients in SETS.items() for client in clients],
)
def test_a_client_reads_all_saved_flows(proxies: Proxies, secure: Upstream, client: Client, option: str) -> None:
    """With its shape each client reads every saved response with calls of its protocol."""
    path = PATHS.get(client, "/chat/completions")
    wires = [wire for wire in map(recorded, SAVED) if wire.path.endswith(path) and wire.calls]
    assert len(wires) >= 4
    for wire in wires:
        assert works(observe(proxies, secure, client, wire, {SHAPE: option}), wire)
