"""What a plain client takes from a stream, by the letter of each protocol. Written for the fuzzer alone.

No reader here shares code with toolstream's own: a mistake in one would otherwise hide in the other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fuzz.blocks import Block, cut, parsed
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
class PlainCall:
    """A call as a plain client gathers it."""

    key: object
    name: str = ""
    parts: list[str] = field(default_factory=list)
    is_complete: str | None = None
    """Arguments that were said at once; they count before the parts."""
    over: bool = False
    """Whether an event of the protocol closed this call."""
    odd: bool = False
    """Whether an object came where text is joined: clients stop there."""
    mixed: bool = False
    """Whether it has several calls in it, which said no place of their own."""
    last: bool = False
    """Whether only the event by which the answer ends says it, in the place of another."""
    after: dict[str, int] = field(default_factory=dict)
    """How much text of each channel came before it, without white space."""
    header_after: dict[str, int] = field(default_factory=dict)
    """The same before what opens it, where arguments of it came before that."""
    opened: bool = False
    """Whether what opens it came."""
    item: object = None
    """The id of the item that opened it."""

    @property
    def text(self) -> str:
        """The argument text."""
        return "".join(self.parts) if self.is_complete is None else self.is_complete

    @property
    def value(self) -> dict[str, Any] | None:
        """The arguments, where they are one whole JSON object."""
        value = None if self.odd else parsed(self.text)
        return value if isinstance(value, dict) else None


@dataclass
class Plain:
    """A stream as a plain client takes it."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    """Text deltas, by what they are: visible text, reasoning, a refusal."""
    calls: dict[object, PlainCall] = field(default_factory=dict)
    over: bool = False
    """Whether the protocol said that the turn is over."""
    ended: bool = False
    """Whether the protocol's last event came: a client reads nothing behind it."""
    silent: bool = False
    """Whether an event closed a call without arguments, whatever the last event said of it."""

    @property
    def text(self) -> dict[str, str]:
        """Text by channel, channels without any left out."""
        return {channel: said for channel, parts in self.texts.items() if (said := "".join(parts))}

    def say(self, channel: str, text: object) -> None:
        """Take a text delta."""
        if text and isinstance(text, str):
            self.texts.setdefault(channel, []).append(text)

    def call(self, key: object, *, fresh: bool = False) -> PlainCall:
        """The call of `key`, made where it is new; `fresh`: a new one in any case."""
        if fresh:
            self.leave(key)
        if key not in self.calls:
            before = self._text_so_far()
            self.calls[key] = PlainCall(key, after=before, header_after=before)
        return self.calls[key]

    def opens(self, call: PlainCall) -> None:
        """What opens a call comes: its place is here, whatever came of its arguments before."""
        if not call.opened:
            call.opened, call.header_after = True, self._text_so_far()
            key = next(key for key, one in self.calls.items() if one is call)
            self.calls[key] = self.calls.pop(key)

    def _text_so_far(self) -> dict[str, int]:
        return {name: len("".join(said.split())) for name, said in self.text.items()}

    def leave(self, key: object) -> None:
        """Something else has this key now; the call that had it stays in its place."""
        if key in self.calls:
            other = (key, len(self.calls))
            self.calls = {other if one == key else one: call for one, call in self.calls.items()}


def read(dialect: str, body: bytes, content_type: str) -> Plain:
    """What a plain client takes from a body, what is cut off at its end left out."""
    plain = Plain()
    take = READERS.get(dialect)
    for block in cut(body, content_type).blocks if take else ():
        if plain.ended or take is None or (content_type == MESSAGES and not is_sound(block.lines[0])):
            break
        take(plain, block)
    return plain


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _equal(number: object) -> object:
    """To every client `0.0` is the same index as `0`."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _number(index: object, place: int) -> int:
    """A choice's number: its index, also as text, or its place."""
    number = int(index) if isinstance(index, str) and index.isdecimal() else _equal(index)
    return number if type(number) is int else place


