"""The payload of a Chat Completions event with its changes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.framing import LEGACY_FUNCTION_CALL
from toolstream_core.defects.identity import REPEATED_INDEX
from toolstream_core.protocols.chat.edit import choice_number, entries_of
from toolstream_core.protocols.chat.repair.edits import Edits, edited
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Part, Waiting


class Payloads:
    """The payloads of one stream's events that are rewritten."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream

    def rewritten(
        self, waiting: Waiting, edits: list[tuple[Part, Edits | None]], finishes: dict[int, str | None], *, pin: bool
    ) -> dict[str, Json]:
        """The payload with everything in it that was told and is to be mended."""
        payload = dict(waiting.frame.json) if isinstance(waiting.frame.json, dict) else {}
        choices: list[Json] = []
        listed = payload.get("choices")
        for place, choice in enumerate(listed if isinstance(listed, list) else json_access.items(listed)):
            number = choice_number(choice, place)
            mine = {part.place: edit for part, edit in edits if part.fragment.choice == number and not part.kept}
            if not isinstance(choice, dict):
                choices.append(choice)
                continue
            rewritten = self._choice_rewritten(dict(choice), mine)
            if number in waiting.moved:
                rewritten = _moved(rewritten, nothing_told=waiting.moved[number])
                self._stream.may_have_text |= bool(json_access.get(rewritten, "delta", "content"))
            if waiting.bare and not isinstance(rewritten.get("delta"), dict):
                rewritten = {**rewritten, "delta": {}, "finish_reason": rewritten.get("finish_reason")}
            if number in finishes:
                rewritten["finish_reason"] = finishes[number]
            if number and self._stream.folded(number):
                rewritten["index"] = 0
            choices.append(rewritten)
        payload["choices"] = choices
        if pin:
            payload["id"] = self._stream.head["id"]
        return payload

    def _choice_rewritten(self, choice: dict[str, Json], edits: dict[int, Edits | None]) -> dict[str, Json]:
        delta = choice.get("delta")
        if not isinstance(delta, dict) or not edits:
            return choice
        entries: list[Json] = []
        for place, entry in enumerate(entries_of(delta)):
            edit = edits.get(place, {})
            if edit is not None:
                entries.append(edited(entry, edit) if isinstance(entry, dict) else entry)
        delta = dict(delta)
        legacy = "function_call" in delta and not json_access.items(delta.get("tool_calls"))
        if legacy and self._stream.reporter.on(LEGACY_FUNCTION_CALL):
            del delta["function_call"]
        if entries:
            delta["tool_calls"] = self._coalesced(entries) if len(entries) > 1 else entries
        else:
            delta.pop("tool_calls", None)
            delta.pop("function_call", None)
        choice["delta"] = delta
        return choice

    def _coalesced(self, entries: list[Json]) -> list[Json]:
        """Entries of one index as one."""
        if not self._stream.reporter.on(REPEATED_INDEX):
            return entries
        by_index: dict[Json, dict[str, Json]] = {}
        out: list[Json] = []
        for entry in entries:
            index = entry.get("index") if isinstance(entry, dict) else None
            first = by_index.get(index) if isinstance(index, int | float) else None
            if first is None:
                out.append(entry)
                if isinstance(entry, dict) and isinstance(index, int):
                    by_index[index] = entry
                continue
            texts = json_access.get(first, "function", "arguments"), json_access.get(entry, "function", "arguments")
            if all(map(_is_whole, texts)):
                out.append(entry)
                continue
            joined = "".join(text for text in texts if isinstance(text, str))
            first["function"] = {**first["function"], "arguments": joined}
        return out


def _is_whole(text: Json) -> bool:
    """Whether arguments are an object by themselves: joined to others they would be none."""
    return isinstance(text, str) and is_object(text)


def _moved(choice: dict[str, Json], *, nothing_told: bool) -> dict[str, Json]:
    """A choice whose message's calls were said as deltas.

    A reader of both would run them twice, and openai-node puts a message in the place of what it has joined. What the
    message says otherwise is the delta where no delta has said anything.
    """
    message, delta = choice.pop("message"), choice.get("delta")
    rest = {key: value for key, value in message.items() if key not in {"tool_calls", "function_call"}}
    return {**choice, "delta": {**(rest if nothing_told else {}), **(delta if isinstance(delta, dict) else {})}}
