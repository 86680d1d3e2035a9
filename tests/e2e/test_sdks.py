"""The official clients read a streamed tool call through the proxy, and the proxy reports the same call."""

from __future__ import annotations

import json
import ssl
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import ollama
import openai
import pytest
from google import genai

from tests.e2e.harness import samples
from tests.e2e.harness.samples import NAME, PARAMETERS, Sample
from tests.e2e.harness.script import Response, Send

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.tap import Tap
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

QUESTION: Any = [{"role": "user", "content": "weather?"}]


class Reported:
    """A proxy with its JSON lines, and an upstream."""

    def __init__(self, proxies: Proxies, upstream: Upstream) -> None:
        self.proxy: Mitmdump
        self.tap: Tap
        self.proxy, self.tap = proxies.with_jsonl()
        self.upstream = upstream
        self.trust = ssl.create_default_context(cafile=self.proxy.ca)

    def headers(self, sample: Sample) -> dict[str, str]:
        """The headers of a request that gets this response."""
        steps = tuple(map(Send, sample.chunks))
        return self.upstream.plan(Response(steps, content_type=sample.content_type, coding="gzip")).headers

    def check(self, sample: Sample, name: str | None, arguments: object) -> None:
        """The SDK read the sample's call, and the proxy reported the same call."""
        assert (name, arguments) == (NAME, sample.arguments)
        record = self.tap.end_of(sample.call_id)["record"]
        [call] = record["calls"]
        assert (call["name"], json.loads(call["arguments"])) == (NAME, sample.arguments)
        assert (record["dialect"], record["broken"]) == (sample.protocol, None)


@pytest.fixture
def reported(proxies: Proxies, secure: Upstream) -> Reported:
    """The shared proxy, with the upstream with TLS."""
    return Reported(proxies, secure)


@pytest.fixture
def http(reported: Reported) -> Iterator[httpx2.Client]:
    """The HTTP client of most SDKs, with the proxy and its authority."""
    with httpx2.Client(proxy=reported.proxy.url, verify=reported.trust) as client:
        yield client


def test_openai_chat(reported: Reported, http: httpx2.Client) -> None:
    """`chat.completions.create` streams the fragments of the call."""
    sample = samples.openai_chat("sdk chat", "Lugano")
    client = openai.OpenAI(api_key="none", base_url=f"{reported.upstream.url}/v1", http_client=http)
    tools: Any = sample.request["tools"]
    chunks = client.chat.completions.create(
        model="gpt-test", messages=QUESTION, tools=tools, stream=True, extra_headers=reported.headers(sample)
    )
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    functions = [delta.function for delta in deltas if delta.function]
    reported.check(sample, functions[0].name, json.loads("".join(one.arguments or "" for one in functions)))
    assert deltas[0].id == sample.call_id


def test_openai_responses(reported: Reported, http: httpx2.Client) -> None:
    """`responses.stream` returns the call."""
    sample = samples.openai_responses("sdk responses", "Lugano")
    client = openai.OpenAI(api_key="none", base_url=f"{reported.upstream.url}/v1", http_client=http)
    tools: Any = sample.request["tools"]
    headers = reported.headers(sample)
    with client.responses.stream(model="gpt-test", input="weather?", tools=tools, extra_headers=headers) as stream:
        [item] = stream.get_final_response().output
    assert item.type == "function_call"
    reported.check(sample, item.name, json.loads(item.arguments))


def test_anthropic(reported: Reported, http: httpx2.Client) -> None:
    """`messages.stream` returns the call."""
    sample = samples.anthropic("sdk anthropic", "Lugano")
    client = anthropic.Anthropic(api_key="none", base_url=reported.upstream.url, http_client=http)
    tools: Any = sample.request["tools"]
    headers = reported.headers(sample)
    with client.messages.stream(
        model="claude-test", max_tokens=100, messages=QUESTION, tools=tools, extra_headers=headers
    ) as stream:
        [block] = stream.get_final_message().content
    assert block.type == "tool_use"
    reported.check(sample, block.name, block.input)


def test_google_genai(reported: Reported) -> None:
    """`generate_content_stream` returns the call."""
    sample = samples.gemini("sdk gemini", "Lugano")
    options = genai.types.HttpOptions(
        base_url=reported.upstream.url,
        headers=reported.headers(sample),
        client_args={"proxy": reported.proxy.url, "verify": reported.trust},
    )
    declared = genai.types.FunctionDeclaration(name=NAME, parameters_json_schema=PARAMETERS)
    config = genai.types.GenerateContentConfig(tools=[genai.types.Tool(function_declarations=[declared])])
    with genai.Client(vertexai=False, api_key="none", http_options=options) as client:
        chunks = client.models.generate_content_stream(model="gemini-test", contents="weather?", config=config)
        [call] = [call for chunk in chunks for call in chunk.function_calls or ()]
    reported.check(sample, call.name, call.args)


def test_ollama(reported: Reported) -> None:
    """`chat` returns the call."""
    sample = samples.ollama("sdk ollama", "Lugano")
    headers = reported.headers(sample)
    with ollama.Client(
        reported.upstream.url, headers=headers, proxy=reported.proxy.url, verify=reported.trust
    ) as client:
        chunks = client.chat(model="llama-test", messages=QUESTION, tools=sample.request["tools"], stream=True)
        [call] = [call for chunk in chunks for call in chunk.message.tool_calls or ()]
    reported.check(sample, call.function.name, dict(call.function.arguments))