def _chat(plain: Plain, block: Block) -> None:
    if block.data is not None and block.data.strip() == b"[DONE]":
        plain.ended = plain.over = True
        return
    for place, choice in enumerate(_list(_dict(block.payload).get("choices"))):
        number, delta = _dict(choice).get("index"), _dict(_dict(choice).get("delta"))
        number = _number(number, place)
        for channel in ("content", "reasoning_content", "reasoning", "refusal"):
            plain.say(f"{channel} of {number}", delta.get(channel))
        entries = delta.get("tool_calls")
        if isinstance(entries, dict):  # nobody reads it, but its call begins here
            plain.call((str(number), str(_equal(entries.get("index")))))
        if isinstance(legacy := delta.get("function_call"), dict):  # as little, and who reads it has a call here
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
            plain.over = True


def _responses(plain: Plain, block: Block) -> None:
    """An event that nobody can read ends nothing, whatever its name says: clients raise there, or pass over it."""
    payload = _dict(block.payload)
    kind = _text(payload.get("type", block.name if payload else ""))
    if kind in TEXT_DELTAS:
        plain.say(TEXT_DELTAS[kind], payload.get("delta"))
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
            call.is_complete, call.over = _text(payload.get("arguments")), True
            plain.silent = plain.silent or call.is_complete.strip() in {"", "null"}
    elif kind in ENDS:
        plain.ended = plain.over = True
        if kind in {"response.completed", "response.done"}:
            for place, item in enumerate(_list(_dict(payload.get("response")).get("output"))):
                _item(plain, _dict(item), place, done=True, last=True)


def _item(plain: Plain, item: dict[str, Any], place: object, *, done: bool, last: bool = False) -> None:
    """An item; where the `last` event says another whole call, clients that go by single events have the first too."""
    if item.get("type") != "function_call":
        return
    key = str(_equal(place))
    before = plain.calls.get(key)
    value = parsed(_text(item.get("arguments")))
    other = before is not None and before.value is not None and isinstance(value, dict) and value != before.value
    unopened = before is not None and not before.name and not done  # what came before is nobody's
    call = plain.call(key, fresh=unopened or (last and other))
    call.mixed = call.mixed or (not done and call.opened and item.get("id") != call.item)
    call.item = call.item if call.opened else item.get("id")
    plain.opens(call)
    call.last = call.last or (last and other)
    name = _text(item.get("name"))
    call.mixed, call.name = call.mixed or bool(name and call.name and name != call.name), name or call.name
    plain.silent = plain.silent or (done and not last and _text(item.get("arguments")).strip() in {"", "null"})
    if done:
        call.is_complete, call.over = _text(item.get("arguments")), True


def _anthropic(plain: Plain, block: Block) -> None:
    payload = _dict(block.payload)
    kind, key = payload.get("type", block.name), str(_equal(payload.get("index")))
    match kind:
        case "content_block_start":
            started = _dict(payload.get("content_block"))
            if started.get("type") == "tool_use":
                call = plain.call(key, fresh=True)
                call.name = _text(started.get("name"))
                return
            plain.leave(key)
            if started.get("type") == "text":
                plain.say("text", started.get("text"))
        case "content_block_delta":
            _block_delta(plain, _dict(payload.get("delta")), key)
        case "content_block_stop" if key in plain.calls:
            plain.calls[key].over = True
        case "message_delta" if _text(_dict(payload.get("delta")).get("stop_reason")):
            plain.over = True
        case "message_stop":
            plain.ended = plain.over = True


def _block_delta(plain: Plain, delta: dict[str, Any], key: str) -> None:
    kind = delta.get("type")
    if kind == "text_delta":
        plain.say("text", delta.get("text"))
    elif kind == "thinking_delta":
        plain.say("thinking", delta.get("thinking"))
    elif key in plain.calls and kind == "input_json_delta":
        plain.calls[key].parts.append(_text(delta.get("partial_json")))
        plain.calls[key].odd = plain.calls[key].odd or isinstance(delta.get("partial_json"), dict)


def _gemini(plain: Plain, block: Block) -> None:
    for candidate in _list(_dict(block.payload).get("candidates")):
        for part in _list(_dict(_dict(candidate).get("content")).get("parts")):
            plain.say("thought" if _dict(part).get("thought") is True else "text", _dict(part).get("text"))
            said = _dict(_dict(part).get("functionCall"))
            if said:
                _whole(plain, said.get("name"), said.get("args"))
        plain.over = plain.over or bool(_dict(candidate).get("finishReason"))


