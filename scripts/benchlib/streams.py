"""The streams that are sent: chat completions of any length, and the same load in other protocols. Knows no proxy."""

from __future__ import annotations

import enum
import functools
import itertools
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


CALL_ID = "call_8VqXn1kPzYtR4sLwD2mJcB7e"
TOOL = "write_file"
_OPENING = '{"path":"src/main.py","content":"'
_CLOSING = '"}'
_WORDS = (" the", " stream", "ing", " of", " tokens", ",", " which", " é", " a", " model", ".", " And", "\n")
_TOKENS = ("def", " main", "():", "\\n", "   ", " return", ' \\"x', '\\"', " #", " naïve", "_a", "\\t", " =")


class Kind(enum.StrEnum):
    """What most events say."""

    CONTENT = "content-heavy"
    """95 of 100 deltas are text; the rest, after them, the arguments of one call."""
    TOOL = "tool-heavy"
    """Every delta is a piece of the arguments of one call."""
    BROKEN = "broken"
    """Tool-heavy, and every piece carries `"id":""`: as a fault makes it, and what a repair rewrites event by event."""


HEALTHY = (Kind.CONTENT, Kind.TOOL)
_PADDING = "aB3xK9mQ2zT7"

_AROUND = {Kind.CONTENT: 6, Kind.TOOL: 5, Kind.BROKEN: 5}
"""Events that are neither text nor a piece of arguments between the first and the last."""


class Told(NamedTuple):
    """A call as a reader of the stream has to tell it."""

    id: str
    name: str
    arguments: str


