"""The official clients as readers of a response: the calls that each one returns, and the finish reason."""

from __future__ import annotations

import json
import os
import ssl
import threading
from contextlib import ExitStack
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import anthropic
import boto3
import cohere
import httpx
import httpx2
import ollama
import openai
from botocore.config import Config
from google import genai

from tests.e2e.harness.script import PATIENCE
from tests.invariants.healthy import request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump

QUESTION: Any = [{"role": "user", "content": "Go on."}]


class SdkCall(NamedTuple):
    """A call as an SDK returns it."""

    name: str | None
    arguments: Any
    id: str | None


class Reading(NamedTuple):
    """The calls and the finish reason that an SDK returns for a response."""

    calls: list[SdkCall]
    finish: str | None

    @property
    def names_and_arguments(self) -> list[tuple[str | None, Any]]:
        """The calls without their ids."""
        return [(call.name, call.arguments) for call in self.calls]

    @property
    def ids(self) -> list[str | None]:
        """The calls' ids."""
        return [call.id for call in self.calls]


class Sdks:
    """The official clients, through one proxy to one upstream."""

    def __init__(self, proxy: Mitmdump, upstream: str, *, http2: bool = True) -> None:
        """`upstream` is the URL."""
        trust = ssl.create_default_context(cafile=proxy.ca)
        self._upstream = upstream
        self._route: dict[str, Any] = {"proxy": proxy.url, "verify": trust, "http2": http2, "timeout": PATIENCE}
        self._stack = ExitStack()
        http = self._stack.enter_context(httpx2.Client(**self._route))
        self.openai = openai.OpenAI(api_key="none", base_url=f"{upstream}/v1", http_client=http, max_retries=0)
        self.anthropic = anthropic.Anthropic(api_key="none", base_url=upstream, http_client=http, max_retries=0)
        options = genai.types.HttpOptions(base_url=upstream, client_args=self._route)
        self.genai = self._stack.enter_context(genai.Client(vertexai=False, api_key="none", http_options=options))
        older = self._stack.enter_context(httpx.Client(**self._route))
        self.cohere = cohere.ClientV2(api_key="none", base_url=upstream, httpx_client=older, max_retries=0)
        config = Config(
            proxies={"https": proxy.url},
            read_timeout=PATIENCE,
            retries={"total_max_attempts": 1},
            max_pool_connections=1,
        )
        self.bedrock: Any = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=upstream,
            verify=str(proxy.ca),
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=config,
        )
        self._stack.callback(self.bedrock.close)

    def ollama(self, headers: Mapping[str, str]) -> ollama.Client:
        """A client of Ollama. It accepts headers only for all of its requests."""
        return ollama.Client(self._upstream, headers=headers, **self._route)

    def __enter__(self) -> Self:
        """The clients connect at their first use."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close all connections."""
        self._stack.close()


class EndRecords:
    """Reads the record of each response that a mitmdump writes as JSON lines to a named pipe."""

    def __init__(self, path: Path) -> None:
        """Make the pipe at `path` and read it."""
        os.mkfifo(path)
        self._records: SimpleQueue[dict[str, Any]] = SimpleQueue()
        # Open for writing too: opening does not wait for a writer, and reading does not end when a writer closes it.
        self._descriptor = os.open(path, os.O_RDWR)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def next(self) -> dict[str, Any]:
        """The record of the next response."""
        return self._records.get(timeout=PATIENCE)

    def close(self) -> None:
        """Stop reading."""
        os.write(self._descriptor, b"null\n")
        self._thread.join(PATIENCE)

    def _read(self) -> None:
        with os.fdopen(self._descriptor, encoding="utf-8") as lines:
            while (line := json.loads(lines.readline())) is not None:
                if line["type"] == "end":
                    self._records.put(line["record"])


def tools(protocol: str) -> Any:
    """The tools of each request."""
    return request(protocol)["tools"]


