"""Generated calls of the offered tools, valid in every protocol, and then a text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.api import Question, Tool
from toolstream_core.protocols.registry import PROTOCOLS, named
from toolstream_core.synthetic.responses import DONE, PLAIN, SyntheticProvider, parse_calls
from toolstream_core.wire.frame import CONTENT_TYPES, Form
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.model import Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.synthetic.responses import Written

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (Tool("get_weather", "Weather.", CITY), Tool("now", "Time.", {"type": "object", "properties": {}}))
BOTH = 'get_weather {"city":"Genève 🌍 \\"x\\""}; now {}'

each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])
each_form = pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])


def request_of(protocol: WireProtocol, *, streamed: bool = True, tools: Any = TOOLS) -> tuple[str, dict[str, Any]]:
    """The path and body of a request in this protocol."""
    url = protocol.api.public_url("m", streamed=streamed, array=False)
    body = protocol.api.request(Question("m", "Hello?", tools, streamed=streamed))
    return url.removeprefix(protocol.api.server), body


def respond(provider: SyntheticProvider, path: str, body: Any) -> Written:
    """The response to a request."""
    written = provider.respond(path, encoded(body))
    assert written is not None
    return written


def read(written: Written, path: str, body: Any) -> Record:
    """The record of a response."""
    sent = written.events or (encoded(written.unstreamed),)
    exchange = StreamFacts(path=path, content_type=CONTENT_TYPES[written.wanted.form], request=body)
    record = read_body(sent, exchange)
    assert record is not None
    return record


@each_protocol
@each_form
@pytest.mark.parametrize("specs", ["", BOTH, "now"])
def test_the_calls_are_valid(protocol: WireProtocol, streamed: bool, specs: str) -> None:
    """They have no findings, and unique ids if the protocol has ids."""
    path, body = request_of(protocol, streamed=streamed)
    record = read(respond(SyntheticProvider(parse_calls([specs])), path, body), path, body)
    assert (record.protocol, record.streamed, record.ended) == (protocol.name, streamed, True)
    assert [one.name for one in record.findings] == []
    names = {"": ["get_weather"], BOTH: ["get_weather", "now"], "now": ["now"]}[specs]
    assert [(call.name, call.complete) for call in record.calls] == [(name, True) for name in names]
    ids = [call.id for call in record.calls]
    assert len({*ids}) == len(ids) or not any(ids)
    if specs == BOTH:
        assert json.loads(record.calls[0].arguments) == {"city": 'Genève 🌍 "x"'}


@each_protocol
def test_arguments_are_fragmented(protocol: WireProtocol) -> None:
    """If the protocol has deltas."""
    path, body = request_of(protocol)
    written = respond(SyntheticProvider(parse_calls([BOTH])), path, body)
    record = read(written, path, body)
    assert len(record.calls[0].events) > 4 or b"Gen\xc3\xa8ve" in b"".join(written.events)


@each_protocol
@each_form
def test_a_request_without_tools_gets_a_text(protocol: WireProtocol, streamed: bool) -> None:
    """So does a request that forbids them."""
    path, body = request_of(protocol, streamed=streamed, tools=())
    written = respond(SyntheticProvider(), path, body)
    record = read(written, path, body)
    assert (record.calls, record.findings, record.ended) == ([], [], True)
    sent = b"".join(written.events) or encoded(written.unstreamed)
    assert PLAIN.split()[0].encode() in sent


@each_protocol
def test_a_retry_gets_the_same_calls_with_other_ids(protocol: WireProtocol) -> None:
    """The seed decides everything else."""
    path, body = request_of(protocol)
    provider = SyntheticProvider(seed=3)
    first, second = (read(respond(provider, path, body), path, body) for _ in range(2))
    assert [call.arguments for call in first.calls] == [call.arguments for call in second.calls]
    assert first.calls[0].id != second.calls[0].id or not first.calls[0].id
    again = SyntheticProvider(seed=3)
    assert respond(again, path, body).events == respond(SyntheticProvider(seed=3), path, body).events


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    """A Chat Completions request with both tools."""
    path, body = request_of(named("openai-chat"))
    del path
    return {**body, "messages": [*body["messages"], *messages], **more}


CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
ECHO = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "mild"}
MORE = {"role": "user", "content": "And tomorrow?"}


@pytest.mark.parametrize(
    ("messages", "called"),
    [
        ([ECHO, RESULT], False),
        ([ECHO, RESULT, MORE], False),
        ([ECHO, RESULT, {"role": "assistant", "content": "Mild."}, MORE], True),
        ([ECHO, MORE], True),
        ([{"role": "assistant", "content": ""}], True),
    ],
)
def test_a_request_with_results_gets_a_text(messages: list[Any], called: bool) -> None:
    """Results that a response has followed do not count."""
    body = chat(*messages)
    written = respond(SyntheticProvider(), "/v1/chat/completions", body)
    assert bool(written.calls) is called
    if not called:
        text = "".join(
            json.loads(event[6:])["choices"][0]["delta"].get("content") or ""
            for event in written.events
            if b"[DONE]" not in event
        )
        assert text == DONE


def test_calls_in_the_text_of_messages_count_as_returned() -> None:
    """Some clients write calls and results in messages."""
    provider = SyntheticProvider()
    body = chat()
    record = read(respond(provider, "/v1/chat/completions", body), "/v1/chat/completions", body)
    message = {"role": "user", "content": f"I called {record.calls[0].id}: mild"}
    assert respond(provider, "/v1/chat/completions", chat(message)).calls == ()


@pytest.mark.parametrize(
    ("protocol", "more", "names"),
    [
        ("openai-chat", {"tool_choice": "none"}, []),
        ("openai-chat", {"tool_choice": "required"}, ["get_weather"]),
        ("openai-chat", {"tool_choice": {"type": "function", "function": {"name": "now"}}}, ["now"]),
        (
            "openai-chat",
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [{"function": {"name": "now"}}]}}},
            ["now"],
        ),
        ("openai-responses", {"tool_choice": {"type": "function", "name": "now"}}, ["now"]),
        ("openai-responses", {"tool_choice": {"type": "allowed_tools", "tools": [{"name": "now"}]}}, ["now"]),
        ("anthropic", {"tool_choice": {"type": "tool", "name": "now"}}, ["now"]),
        ("anthropic", {"tool_choice": {"type": "none"}}, []),
        ("cohere-v2", {"tool_choice": "NONE"}, []),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["now"]}}}, ["now"]),
        ("gemini", {"tool_config": {"function_calling_config": {"mode": "none"}}}, []),
        ("bedrock", {"toolChoice": {"tool": {"name": "now"}}}, ["now"]),
    ],
)
def test_the_tool_choice_of_a_request_is_followed(protocol: str, more: dict[str, Any], names: list[str]) -> None:
    """It may also forbid calls."""
    path, body = request_of(named(protocol))
    if protocol == "bedrock":
        body["toolConfig"] |= more
    else:
        body |= more
    assert [call.name for call in respond(SyntheticProvider(), path, body).calls] == names


@pytest.mark.parametrize(
    ("protocol", "more"),
    [
        ("openai-chat", {"parallel_tool_calls": False}),
        ("anthropic", {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ],
)
def test_parallel_calls_can_be_disabled(protocol: str, more: dict[str, Any]) -> None:
    """Only one of two specified calls is made."""
    path, body = request_of(named(protocol))
    assert len(respond(SyntheticProvider(parse_calls([BOTH])), path, body | more).calls) == 1


def test_tools_of_the_provider_are_not_called() -> None:
    """The provider runs them."""
    path, body = request_of(named("anthropic"))
    body["tools"] = [{"type": "web_search_20250305", "name": "web_search"}, *body["tools"]]
    assert [call.name for call in respond(SyntheticProvider(), path, body).calls] == ["get_weather"]


def test_a_tool_that_takes_text_gets_text() -> None:
    """Custom tools of Responses are called only if there is no function."""
    path, body = request_of(named("openai-responses"))
    custom = {"type": "custom", "name": "apply_patch"}
    written = respond(SyntheticProvider(parse_calls(['apply_patch "*** x"'])), path, body | {"tools": [custom]})
    record = read(written, path, body)
    assert [(call.kind, call.arguments) for call in record.calls] == [("custom", "*** x")]
    both = respond(SyntheticProvider(), path, body | {"tools": [custom, *body["tools"]]})
    assert [call.name for call in both.calls] == ["get_weather"]


def test_tools_in_the_input_are_called_with_their_namespace() -> None:
    """Codex offers all its tools so. Deferred tools are not called."""
    path, body = request_of(named("openai-responses"))
    (weather,) = [tool for tool in body.pop("tools") if tool["name"] == "get_weather"]
    later = {**weather, "name": "later", "defer_loading": True}
    spaces = [
        {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}, later]},
        {"type": "namespace", "name": "sky", "tools": [weather]},
    ]
    items = [{"type": "additional_tools", "role": "developer", "tools": spaces}]
    request = body | {"input": [*items, {"role": "user", "content": "Hello?"}]}
    for specs, name, namespace in (("", "get_weather", "sky"), ('exec "1"', "exec", "functions")):
        written = respond(SyntheticProvider(parse_calls([specs])), path, request)
        assert f'"namespace":"{namespace}"'.encode() in b"".join(written.events).replace(b": ", b":")
        record = read(written, path, request)
        assert [call.name for call in record.calls] == [name]
        assert record.findings == []
    assert respond(SyntheticProvider(parse_calls(["later"])), path, request).calls == ()


def test_a_tool_that_is_not_offered_is_not_called() -> None:
    """Also if it was specified."""
    path, body = request_of(named("openai-chat"))
    assert respond(SyntheticProvider(parse_calls(["no_such_tool {}"])), path, body).calls == ()


def test_other_requests_get_no_response() -> None:
    """Embeddings, for example."""
    for path, body in (("/v1/embeddings", {"model": "m", "input": "x"}), ("/x", {"a": 1})):
        assert SyntheticProvider().respond(path, encoded(body)) is None


def test_gemini_without_sse_gets_an_array() -> None:
    """The request decides the form."""
    path, body = request_of(named("gemini"))
    assert respond(SyntheticProvider(), path.partition("?")[0], body).wanted.form is Form.ARRAY


SEVERAL_CALLS = (
    ("get_weather; get_weather", 2),
    ('get_weather {"city":"Lisbon"}; get_weather', 2),
    ('get_weather; get_weather {"city":"Lisbon"}; get_weather', 3),
    ('get_weather "{\\"city\\":\\"Lisbon\\"}"; get_weather', 2),
    ('get_weather {"city":"Lisbon"}; get_weather {"city":"Lisbon"}', 1),
    ("now; now", 1),
)


@pytest.mark.parametrize(("specs", "different"), SEVERAL_CALLS)
@pytest.mark.parametrize("seed", range(4))
def test_generated_calls_differ_from_all_others(specs: str, different: int, seed: int) -> None:
    """Specified arguments are not changed, and a tool without parameters has only one call."""
    path, body = request_of(PROTOCOLS[0])
    calls = respond(SyntheticProvider(parse_calls([specs]), seed), path, body).calls
    assert len({json.dumps(json.loads(call.arguments)) for call in calls}) == different


def test_tools_that_are_not_offered_are_named() -> None:
    """The message has the available tools. A request without tools gets no message."""
    path, body = request_of(PROTOCOLS[0])
    written = respond(SyntheticProvider(parse_calls(["nope {}; get_weather"])), path, body)
    assert written.not_offered == "nope is not an offered tool; available tools: get_weather, now"
    assert [call.name for call in written.calls] == ["get_weather"]
    assert respond(SyntheticProvider(parse_calls(["now"])), path, body).not_offered == ""
    path, body = request_of(PROTOCOLS[0], tools=())
    assert respond(SyntheticProvider(parse_calls(["nope"])), path, body).not_offered == ""
