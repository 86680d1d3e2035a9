"""The official clients as readers of any answer: which calls each makes of it, and how the turn ended for it."""

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


class Made(NamedTuple):
    """A call as an SDK hands it out."""

    name: str | None
    arguments: Any
    id: str | None


class Reading(NamedTuple):
    """What an SDK makes of an answer."""

    calls: list[Made]
    finish: str | None

    @property
    def said(self) -> list[tuple[str | None, Any]]:
        """Names and arguments."""
        return [(call.name, call.arguments) for call in self.calls]

    @property
    def ids(self) -> list[str | None]:
        """The calls' ids."""
        return [call.id for call in self.calls]


class Sdks:
    """The official clients, all through one proxy to one upstream."""

    def __init__(self, proxy: Mitmdump, upstream: str, *, http2: bool = True) -> None:
        """`upstream` is its URL."""
        trust = ssl.create_default_context(cafile=proxy.ca)
        self._upstream = upstream
        self._way: dict[str, Any] = {"proxy": proxy.url, "verify": trust, "http2": http2, "timeout": PATIENCE}
        self._stack = ExitStack()
        http = self._stack.enter_context(httpx2.Client(**self._way))
        self.openai = openai.OpenAI(api_key="none", base_url=f"{upstream}/v1", http_client=http, max_retries=0)
        self.anthropic = anthropic.Anthropic(api_key="none", base_url=upstream, http_client=http, max_retries=0)
        options = genai.types.HttpOptions(base_url=upstream, client_args=self._way)
        self.genai = self._stack.enter_context(genai.Client(vertexai=False, api_key="none", http_options=options))
        older = self._stack.enter_context(httpx.Client(**self._way))
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
        """Ollama's takes headers for all its requests only."""
        return ollama.Client(self._upstream, headers=headers, **self._way)

    def __enter__(self) -> Self:
        """They connect when they are first used."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close all connections."""
        self._stack.close()


class Ends:
    """What a mitmdump tells at the end of each answer, read from a named pipe, one after the other."""

    def __init__(self, path: Path) -> None:
        """Make the pipe at `path` and read it."""
        os.mkfifo(path)
        self._records: SimpleQueue[dict[str, Any]] = SimpleQueue()
        # Open for writing too: so it neither waits for a writer nor ends when one goes.
        self._descriptor = os.open(path, os.O_RDWR)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def next(self) -> dict[str, Any]:
        """The record of the next answer."""
        return self._records.get(timeout=PATIENCE)

    def close(self) -> None:
        """Stop reading."""
        os.write(self._descriptor, b"null\n")
        self._thread.join(PATIENCE)

    def _read(self) -> None:
        with os.fdopen(self._descriptor, encoding="utf-8") as lines:
            while (told := json.loads(lines.readline())) is not None:
                if told["type"] == "end":
                    self._records.put(told["record"])


def tools(dialect: str) -> Any:
    """What each request offers."""
    return request(dialect)["tools"]


