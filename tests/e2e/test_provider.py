"""Official clients run their tool loop against saved flows: TLS, and hosts that do not exist."""

from __future__ import annotations

import json
import ssl
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic
import boto3
import cohere
import httpx
import httpx2
import ollama
import openai
import pytest
from botocore.config import Config
from google import genai

from tests.e2e.harness.soon import soon
from toolstream_core.proxy.provider import OPTIONS
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from toolstream_core.saved.flow import LlmFlow

pytestmark = pytest.mark.e2e

FLOWS = Path(__file__).resolve().parents[2] / "flows"
CITY = {"city": "Lisbon", "unit": "celsius"}
NOVA = "amazon.nova-lite-v1:0"
TEXT = "It is 19 °C in Lisbon, and the sky is clear."


@pytest.fixture(scope="module")
def proxy(proxies: Proxies) -> Mitmdump:
    """A proxy that replays all saved flows."""
    return proxies.get(toolstream_provider=str(FLOWS), **OPTIONS)


@pytest.fixture
def http(proxy: Mitmdump) -> Iterator[httpx2.Client]:
    """The HTTP client of most SDKs, with the proxy and its authority."""
    with httpx2.Client(proxy=proxy.url, verify=ssl.create_default_context(cafile=proxy.ca)) as client:
        yield client


@pytest.fixture
def gemini(proxy: Mitmdump) -> Iterator[genai.Client]:
    """Google's SDK, which creates its own HTTP client."""
    options = genai.types.HttpOptions(
        client_args={"proxy": proxy.url, "verify": ssl.create_default_context(cafile=proxy.ca)}
    )
    with genai.Client(vertexai=False, api_key="none", http_options=options) as client:
        yield client


@pytest.fixture
def local(proxy: Mitmdump) -> Iterator[ollama.Client]:
    """Ollama's SDK, with its own host and without TLS."""
    with ollama.Client(host="http://ollama.invalid:11434", proxy=proxy.url) as client:
        yield client


def recorded_request(name: str) -> Any:
    """The request of the first flow in a file."""
    return load(FLOWS / f"{name}.flow")[0].request


@pytest.mark.parametrize("base_url", ["https://api.openai.com/v1", "https://llm.invalid/v1"])
@pytest.mark.parametrize("streamed", [True, False])
def test_openai_chat(http: httpx2.Client, base_url: str, streamed: bool) -> None:
    """The openai SDK reads the recorded call, and a text after the tool's result."""
    client = openai.OpenAI(api_key="none", base_url=base_url, http_client=http, max_retries=0)
    request = recorded_request("openai-chat-single")

    def ask(messages: Any) -> Any:
        settings: Any = {"model": request["model"], "messages": messages, "tools": request["tools"]}
        if not streamed:
            return client.chat.completions.create(**settings).choices[0].message
        with client.chat.completions.stream(**settings) as events:
            return events.get_final_completion().choices[0].message

    first = ask(request["messages"])
    [call] = first.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", CITY)
    result = {"role": "tool", "tool_call_id": call.id, "content": "19"}
    last = ask([*request["messages"], first.to_dict(), result])
    assert (last.content, last.tool_calls) == (TEXT, None)


@pytest.mark.parametrize("streamed", [True, False])
def test_openai_responses(http: httpx2.Client, streamed: bool) -> None:
    """The openai SDK sends reasoning items back with the call, and reads the text."""
    client = openai.OpenAI(api_key="none", http_client=http, max_retries=0)
    request = recorded_request("openai-responses-single")
    items: list[Any] = list(request["input"])
    response: Any = None
    for _ in range(2):
        settings: Any = {"model": request["model"], "input": items, "tools": request["tools"]}
        if streamed:
            with client.responses.stream(**settings) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(**settings)
        items += [item.to_dict() for item in response.output]
        for item in response.output:
            if item.type == "function_call":
                assert (item.name, json.loads(item.arguments)) == ("get_weather", CITY)
                items.append({"type": "function_call_output", "call_id": item.call_id, "output": "19"})
    assert response.output_text == TEXT


