"""Verdicts from the next request of real clients: correct loops, and loops that misread."""

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
        return self.upstream.plan(Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type)).headers

    def verdict(self, sample: Sample) -> dict[str, Any]:
        """The verdict on this response in the JSON lines, after a check of the log."""
        flow = self.tap.end_of(sample.call_id)["flow"]
        [line] = self.tap.wait_for(lambda line: line["type"] == "verdict" and line["flow"] == flow)
        verdict: dict[str, Any] = line["verdict"]
        self.proxy.wait_for(rf"#{line['stream']} +verdict {verdict['verdict']}")
        return verdict


@pytest.fixture
def reported(proxies: Proxies, secure: Upstream) -> Reported:
    """The shared proxy, with the upstream with TLS."""
    return Reported(proxies, secure)


@pytest.fixture
def http(reported: Reported) -> Iterator[httpx2.Client]:
    """The HTTP client of the SDKs, with the proxy and its authority."""
    with httpx2.Client(proxy=reported.proxy.url, verify=reported.trust) as client:
        yield client


def test_the_openai_sdk_is_ok(reported: Reported, http: httpx2.Client) -> None:
    """The stream helper of the openai SDK, with the loop of its documentation, gets the verdict `ok`."""
    sample, after = (samples.openai_chat(f"verdict chat {turn}", "Lugano") for turn in "ab")
    sdk = openai.OpenAI(api_key="none", base_url=f"{reported.upstream.url}/v1", http_client=http)
    messages: list[Any] = [{"role": "user", "content": "openai sdk"}]
    tools: Any = sample.request["tools"]
    with sdk.chat.completions.stream(
        model="gpt-test", messages=messages, tools=tools, extra_headers=reported.headers(sample)
    ) as stream:
        message = stream.get_final_completion().choices[0].message
    [call] = message.tool_calls or []
    returned = {"id": call.id, "type": "function", "function": call.function.model_dump(include={"name", "arguments"})}
    messages += [
        {"role": "assistant", "tool_calls": [returned]},
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    for _ in sdk.chat.completions.create(
        model="gpt-test", messages=messages, tools=tools, stream=True, extra_headers=reported.headers(after)
    ):
        pass
    verdict = reported.verdict(sample)
    assert (verdict["verdict"], verdict["results"]) == ("ok", [sample.call_id])
    [sent] = verdict["sent"]
    assert (sent["name"], json.loads(sent["arguments"])) == (NAME, sample.arguments)


def test_a_verdict_on_a_repaired_response(proxies: Proxies, secure: Upstream) -> None:
    """The verdict on a repaired response compares the next request with the repaired calls."""
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
            returned = {"id": call.id, "type": "function", "function": {"name": NAME, "arguments": "{}"}}
            messages += [
                {"role": "assistant", "tool_calls": [returned]},
                {"role": "tool", "tool_call_id": call.id, "content": RESULT},
            ]
    [line] = tap.wait_for(lambda line: line["type"] == "verdict")
    assert line["verdict"]["verdict"] == "returned-without-arguments"


def test_the_anthropic_sdk_is_ok(reported: Reported, http: httpx2.Client) -> None:
    """The anthropic SDK, which returns the message unchanged, gets the verdict `ok`."""
    sample, after = (samples.anthropic(f"verdict anthropic {turn}", "Lugano") for turn in "ab")
    sdk = anthropic.Anthropic(api_key="none", base_url=reported.upstream.url, http_client=http)
    messages: list[Any] = [{"role": "user", "content": "anthropic sdk"}]
    for one in (sample, after):
        with sdk.messages.stream(
            model="claude-test",
            max_tokens=100,
            messages=messages,
            tools=one.request["tools"],
            extra_headers=reported.headers(one),
        ) as stream:
            content = stream.get_final_message().content
        [block] = content
        result = {"type": "tool_result", "tool_use_id": block.id, "content": RESULT}  # type: ignore[union-attr]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    assert reported.verdict(sample)["verdict"] == "ok"


def test_a_stored_response_is_results_only(reported: Reported, http: httpx2.Client) -> None:
    """If the provider stores the response and the client returns only the result, the verdict is `results-only`."""
    sample, after = (samples.openai_responses(f"verdict responses {turn}", "Lugano") for turn in "ab")
    sdk = openai.OpenAI(api_key="none", base_url=f"{reported.upstream.url}/v1", http_client=http)
    tools: Any = sample.request["tools"]
    with sdk.responses.stream(
        model="gpt-test", input="kept", tools=tools, extra_headers=reported.headers(sample)
    ) as stream:
        response = stream.get_final_response()
    output: Any = [{"type": "function_call_output", "call_id": sample.call_id, "output": RESULT}]
    with sdk.responses.stream(
        model="gpt-test",
        input=output,
        previous_response_id=response.id,
        tools=tools,
        extra_headers=reported.headers(after),
    ) as stream:
        stream.until_done()
    assert reported.verdict(sample)["verdict"] == "results-only"


def test_a_loop_that_loses_arguments_is_explained(reported: Reported, http: httpx2.Client) -> None:
    """A loop that keeps only the first delta of each call gets the verdict `returned-without-arguments`, explained."""
    sample, after = (samples.openai_chat(f"verdict lost {turn}", "Lugano") for turn in "ab")
    sdk = openai.OpenAI(api_key="none", base_url=f"{reported.upstream.url}/v1", http_client=http)
    messages: list[Any] = [{"role": "user", "content": "by hand"}]
    tools: Any = sample.request["tools"]
    for one in (sample, after):
        chunks = sdk.chat.completions.create(
            model="gpt-test", messages=messages, tools=tools, stream=True, extra_headers=reported.headers(one)
        )
        calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or () if call.id]
        returned = [
            {"id": call.id, "type": "function", "function": {"name": NAME, "arguments": "{}"}} for call in calls
        ]
        results = [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]
        messages += [{"role": "assistant", "tool_calls": returned}, *results]
    verdict = reported.verdict(sample)
    assert (verdict["verdict"], verdict["call"]) == ("returned-without-arguments", 0)
    assert verdict["explained"]


def test_a_client_disconnect_is_aborted(reported: Reported) -> None:
    """A client that disconnects inside the stream gets the verdict `aborted`."""
    sample, gate = samples.openai_chat("verdict left", "Lugano"), Gate()
    first, *rest = sample.chunks
    plan = reported.upstream.plan(Response((Send(first), Wait(gate), *map(Send, rest))))
    with client("h1", route(reported.proxy, reported.upstream)) as connection:
        response = connection.request(sample.path, sample.body, plan.headers)
        assert response.next_chunk() == first
        response.leave()
    flow = reported.tap.end_of(sample.call_id)["flow"]
    gate.open()
    [line] = reported.tap.wait_for(lambda line: line["type"] == "verdict" and line["flow"] == flow)
    assert line["verdict"]["verdict"] == "aborted"
