"""OpenAI Chat Completions and every server that speaks it: `choices[].delta.tool_calls[]`.

https://platform.openai.com/docs/api-reference/chat-streaming/streaming
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.calls import ChatCalls
from toolstream_core.dialects.dialect import Dialect
from toolstream_core.dialects.errors import error_text
from toolstream_core.model import ABSENT, SILENCE, Finish, Fragment, Phase, Said
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame

_DONE = b"[DONE]"
_FINISH_NULL = re.compile(rb'"finish_reason"\s*:\s*null')


def _quiet(raw: bytes) -> bool:
    """Surely only text: no key that concerns calls, and every finish reason null.

    `\\u00` may hide an ASCII letter of a key, so a frame that has it is parsed. `[DONE]` has no `choices`.
    """
    find = raw.find
    if find(b"_call") >= 0 or find(b'"error"') >= 0 or find(b'"message"') >= 0 or find(b"\\u00") >= 0:
        return False
    count = raw.count(b'"finish_reason"')
    if count == 0:
        return find(b'"choices"') >= 0
    return raw.count(b'"finish_reason":null') == count or len(_FINISH_NULL.findall(raw)) == count


def _read(frame: Frame) -> Said:
    payload = frame.json
    if not isinstance(payload, dict):
        return Said(end=True) if frame.data is not None and frame.data.strip() == _DONE else _unread(frame)
    choices = payload.get("choices")
    fragments: list[Fragment] = []
    finishes: list[Finish] = []
    texts: list[str] = []
    for place, choice in enumerate(look.items(choices)):
        if not isinstance(choice, dict):
            continue
        number = look.integer(choice.get("index", place))
        number = number if isinstance(number, int) else place
        fragments.extend(_streamed(choice, number))
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            finishes.append(Finish(number, reason))
        text = look.get(choice, "delta", "content")
        if text and isinstance(text, str):
            texts.append(text)
    model = payload.get("model")
    return Said(
        tuple(fragments),
        tuple(finishes),
        "".join(texts),
        model if model and isinstance(model, str) else None,
        error_text(payload, frame.name),
    )


def _unread(frame: Frame) -> Said:
    return Said(error=error_text(ABSENT, frame.name)) if frame.name == "error" else SILENCE


def _streamed(choice: dict[str, Json], number: int) -> Iterator[Fragment]:
    delta = choice.get("delta")
    if isinstance(delta, dict) and (entries := _entries(delta)):
        for entry in entries:
            yield _fragment(entry, number, Phase.MORE)
    else:
        yield from _whole(choice, number)


def _whole(choice: dict[str, Json], number: int) -> Iterator[Fragment]:
    message = choice.get("message")
    if isinstance(message, dict):
        for entry in _entries(message):
            yield _fragment(entry, number, Phase.WHOLE)


def _entries(message: dict[str, Json]) -> list[Json]:
    """The tool-call entries of a delta or message; the legacy `function_call` only where there are none."""
    entries = look.items(message["tool_calls"]) if "tool_calls" in message else []
    if not entries and isinstance(legacy := message.get("function_call"), dict):
        return [{"function": legacy}]
    return entries


def _fragment(entry: Json, number: int, phase: Phase) -> Fragment:
    if not isinstance(entry, dict):
        return Fragment(number, phase=phase)
    function = entry.get("function", ABSENT)
    if not isinstance(function, dict):
        function = entry if "name" in entry or "arguments" in entry else {}
    said = function.get("arguments", ABSENT)
    if said is ABSENT:
        said = function.get("parameters", ABSENT)
    encoded = True
    if not isinstance(said, str):
        said, encoded = look.argument_text(said)
    return Fragment(
        number,
        look.integer(entry.get("index", ABSENT)),
        look.text(entry.get("id", ABSENT)),
        ABSENT,
        look.text(function.get("name", ABSENT)),
        said,
        look.text(entry.get("type", ABSENT)),
        phase,
        encoded=encoded,
    )


def _answer(payload: Json) -> Said:
    fragments: list[Fragment] = []
    finishes: list[Finish] = []
    texts: list[str] = []
    for place, choice in enumerate(look.items(look.get(payload, "choices"))):
        if not isinstance(choice, dict):
            continue
        number = look.integer(choice.get("index", place))
        number = number if isinstance(number, int) else place
        fragments.extend(_whole(choice, number))
        if (reason := choice.get("finish_reason")) and isinstance(reason, str):
            finishes.append(Finish(number, reason))
        if (text := look.get(choice, "message", "content")) and isinstance(text, str):
            texts.append(text)
    model = look.get(payload, "model")
    return Said(
        tuple(fragments),
        tuple(finishes),
        "".join(texts),
        model if model and isinstance(model, str) else None,
        error_text(payload, ""),
        end=True,
    )


def _recognise(name: str, payload: Json) -> bool:
    del name
    if not isinstance(payload, dict):
        return False
    if str(payload.get("object", "")).startswith("chat.completion"):
        return True
    return any(
        isinstance(choice, dict) and ("delta" in choice or "message" in choice)
        for choice in look.items(payload.get("choices"))
    )


OPENAI_CHAT = Dialect(
    name="openai-chat",
    paths=re.compile(r"/chat/completions/?$"),
    calls=ChatCalls,
    recognise=_recognise,
    read=_read,
    answer=_answer,
    quiet=_quiet,
)