@pytest.mark.parametrize("streamed", [True, False])
def test_anthropic(http: httpx2.Client, streamed: bool) -> None:
    """The anthropic SDK reads the recorded message with its usage, and a text after the tool's result."""
    client = anthropic.Anthropic(api_key="none", http_client=http, max_retries=0)
    request = recorded_request("anthropic-single")
    settings: Any = {key: request[key] for key in ("model", "max_tokens", "tools")}

    def ask(messages: Any) -> anthropic.types.Message:
        if not streamed:
            message: anthropic.types.Message = client.messages.create(messages=messages, **settings)
            return message
        with client.messages.stream(messages=messages, **settings) as events:
            return events.get_final_message()

    first = ask(request["messages"])
    [call] = first.content
    assert call.type == "tool_use"
    assert (call.name, call.input, first.usage.input_tokens) == ("get_weather", CITY, 588)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "19"}
    [text] = ask(
        [
            *request["messages"],
            {"role": "assistant", "content": [call.to_dict()]},
            {"role": "user", "content": [result]},
        ]
    ).content
    assert text.type == "text"
    assert text.text == TEXT


@pytest.mark.parametrize("streamed", [True, False])
def test_gemini(gemini: genai.Client, streamed: bool) -> None:
    """google-genai reads the recorded call, and a text after the tool's result."""
    request = recorded_request("gemini-single")
    tools: Any = [{"function_declarations": request["tools"][0]["functionDeclarations"]}]
    config = genai.types.GenerateContentConfig(tools=tools)

    def ask(contents: Any) -> list[genai.types.Part]:
        settings: Any = {"model": "gemini-2.5-flash", "contents": contents, "config": config}
        models = gemini.models
        chunks = models.generate_content_stream(**settings) if streamed else [models.generate_content(**settings)]
        return [part for chunk in chunks for part in chunk.parts or ()]

    [part] = ask(request["contents"])
    assert part.function_call
    assert (part.function_call.name, part.function_call.args) == ("get_weather", CITY)
    result = genai.types.Part.from_function_response(name="get_weather", response={"temperature": 19})
    parts = ask([*request["contents"], {"role": "model", "parts": [part]}, {"role": "user", "parts": [result]}])
    assert "".join(part.text or "" for part in parts) == TEXT


@pytest.mark.parametrize("streamed", [True, False])
def test_ollama(local: ollama.Client, streamed: bool) -> None:
    """The ollama SDK reads the recorded call, and a text after the tool's result."""
    request = recorded_request("ollama-single")
    settings: Any = {"model": request["model"], "tools": request["tools"]}

    def ask(messages: Any) -> list[ollama.Message]:
        if streamed:
            return [chunk.message for chunk in local.chat(messages=messages, stream=True, **settings)]
        return [local.chat(messages=messages, **settings).message]

    [call] = [call for message in ask(request["messages"]) for call in message.tool_calls or ()]
    assert (call.function.name, call.function.arguments) == ("get_weather", CITY)
    following = [*request["messages"], {"role": "tool", "tool_name": "get_weather", "content": "19"}]
    assert "".join(message.content or "" for message in ask(following)) == TEXT


@pytest.mark.parametrize("streamed", [True, False])
def test_cohere(proxy: Mitmdump, streamed: bool) -> None:
    """The cohere SDK reads the recorded call, and a text after the tool's result."""
    request = recorded_request("cohere-v2-single")
    settings: Any = {key: request[key] for key in ("model", "tools")}

    with httpx.Client(proxy=proxy.url, verify=ssl.create_default_context(cafile=proxy.ca)) as http:
        client = cohere.ClientV2(api_key="none", httpx_client=http)

        def ask(messages: Any) -> tuple[str, list[tuple[str | None, str | None]]]:
            if not streamed:
                message: Any = client.chat(messages=messages, **settings).message
                calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
                return "".join(block.text for block in message.content or ()), calls
            events: list[Any] = list(client.chat_stream(messages=messages, **settings))
            text = "".join(one.delta.message.content.text for one in events if one.type == "content-delta")
            starts = [one.delta.message.tool_calls for one in events if one.type == "tool-call-start"]
            deltas = [one.delta.message.tool_calls for one in events if one.type == "tool-call-delta"]
            arguments = "".join(one.function.arguments for one in deltas)
            return text, [(one.function.name, arguments) for one in starts]

        _, [(name, arguments)] = ask(request["messages"])
        assert (name, json.loads(arguments or "")) == ("get_weather", CITY)
        assert ask(load(FLOWS / "cohere-v2-single.flow")[1].request["messages"]) == (TEXT, [])


