"""Odd arguments, and many calls, side by side with the plain arguments of one: reading only, and safe repairs."""

from __future__ import annotations

import gc
import itertools
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchlib.rig import WrongCallsError
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_READ: Final = 16 * 1024
"""Bytes of one network read."""
_WHOLE: Final = '{"a":"x"}'
_GROWN: Final = 400
"""Characters up to which cumulative arguments grow."""
_HEAD: Final = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}


@dataclass(slots=True)
class Oddity:
    """Microseconds of an event, the best of the rounds."""

    name: str
    events: int
    reading: float
    repairing: float


def measure(sizes: Iterable[int], rounds: int) -> list[Oddity]:
    """Each kind of stream in each size."""
    return [_measured(name, make, size, rounds) for name, make in STREAMS.items() for size in sizes]


def _measured(name: str, make: Callable[[int], Iterator[bytes]], size: int, rounds: int) -> Oddity:
    blocks = list(make(size))
    body = b"".join(blocks)
    times = [min(_timed(body, settings) for _ in range(rounds)) for settings in (Settings(), Settings(SAFE))]
    reading, repairing = (seconds / len(blocks) * 1e6 for seconds in times)
    return Oddity(name, len(blocks), reading, repairing)


def _timed(body: bytes, settings: Settings) -> float:
    gc.collect()
    line = Session(StreamFacts(content_type="text/event-stream"), settings)
    start = time.process_time()
    for at in range(0, len(body), _READ):
        line.feed(body[at : at + _READ])
    line.end()
    record = line.record()
    seconds = time.process_time() - start
    if record is None or not record.calls or line.pipeline.error is not None:
        raise WrongCallsError(str(record)[:300])
    return seconds


def _plain(size: int) -> Iterator[str]:
    return iter(['{"a":"', *["word \\n"] * size, '"}'])


def _encoded(size: int) -> Iterator[str]:
    return iter(['"{\\"a\\":\\"', *["word \\\\n"] * size, '\\"}"'])


def _replayed(size: int) -> Iterator[str]:
    return itertools.repeat(_WHOLE, size)


def _replayed_in_pieces(size: int) -> Iterator[str]:
    return itertools.chain.from_iterable(itertools.repeat((_WHOLE[:5], _WHOLE[5:]), size // 2))


def _cumulative(size: int) -> Iterator[str]:
    return ('{"a":"' + "x" * min(at, _GROWN) for at in range(1, size))


def _garbage(size: int) -> Iterator[str]:
    return iter([_WHOLE, *["<|x|>"] * size])


def _block(payload: dict[str, object], name: str = "") -> bytes:
    event = f"event: {name}\n".encode() if name else b""
    return event + b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def _chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    return _block({"id": "c", "object": "chat.completion.chunk", "choices": [
        {"index": 0, "delta": delta, "finish_reason": finish}]})  # fmt: skip


def _chat(pieces: Callable[[int], Iterator[str]]) -> Callable[[int], Iterator[bytes]]:
    def blocks(size: int) -> Iterator[bytes]:
        yield _chunk({"tool_calls": [_HEAD]})
        for piece in pieces(size):
            yield _chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        yield _chunk({}, "tool_calls")
        yield b"data: [DONE]\n\n"

    return blocks


def _calls(size: int) -> Iterator[bytes]:
    for at in range(size):
        function = {"name": "f", "arguments": f'{{"a":{at}}}'}
        yield _chunk({"tool_calls": [{"index": at, "id": f"call_{at}", "type": "function", "function": function}]})
    yield _chunk({}, "tool_calls")
    yield b"data: [DONE]\n\n"


def _blocks(size: int) -> Iterator[bytes]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": usage}
    yield _block({"type": "message_start", "message": message}, "message_start")
    for at in range(size):
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": "f", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": f'{{"a":{at}}}'}
        yield _block({"type": "content_block_start", "index": at, "content_block": call}, "content_block_start")
        yield _block({"type": "content_block_delta", "index": at, "delta": delta}, "content_block_delta")
        yield _block({"type": "content_block_stop", "index": at}, "content_block_stop")
    yield _block({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}, "message_delta")
    yield _block({"type": "message_stop"}, "message_stop")


STREAMS: Final[dict[str, Callable[[int], Iterator[bytes]]]] = {
    "plain": _chat(_plain),
    "encoded twice": _chat(_encoded),
    "garbage behind them": _chat(_garbage),
    "sent again": _chat(_replayed),
    "sent again, in pieces": _chat(_replayed_in_pieces),
    "cumulative": _chat(_cumulative),
    "a call an event": _calls,
    "a block for each call": _blocks,
}
