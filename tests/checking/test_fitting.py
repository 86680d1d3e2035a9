"""Which calls a case needs, found by planting it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.checking.cases import Transport, cases_of
from toolstream_core.checking.fitting import CheckedRequest, Fitting
from toolstream_core.protocols.api import Question, Tool
from toolstream_core.protocols.registry import PROTOCOLS, named
from toolstream_core.synthetic.responses import parse_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.checking.cases import Case
    from toolstream_core.protocols.protocol import WireProtocol

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOLS = (Tool("get_weather", "", CITY), Tool("now", "", {"type": "object", "properties": {}}))


def request_of(protocol: WireProtocol, *, streamed: bool = True, **more: Any) -> CheckedRequest:
    """A question with both tools."""
    return question(protocol, TOOLS, streamed=streamed, **more)


def question(protocol: WireProtocol, tools: Sequence[Tool], *, streamed: bool = True, **more: Any) -> CheckedRequest:
    """A question with these tools."""
    path = protocol.api.public_url("m", streamed=streamed, array=False).removeprefix(protocol.api.server)
    body = protocol.api.request(Question("m", "Hello?", tools, streamed=streamed)) | more
    transport = Transport.HTTP if protocol.over_http else Transport.SOCKET
    return CheckedRequest(protocol.name, path, json.dumps(body).encode(), transport)


@cache
def every(protocol: str) -> dict[str, Case]:
    """All cases of a protocol that can be planted."""
    return fitted(request_of(named(protocol)))


def fitted(request: CheckedRequest, *names: str, calls: tuple[str, ...] = ()) -> dict[str, Case]:
    """The cases of these names (of all, without any), by name."""
    cases = [case for case in cases_of(named(request.protocol)) if not names or case.name in names]
    return {case.name: case for case in Fitting(request, calls=calls).fitted(cases, wants=lambda _: not names)}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])
def test_nearly_everything_can_be_planted_with_two_tools(protocol: WireProtocol) -> None:
    """But for what needs an earlier turn or another kind of tool, and for what the healthy answer is already."""
    cases = {case.name: case for case in cases_of(protocol)}
    asked = Transport.HTTP if protocol.over_http else Transport.SOCKET
    cases = {name: case for name, case in cases.items() if asked in case.over}
    missing = cases.keys() - every(protocol.name).keys()
    faults = {name for name in missing if cases[name].kind == "fault"}
    assert faults <= {"reused-id", "custom-as-function", "repeated-index", "missing-namespace"}
    assert {cases[name].kind for name in missing - faults} <= {"shape", "preset"}


def test_what_can_be_planted_follows_from_how_the_client_asks() -> None:
    """Messages have nothing around them that could be broken, and no pieces; a socket is closed with a code."""
    over_http = request_of(named("openai-responses"))
    names = [fitted(over_http._replace(transport=one)).keys() for one in (Transport.HTTP, Transport.SOCKET)]
    assert names[0] - names[1] >= {"recut-bytes", "recut-events", "recut-utf8", "empty-data", "comments", "crlf"}
    codes = {"cut-1000", "cut-1001", "cut-1011"}
    assert names[1] - names[0] == {*codes, "message-429", "message-500", "wrong-stream-id"}
    assert len(names[0] & names[1]) > 50


def test_a_case_has_the_calls_that_it_needs() -> None:
    """One call as a rule; two, or a text that ends the arguments, where nothing else can be broken so."""
    found = every("openai-chat")
    assert found["empty-id"].calls == ()
    assert [spec.tool for spec in parse_calls(found["duplicate-id"].calls)] == ["get_weather", "now"]
    [wide] = parse_calls(found["split-surrogate"].calls)
    assert max(wide.arguments["city"]) > "\uffff"
    [ending] = parse_calls(found["invalid-arguments"].calls)
    assert isinstance(list(ending.arguments.values())[-1], str)
    assert [spec.tool for spec in parse_calls(found["empty-arguments"].calls)] in (["now"], ["get_weather", "now"])


def test_two_calls_rest_on_a_healthy_answer_with_two() -> None:
    """Which comes first; it is a case where another one needs it, or where it is wanted."""
    found = fitted(request_of(PROTOCOLS[0]), "duplicate-id", "empty-id")
    assert list(found) == ["two-calls", "empty-id", "duplicate-id"]
    assert found["duplicate-id"].needs == found["two-calls"].id
    assert found["empty-id"].needs == found["two-calls"].needs == "openai-chat/healthy"
    assert list(fitted(request_of(PROTOCOLS[0]), "empty-id")) == ["empty-id"]
    assert "two-calls" in every("openai-chat")


ONE_TOOL = [
    {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
    {"path": {"type": "string"}},
    {"on": {"type": "boolean"}},
    {"at": {"type": "object", "properties": {"row": {"type": "integer", "minimum": 1, "maximum": 2}}}},
    {"unit": {"enum": ["celsius", "fahrenheit"], "default": "celsius"}},
]


@pytest.mark.parametrize("properties", ONE_TOOL, ids=json.dumps)
@pytest.mark.parametrize("seed", range(3))
def test_two_calls_of_one_tool_differ(properties: Any, seed: int) -> None:
    """Or what is planted in them is another defect: the same call said twice."""
    tool = Tool("get_value", "", {"type": "object", "properties": properties, "required": [*properties]})
    request = question(PROTOCOLS[0], [tool])
    names = ("duplicate-id", "merged-calls", "reused-index")
    cases = [case for case in cases_of(PROTOCOLS[0]) if case.name in names]
    found = {case.name: case for case in Fitting(request, seed=seed).fitted(cases, wants=lambda _: False)}
    assert found.keys() == {*names, "two-calls"}
    for case in found.values():
        one, other = parse_calls(case.calls)
        assert (case.untriable, one.arguments != other.arguments) == ("", True)


def test_two_tools_without_arguments_are_two_calls_where_that_suffices() -> None:
    """What would read as another defect in them is not tried, and says so."""
    nothing = {"type": "object", "properties": {}}
    found = fitted(question(PROTOCOLS[0], [Tool("now", "", nothing), Tool("today", "", nothing)]))
    assert (found["duplicate-id"].calls, found["duplicate-id"].untriable) == (("now {}", "today {}"), "")
    why = "with the calls of this check it is the same as"
    assert found["merged-calls"].untriable == f"{why} replayed-arguments"
    assert found["lost-arguments"].untriable == f"{why} empty-arguments"
    assert "two-calls" not in fitted(question(PROTOCOLS[0], [Tool("now", "", nothing)]))


def test_given_calls_that_are_equal_are_not_broken_as_two() -> None:
    """They are taken as they are; what cannot be told from a call said twice is not tried."""
    call = 'get_weather {"city":"Oslo","days":1}'
    found = fitted(request_of(PROTOCOLS[0]), "duplicate-id", "empty-id", calls=(call, call))
    assert found["duplicate-id"].untriable.endswith("the same as doubled-call")
    assert found["empty-id"].untriable == ""


def test_who_wants_single_calls_gets_none_with_two() -> None:
    """Such cases are left out."""
    names = ("duplicate-id", "merged-calls", "empty-id")
    assert fitted(request_of(PROTOCOLS[0], parallel_tool_calls=False), *names).keys() == {"empty-id"}


def test_given_calls_are_the_only_ones() -> None:
    """What cannot be planted in them is left out."""
    names = ("duplicate-id", "empty-id", "cut")
    found = fitted(request_of(PROTOCOLS[0]), *names, calls=('get_weather {"city":"Oslo","days":1}',))
    assert found.keys() == {"empty-id", "cut"}
    assert {case.calls for case in found.values()} == {('get_weather {"city":"Oslo","days":1}',)}


def test_what_loses_the_call_is_planted_once() -> None:
    """Who asks again gets a healthy answer then. Only the answer with the call is hit."""
    found = every("openai-chat")
    assert found["empty-id"].spec == "empty-id:turn=0"
    assert found["cut-off-call"].spec == "cut-off-call:turn=0,times=1"
    assert found["cut"].spec == "cut:how=close,turn=0,times=1"
    assert (found["leaked-hermes"].lossy, found["leaked-hermes"].spec) == (True, "leaked-hermes:turn=0,times=1")
    body = json.loads(request_of(PROTOCOLS[0]).body)
    before = [{"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "assistant", "content": "y"}]
    body["messages"] = [*before, *body["messages"]]
    later = replace_body(request_of(PROTOCOLS[0]), body)
    assert fitted(later, "empty-id")["empty-id"].spec == "empty-id:turn=1"


def test_answers_that_are_not_made_are_broken_where_their_calls_are() -> None:
    """Whatever calls they hold."""
    cases = [case for case in cases_of(PROTOCOLS[0]) if case.name in ("empty-id", "cut")]
    found = Fitting(request_of(PROTOCOLS[0])).aimed(cases)
    assert [(case.calls, case.spec) for case in found] == [
        ((), "empty-id:turn=0"),
        ((), "cut:how=close,turn=0,times=1"),
    ]


def replace_body(request: CheckedRequest, body: Any) -> CheckedRequest:
    """The request with another body."""
    return request._replace(body=json.dumps(body).encode())


def test_without_a_stream_only_the_status_can_be_wrong() -> None:
    """Streams are what is broken."""
    found = fitted(request_of(PROTOCOLS[0], streamed=False))
    assert found.keys() - {"two-calls"} == {"http-429", "http-500", "http-529"}
