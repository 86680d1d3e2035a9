"""Reads streams as a plain client of each protocol does.

No code is shared with toolstream's readers: a bug in shared code would stay hidden.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fuzz.blocks import Block, parsed, split_blocks
from tests.fuzz.messages import MESSAGES, is_sound

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "summary",
}
ENDS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done"}
CONVERSE = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")


@dataclass
class ClientCall:
    """A call as a plain client assembles it."""

    key: object
    name: str = ""
    parts: list[str] = field(default_factory=list)
    full_text: str | None = None
    """Complete arguments from a single event; they take precedence over the parts."""
    closed: bool = False
    """Whether an event closed this call."""
    odd: bool = False
    """Whether a fragment was an object: clients fail to append it."""
    mixed: bool = False
    """Whether it contains several calls without positions of their own."""
    only_in_last_event: bool = False
    """Whether it is only in the terminal event, in the place of another call."""
    text_before: dict[str, int] = field(default_factory=dict)
    """Number of characters without whitespace before the call, by channel."""
    text_before_header: dict[str, int] = field(default_factory=dict)
    """The same before the call's header, which may follow its first arguments."""
    opened: bool = False
    """Whether its header was received."""
    item: object = None
    """The id of the item that started it."""

    @property
    def text(self) -> str:
        """The text of the arguments."""
        return "".join(self.parts) if self.full_text is None else self.full_text

    @property
    def value(self) -> dict[str, Any] | None:
        """The arguments, if they are one complete JSON object."""
        value = None if self.odd else parsed(self.text)
        return value if isinstance(value, dict) else None


@dataclass
class ClientReading:
    """A stream as a plain client reads it."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    """Text deltas by channel: visible text, reasoning, refusal."""
    calls: dict[object, ClientCall] = field(default_factory=dict)
    finished: bool = False
    """Whether the stream has a finish reason or an end."""
    ended: bool = False
    """Whether the terminal event was received: a client reads nothing after it."""
    closed_empty: bool = False
    """Whether an event closed a call without arguments; the terminal event may have arguments for it."""

    @property
    def text(self) -> dict[str, str]:
        """The text of each channel that is not empty."""
        return {channel: text for channel, parts in self.texts.items() if (text := "".join(parts))}

    def add_text(self, channel: str, text: object) -> None:
        """Add a text delta."""
        if text and isinstance(text, str):
            self.texts.setdefault(channel, []).append(text)

    def call(self, key: object, *, fresh: bool = False) -> ClientCall:
        """Return the call of `key`, created if needed; with `fresh`, always a new call."""
        if fresh:
            self.release(key)
        if key not in self.calls:
            before = self._text_so_far()
            self.calls[key] = ClientCall(key, text_before=before, text_before_header=before)
        return self.calls[key]

    def mark_opened(self, call: ClientCall) -> None:
        """Move a call to the current position when its header is received."""
        if not call.opened:
            call.opened, call.text_before_header = True, self._text_so_far()
            key = next(key for key, one in self.calls.items() if one is call)
            self.calls[key] = self.calls.pop(key)

    def _text_so_far(self) -> dict[str, int]:
        return {name: len("".join(text.split())) for name, text in self.text.items()}

    def release(self, key: object) -> None:
        """Free the key for another call; the call that had it keeps its position."""
        if key in self.calls:
            other = (key, len(self.calls))
            self.calls = {other if one == key else one: call for one, call in self.calls.items()}


def read(protocol: str, body: bytes, content_type: str) -> ClientReading:
    """Read a body without its truncated end."""
    plain = ClientReading()
    reader = READERS.get(protocol)
    for block in split_blocks(body, content_type).blocks if reader else ():
        if plain.ended or reader is None or (content_type == MESSAGES and not is_sound(block.lines[0])):
            break
        reader(plain, block)
    return plain


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _equal(number: object) -> object:
    """Return an index as clients compare it: `0.0` equals `0`."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _number(index: object, place: int) -> int:
    """Return a choice's index, also from text, or its position."""
    number = int(index) if isinstance(index, str) and index.isdecimal() else _equal(index)
    return number if type(number) is int else place


def _chat(plain: ClientReading, block: Block) -> None:
    if block.data is not None and block.data.strip() == b"[DONE]":
        plain.ended = plain.finished = True
        return
    for place, choice in enumerate(_list(_dict(block.payload).get("choices"))):
        number, delta = _dict(choice).get("index"), _dict(_dict(choice).get("delta"))
        number = _number(number, place)
        for channel in ("content", "reasoning_content", "reasoning", "refusal"):
            plain.add_text(f"{channel} of {number}", delta.get(channel))
        entries = delta.get("tool_calls")
        if isinstance(entries, dict):  # no client reads it, but its call starts here
            plain.call((str(number), str(_equal(entries.get("index")))))
        if isinstance(legacy := delta.get("function_call"), dict):  # likewise; clients that read it have a call here
            known = (str(number), "function_call") in plain.calls
            call = plain.call((str(number), "function_call"))
            call.mixed = call.mixed or (known and "name" in legacy)
        for entry in _list(entries):
            function = _dict(_dict(entry).get("function"))
            call = plain.call((str(number), str(_equal(_dict(entry).get("index")))))
            call.name = call.name or _text(function.get("name"))
            call.parts.append(_text(function.get("arguments")))
            call.odd = call.odd or isinstance(function.get("arguments"), dict)
        if _text(_dict(choice).get("finish_reason")):
            plain.finished = True