def chat_deltas(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`chat.completions.create`, assembled by index as in its documentation."""
    chunks = sdks.openai.chat.completions.create(
        model=model, messages=QUESTION, tools=tools("openai-chat"), stream=True, extra_headers=headers
    )
    calls: dict[int, Any] = {}
    finish: str | None = None
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        finish = choice.finish_reason or finish
        for delta in choice.delta.tool_calls or ():
            if delta.index not in calls:
                calls[delta.index] = delta
            else:
                calls[delta.index].function.arguments += delta.function.arguments  # type: ignore[union-attr]
    return Reading(list(map(_chat_call, calls.values())), finish)


def chat_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`chat.completions.stream`."""
    with sdks.openai.chat.completions.stream(
        model=model, messages=QUESTION, tools=tools("openai-chat"), extra_headers=headers
    ) as stream:
        [choice] = stream.get_final_completion().choices
    return Reading(list(map(_chat_call, choice.message.tool_calls or ())), choice.finish_reason)


def _chat_call(call: Any) -> SdkCall:
    return SdkCall(call.function.name, json.loads(call.function.arguments), call.id)


def responses_events(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`responses.create`, assembled and ordered by output index as in its documentation."""
    events = sdks.openai.responses.create(
        model=model, input="Go on.", tools=tools("openai-responses"), stream=True, extra_headers=headers
    )
    calls: dict[int, Any] = {}
    finish: str | None = None
    for event in events:
        match event.type:
            case "response.output_item.added" if event.item.type == "function_call":
                calls[event.output_index] = event.item
            case "response.function_call_arguments.delta":
                calls[event.output_index].arguments += event.delta
            case "response.completed":
                finish = event.response.status
    return Reading([_responses_call(calls[index]) for index in sorted(calls)], finish)


def responses_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`responses.stream`."""
    with sdks.openai.responses.stream(
        model=model, input="Go on.", tools=tools("openai-responses"), extra_headers=headers
    ) as stream:
        response = stream.get_final_response()
    calls = [one for one in response.output if one.type == "function_call"]
    return Reading(list(map(_responses_call, calls)), response.status)


def _responses_call(call: Any) -> SdkCall:
    return SdkCall(call.name, json.loads(call.arguments), call.call_id)


def anthropic_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`messages.stream`."""
    with sdks.anthropic.messages.stream(
        model=model, max_tokens=100, messages=QUESTION, tools=tools("anthropic"), extra_headers=headers
    ) as stream:
        message = stream.get_final_message()
    calls = [one for one in message.content if one.type == "tool_use"]
    return Reading([SdkCall(one.name, one.input, one.id) for one in calls], message.stop_reason)


def gemini_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`generate_content_stream`."""
    declared = [
        genai.types.FunctionDeclaration(name=one["name"], parameters_json_schema=one["parameters"])
        for one in tools("gemini")[0]["functionDeclarations"]
    ]
    config = genai.types.GenerateContentConfig(
        tools=[genai.types.Tool(function_declarations=declared)],
        http_options=genai.types.HttpOptions(headers=dict(headers)),
    )
    calls: list[SdkCall] = []
    finish: str | None = None
    for chunk in sdks.genai.models.generate_content_stream(model=model, contents="Go on.", config=config):
        calls += [SdkCall(one.name, one.args, one.id) for one in chunk.function_calls or ()]
        for candidate in chunk.candidates or ():
            finish = candidate.finish_reason.value if candidate.finish_reason else finish
    return Reading(calls, finish)


def interactions_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`interactions.create`, assembled by step as in its documentation."""
    body = request("gemini-interactions")
    events: Any = sdks.genai.interactions.create(
        model=model, input=body["input"], tools=body["tools"], stream=True, extra_headers=dict(headers)
    )
    steps: dict[int, tuple[Any, list[str]]] = {}
    finish: str | None = None
    for event in events:
        match event.event_type:
            case "step.start" if event.step.type == "function_call":
                steps[event.index] = event.step, []
            case "step.delta" if event.delta.type == "arguments_delta":
                steps[event.index][1].append(event.delta.arguments)
            case "interaction.completed":
                finish = event.interaction.status
    found = [(step.name, json.loads("".join(parts) or "{}"), step.id) for step, parts in steps.values()]
    return Reading([SdkCall(*one) for one in found], finish)


def ollama_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`chat`."""
    calls: list[SdkCall] = []
    finish: str | None = None
    with sdks.ollama(headers) as client:
        for chunk in client.chat(model=model, messages=QUESTION, tools=tools("ollama"), stream=True):
            functions = [call.function for call in chunk.message.tool_calls or ()]
            calls += [SdkCall(one.name, dict(one.arguments), None) for one in functions]
            finish = chunk.done_reason or finish
    return Reading(calls, finish)


def cohere_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`v2.chat_stream`, assembled by index as in its documentation."""
    body, options = request("cohere-v2"), cohere.core.RequestOptions(additional_headers=dict(headers))
    events: Any = sdks.cohere.chat_stream(
        model=model, messages=body["messages"], tools=body["tools"], request_options=options
    )
    calls: dict[int, Any] = {}
    finish: str | None = None
    for event in events:
        match event.type:
            case "tool-call-start":
                calls[event.index] = event.delta.message.tool_calls
            case "tool-call-delta":
                calls[event.index].function.arguments += event.delta.message.tool_calls.function.arguments
            case "message-end":
                finish = event.delta.finish_reason
    found = [(call.function.name, json.loads(call.function.arguments or "{}"), call.id) for call in calls.values()]
    return Reading([SdkCall(*one) for one in found], finish)


def converse_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`converse_stream`, assembled by block as in its documentation."""

    def add_headers(params: dict[str, Any], **rest: object) -> None:
        del rest
        params["headers"].update(headers)

    events, name = sdks.bedrock.meta.events, "before-call.bedrock-runtime.ConverseStream"
    events.register(name, add_headers)
    try:
        body = request("bedrock")
        response = sdks.bedrock.converse_stream(modelId=model, messages=body["messages"], toolConfig=body["toolConfig"])
    finally:
        events.unregister(name, add_headers)
    calls: list[tuple[dict[str, Any], list[str]]] = []
    finish: str | None = None
    for event in response["stream"]:
        tool = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
        fragment = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
        if tool is not None:
            calls.append((tool, []))
        if fragment is not None:
            calls[-1][1].append(fragment["input"])
        finish = event.get("messageStop", {}).get("stopReason", finish)
    return Reading(
        [SdkCall(tool["name"], json.loads("".join(parts) or "{}"), tool["toolUseId"]) for tool, parts in calls], finish
    )


type Read = Callable[[Sdks, str, Mapping[str, str]], Reading]


class Reader(NamedTuple):
    """One way to use an SDK."""

    name: str
    protocol: str
    read: Read
    finish: str
    """The finish reason that it returns for a turn with tool calls."""

    def __str__(self) -> str:
        """The id of its test."""
        return self.name


READERS = (
    Reader("openai chat", "openai-chat", chat_deltas, "tool_calls"),
    Reader("openai chat.stream", "openai-chat", chat_stream, "tool_calls"),
    Reader("openai responses", "openai-responses", responses_events, "completed"),
    Reader("openai responses.stream", "openai-responses", responses_stream, "completed"),
    Reader("anthropic", "anthropic", anthropic_stream, "tool_use"),
    Reader("google-genai", "gemini", gemini_stream, "STOP"),
    Reader("google-genai interactions", "gemini-interactions", interactions_stream, "requires_action"),
    Reader("cohere", "cohere-v2", cohere_stream, "TOOL_CALL"),
    Reader("boto3", "bedrock", converse_stream, "tool_use"),
    Reader("ollama", "ollama", ollama_stream, "stop"),
)
"""By protocol: first the loop over events from its documentation, then the helper that assembles calls."""
