"""Makes calls of what was text, as each protocol says them. What promotes a call has been named for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.defects.row import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from toolstream_core.protocols.chat.edit import entry_chunk
from toolstream_core.wire import json_access, numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model import Event, Json
    from toolstream_core.stages.leaks.scanner import Leaked
    from toolstream_core.wire.frame import Frame
    from toolstream_core.wire.write import Writer

type Payload = dict[str, Any]


class Promotion(NamedTuple):
    """Calls that are to be made, and where."""

    event: Event
    """The event that says the finish: they come before it."""
    calls: list[tuple[str, Leaked]]
    """Each with an id."""
    place: int
    """The next free index of a call, content block or output item."""
    writer: Writer


def _chat(one: Promotion) -> list[Frame]:
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    choice = one.event.said.finishes[0].choice
    number = one.event.frame.number
    out: list[Frame] = []
    for at, (identity, leaked) in enumerate(one.calls):
        function = {"name": leaked.name, "arguments": leaked.arguments}
        entry = {"index": one.place + at, "id": identity, "type": "function", "function": function}
        out.append(one.writer.make(entry_chunk(payload, choice, entry), number))
    choices = [
        {**each, "finish_reason": "tool_calls"} if json_access.get(each, "finish_reason") == "stop" else each
        for each in json_access.items(payload.get("choices"))
    ]
    return [*out, _finished(one, {**payload, "choices": choices})]


def _anthropic(one: Promotion) -> list[Frame]:
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    out: list[Frame] = []
    for at, (identity, leaked) in enumerate(one.calls):
        place = {"index": one.place + at}
        block = {"type": "tool_use", "id": identity, "name": leaked.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": leaked.arguments}
        out += _made(
            one,
            {"type": "content_block_start", **place, "content_block": block},
            {"type": "content_block_delta", **place, "delta": delta},
            {"type": "content_block_stop", **place},
        )
    delta = payload["delta"]
    changed = {**delta, "stop_reason": "tool_use"} if delta.get("stop_reason") == "end_turn" else delta
    return [*out, _finished(one, {**payload, "delta": changed})]


def _responses(one: Promotion) -> list[Frame]:
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    out: list[Frame] = []
    items: list[Json] = []
    for at, (identity, leaked) in enumerate(one.calls):
        own, place = f"fc_{identity}", {"output_index": one.place + at}
        item = {"type": "function_call", "id": own, "call_id": identity, "name": leaked.name, "arguments": ""}
        whole = {**item, "arguments": leaked.arguments, "status": "completed"}
        items.append(whole)
        kind = "response.function_call_arguments"
        out += _made(
            one,
            {"type": "response.output_item.added", **place, "item": {**item, "status": "in_progress"}},
            {"type": f"{kind}.delta", "item_id": own, **place, "delta": leaked.arguments},
            {"type": f"{kind}.done", "item_id": own, **place, "arguments": leaked.arguments},
            {"type": "response.output_item.done", **place, "item": whole},
        )
    response = payload.get("response")
    if isinstance(response, dict):
        output = [*json_access.items(response.get("output")), *items]
        return [*out, one.writer.rewrite(one.event.frame, {**payload, "response": {**response, "output": output}})]
    return [*out, one.event.frame]


def _gemini(one: Promotion) -> list[Frame]:
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    parts = [
        {"functionCall": {"name": leaked.name, "args": numbers.loads(leaked.arguments)}} for _, leaked in one.calls
    ]
    candidates = json_access.items(payload.get("candidates"))
    first = candidates[0] if candidates and isinstance(candidates[0], dict) else {}
    given = first.get("content")
    content = given if isinstance(given, dict) else {"role": "model"}
    said = {**first, "content": {**content, "parts": [*json_access.items(json_access.get(content, "parts")), *parts]}}
    return [one.writer.rewrite(one.event.frame, {**payload, "candidates": [said, *candidates[1:]]})]


def _ollama(one: Promotion) -> list[Frame]:
    payload: Payload = one.event.frame.json  # type: ignore[assignment] # a finish was read from it
    calls = [
        {"function": {"name": leaked.name, "arguments": numbers.loads(leaked.arguments)}} for _, leaked in one.calls
    ]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    line = {"model": payload.get("model"), "message": message, "done": False}
    return [one.writer.make(line, one.event.frame.number), one.event.frame]


def _finished(one: Promotion, payload: Payload) -> Frame:
    """The event that says the finish, as it came where it says the right one."""
    frame = one.event.frame
    return frame if payload == frame.json else one.writer.rewrite(frame, payload)


def _made(one: Promotion, *payloads: Payload) -> list[Frame]:
    return [one.writer.make(payload, one.event.frame.number, payload["type"]) for payload in payloads]


PREFIX: Final = {ANTHROPIC: "toolu_"}
"""How an id begins that is made up, by the dialect's name; elsewhere with `call_`."""

PROMOTE: Final[dict[str, Callable[[Promotion], list[Frame]]]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    ANTHROPIC: _anthropic,
    GEMINI: _gemini,
    OLLAMA: _ollama,
}
"""By the dialect's name."""
