"""The calls that a case needs, found by injecting its fault."""

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
    """A request with both tools."""
    return question(protocol, TOOLS, streamed=streamed, **more)


def question(protocol: WireProtocol, tools: Sequence[Tool], *, streamed: bool = True, **more: Any) -> CheckedRequest:
    """A request with these tools."""
    path = protocol.api.public_url("m", streamed=streamed, array=False).removeprefix(protocol.api.server)
    body = protocol.api.request(Question("m", "Hello?", tools, streamed=streamed)) | more
    transport = Transport.HTTP if protocol.over_http else Transport.SOCKET
    return CheckedRequest(protocol.name, path, json.dumps(body).encode(), transport)


@cache
def all_fitted(protocol: str) -> dict[str, Case]:
    """All cases of a protocol that can be injected."""
    return fitted(request_of(named(protocol)))


def fitted(request: CheckedRequest, *names: str, calls: tuple[str, ...] = ()) -> dict[str, Case]:
    """The cases with these names, or all, by name."""
    cases = [case for case in cases_of(named(request.protocol)) if not names or case.name in names]
    return {case.name: case for case in Fitting(request, calls=calls).fitted(cases, wants=lambda _: not names)}


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])
def test_nearly_all_faults_can_be_injected_with_two_tools(protocol: WireProtocol) -> None:
    """The exceptions need an earlier turn or another kind of tool, or are what the healthy response already has."""
    cases = {case.name: case for case in cases_of(protocol)}
    transport = Transport.HTTP if protocol.over_http else Transport.SOCKET
    cases = {name: case for name, case in cases.items() if transport in case.transports}
    missing = cases.keys() - all_fitted(protocol.name).keys()
    faults = {name for name in missing if cases[name].kind == "fault"}
    assert faults <= {"reused-id", "custom-as-function", "repeated-index", "missing-namespace"}
    assert {cases[name].kind for name in missing - faults} <= {"shape", "preset"}


def test_the_transport_decides_which_faults_can_be_injected() -> None:
    """WebSocket messages have no framing and no chunks, and a close has a code."""
    request = request_of(named("openai-responses"))
    names = [fitted(request._replace(transport=first)).keys() for first in (Transport.HTTP, Transport.SOCKET)]
    assert names[0] - names[1] >= {"recut-bytes", "recut-events", "recut-utf8", "empty-data", "comments", "crlf"}
    codes = {"cut-1000", "cut-1001", "cut-1011"}
    assert names[1] - names[0] == {*codes, "message-429", "message-500", "wrong-stream-id"}
    assert len(names[0] & names[1]) > 50


def test_a_case_has_the_calls_that_it_needs() -> None:
    """A case has one call, unless its fault needs two, or arguments that end with a text."""
    found = all_fitted("openai-chat")
    assert found["empty-id"].calls == ()
    assert [spec.tool for spec in parse_calls(found["duplicate-id"].calls)] == ["get_weather", "now"]
    [wide] = parse_calls(found["split-surrogate"].calls)
    assert max(wide.arguments["city"]) > "\uffff"
    [ending] = parse_calls(found["invalid-arguments"].calls)
    assert isinstance(list(ending.arguments.values())[-1], str)
    assert [spec.tool for spec in parse_calls(found["empty-arguments"].calls)] in (["now"], ["get_weather", "now"])


def test_cases_with_two_calls_need_a_healthy_response_with_two() -> None:
    """It is tried first, and is a case if another one needs it or if it was selected."""
    found = fitted(request_of(PROTOCOLS[0]), "duplicate-id", "empty-id")
    assert list(found) == ["two-calls", "empty-id", "duplicate-id"]
    assert found["duplicate-id"].needs == found["two-calls"].id
    assert found["empty-id"].needs == found["two-calls"].needs == "openai-chat/healthy"
    assert list(fitted(request_of(PROTOCOLS[0]), "empty-id")) == ["empty-id"]
    assert "two-calls" in all_fitted("openai-chat")


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
    """Equal calls would be another defect: a repeated call."""
    tool = Tool("get_value", "", {"type": "object", "properties": properties, "required": [*properties]})
    request = question(PROTOCOLS[0], [tool])
    names = ("duplicate-id", "merged-calls", "reused-index")
    cases = [case for case in cases_of(PROTOCOLS[0]) if case.name in names]
    found = {case.name: case for case in Fitting(request, seed=seed).fitted(cases, wants=lambda _: False)}
    assert found.keys() == {*names, "two-calls"}
    for case in found.values():
        first, second = parse_calls(case.calls)
        assert (case.untriable, first.arguments != second.arguments) == ("", True)


