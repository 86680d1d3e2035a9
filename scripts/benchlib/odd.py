"""Odd arguments, and many calls, side by side with the plain arguments of one: reading only, and safe repairs."""

from __future__ import annotations

import gc
import json
import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from benchlib.rig import WrongCallsError
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.anthropic import responses
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
    if record is None or not record.calls or line.error is not None:
        raise WrongCallsError(str(record)[:300])
    return seconds


def _block(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    payload = {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def _chat(deltas: Iterable[dict[str, object]]) -> Iterator[bytes]:
    """A Chat stream with these entries of `tool_calls`."""
    yield from (_block({"tool_calls": [entry]}) for entry in deltas)
    yield _block({}, "tool_calls")
    yield b"data: [DONE]\n\n"


def _one_call(pieces: Iterable[str]) -> Iterator[bytes]:
    return _chat(chain([_HEAD], ({"index": 0, "function": {"arguments": piece}} for piece in pieces)))


def _many_calls(size: int) -> Iterator[bytes]:
    functions = ({"name": "f", "arguments": f'{{"a":{at}}}'} for at in range(size))
    entries = ({"index": at, "id": f"call_{at}", "type": "function", "function": f} for at, f in enumerate(functions))
    return _chat(entries)


def _blocks(size: int) -> Iterator[bytes]:
    calls = [{"type": "tool_use", "id": f"toolu_{at}", "name": "f", "input": {"a": at}} for at in range(size)]
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": calls, "usage": usage}
    return responses.streamed({**message, "stop_reason": "tool_use"}, {})


STREAMS: Final[dict[str, Callable[[int], Iterator[bytes]]]] = {
    "plain": lambda size: _one_call(['{"a":"', *["word \\n"] * size, '"}']),
    "encoded twice": lambda size: _one_call(['"{\\"a\\":\\"', *["word \\\\n"] * size, '\\"}"']),
    "garbage behind them": lambda size: _one_call([_WHOLE, *["<|x|>"] * size]),
    "sent again": lambda size: _one_call([_WHOLE] * size),
    "sent again, in pieces": lambda size: _one_call([_WHOLE[:5], _WHOLE[5:]] * (size // 2)),
    "cumulative": lambda size: _one_call('{"a":"' + "x" * min(at, _GROWN) for at in range(1, size)),
    "a call an event": _many_calls,
    "a block for each call": _blocks,
}
