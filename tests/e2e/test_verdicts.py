"""Real clients through a real mitmdump: one that understands, and loops that do not, told from their next requests."""

from __future__ import annotations

import json
import ssl
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import openai
import pytest

from tests.e2e.harness import samples
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import NAME
from tests.e2e.harness.script import Gate, Response, Send, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.tap import Tap
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

RESULT = "rain"


class Behind:
    """A proxy that tells, and an upstream with answers."""

    def __init__(self, proxies: Proxies, upstream: Upstream) -> None:
        self.proxy: Mitmdump
        self.tap: Tap
        self.proxy, self.tap = proxies.with_jsonl()
        self.upstream = upstream
        self.trust = ssl.create_default_context(cafile=self.proxy.ca)

    def headers(self, sample: Sample) -> dict[str, str]:
        """What gets this answer."""
        return self.upstream.plan(Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type)).headers

    def verdict(self, sample: Sample) -> dict[str, Any]:
        """What was told of the client that got this answer: an object, and the same in the log."""
        flow = self.tap.end_of(sample.call_id)["flow"]
        [told] = self.tap.wait_for(lambda one: one["type"] == "verdict" and one["flow"] == flow)
        verdict: dict[str, Any] = told["verdict"]
        self.proxy.wait_for(rf"#{told['stream']} +verdict {verdict['verdict']}")
        return verdict


@pytest.fixture
def behind(proxies: Proxies, secure: Upstream) -> Behind:
    """The shared proxy before the upstream with TLS."""
    return Behind(proxies, secure)


@pytest.fixture
def http(behind: Behind) -> Iterator[httpx2.Client]:
    """The HTTP client of the SDKs, through the proxy and with its authority."""
    with httpx2.Client(proxy=behind.proxy.url, verify=behind.trust) as made:
        yield made