@pytest.mark.parametrize("streamed", [True, False])
def test_bedrock(proxy: Mitmdump, streamed: bool) -> None:
    """boto3 reads the recorded call, and a text after the tool's result."""
    config = Config(proxies={"https": proxy.url}, retries={"total_max_attempts": 1})
    client: Any = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        verify=str(proxy.ca),
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=config,
    )

    def ask(request: Any) -> list[dict[str, Any]]:
        settings = {key: request[key] for key in ("messages", "system", "toolConfig", "inferenceConfig")}
        if not streamed:
            content: list[dict[str, Any]] = client.converse(modelId=NOVA, **settings)["output"]["message"]["content"]
            return content
        events = list(client.converse_stream(modelId=NOVA, **settings)["stream"])
        starts = [event["contentBlockStart"]["start"] for event in events if "contentBlockStart" in event]
        deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
        arguments = "".join(delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta)
        text = "".join(delta.get("text", "") for delta in deltas)
        return [{"toolUse": {**start["toolUse"], "input": json.loads(arguments)}} for start in starts] or [
            {"text": text}
        ]

    first, second = (fixture.request for fixture in load(FLOWS / "bedrock-single.flow"))
    [block] = ask(first)
    assert (block["toolUse"]["name"], block["toolUse"]["input"]) == ("get_weather", CITY)
    assert ask(second) == [{"text": TEXT}]
    client.close()


def test_an_unrecorded_request_is_an_error(proxies: Proxies) -> None:
    """In strict mode an unrecorded request gets a 404 that names the saved protocols or the first difference."""
    flows = str(FLOWS / "glm-5.flow")
    strict = {"toolstream_provider": flows, "toolstream_provider_strict": "true"}
    proxy = proxies.get(mode="reverse:https://llm.invalid", **strict, **OPTIONS)
    client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{proxy.port}", max_retries=0)
    with pytest.raises(anthropic.NotFoundError, match=r"no saved anthropic response.*openai-chat \(z-ai/glm-5\)"):
        client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "hi"}])
    other = openai.OpenAI(api_key="none", base_url=f"http://127.0.0.1:{proxy.port}/v1", max_retries=0)
    request = load(Path(flows))[0].request
    with pytest.raises(openai.NotFoundError, match=r"glm-5\.flow#0 differs at messages\[0\]\.content: recorded .Find"):
        other.chat.completions.create(**{**request, "messages": [{"role": "user", "content": "Write"}]})
    proxy.wait_for(r"replay llm\.invalid z-ai/glm-5 refused: .*glm-5\.flow#0 differs at messages")
    assert list(other.chat.completions.create(**request))
    proxy.wait_for(r"replay llm\.invalid z-ai/glm-5 .*glm-5\.flow#0 exact")


def ids(list_models: Callable[[], Any]) -> list[str]:
    """The ids of the models that an SDK lists."""
    return [model.id for model in list_models()]


def test_models_are_listed(http: httpx2.Client) -> None:
    """The SDKs of OpenAI and Anthropic list the recorded models."""
    assert "gpt-4.1-mini" in ids(openai.OpenAI(api_key="none", http_client=http).models.list)
    assert "claude-sonnet-4-6" in ids(anthropic.Anthropic(api_key="none", http_client=http).models.list)


def test_responses_are_replayed_with_their_timing(proxies: Proxies) -> None:
    """Each chunk is sent at its recorded time, four times slower at speed 0.25, and at once at speed 0."""
    saved = load(FLOWS / "glm-5.flow")[0]
    recorded = [chunk.after / 1000 for chunk in saved.chunks if chunk.data]
    assert recorded[-1] > 0.1
    for speed in ("1", "0.25", "0"):
        proxy = proxies.get(toolstream_provider=str(FLOWS / "glm-5.flow"), toolstream_speed=speed, **OPTIONS)
        due = [seconds / float(speed) if speed != "0" else 0.0 for seconds in recorded]
        lasts = due[-1] - due[0]
        since = soon(partial(arrived, proxy, saved), partial(is_over, lasts + 0.3))
        assert len(since) == saved.body.count(b"\n\n")
        assert since[-1] > lasts - 0.3
        if speed == "0.25":
            assert all(seconds >= wanted - due[0] - 0.05 for seconds, wanted in zip(since, due, strict=False))


def is_over(by: float, since: list[float]) -> bool:
    """Whether the last event arrived by then."""
    return since[-1] < by


def arrived(proxy: Mitmdump, saved: LlmFlow) -> list[float]:
    """The seconds from the first event to each event of a replayed response."""
    times: list[float] = []
    url, context = f"https://{saved.record.host}{saved.path}", ssl.create_default_context(cafile=proxy.ca)
    with (
        httpx2.Client(proxy=proxy.url, verify=context) as http,
        http.stream("POST", url, json=saved.request) as reply,
    ):
        for chunk in reply.iter_raw():
            times += [time.monotonic()] * chunk.count(b"\n\n")
    return [seconds - times[0] for seconds in times]