def _responses(plain: ClientReading, block: Block) -> None:
    """Read an event; an event with invalid data ends nothing, even if its name is terminal."""
    payload = _dict(block.payload)
    kind = _text(payload.get("type", block.name if payload else ""))
    if kind in TEXT_DELTAS:
        plain.add_text(TEXT_DELTAS[kind], payload.get("delta"))
    elif kind in {"response.output_item.added", "response.output_item.done"}:
        _item(plain, _dict(payload.get("item")), payload.get("output_index"), done=kind.endswith("done"))
    elif kind.startswith("response.function_call_arguments."):
        key = str(_equal(payload.get("output_index")))
        if key not in plain.calls and kind.endswith("delta") and not payload.get("delta"):
            return
        call = plain.call(key)
        if kind.endswith("delta"):
            call.parts.append(_text(payload.get("delta")))
        elif kind.endswith("done"):
            call.full_text, call.closed = _text(payload.get("arguments")), True
            plain.closed_empty = plain.closed_empty or call.full_text.strip() in {"", "null"}
    elif kind in ENDS:
        plain.ended = plain.finished = True
        if kind in {"response.completed", "response.done"}:
            for place, item in enumerate(_list(_dict(payload.get("response")).get("output"))):
                _item(plain, _dict(item), place, done=True, last=True)


def _item(plain: ClientReading, item: dict[str, Any], place: object, *, done: bool, last: bool = False) -> None:
    """Read an item; for clients of single events, a different complete call in the `last` event is another call."""
    if item.get("type") != "function_call":
        return
    key = str(_equal(place))
    before = plain.calls.get(key)
    arguments = _text(item.get("arguments"))
    value = parsed(arguments)
    other = before is not None and before.value is not None and isinstance(value, dict) and value != before.value
    unopened = before is not None and not before.name and not done  # the fragments before belong to no call
    call = plain.call(key, fresh=unopened or (last and other))
    call.mixed = call.mixed or (not done and call.opened and item.get("id") != call.item)
    call.item = call.item if call.opened else item.get("id")
    plain.mark_opened(call)
    call.only_in_last_event = call.only_in_last_event or (last and other)
    name = _text(item.get("name"))
    call.mixed, call.name = call.mixed or bool(name and call.name and name != call.name), name or call.name
    plain.closed_empty = plain.closed_empty or (done and not last and arguments.strip() in {"", "null"})
    if done:
        call.full_text, call.closed = arguments, True


def _anthropic(plain: ClientReading, block: Block) -> None:
    payload = _dict(block.payload)
    kind, key = payload.get("type", block.name), str(_equal(payload.get("index")))
    match kind:
        case "content_block_start":
            started = _dict(payload.get("content_block"))
            if started.get("type") == "tool_use":
                call = plain.call(key, fresh=True)
                call.name = _text(started.get("name"))
                return
            plain.release(key)
            if started.get("type") == "text":
                plain.add_text("text", started.get("text"))
        case "content_block_delta":
            _block_delta(plain, _dict(payload.get("delta")), key)
        case "content_block_stop" if key in plain.calls:
            plain.calls[key].closed = True
        case "message_delta" if _text(_dict(payload.get("delta")).get("stop_reason")):
            plain.finished = True
        case "message_stop":
            plain.ended = plain.finished = True


def _block_delta(plain: ClientReading, delta: dict[str, Any], key: str) -> None:
    kind = delta.get("type")
    if kind == "text_delta":
        plain.add_text("text", delta.get("text"))
    elif kind == "thinking_delta":
        plain.add_text("thinking", delta.get("thinking"))
    elif key in plain.calls and kind == "input_json_delta":
        plain.calls[key].parts.append(_text(delta.get("partial_json")))
        plain.calls[key].odd = plain.calls[key].odd or isinstance(delta.get("partial_json"), dict)


def _gemini(plain: ClientReading, block: Block) -> None:
    for candidate in _list(_dict(block.payload).get("candidates")):
        for part in _list(_dict(_dict(candidate).get("content")).get("parts")):
            plain.add_text("thought" if _dict(part).get("thought") is True else "text", _dict(part).get("text"))
            function = _dict(_dict(part).get("functionCall"))
            if function:
                _complete_call(plain, function.get("name"), function.get("args"))
        plain.finished = plain.finished or bool(_dict(candidate).get("finishReason"))


