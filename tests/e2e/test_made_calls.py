"""The official SDKs read the synthetic calls of `toolstream_provider=calls:…`, and return the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic
import boto3
import cohere
import httpx2
import ollama
import openai
import pytest
from botocore.config import Config
from google import genai

from toolstream_core.testing import ProxySession, ProxySessionError, Setup
from toolstream_core.testing.exchanges import SentCall

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

CITY: Any = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION: Any = {"name": "get_weather", "description": "Weather of a city.", "parameters": CITY}
ARGUMENTS = {"city": "Genève 🌍"}
SETUP = Setup(calls=(f"get_weather {json.dumps(ARGUMENTS)}",))
QUESTION: Any = {"role": "user", "content": "weather?"}


@pytest.fixture(scope="module")
def shared() -> Iterator[ProxySession]:
    """The proxy of all tests in this file."""
    with ProxySession() as session:
        yield session


@pytest.fixture
def session(shared: ProxySession) -> ProxySession:
    """The shared proxy after a reset."""
    shared.reset(SETUP)
    return shared


def check(
    session: ProxySession, protocol: str, read: list[tuple[str, Any]], text: str | None, *, verdict: str = "ok"
) -> None:
    """The SDK read the call and returned it with its result, and a text ended the conversation."""
    assert read == [("get_weather", ARGUMENTS)]
    first, second = (one for one in session.exchanges() if one.request.protocol)
    assert [one.request.protocol for one in (first, second)] == [protocol, protocol]
    assert [one.name for one in (*first.findings, *second.findings)] == []
    assert first.verdict is not None
    assert (first.verdict.verdict, first.verdict.understood) == (verdict, True)
    assert (second.calls, second.verdict) == ((), None)
    assert text
    assert text.startswith("The tool results are here")


def test_openai_chat_runs_a_synthetic_call(session: ProxySession) -> None:
    """`chat.completions.create` reads a call with a stream, and the text without one."""
    with openai.OpenAI(api_key="none", base_url=session.base_url("openai-chat")) as client:
        tools: Any = [{"type": "function", "function": FUNCTION}]
        chunks = list(client.chat.completions.create(model="m", messages=[QUESTION], tools=tools, stream=True))
        entries = [entry for one in chunks for entry in one.choices[0].delta.tool_calls or ()]
        arguments = "".join((entry.function and entry.function.arguments) or "" for entry in entries)
        assert len(entries) > 3
        name = str(entries[0].function and entries[0].function.name)
        call: Any = {"id": entries[0].id, "type": "function", "function": {"name": name, "arguments": arguments}}
        messages: Any = [
            QUESTION,
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "mild"},
        ]
        done = client.chat.completions.create(model="m", messages=messages, tools=tools)
        assert done.usage is not None
        assert "m" in [model.id for model in client.models.list()]
    check(session, "openai-chat", [(name, json.loads(arguments))], done.choices[0].message.content)


def test_openai_responses_runs_a_synthetic_call(session: ProxySession) -> None:
    """`responses.stream` reads a call and the text."""
    with openai.OpenAI(api_key="none", base_url=session.base_url("openai-responses")) as client:
        tools: Any = [{"type": "function", "strict": False, **FUNCTION}]
        with client.responses.stream(model="m", input=[QUESTION], tools=tools) as stream:
            [item] = stream.get_final_response().output
        assert item.type == "function_call"
        result: Any = {"type": "function_call_output", "call_id": item.call_id, "output": "mild"}
        items: Any = [QUESTION, item.to_dict(), result]
        with client.responses.stream(model="m", input=items, tools=tools) as stream:
            text = stream.get_final_response().output_text
    check(session, "openai-responses", [(item.name, json.loads(item.arguments))], text)


def test_anthropic_runs_a_synthetic_call(session: ProxySession) -> None:
    """`messages.stream` reads a call and the text."""
    with anthropic.Anthropic(api_key="none", base_url=session.base_url("anthropic")) as client:
        tools: Any = [{"name": "get_weather", "input_schema": CITY}]
        with client.messages.stream(model="m", max_tokens=99, messages=[QUESTION], tools=tools) as stream:
            message = stream.get_final_message()
        [block] = message.content
        assert block.type == "tool_use"
        result: Any = {"type": "tool_result", "tool_use_id": block.id, "content": "mild"}
        messages: Any = [
            QUESTION,
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": [result]},
        ]
        with client.messages.stream(model="m", max_tokens=99, messages=messages, tools=tools) as stream:
            text = stream.get_final_text()
    check(session, "anthropic", [(block.name, block.input)], text)


def test_google_genai_runs_a_synthetic_call(session: ProxySession) -> None:
    """`generate_content_stream` reads a call and the text."""
    options = genai.types.HttpOptions(base_url=session.base_url("gemini"))
    declared = genai.types.FunctionDeclaration(name="get_weather", parameters_json_schema=CITY)
    config = genai.types.GenerateContentConfig(tools=[genai.types.Tool(function_declarations=[declared])])
    with genai.Client(vertexai=False, api_key="none", http_options=options) as client:
        question: Any = genai.types.UserContent("weather?")
        chunks = list(client.models.generate_content_stream(model="m", contents=question, config=config))
        [call] = [call for chunk in chunks for call in chunk.function_calls or ()]
        received = [chunk.candidates[0].content for chunk in chunks if chunk.candidates]
        result = genai.types.Part.from_function_response(name="get_weather", response={"weather": "mild"})
        contents: Any = [question, *received, genai.types.UserContent(result)]
        chunks = list(client.models.generate_content_stream(model="m", contents=contents, config=config))
    check(session, "gemini", [(str(call.name), call.args)], "".join(chunk.text or "" for chunk in chunks))


def test_google_genai_interactions_runs_a_synthetic_call(session: ProxySession) -> None:
    """`interactions.create` reads a call; the next request names the interaction and has only the result."""
    options = genai.types.HttpOptions(base_url=session.base_url("gemini-interactions"))
    tools: Any = [{"type": "function", **FUNCTION}]
    with genai.Client(vertexai=False, api_key="none", http_options=options) as client:
        events: Any = list(client.interactions.create(model="m", input="weather?", tools=tools, stream=True))
        [head] = [one.interaction.id for one in events if one.event_type == "interaction.created"]
        [step] = [one.step for one in events if one.event_type == "step.start"]
        deltas = [one.delta.arguments for one in events if one.event_type == "step.delta"]
        result: Any = [{"type": "function_result", "name": step.name, "call_id": step.id, "result": "mild"}]
        done: Any = client.interactions.create(model="m", previous_interaction_id=head, input=result, tools=tools)
    [text] = [part.text for one in done.steps for part in one.content]
    read = [(step.name, json.loads("".join(deltas)))]
    check(session, "gemini-interactions", read, text, verdict="results-only")


def test_ollama_runs_a_synthetic_call(session: ProxySession) -> None:
    """`chat` reads a call with a stream, and the text without one."""
    with ollama.Client(session.base_url("ollama")) as client:
        tools: Any = [{"type": "function", "function": FUNCTION}]
        chunks = list(client.chat(model="m", messages=[QUESTION], tools=tools, stream=True))
        [call] = [call for chunk in chunks for call in chunk.message.tool_calls or ()]
        messages: Any = [
            QUESTION,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_name": "get_weather", "content": "mild"},
        ]
        done = client.chat(model="m", messages=messages, tools=tools)
    check(session, "ollama", [(call.function.name, dict(call.function.arguments))], done.message.content)


def test_cohere_runs_a_synthetic_call(session: ProxySession) -> None:
    """`v2.chat_stream` reads a call, and `v2.chat` the text."""
    client = cohere.ClientV2("none", base_url=session.base_url("cohere-v2"))
    tools: Any = [{"type": "function", "function": FUNCTION}]
    events: Any = list(client.chat_stream(model="m", messages=[QUESTION], tools=tools))
    [start] = [one.delta.message.tool_calls for one in events if one.type == "tool-call-start"]
    fragments = [one.delta.message.tool_calls.function.arguments for one in events if one.type == "tool-call-delta"]
    function = {"name": start.function.name, "arguments": "".join(fragments)}
    messages: Any = [
        QUESTION,
        {"role": "assistant", "tool_calls": [{"id": start.id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": start.id, "content": "mild"},
    ]
    done: Any = client.chat(model="m", messages=messages, tools=tools)
    check(session, "cohere-v2", [(function["name"], json.loads(function["arguments"]))], done.message.content[0].text)


def test_boto3_runs_a_synthetic_call(session: ProxySession) -> None:
    """`converse_stream` reads a call, and `converse` the text."""
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=session.base_url("bedrock"),
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"total_max_attempts": 1}),
    )
    tools = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": CITY}}}]}
    question = {"role": "user", "content": [{"text": "weather?"}]}
    events = list(client.converse_stream(modelId="m", messages=[question], toolConfig=tools)["stream"])
    [use] = [one["contentBlockStart"]["start"]["toolUse"] for one in events if "contentBlockStart" in one]
    deltas = [one["contentBlockDelta"]["delta"]["toolUse"]["input"] for one in events if "contentBlockDelta" in one]
    use = {**use, "input": json.loads("".join(deltas))}
    result = {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": "mild"}]}}
    messages = [question, {"role": "assistant", "content": [{"toolUse": use}]}, {"role": "user", "content": [result]}]
    done = client.converse(modelId="m", messages=messages, toolConfig=tools)
    client.close()
    text = done["output"]["message"]["content"][0]["text"]
    check(session, "bedrock", [(use["name"], use["input"])], text)


def test_other_framings_have_the_synthetic_call(session: ProxySession) -> None:
    """Gemini's JSON array and Anthropic's events in AWS event stream messages have the synthetic call."""
    with httpx2.Client(base_url=session.proxy_url, trust_env=False) as client:
        declared = [{"functionDeclarations": [{"name": "get_weather", "parameters": CITY}]}]
        body: Any = {"contents": [{"role": "user", "parts": [{"text": "?"}]}], "tools": declared}
        array = client.post("/v1beta/models/m:streamGenerateContent", json=body)
        assert array.json()[0]["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == ARGUMENTS
        tools = [{"name": "get_weather", "input_schema": CITY}]
        body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [QUESTION], "tools": tools}
        client.post("/model/anthropic.claude-v2/invoke-with-response-stream", json=body)
    exchanges = session.exchanges()
    assert [(call.name, call.input) for one in exchanges for call in one.calls] == [("get_weather", ARGUMENTS)] * 2
    assert not any(one.findings for one in exchanges)


def test_a_wrong_value_is_rejected(shared: ProxySession) -> None:
    """Invalid JSON after `calls:`, and `calls:` together with saved flows, are rejected with a message."""
    for values, message in (
        (["calls:get_weather {"], "not valid JSON"),
        (["calls:", "flows"], "exclude each other: give calls: or saved flows"),
    ):
        with pytest.raises(ProxySessionError, match=message):
            shared.reset(Setup(options={"toolstream_provider": values}))


def test_a_tool_with_side_effects_is_called_only_by_name(shared: ProxySession) -> None:
    """A tool with side effects is called only if it is named; else the log has the reason and the option, once."""
    function = {"name": "delete_file", "parameters": {"properties": {"path": {"type": "string"}}, "required": ["path"]}}
    body = {"model": "m", "messages": [QUESTION], "tools": [{"type": "function", "function": function}]}
    sent: list[SentCall] = []
    for calls, count in (((), 0), (("delete_file",), 1)):
        shared.reset(Setup(calls=calls))
        with httpx2.Client(base_url=shared.proxy_url, trust_env=False) as client:
            for _ in range(2):
                assert client.post("/v1/chat/completions", json=body).status_code == 200
        sent = [call for one in shared.exchanges() for call in one.calls]
        assert len(sent) == 2 * count
        logged = [line for line in shared.log() if "known to be harmless (delete_file)" in line]
        assert [line.endswith("calls:delete_file") for line in logged] == [True] * (1 - count)
    [path] = {call.input["path"] for call in sent}
    assert not Path(path).exists()
    assert Path(path).parent.is_dir()