def chat_deltas(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`chat.completions.create`, put together by index as its documentation says."""
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


def _chat_call(call: Any) -> Made:
    return Made(call.function.name, json.loads(call.function.arguments), call.id)


def responses_events(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`responses.create`, put together by output index as its documentation says, and in the order of it."""
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


def _responses_call(call: Any) -> Made:
    return Made(call.name, json.loads(call.arguments), call.call_id)


def anthropic_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`messages.stream`."""
    with sdks.anthropic.messages.stream(
        model=model, max_tokens=100, messages=QUESTION, tools=tools("anthropic"), extra_headers=headers
    ) as stream:
        message = stream.get_final_message()
    calls = [one for one in message.content if one.type == "tool_use"]
    return Reading([Made(one.name, one.input, one.id) for one in calls], message.stop_reason)


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
    calls: list[Made] = []
    finish: str | None = None
    for chunk in sdks.genai.models.generate_content_stream(model=model, contents="Go on.", config=config):
        calls += [Made(one.name, one.args, one.id) for one in chunk.function_calls or ()]
        for candidate in chunk.candidates or ():
            finish = candidate.finish_reason.value if candidate.finish_reason else finish
    return Reading(calls, finish)


def interactions_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`interactions.create`, put together step by step as its documentation says."""
    asked = request("gemini-interactions")
    events: Any = sdks.genai.interactions.create(
        model=model, input=asked["input"], tools=asked["tools"], stream=True, extra_headers=dict(headers)
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
    return Reading([Made(*one) for one in found], finish)


def ollama_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`chat`."""
    calls: list[Made] = []
    finish: str | None = None
    with sdks.ollama(headers) as client:
        for chunk in client.chat(model=model, messages=QUESTION, tools=tools("ollama"), stream=True):
            functions = [call.function for call in chunk.message.tool_calls or ()]
            calls += [Made(one.name, dict(one.arguments), None) for one in functions]
            finish = chunk.done_reason or finish
    return Reading(calls, finish)


def cohere_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`v2.chat_stream`, put together by index as its documentation says."""
    offered, options = request("cohere-v2"), cohere.core.RequestOptions(additional_headers=dict(headers))
    events: Any = sdks.cohere.chat_stream(
        model=model, messages=offered["messages"], tools=offered["tools"], request_options=options
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
    return Reading([Made(*one) for one in found], finish)


def converse_stream(sdks: Sdks, model: str, headers: Mapping[str, str]) -> Reading:
    """`converse_stream`, put together block by block as its documentation says."""

    def add(params: dict[str, Any], **rest: object) -> None:
        del rest
        params["headers"].update(headers)

    events, name = sdks.bedrock.meta.events, "before-call.bedrock-runtime.ConverseStream"
    events.register(name, add)
    try:
        asked = request("bedrock")
        response = sdks.bedrock.converse_stream(
            modelId=model, messages=asked["messages"], toolConfig=asked["toolConfig"]
        )
    finally:
        events.unregister(name, add)
    calls: list[tuple[dict[str, Any], list[str]]] = []
    finish: str | None = None
    for event in response["stream"]:
        tool = event.get("contentBlockStart", {}).get("start", {}).get("toolUse")
        piece = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
        if tool is not None:
            calls.append((tool, []))
        if piece is not None:
            calls[-1][1].append(piece["input"])
        finish = event.get("messageStop", {}).get("stopReason", finish)
    return Reading(
        [Made(tool["name"], json.loads("".join(said) or "{}"), tool["toolUseId"]) for tool, said in calls], finish
    )


type Read = Callable[[Sdks, str, Mapping[str, str]], Reading]


class RecordBuilder(NamedTuple):
    """One way in which an SDK is used."""

    name: str
    dialect: str
    read: Read
    finish: str
    """How a turn ends in which calls are made."""

    def __str__(self) -> str:
        """As a test's id."""
        return self.name


READERS = (
    RecordBuilder("openai chat", "openai-chat", chat_deltas, "tool_calls"),
    RecordBuilder("openai chat.stream", "openai-chat", chat_stream, "tool_calls"),
    RecordBuilder("openai responses", "openai-responses", responses_events, "completed"),
    RecordBuilder("openai responses.stream", "openai-responses", responses_stream, "completed"),
    RecordBuilder("anthropic", "anthropic", anthropic_stream, "tool_use"),
    RecordBuilder("google-genai", "gemini", gemini_stream, "STOP"),
    RecordBuilder("google-genai interactions", "gemini-interactions", interactions_stream, "requires_action"),
    RecordBuilder("cohere", "cohere-v2", cohere_stream, "TOOL_CALL"),
    RecordBuilder("boto3", "bedrock", converse_stream, "tool_use"),
    RecordBuilder("ollama", "ollama", ollama_stream, "stop"),
)
"""By protocol, first what its documentation writes out by hand, then what puts calls together."""
