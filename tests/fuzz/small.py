"""Small random healthy streams, in which a mutation is more likely to affect two calls at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.fuzz.corpus import Seed
from tests.fuzz.messages import MESSAGES, of_lines

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

type Json = dict[str, Any]

ARGUMENTS: Final = ('{"a":1}', '{"b":2}', "{}", '{"a":{"b":1}}', '{"c":"x"}')
NAMES: Final = "fgh"


def drawn(protocols: Sequence[str], dice: random.Random) -> Seed | None:
    """Return a stream of one of these protocols, or `None` if none is supported."""
    known = [protocol for protocol in protocols if protocol in STREAMS]
    if not known:
        return None
    protocol = dice.choice(known)
    events = STREAMS[protocol](dice)
    if protocol == "bedrock":
        lines = [f"{one.pop('event')} {json.dumps(one)}\n".encode() for one in events if isinstance(one, dict)]
        return Seed("small", protocol, of_lines(lines), MESSAGES)
    if protocol == "ollama":
        return Seed("small", protocol, b"".join(b"%s\n" % _text(one) for one in events), "application/x-ndjson")
    body = b"".join(b"%sdata: %s\n\n" % (_event_line(one), _text(one)) for one in events)
    return Seed("small", protocol, body, "text/event-stream")


def _text(event: Json | str) -> bytes:
    return (event if isinstance(event, str) else json.dumps(event)).encode()


def _event_line(event: Json | str) -> bytes:
    kind = event.get("event_type", event.get("type")) if isinstance(event, dict) else None
    return b"event: %s\n" % str(kind).encode() if kind else b""


def _fragments(dice: random.Random) -> list[str]:
    """Return arguments in one to three fragments, which may be empty."""
    text = dice.choice(ARGUMENTS)
    cuts = sorted(dice.randint(0, len(text)) for _ in range(dice.choice((0, 1, 1, 2))))
    return [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _calls(dice: random.Random) -> range:
    return range(dice.choice((1, 1, 2, 2, 3)))


def _chat(dice: random.Random) -> list[Json | str]:
    deltas: list[Json] = [{"role": "assistant", "content": "hi"}] if dice.random() < 0.3 else []
    for index in _calls(dice):
        fragments = ([""] if dice.random() < 0.5 else []) + _fragments(dice)
        header: Json = {"id": f"c{index}", "type": "function"}
        for at, text in enumerate(fragments):
            named = {"name": NAMES[index]} if not at else {}
            entry = {"index": index, **({} if at else header), "function": {**named, "arguments": text}}
            if not at and deltas and "tool_calls" in deltas[-1] and dice.random() < 0.2:
                deltas[-1]["tool_calls"].append(entry)
            else:
                deltas.append({"tool_calls": [entry]})
    return [*(_chunk(delta) for delta in deltas), _chunk({}, "tool_calls"), "[DONE]"]


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"object": "chat.completion.chunk", "choices": choices}


def _responses(dice: random.Random) -> list[Json | str]:
    events: list[Json | str] = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}
    ]
    output: list[Json] = []
    if dice.random() < 0.3:
        text = {"type": "output_text", "text": "hi"}
        message = {"type": "message", "id": "m", "role": "assistant", "content": [text]}
        delta = {"item_id": "m", "content_index": 0, "delta": "hi"}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}})
        events.append({"type": "response.output_text.delta", "output_index": 0, **delta})
        events.append({"type": "response.output_item.done", "output_index": 0, "item": message})
        output.append(message)
    for number in _calls(dice):
        index, fragments = len(output), _fragments(dice)
        identity = {"output_index": index, "item_id": f"fc_{number}"}
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": NAMES[number]}
        complete = {**item, "arguments": "".join(fragments)}
        events.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}})
        events += [{"type": "response.function_call_arguments.delta", **identity, "delta": text} for text in fragments]
        events.append({"type": "response.function_call_arguments.done", **identity, "arguments": complete["arguments"]})
        events.append({"type": "response.output_item.done", "output_index": index, "item": complete})
        output.append(complete)
    events.append({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}})
    return events


def _anthropic(dice: random.Random) -> list[Json | str]:
    message = {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    blocks: list[tuple[Json, list[Json]]] = []
    if dice.random() < 0.3:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": "hi"}]))
    for number in _calls(dice):
        start = {"type": "tool_use", "id": f"t{number}", "name": NAMES[number], "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": text} for text in _fragments(dice)]))
    events: list[Json | str] = [{"type": "message_start", "message": message}]
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}
    return [*events, end, {"type": "message_stop"}]


def _bedrock(dice: random.Random) -> list[Json | str]:
    events: list[Json | str] = [{"event": "messageStart", "role": "assistant"}]
    index = 0
    if dice.random() < 0.3:
        events.append({"event": "contentBlockDelta", "contentBlockIndex": 0, "delta": {"text": "hi"}})
        events.append({"event": "contentBlockStop", "contentBlockIndex": 0})
        index = 1
    for number in _calls(dice):
        where = {"contentBlockIndex": index + number}
        tool = {"toolUseId": f"t{number}", "name": NAMES[number]}
        events.append({"event": "contentBlockStart", **where, "start": {"toolUse": tool}})
        events += [
            {"event": "contentBlockDelta", **where, "delta": {"toolUse": {"input": text}}} for text in _fragments(dice)
        ]
        events.append({"event": "contentBlockStop", **where})
    return [*events, {"event": "messageStop", "stopReason": "tool_use"}]


def _cohere(dice: random.Random) -> list[Json | str]:
    message = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events: list[Json | str] = [{"type": "message-start", "id": "m", "delta": {"message": message}}]
    if dice.random() < 0.3:
        events.append({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "hi"}}})
    for index in _calls(dice):
        call = {"id": f"t{index}", "type": "function", "function": {"name": NAMES[index], "arguments": ""}}
        events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call}}})
        for text in _fragments(dice):
            more = {"tool_calls": {"function": {"arguments": text}}}
            events.append({"type": "tool-call-delta", "index": index, "delta": {"message": more}})
        events.append({"type": "tool-call-end", "index": index})
    return [*events, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {}}}, "[DONE]"]


def _interactions(dice: random.Random) -> list[Json | str]:
    head: Json = {"id": "i", "object": "interaction"}
    steps: list[tuple[Json, list[Json]]] = []
    if dice.random() < 0.3:
        steps.append(({"type": "model_output"}, [{"type": "text", "text": "hi"}]))
    for number in _calls(dice):
        start = {"type": "function_call", "id": f"t{number}", "name": NAMES[number], "arguments": {}}
        steps.append((start, [{"type": "arguments_delta", "arguments": text} for text in _fragments(dice)]))
    events: list[Json | str] = [{"event_type": "interaction.created", "interaction": {**head, "status": "in_progress"}}]
    for index, (start, deltas) in enumerate(steps):
        events.append({"event_type": "step.start", "index": index, "step": start})
        events += [{"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"event_type": "step.stop", "index": index})
    end = {"event_type": "interaction.completed", "interaction": {**head, "status": "requires_action"}}
    return [*events, end, "[DONE]"]


def _gemini(dice: random.Random) -> list[Json | str]:
    calls = [{"functionCall": {"name": NAMES[one], "args": json.loads(dice.choice(ARGUMENTS))}} for one in _calls(dice)]
    parts: list[Json] = ([{"text": "hi"}] if dice.random() < 0.3 else []) + calls
    content = [{"content": {"role": "model", "parts": [part]}, "index": 0} for part in parts]
    content[-1]["finishReason"] = "STOP"
    return [{"candidates": [one], "modelVersion": "g"} for one in content]


def _ollama(dice: random.Random) -> list[Json | str]:
    contents: list[Json] = [{"content": "hi"}] if dice.random() < 0.3 else []
    for one in _calls(dice):
        function = {"name": NAMES[one], "arguments": json.loads(dice.choice(ARGUMENTS))}
        contents.append({"content": "", "tool_calls": [{"function": function}]})
    lines: list[Json | str] = [
        {"model": "m", "message": {"role": "assistant"} | one, "done": False} for one in contents
    ]
    return [
        *lines,
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]


STREAMS: Final[dict[str, Callable[[random.Random], list[Json | str]]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "cohere-v2": _cohere,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "ollama": _ollama,
}