def test_two_tools_without_arguments_give_two_calls() -> None:
    """A fault that would be another defect in such calls is not tried, and the reason is reported."""
    nothing = {"type": "object", "properties": {}}
    found = fitted(question(PROTOCOLS[0], [Tool("now", "", nothing), Tool("today", "", nothing)]))
    assert (found["duplicate-id"].calls, found["duplicate-id"].untriable) == (("now {}", "today {}"), "")
    why = "with the calls of this check it is the same as"
    assert found["merged-calls"].untriable == f"{why} replayed-arguments"
    assert found["lost-arguments"].untriable == f"{why} empty-arguments"
    assert "two-calls" not in fitted(question(PROTOCOLS[0], [Tool("now", "", nothing)]))


def test_faults_that_need_different_calls_are_not_tried_with_equal_ones() -> None:
    """Calls given by the user are not changed."""
    call = 'get_weather {"city":"Oslo","days":1}'
    found = fitted(request_of(PROTOCOLS[0]), "duplicate-id", "empty-id", calls=(call, call))
    assert found["duplicate-id"].untriable.endswith("the same as doubled-call")
    assert found["empty-id"].untriable == ""


def test_cases_with_two_calls_are_left_out_without_parallel_calls() -> None:
    """The request has `parallel_tool_calls: false`."""
    names = ("duplicate-id", "merged-calls", "empty-id")
    assert fitted(request_of(PROTOCOLS[0], parallel_tool_calls=False), *names).keys() == {"empty-id"}


def test_no_calls_are_added_to_given_ones() -> None:
    """Faults that cannot be injected into them are left out."""
    names = ("duplicate-id", "empty-id", "cut")
    found = fitted(request_of(PROTOCOLS[0]), *names, calls=('get_weather {"city":"Oslo","days":1}',))
    assert found.keys() == {"empty-id", "cut"}
    assert {case.calls for case in found.values()} == {('get_weather {"city":"Oslo","days":1}',)}


def test_a_fault_that_loses_the_call_is_injected_once() -> None:
    """A retried request gets a healthy response. Other turns get no fault."""
    found = all_fitted("openai-chat")
    assert found["empty-id"].spec == "empty-id:turn=0"
    assert found["cut-off-call"].spec == "cut-off-call:turn=0,times=1"
    assert found["cut"].spec == "cut:how=close,turn=0,times=1"
    assert (found["leaked-hermes"].lossy, found["leaked-hermes"].spec) == (True, "leaked-hermes:turn=0,times=1")
    body = json.loads(request_of(PROTOCOLS[0]).body)
    before = [{"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "assistant", "content": "y"}]
    body["messages"] = [*before, *body["messages"]]
    later = replace_body(request_of(PROTOCOLS[0]), body)
    assert fitted(later, "empty-id")["empty-id"].spec == "empty-id:turn=1"


def test_faults_are_aimed_at_real_responses_with_calls() -> None:
    """Their calls are not known before."""
    cases = [case for case in cases_of(PROTOCOLS[0]) if case.name in ("empty-id", "cut")]
    found = Fitting(request_of(PROTOCOLS[0])).aimed(cases)
    assert [(case.calls, case.spec) for case in found] == [
        ((), "empty-id:turn=0"),
        ((), "cut:how=close,turn=0,times=1"),
    ]


def replace_body(request: CheckedRequest, body: Any) -> CheckedRequest:
    """The request with another body."""
    return request._replace(body=json.dumps(body).encode())


def test_non_streaming_responses_have_only_http_errors() -> None:
    """Other faults need a stream."""
    found = fitted(request_of(PROTOCOLS[0], streamed=False))
    assert found.keys() - {"two-calls"} == {"http-429", "http-500", "http-529"}