def test_the_openai_sdk(behind: Behind, http: httpx2.Client) -> None:
    """Its stream helper puts the call together, and the loop of its documentation sends it back."""
    sample, after = (samples.openai_chat(f"verdict chat {turn}", "Lugano") for turn in "ab")
    sdk = openai.OpenAI(api_key="none", base_url=f"{behind.upstream.url}/v1", http_client=http)
    messages: list[Any] = [{"role": "user", "content": "openai sdk"}]
    tools: Any = sample.request["tools"]
    with sdk.chat.completions.stream(
        model="gpt-test", messages=messages, tools=tools, extra_headers=behind.headers(sample)
    ) as stream:
        message = stream.get_final_completion().choices[0].message
    [call] = message.tool_calls or []
    said = {"id": call.id, "type": "function", "function": call.function.model_dump(include={"name", "arguments"})}
    messages += [
        {"role": "assistant", "tool_calls": [said]},
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    for _ in sdk.chat.completions.create(
        model="gpt-test", messages=messages, tools=tools, stream=True, extra_headers=behind.headers(after)
    ):
        pass
    verdict = behind.verdict(sample)
    assert (verdict["verdict"], verdict["results"]) == ("ok", [sample.call_id])
    [sent] = verdict["sent"]
    assert (sent["name"], json.loads(sent["arguments"])) == (NAME, sample.arguments)


def test_a_repaired_response(proxies: Proxies, secure: Upstream) -> None:
    """Its verdict is on what the client got, whose end was sent before upstream's connection ended."""
    tap = proxies.tap("repaired")
    options = {"toolstream_jsonl": str(tap.path), "toolstream_fault": "missing-id", "toolstream_repair": "safe"}
    proxy = proxies.get(**options)
    sample, after = (samples.openai_chat(f"verdict repaired {turn}", "Lugano") for turn in "ab")
    messages: list[Any] = [{"role": "user", "content": "repaired"}]
    tools: Any = sample.request["tools"]
    trust = ssl.create_default_context(cafile=proxy.ca)
    with httpx2.Client(proxy=proxy.url, verify=trust) as http:
        sdk = openai.OpenAI(api_key="none", base_url=f"{secure.url}/v1", http_client=http)
        for one in (sample, after):
            plan = secure.plan(Response(tuple(map(Send, one.chunks)), content_type=one.content_type))
            with sdk.chat.completions.stream(
                model="gpt-test", messages=messages, tools=tools, extra_headers=plan.headers
            ) as stream:
                [call] = stream.get_final_completion().choices[0].message.tool_calls or []
            said = {"id": call.id, "type": "function", "function": {"name": NAME, "arguments": "{}"}}
            messages += [
                {"role": "assistant", "tool_calls": [said]},
                {"role": "tool", "tool_call_id": call.id, "content": RESULT},
            ]
    [told] = tap.wait_for(lambda one: one["type"] == "verdict")
    assert told["verdict"]["verdict"] == "returned-without-arguments"


def test_the_anthropic_sdk(behind: Behind, http: httpx2.Client) -> None:
    """Its message goes back as it is."""
    sample, after = (samples.anthropic(f"verdict anthropic {turn}", "Lugano") for turn in "ab")
    sdk = anthropic.Anthropic(api_key="none", base_url=behind.upstream.url, http_client=http)
    messages: list[Any] = [{"role": "user", "content": "anthropic sdk"}]
    for one in (sample, after):
        with sdk.messages.stream(
            model="claude-test",
            max_tokens=100,
            messages=messages,
            tools=one.request["tools"],
            extra_headers=behind.headers(one),
        ) as stream:
            content = stream.get_final_message().content
        [block] = content
        result = {"type": "tool_result", "tool_use_id": block.id, "content": RESULT}  # type: ignore[union-attr]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    assert behind.verdict(sample)["verdict"] == "ok"


def test_a_response_that_the_server_keeps(behind: Behind, http: httpx2.Client) -> None:
    """Only the result goes back."""
    sample, after = (samples.openai_responses(f"verdict responses {turn}", "Lugano") for turn in "ab")
    sdk = openai.OpenAI(api_key="none", base_url=f"{behind.upstream.url}/v1", http_client=http)
    tools: Any = sample.request["tools"]
    with sdk.responses.stream(
        model="gpt-test", input="kept", tools=tools, extra_headers=behind.headers(sample)
    ) as stream:
        response = stream.get_final_response()
    output: Any = [{"type": "function_call_output", "call_id": sample.call_id, "output": RESULT}]
    with sdk.responses.stream(
        model="gpt-test",
        input=output,
        previous_response_id=response.id,
        tools=tools,
        extra_headers=behind.headers(after),
    ) as stream:
        stream.until_done()
    assert behind.verdict(sample)["verdict"] == "results-only"


def test_a_loop_that_loses_arguments(behind: Behind, http: httpx2.Client) -> None:
    """It keeps the first delta of each call."""
    sample, after = (samples.openai_chat(f"verdict lost {turn}", "Lugano") for turn in "ab")
    sdk = openai.OpenAI(api_key="none", base_url=f"{behind.upstream.url}/v1", http_client=http)
    messages: list[Any] = [{"role": "user", "content": "by hand"}]
    tools: Any = sample.request["tools"]
    for one in (sample, after):
        chunks = sdk.chat.completions.create(
            model="gpt-test", messages=messages, tools=tools, stream=True, extra_headers=behind.headers(one)
        )
        calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or () if call.id]
        said = [{"id": call.id, "type": "function", "function": {"name": NAME, "arguments": "{}"}} for call in calls]
        results = [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]
        messages += [{"role": "assistant", "tool_calls": said}, *results]
    verdict = behind.verdict(sample)
    assert (verdict["verdict"], verdict["call"]) == ("returned-without-arguments", 0)
    assert verdict["explained"]


def test_a_client_that_leaves(behind: Behind) -> None:
    """In mid-stream."""
    sample, gate = samples.openai_chat("verdict left", "Lugano"), Gate()
    first, *rest = sample.chunks
    plan = behind.upstream.plan(Response((Send(first), Wait(gate), *map(Send, rest))))
    with client("h1", route(behind.proxy, behind.upstream)) as connection:
        response = connection.request(sample.path, sample.body, plan.headers)
        assert response.next_chunk() == first
        response.leave()
    flow = behind.tap.end_of(sample.call_id)["flow"]
    gate.open()
    [told] = behind.tap.wait_for(lambda one: one["type"] == "verdict" and one["flow"] == flow)
    assert told["verdict"]["verdict"] == "aborted"