def _ollama(plain: Plain, block: Block) -> None:
    payload = _dict(block.payload)
    message = _dict(payload.get("message"))
    for channel in ("content", "thinking"):
        plain.say(channel, message.get(channel))
    for entry in _list(message.get("tool_calls")):
        said = _dict(_dict(entry).get("function"))
        _whole(plain, said.get("name"), said.get("arguments"))
    if payload.get("done") is True:
        plain.over = True  # not the end: Ollama's clients read lines until the body ends


def _cohere(plain: Plain, block: Block) -> None:
    if block.data is not None and block.data.strip() == b"[DONE]":
        plain.ended = plain.over = True
        return
    payload = _dict(block.payload)
    delta, key = _dict(payload.get("delta")), str(_equal(payload.get("index")))
    message = _dict(delta.get("message"))
    function = _dict(_dict(message.get("tool_calls")).get("function"))
    match payload.get("type", block.name):
        case "tool-plan-delta":
            plain.say("plan", message.get("tool_plan"))
        case "content-start" | "content-delta":
            for channel in ("text", "thinking"):
                plain.say(channel, _dict(message.get("content")).get(channel))
        case "tool-call-start":
            call = plain.call(key, fresh=True)
            call.name = _text(function.get("name"))
            call.parts.append(_text(function.get("arguments")))
            call.odd = isinstance(function.get("arguments"), dict)
        case "tool-call-delta" if key in plain.calls:
            plain.calls[key].parts.append(_text(function.get("arguments")))
            plain.calls[key].odd = plain.calls[key].odd or isinstance(function.get("arguments"), dict)
        case "tool-call-end" if key in plain.calls:
            plain.calls[key].over = True
        case "message-end" if _text(delta.get("finish_reason")):
            plain.over = True


def _interactions(plain: Plain, block: Block) -> None:
    if block.data is not None and block.data.strip() == b"[DONE]":
        plain.ended = plain.over = True
        return
    payload = _dict(block.payload)
    step, delta = _dict(payload.get("step")), _dict(payload.get("delta"))
    key = str(_equal(payload.get("index")))
    match payload.get("event_type", block.name):
        case "step.start" if step.get("type") == "function_call":
            call = plain.call(key, fresh=True)
            call.name = _text(step.get("name"))
        case "step.start":
            plain.leave(key)
            for channel in ("content", "summary"):
                for part in _list(step.get(channel)):
                    plain.say(channel, _dict(part).get("text"))
        case "step.delta":
            plain.say("content", delta.get("text"))
            plain.say("summary", _dict(delta.get("content")).get("text"))
            if key in plain.calls and delta.get("type") == "arguments_delta":
                plain.calls[key].parts.append(_text(delta.get("arguments")))
                plain.calls[key].odd = plain.calls[key].odd or isinstance(delta.get("arguments"), dict)
        case "step.stop" if key in plain.calls:
            plain.calls[key].over = True
        case "interaction.completed" if _text(_dict(payload.get("interaction")).get("status")):
            plain.over = True


def _converse(plain: Plain, block: Block) -> None:
    """Events by their message's name, or, as Nova's models stream them, by their one key."""
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
            plain.leave(key)
        case "contentBlockDelta":
            plain.say("text", delta.get("text"))
            plain.say("thinking", _dict(delta.get("reasoningContent")).get("text"))
            if key in plain.calls and "toolUse" in delta:
                said = _dict(delta["toolUse"]).get("input")
                plain.calls[key].parts.append(_text(said))
                plain.calls[key].odd = plain.calls[key].odd or isinstance(said, dict)
        case "contentBlockStop" if key in plain.calls:
            plain.calls[key].over = True
        case "messageStop" if _text(body.get("stopReason")):
            plain.over = True
    plain.ended = plain.ended or block.name.endswith("Exception")


def _whole(plain: Plain, name: object, arguments: object) -> None:
    """A call that is said at once."""
    call = plain.call(len(plain.calls))
    call.name, call.over = _text(name), True
    call.is_complete = json.dumps(arguments) if isinstance(arguments, dict) else ""


READERS: dict[str, Callable[[Plain, Block], None]] = {
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