class Digest(NamedTuple):
    """What two equal bodies have in common."""

    length: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Load:
    """One stream: so many SSE events of a kind, the `[DONE]` among them."""

    kind: Kind
    events: int
    schedule: int = 0
    """Events of a second, one at a time; 0 is as fast as they are taken."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The deltas of text."""
        return _cycled(_WORDS, self.events - self._tokens - _AROUND[self.kind])

    @property
    def pieces(self) -> tuple[str, ...]:
        """The deltas of the call's arguments."""
        return (_OPENING, *_cycled(_TOKENS, self._tokens), _CLOSING)

    @property
    def call(self) -> Told:
        """The one call it says."""
        return Told(CALL_ID, TOOL, "".join(self.pieces))

    def blocks(self) -> Iterator[bytes]:
        """The SSE events, one after the other."""
        if self.texts:
            yield _event({"role": "assistant", "content": "", "refusal": None})
            yield from map(_text_event, self.texts)
            yield _event({"tool_calls": [_HEADER]})
        else:
            yield _event({"role": "assistant", "content": None, "tool_calls": [_HEADER], "refusal": None})
        yield from map(_broken_event if self.kind is Kind.BROKEN else _argument_event, self.pieces)
        yield _event({}, finish="tool_calls")
        yield b"data: [DONE]\n\n"

    def wire(self) -> Iterator[bytes]:
        """An HTTP/1.1 chunk for each event and the last chunk, many at a time unless they are paced."""
        chunks = itertools.chain(map(as_chunk, self.blocks()), (b"0\r\n\r\n",))
        for batch in itertools.batched(chunks, 1 if self.schedule else 1000):
            yield b"".join(batch)

    @property
    def _tokens(self) -> int:
        """How many pieces of arguments there are between the first and the last."""
        if self.kind is not Kind.CONTENT:
            return self.events - _AROUND[self.kind]
        return max(1, self.events // 20)


@functools.cache
def digest(load: Load) -> Digest:
    """What the body of `load` has to be on the other side."""
    return digest_of(load.blocks())


def digest_of(pieces: Iterable[bytes]) -> Digest:
    """Length and checksum of `pieces` joined."""
    length = checksum = 0
    for piece in pieces:
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return Digest(length, checksum)


@functools.lru_cache(64)
def as_chunk(block: bytes) -> bytes:
    """`block` as one chunk of a chunked HTTP/1.1 body."""
    return b"%x\r\n%b\r\n" % (len(block), block)


_HEADER = {"index": 0, "id": CALL_ID, "type": "function", "function": {"name": TOOL, "arguments": ""}}


def padding(text: str) -> str:
    """What OpenAI adds to a delta of `text` so that its size does not tell what it says ("obfuscation")."""
    return _PADDING[: max(1, 12 - len(text))]


def _event(delta: dict[str, object], finish: str | None = None, said: str = "") -> bytes:
    body = {
        "id": "chatcmpl-CHk2tJ9vQeXw7RzN4bYpLsUa3mDfG",
        "object": "chat.completion.chunk",
        "created": 1759848121,
        "model": "gpt-4.1-mini-2025-04-14",
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "obfuscation": padding(said),
    }
    return b"data: " + json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


@functools.lru_cache(64)
def _argument_event(arguments: str) -> bytes:
    return _event({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}, said=arguments)


@functools.lru_cache(64)
def _broken_event(arguments: str) -> bytes:
    return _event({"tool_calls": [{"index": 0, "id": "", "function": {"arguments": arguments}}]}, said=arguments)


@functools.lru_cache(64)
def _text_event(text: str) -> bytes:
    return _event({"content": text}, said=text)


def _cycled(words: tuple[str, ...], count: int) -> tuple[str, ...]:
    return tuple(itertools.islice(itertools.cycle(words), count))


type Object = dict[str, object]

_ITEM_ID = "fc_0a1363204f5a6fae016a1f595d612c81978ef18dfb79594b77"
_MESSAGE_ID = "msg_0a1363204f5a6fae016a1f595d612c81978ef18dfb7959aa01"
_ITEM: Object = {"id": _ITEM_ID, "type": "function_call", "call_id": CALL_ID, "name": TOOL}
_ITEM_OF_TEXT: Object = {"id": _MESSAGE_ID, "type": "message", "role": "assistant"}
_RESPONSE: Object = {
    "id": "resp_0a1363204f5a6fae016a1f595c61608197850567752d709e1b",
    "object": "response",
    "created_at": 1780439388,
    "model": "gpt-4.1-mini-2025-04-14",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
_ANTHROPIC_USAGE: Object = {"input_tokens": 450, "output_tokens": 24}
_ANTHROPIC_MESSAGE: Object = {
    "id": "msg_01TZAz4krKFibFDdstrarQQV",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": _ANTHROPIC_USAGE,
}


class Protocol(NamedTuple):
    """A dialect, where it is asked for, and a load in its words. Framing events come on top of the load's."""

    name: str
    path: str
    blocks: Callable[[Load], Iterator[bytes]]


def responses(load: Load) -> Iterator[Object]:
    """The events of the Responses API, which a WebSocket sends as messages."""
    return ({**event, "sequence_number": number} for number, event in enumerate(_response_events(load)))


def _response_events(load: Load) -> Iterator[Object]:
    yield {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress", "output": []}}
    output: list[Object] = []
    if load.texts:
        message: Object = {**_ITEM_OF_TEXT, "status": "completed", "content": [_part("".join(load.texts))]}
        yield from _response_text(load, message)
        output.append(message)
    at = len(output)
    where: Object = {"item_id": _ITEM_ID, "output_index": at}
    opened = {**_ITEM, "status": "in_progress", "arguments": ""}
    yield {"type": "response.output_item.added", "output_index": at, "item": opened}
    for delta in load.pieces:
        yield {"type": "response.function_call_arguments.delta", "delta": delta, **_padded(where, delta)}
    arguments = load.call.arguments
    yield {"type": "response.function_call_arguments.done", **where, "arguments": arguments, "name": TOOL}
    output.append({**_ITEM, "status": "completed", "arguments": arguments})
    yield {"type": "response.output_item.done", "output_index": at, "item": output[-1]}
    yield {"type": "response.completed", "response": {**_RESPONSE, "status": "completed", "output": output}}


def _response_text(load: Load, message: Object) -> Iterator[Object]:
    where: Object = {"item_id": _MESSAGE_ID, "output_index": 0, "content_index": 0}
    opened = {**_ITEM_OF_TEXT, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": opened}
    yield {"type": "response.content_part.added", **where, "part": _part("")}
    for delta in load.texts:
        yield {"type": "response.output_text.delta", "delta": delta, "logprobs": [], **_padded(where, delta)}
    whole = "".join(load.texts)
    yield {"type": "response.output_text.done", **where, "text": whole, "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": _part(whole)}
    yield {"type": "response.output_item.done", "output_index": 0, "item": message}


def _padded(where: Object, delta: str) -> Object:
    return {"item_id": where["item_id"], "obfuscation": padding(delta), **where}


def _part(text: str) -> Object:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def _anthropic(load: Load) -> Iterator[bytes]:
    yield _sse({"type": "message_start", "message": _ANTHROPIC_MESSAGE})
    at = 0
    if load.texts:
        yield from _block(at, {"type": "text", "text": ""}, "text_delta", "text", load.texts)
        at = 1
    tool: Object = {"type": "tool_use", "id": CALL_ID, "name": TOOL, "input": {}}
    yield from _block(at, tool, "input_json_delta", "partial_json", load.pieces)
    stop: Object = {"stop_reason": "tool_use", "stop_sequence": None}
    yield _sse({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 50}})
    yield _sse({"type": "message_stop"})


def _block(at: int, block: Object, kind: str, key: str, deltas: tuple[str, ...]) -> Iterator[bytes]:
    yield _sse({"type": "content_block_start", "index": at, "content_block": block})
    for number, delta in enumerate(deltas):
        event = _sse({"type": "content_block_delta", "index": at, "delta": {"type": kind, key: delta}})
        # Anthropic's own padding: white space before the last brace.
        yield event.replace(b"}}\n", b"}" + b" " * (number * 7 % 15) + b"}\n")
    yield _sse({"type": "content_block_stop", "index": at})


def _sse(event: Object) -> bytes:
    data = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


PROTOCOLS = (
    Protocol("openai-chat", "/v1/chat/completions", Load.blocks),
    Protocol("openai-responses", "/v1/responses", lambda load: map(_sse, responses(load))),
    Protocol("anthropic", "/v1/messages", _anthropic),
)
