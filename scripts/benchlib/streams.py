"""The streams of a measurement: chat completions of any length, and the same load in other protocols."""

from __future__ import annotations

import enum
import functools
import itertools
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.protocols.anthropic import responses
from toolstream_core.protocols.responses import responses as openai

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


CALL_ID = "call_8VqXn1kPzYtR4sLwD2mJcB7e"
TOOL = "write_file"
_OPENING = '{"path":"src/main.py","content":"'
_CLOSING = '"}'
_WORDS = (" the", " stream", "ing", " of", " tokens", ",", " which", " é", " a", " model", ".", " And", "\n")
_TOKENS = ("def", " main", "():", "\\n", "   ", " return", ' \\"x', '\\"', " #", " naïve", "_a", "\\t", " =")


class Kind(enum.StrEnum):
    """The content of most events."""

    CONTENT = "content-heavy"
    """95 of 100 deltas are text; the others, after them, are the arguments of one call."""
    TOOL = "tool-heavy"
    """Every delta is a fragment of the arguments of one call."""
    BROKEN = "broken"
    """Tool-heavy, and every fragment has `"id":""`: a fault injects it, and a repair rewrites each event."""


HEALTHY = (Kind.CONTENT, Kind.TOOL)
_PADDING = "aB3xK9mQ2zT7"
_ID = "0a1363204f5a6fae016a1f595d612c81978ef18dfb79594b77"

_AROUND = {Kind.CONTENT: 6, Kind.TOOL: 5, Kind.BROKEN: 5}
"""The number of events that are neither text nor a fragment between the first and the last."""


class ExpectedCall(NamedTuple):
    """The call that a reader of the stream must report."""

    id: str
    name: str
    arguments: str


class Digest(NamedTuple):
    """Length and checksum of a body."""

    length: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Load:
    """A stream of so many SSE events of a kind, including `[DONE]`."""

    kind: Kind
    events: int
    schedule: int = 0
    """Events in a second, one at a time; 0 is as fast as possible."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The deltas of text."""
        return _cycled(_WORDS, self.events - self._tokens - _AROUND[self.kind])

    @property
    def fragments(self) -> tuple[str, ...]:
        """The deltas of the call's arguments."""
        return (_OPENING, *_cycled(_TOKENS, self._tokens), _CLOSING)

    @property
    def call(self) -> ExpectedCall:
        """The call of the stream."""
        return ExpectedCall(CALL_ID, TOOL, "".join(self.fragments))

    def blocks(self) -> Iterator[bytes]:
        """The SSE events."""
        if self.texts:
            yield _event({"role": "assistant", "content": "", "refusal": None})
            yield from map(_text_event, self.texts)
            yield _event({"tool_calls": [_HEADER]})
        else:
            yield _event({"role": "assistant", "content": None, "tool_calls": [_HEADER], "refusal": None})
        yield from map(_broken_event if self.kind is Kind.BROKEN else _argument_event, self.fragments)
        yield _event({}, finish="tool_calls")
        yield b"data: [DONE]\n\n"

    def wire(self) -> Iterator[bytes]:
        """An HTTP/1.1 chunk for each event, and the last chunk; batched unless the load is paced."""
        chunks = itertools.chain(map(as_chunk, self.blocks()), (b"0\r\n\r\n",))
        for batch in itertools.batched(chunks, 1 if self.schedule else 1000):
            yield b"".join(batch)

    @property
    def _tokens(self) -> int:
        """The number of fragments between the first and the last."""
        if self.kind is not Kind.CONTENT:
            return self.events - _AROUND[self.kind]
        return max(1, self.events // 20)


@functools.cache
def digest(load: Load) -> Digest:
    """The expected digest of the body of `load`."""
    length = checksum = 0
    for block in load.blocks():
        length += len(block)
        checksum = zlib.crc32(block, checksum)
    return Digest(length, checksum)


@functools.lru_cache(64)
def as_chunk(block: bytes) -> bytes:
    """`block` as one chunk of a chunked HTTP/1.1 body."""
    return b"%x\r\n%b\r\n" % (len(block), block)


_HEADER = {"index": 0, "id": CALL_ID, "type": "function", "function": {"name": TOOL, "arguments": ""}}


def _padding(text: str) -> str:
    """OpenAI's `obfuscation` field for a delta of `text`: it hides the length of the text."""
    return _PADDING[: max(1, 12 - len(text))]


def _event(delta: dict[str, object], finish: str | None = None, text: str = "") -> bytes:
    body = {
        "id": "chatcmpl-CHk2tJ9vQeXw7RzN4bYpLsUa3mDfG",
        "object": "chat.completion.chunk",
        "created": 1759848121,
        "model": "gpt-4.1-mini-2025-04-14",
        "service_tier": "default",
        "system_fingerprint": None,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "obfuscation": _padding(text),
    }
    return b"data: " + json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


@functools.lru_cache(64)
def _argument_event(arguments: str) -> bytes:
    return _event({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}, text=arguments)


@functools.lru_cache(64)
def _broken_event(arguments: str) -> bytes:
    return _event({"tool_calls": [{"index": 0, "id": "", "function": {"arguments": arguments}}]}, text=arguments)


@functools.lru_cache(64)
def _text_event(text: str) -> bytes:
    return _event({"content": text}, text=text)


def _cycled(words: tuple[str, ...], count: int) -> tuple[str, ...]:
    return tuple(itertools.islice(itertools.cycle(words), count))


class Protocol(NamedTuple):
    """A protocol, its path, and the events of a load. Framing events are added to the load's events."""

    name: str
    path: str
    blocks: Callable[[Load], Iterator[bytes]]


def response(load: Load) -> dict[str, Any]:
    """A complete response of the Responses API."""
    text = {"type": "output_text", "annotations": [], "logprobs": [], "text": "".join(load.texts)}
    message = {"id": f"msg_{_ID}", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    call = {"id": f"fc_{_ID}", "type": "function_call", "status": "completed", "call_id": CALL_ID, "name": TOOL}
    output = [*([message] if load.texts else []), {**call, "arguments": load.call.arguments}]
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    about = {"id": f"resp_{_ID}", "object": "response", "created_at": 1780439388, "model": "gpt-4.1-mini-2025-04-14"}
    return {**about, **settings, "status": "completed", "output": output}


def _message(load: Load) -> dict[str, Any]:
    """A complete response of Anthropic's Messages API."""
    call = {"type": "tool_use", "id": CALL_ID, "name": TOOL, "input": json.loads(load.call.arguments)}
    content = [*([{"type": "text", "text": "".join(load.texts)}] if load.texts else []), call]
    about = {"id": "msg_01TZAz4krKFibFDdstrarQQV", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    usage = {"input_tokens": 450, "output_tokens": 50}
    return {**about, "content": content, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}


def cut(load: Load) -> Callable[[str], tuple[str, ...]]:
    """A function that splits the text or arguments of a complete response into the deltas of the load."""
    return lambda text: load.fragments if text.startswith("{") else load.texts


PROTOCOLS: Final = (
    Protocol("openai-chat", "/v1/chat/completions", Load.blocks),
    Protocol("openai-responses", "/v1/responses", lambda load: openai.streamed(response(load), {}, cut(load))),
    Protocol("anthropic", "/v1/messages", lambda load: responses.streamed(_message(load), {}, cut(load))),
)
