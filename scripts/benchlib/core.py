"""Reading without a proxy: toolstream's reader and the official SDKs, with the same chunks."""

from __future__ import annotations

import gc
import itertools
import json
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import anthropic
import httpx2
import openai
from anthropic.lib.streaming import MessageStream
from anthropic.types import RawMessageStreamEvent, ToolUseBlock
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageFunctionToolCall
from openai.types.responses import ResponseCompletedEvent, ResponseFunctionToolCall, ResponseStreamEvent

from benchlib.rig import WrongCallsError
from benchlib.streams import HEALTHY, PROTOCOLS, Load
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchlib.streams import Protocol


_OPENAI = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9")
_ANTHROPIC = anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:9")


class Assembled(NamedTuple):
    """A call as an SDK returns it: its arguments are text or an object."""

    id: str
    name: str
    arguments: object


def read_chat(chunks: Sequence[bytes]) -> Assembled:
    """Read chunks like `client.chat.completions.stream()`."""
    stream = openai.Stream(cast_to=ChatCompletionChunk, response=_response(chunks), client=_OPENAI)
    state: ChatCompletionStreamState[object] = ChatCompletionStreamState()
    for chunk in stream:
        state.handle_chunk(chunk)
    calls = state.current_completion_snapshot.choices[0].message.tool_calls or []
    call = cast("ChatCompletionMessageFunctionToolCall", calls[0])
    return Assembled(call.id, call.function.name, call.function.arguments)


def read_responses(chunks: Sequence[bytes]) -> Assembled:
    """Read chunks like `client.responses.stream()`."""
    kind = cast("type[ResponseStreamEvent]", ResponseStreamEvent)
    stream = openai.Stream(cast_to=kind, response=_response(chunks), client=_OPENAI)
    state: ResponseStreamState[object] = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    events = itertools.chain.from_iterable(map(state.handle_event, stream))
    ends = [event.response for event in events if isinstance(event, ResponseCompletedEvent)]
    call = next(item for item in ends[0].output if isinstance(item, ResponseFunctionToolCall))
    return Assembled(call.call_id, call.name, call.arguments)


def read_messages(chunks: Sequence[bytes]) -> Assembled:
    """Read chunks like `client.messages.stream()`, which returns arguments as an object."""
    kind = cast("type[RawMessageStreamEvent]", RawMessageStreamEvent)
    raw = anthropic.Stream(cast_to=kind, response=_response(chunks), client=_ANTHROPIC)
    stream: MessageStream[object] = MessageStream(raw, anthropic.NOT_GIVEN)
    message = stream.get_final_message()
    call = next(block for block in message.content if isinstance(block, ToolUseBlock))
    return Assembled(call.id, call.name, call.input)


READERS: dict[str, Callable[[Sequence[bytes]], Assembled]] = {
    "openai-chat": read_chat,
    "openai-responses": read_responses,
    "anthropic": read_messages,
}


def _response(chunks: Sequence[bytes]) -> httpx2.Response:
    request = httpx2.Request("POST", "http://127.0.0.1:9")
    headers = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=headers, content=iter(chunks), request=request)


type Read = Callable[[Sequence[bytes]], Assembled]


@dataclass(slots=True)
class Raced:
    """The seconds for a stream, one value for each round."""

    protocol: str
    load: Load
    toolstream: list[float] = field(default_factory=list)
    sdk: list[float] = field(default_factory=list)


def measure(sizes: Sequence[int], rounds: int) -> list[Raced]:
    """Measure every protocol, kind and size; both readers read the same chunks in alternating order."""
    return [_race(protocol, Load(kind, size), rounds) for protocol in PROTOCOLS for kind in HEALTHY for size in sizes]


def _race(protocol: Protocol, load: Load, rounds: int) -> Raced:
    raced = Raced(protocol.name, load)
    chunks = list(protocol.blocks(load))
    readers = (partial(_read, protocol), raced.toolstream), (READERS[protocol.name], raced.sdk)
    for read, _ in readers:
        # The SDKs build their models at their first use.
        _timed(read, chunks, load)
    for turn in range(rounds):
        for read, seconds in readers if turn % 2 else readers[::-1]:
            seconds.append(_timed(read, chunks, load))
    return raced


def _timed(read: Read, chunks: Sequence[bytes], load: Load) -> float:
    gc.collect()
    start = time.perf_counter()
    call = read(chunks)
    seconds = time.perf_counter() - start
    arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
    wanted = load.call
    if (call.id, call.name, arguments) != (wanted.id, wanted.name, json.loads(wanted.arguments)):
        raise WrongCallsError(f"{load}: {str(call)[:300]}")
    return seconds


def _read(protocol: Protocol, chunks: Sequence[bytes]) -> Assembled:
    exchange = StreamFacts(path=protocol.path, content_type="text/event-stream; charset=utf-8")
    record = read_body(chunks, exchange)
    if record is None or len(record.calls) != 1 or record.findings:
        raise WrongCallsError(f"{protocol.name}: {record}"[:1000])
    call = record.calls[0]
    return Assembled(call.id, call.name, call.arguments)
