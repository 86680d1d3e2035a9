"""Shapes of Chat Completions: chunks that providers send, and that some clients cannot read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial, reduce
from typing import Final

from toolstream_core.model import Event, Json
from toolstream_core.protocols.chat.edit import HEAD, OF_CHUNK, choice_number, chunk, joined, without_ending
from toolstream_core.repair.event_shapes import (
    CALLS_IN_ONE_EVENT,
    FINISH_APART,
    FINISH_WITH_CALLS,
    INTERLEAVED,
    INTERLEAVES,
    Preceded,
    Regrouped,
    Rewritten,
    has_finish_and_content,
    in_one_event,
)
from toolstream_core.repair.shapes import POLICIES, Policy
from toolstream_core.stages.stage import StageMaker
from toolstream_core.wire import json_access
from toolstream_core.wire.json_paths import merged

_BEFORE_CHOICES: Final[Json] = {
    "id": "",
    "object": "",
    "created": 0,
    "model": "",
    "choices": [],
    "prompt_filter_results": [],
}
"""The first chunk of Azure OpenAI (https://github.com/openai/openai-agents-js/pull/93)."""
_TEXT: Final = "One moment."


def in_one_chunk(payloads: Iterable[Json], *, least: int = 1) -> dict[str, Json] | None:
    """Chunks with calls of one choice, and perhaps its finish reason, as one chunk with one entry for each call.

    `None` if they are of several choices, of fewer than `least` calls, or have two values for an unknown key.
    """
    chunks = [*map(_only_choice, payloads)]
    outer = reduce(_as_one_chunk, chunks)
    calls = _entry_of_each_call(
        entry for one in chunks if one for entry in json_access.items(one["choices"]["delta"].get("tool_calls"))
    )
    if outer is None or len(calls) < least:
        return None
    choice = outer["choices"]
    return {**outer, "choices": [{**choice, "delta": {**choice["delta"], "tool_calls": calls}}]}


def _only_choice(payload: Json) -> dict[str, Json] | None:
    """A chunk with its only choice in place of the list; `None` if it has several, or one without a delta."""
    match payload:
        case {"choices": [{"delta": {}} as choice]}:
            return {**payload, "choices": choice}
    return None


def _as_one_chunk(one: dict[str, Json] | None, other: dict[str, Json] | None) -> dict[str, Json] | None:
    """Two results of `_only_choice` as one, with the finish reason and usage of the second if it has them."""
    if one is None or other is None or one["choices"].get("index") != other["choices"].get("index"):
        return None
    both = merged(one, other, OF_CHUNK)
    if both is None:
        return None
    usage, reason = other.get("usage"), other["choices"].get("finish_reason")
    both = {**both, "usage": usage} if usage else both
    return {**both, "choices": {**both["choices"], "finish_reason": reason}} if reason else both


def _entry_of_each_call(entries: Iterable[Json]) -> list[Json]:
    """One entry for each index; none if an entry has no index, or keys that cannot be joined."""
    calls: dict[int, dict[str, Json]] = {}
    texts: dict[int, list[str]] = {}
    for entry in entries:
        index, text = json_access.get(entry, "index"), json_access.get(entry, "function", "arguments")
        if type(index) is not int or not isinstance(text, str):
            return []
        bare = {**entry, "function": {**entry["function"], "arguments": ""}}
        call = joined(calls[index], bare) if index in calls else bare
        if call is None:
            return []
        calls[index] = call
        texts.setdefault(index, []).append(text)
    for index, call in calls.items():
        call["function"]["arguments"] = "".join(texts[index])
    return [*calls.values()]


def finish_apart(event: Event) -> list[Json]:
    """A chunk as its content, and its finish reasons and usage; the same chunk if it has only one of these."""
    payload = event.frame.json
    choices = json_access.items(json_access.get(payload, "choices"))
    if not (has_finish_and_content(event.content) and isinstance(payload, dict) and all(map(_has_delta, choices))):
        return [payload]
    ends = [
        {"index": choice_number(choice, place), "delta": {}, "finish_reason": choice["finish_reason"]}
        for place, choice in enumerate(choices)
        if choice.get("finish_reason")
    ]
    usage = {"usage": payload["usage"]} if payload.get("usage") else {}
    return [
        without_ending(payload),
        {**{key: payload[key] for key in HEAD if key in payload}, "choices": ends, **usage},
    ]


def full_deltas(event: Event) -> list[Json]:
    """A chunk with a role and content in each delta. An empty content is the case that clients take for text."""
    payload = event.frame.json
    choices = json_access.items(json_access.get(payload, "choices"))
    if not (isinstance(payload, dict) and choices and all(map(_has_delta, choices))):
        return [payload]
    usual = {"role": "assistant", "content": ""}
    full = [{**choice, "delta": {**usual, **choice["delta"]}} for choice in choices]
    return [payload if full == choices else {**payload, "choices": full}]


def usage_with_delta(event: Event) -> list[Json]:
    """A chunk with usage as one with an empty delta, after the finish reason if that is in the same chunk."""
    payload, finishes = event.frame.json, event.content.finishes
    if not (isinstance(payload, dict) and isinstance(payload.get("usage"), dict)):
        return [payload]
    empty = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
    if payload.get("choices") == []:
        return [{**payload, "choices": [empty]}]
    if not finishes:
        return [payload]
    head = {key: payload[key] for key in HEAD if key in payload}
    after = {**head, "choices": [{**empty, "index": finishes[0].choice}], "usage": payload["usage"]}
    return [{**payload, "usage": None}, after]


def text_before(event: Event) -> Json | None:
    """A chunk with a text, before an event with calls."""
    payload, fragments = event.frame.json, event.content.fragments
    return chunk(payload, fragments[0].choice, {"role": "assistant", "content": _TEXT}) if fragments else None


def _has_delta(choice: Json) -> bool:
    """Whether a choice has a delta, and no complete message."""
    return isinstance(choice, dict) and isinstance(choice.get("delta"), dict) and not choice.get("message")


SHAPES: Final[Mapping[str, Policy | StageMaker]] = {
    **POLICIES,
    CALLS_IN_ONE_EVENT: partial(Regrouped, regroup=in_one_event(partial(in_one_chunk, least=2))),
    INTERLEAVED: INTERLEAVES,
    FINISH_WITH_CALLS: partial(Regrouped, regroup=in_one_event(in_one_chunk), with_finish=True),
    FINISH_APART: partial(Rewritten, rewrite=finish_apart),
    "usage-with-delta": partial(Rewritten, rewrite=usage_with_delta, each=True),
    "full-deltas": partial(Rewritten, rewrite=full_deltas, each=True),
    "text-first": partial(Preceded, before=text_before),
    "empty-choices": partial(Preceded, before=lambda _: _BEFORE_CHOICES),
}
"""The shapes of events, by name; `framing.SHAPES` has those of lines."""