def _ollama(plain: ClientReading, block: Block) -> None:
    payload = _dict(block.payload)
    message = _dict(payload.get("message"))
    for channel in ("content", "thinking"):
        plain.add_text(channel, message.get(channel))
    for entry in _list(message.get("tool_calls")):
        function = _dict(_dict(entry).get("function"))
        _complete_call(plain, function.get("name"), function.get("arguments"))
    if payload.get("done") is True:
        plain.finished = True  # not the end: Ollama's clients read lines until the body ends


def _cohere(plain: ClientReading, block: Block) -> None:
    if block.data is not None and block.data.strip() == b"[DONE]":
        plain.ended = plain.finished = True
        return
    payload = _dict(block.payload)
    delta, key = _dict(payload.get("delta")), str(_equal(payload.get("index")))
    message = _dict(delta.get("message"))
    function = _dict(_dict(message.get("tool_calls")).get("function"))
    match payload.get("type", block.name):
        case "tool-plan-delta":
            plain.add_text("plan", message.get("tool_plan"))
        case "content-start" | "content-delta":
            for channel in ("text", "thinking"):
                plain.add_text(channel, _dict(message.get("content")).get(channel))
        case "tool-call-start":
            call = plain.call(key, fresh=True)
            call.name = _text(function.get("name"))
            call.parts.append(_text(function.get("arguments")))
            call.odd = isinstance(function.get("arguments"), dict)
        case "tool-call-delta" if key in plain.calls:
            plain.calls[key].parts.append(_text(function.get("arguments")))
            plain.calls[key].odd = plain.calls[key].odd or isinstance(function.get("arguments"), dict)
        case "tool-call-end" if key in plain.calls:
            plain.calls[key].closed = True
        case "message-end" if _text(delta.get("finish_reason")):
            plain.finished = True


def _interactions(plain: ClientReading, block: Block) -> None:
    if block.data is not None and block.data.strip() == b"[DONE]":
        plain.ended = plain.finished = True
        return
    payload = _dict(block.payload)
    step, delta = _dict(payload.get("step")), _dict(payload.get("delta"))
    key = str(_equal(payload.get("index")))
    match payload.get("event_type", block.name):
        case "step.start" if step.get("type") == "function_call":
            call = plain.call(key, fresh=True)
            call.name = _text(step.get("name"))
        case "step.start":
            plain.release(key)
            for channel in ("content", "summary"):
                for part in _list(step.get(channel)):
                    plain.add_text(channel, _dict(part).get("text"))
        case "step.delta":
            plain.add_text("content", delta.get("text"))
            plain.add_text("summary", _dict(delta.get("content")).get("text"))
            if key in plain.calls and delta.get("type") == "arguments_delta":
                plain.calls[key].parts.append(_text(delta.get("arguments")))
                plain.calls[key].odd = plain.calls[key].odd or isinstance(delta.get("arguments"), dict)
        case "step.stop" if key in plain.calls:
            plain.calls[key].closed = True
        case "interaction.completed" if _text(_dict(payload.get("interaction")).get("status")):
            plain.finished = True


def _converse(plain: ClientReading, block: Block) -> None:
    """Read an event by the name of its message, or, as Nova models send it, by its only key."""
    payload = _dict(block.payload)
    keyed = next((key for key in CONVERSE if isinstance(payload.get(key), dict)), "")
    kind, body = (block.name, payload) if block.name in CONVERSE else (keyed, _dict(payload.get(keyed)))
    key, delta = str(_equal(body.get("contentBlockIndex"))), _dict(body.get("delta"))
    tool = _dict(_dict(body.get("start")).get("toolUse"))
    match kind:
        case "contentBlockStart" if tool and not _text(tool.get("type")).startswith("server_"):
            call = plain.call(key, fresh=True)
            call.name = _text(tool.get("name"))
        case "contentBlockStart":
            plain.release(key)
        case "contentBlockDelta":
            plain.add_text("text", delta.get("text"))
            plain.add_text("thinking", _dict(delta.get("reasoningContent")).get("text"))
            if key in plain.calls and "toolUse" in delta:
                fragment = _dict(delta["toolUse"]).get("input")
                plain.calls[key].parts.append(_text(fragment))
                plain.calls[key].odd = plain.calls[key].odd or isinstance(fragment, dict)
        case "contentBlockStop" if key in plain.calls:
            plain.calls[key].closed = True
        case "messageStop" if _text(body.get("stopReason")):
            plain.finished = True
    plain.ended = plain.ended or block.name.endswith("Exception")


def _complete_call(plain: ClientReading, name: object, arguments: object) -> None:
    """Add a call that is complete in one event."""
    call = plain.call(len(plain.calls))
    call.name, call.closed = _text(name), True
    call.full_text = json.dumps(arguments) if isinstance(arguments, dict) else ""


READERS: dict[str, Callable[[ClientReading, Block], None]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "openai-realtime": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
    "cohere-v2": _cohere,
    "gemini-interactions": _interactions,
    "bedrock": _converse,
}
