"""The entries of Chat Completions events: what each has to become, and the payload with that in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.ending import UNSTREAMED_CALLS
from toolstream_core.defects.framing import LEGACY_FUNCTION_CALL, TOOL_CALLS_OBJECT
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID, MISSING_ID, REPEATED_INDEX
from toolstream_core.defects.menders.chat_edits import DROP, Edits, edited
from toolstream_core.defects.menders.chat_forms import Form
from toolstream_core.defects.menders.chat_identity import continuing, opening
from toolstream_core.defects.menders.names import plain_name
from toolstream_core.defects.wording import MISNAMED_ARGUMENTS, NULL_ARGUMENTS, OBJECT_ARGUMENTS
from toolstream_core.dialects.chat_edit import choice_number, continuation, entries_of
from toolstream_core.model import ABSENT, Phase
from toolstream_core.wire import look

if TYPE_CHECKING:
    from toolstream_core.defects.menders.chat import ChatMender
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.chat_state import Part, Waiting
    from toolstream_core.model import Json
    from toolstream_core.wire.frame import Frame


class Entries:
    """The entries of one stream."""

    def __init__(self, mender: ChatMender) -> None:
        """For one stream."""
        self._mender = mender

    def edits(self, part: Part, waiting: Waiting) -> Edits | None:
        """How the entry has to change to be understood; `None` where it is to go."""
        fragment, known = part.fragment, part.known
        number = known.event = waiting.frame.number
        if fragment.phase is Phase.WHOLE or part.stays:
            return {}
        if known.doubled:
            return None if self._mender.tell(DOUBLED_CALL, number, "the call was said before", known.call) else {}
        if known.nothing and not known.told:
            return None if self._mender.tell(MISSING_ID, number, "an entry has neither id, name nor arguments") else {}
        raw = self._entry(waiting, part) if not fragment.as_wanted else {}
        index = raw.get("index", ABSENT)
        told, before = known.told, (known.id, known.name)
        edits = continuing(known, fragment, index) if told else opening(known, fragment, index)
        self._edit_arguments(part, raw, edits)
        bare = not told and fragment.arguments is ABSENT and "arguments" not in edits
        if bare and known.judge(NULL_ARGUMENTS, "the call opens without arguments"):
            edits["arguments"] = part.told.text
        known.said = known.said or bool(part.told.text)
        names = bool(fragment.name) and "name" not in edits
        says = part.told.text or before != (known.id, known.name) or names
        if told and edits and not says and not (self._has_more(waiting, part) or self._hides(waiting, part)):
            return None
        return edits

    def _edit_arguments(self, part: Part, raw: dict[str, Json], edits: Edits) -> None:
        said, told, known = part.fragment.arguments, part.told.text, part.known
        if part.form is Form.MISNAMED and known.forms.mixed:
            return
        function = raw.get("function")
        value = function.get("arguments", ABSENT) if isinstance(function, dict) else ABSENT
        scalar = isinstance(value, bool | int | float | list)
        if said is None and not scalar and known.judge(NULL_ARGUMENTS, "the arguments are null"):
            edits["arguments"] = told
        elif isinstance(function, dict) and value is ABSENT and isinstance(said, str) and "parameters" in function:
            if known.judge(MISNAMED_ARGUMENTS, "the arguments are under the key parameters"):
                edits.update({"parameters": DROP, "arguments": told})
        elif not isinstance(value, str) and value is not None and value is not ABSENT:
            if known.judge(OBJECT_ARGUMENTS, f"the arguments are no text, but {type(value).__name__}"):
                edits["arguments"] = told
        elif told != (said if isinstance(said, str) else ""):
            edits["arguments"] = told

    def _entry(self, waiting: Waiting, part: Part) -> dict[str, Json]:
        """The entry as it stands in the payload."""
        if waiting.entries is None:
            waiting.entries = {}
            for place, choice in enumerate(look.items(look.get(waiting.frame.json, "choices"))):
                waiting.entries.setdefault(choice_number(choice, place), entries_of(look.get(choice, "delta")))
        entries = waiting.entries.get(part.fragment.choice, [])
        entry = entries[part.place] if part.place < len(entries) else None
        return entry if isinstance(entry, dict) else {}

    def _has_more(self, waiting: Waiting, part: Part) -> bool:
        """Whether the entry has fields beside those that every entry has."""
        entry = self._entry(waiting, part)
        return bool(entry.keys() - {"index", "id", "type", "function", "name", "arguments"})

    def _hides(self, waiting: Waiting, part: Part) -> bool:
        """Whether the choice has a message too, which counts where its delta has no entries."""
        choices = enumerate(look.items(look.get(waiting.frame.json, "choices")))
        mine = (choice for place, choice in choices if choice_number(choice, place) == part.fragment.choice)
        return any(look.get(choice, "message") for choice in mine)

    def unstreamed(self, waiting: Waiting) -> list[Frame]:
        """Calls that only a message says, whole or piece by piece, as deltas before it."""
        out: list[Frame] = []
        self._mender.remember(waiting)
        for part in waiting.parts:
            known = part.known
            if part.fragment.phase is not Phase.WHOLE or known.streamed or known.nothing or known.doubled:
                continue
            number = waiting.frame.number
            opens, known.told = not known.told, True
            if opens:
                known.index = known.choice.free_index
                known.choice.take(known.index, known)
            message = "the call comes in a message only"
            if not self._mender.tell(UNSTREAMED_CALLS, number, message, known.call):
                continue
            waiting.moved[part.fragment.choice] = not self._mender.may_have_text
            if opens or part.told.text:
                entry = self._said(part) if opens else continuation(known.index, part.told.text)
                out.append(self._mender.delta(known.choice.number, {"tool_calls": [entry]}, number=number))
        return out

    def _said(self, part: Part) -> dict[str, Json]:
        """The header of a call that a message says."""
        known, context = part.known, self._mender.context
        known.id = self._own_id(known)
        known.name = plain_name(known.call.name, context.schemas)
        known.said = known.said or bool(part.told.text)
        function = {"name": known.name, "arguments": part.told.text}
        return {"index": known.index, "id": known.id, "type": "function", "function": function}

    def _own_id(self, known: KnownCall) -> str:
        """The call's id; one that is made up where it has none, or another call's."""
        call, ids = known.call, known.choice.ids
        if not call.id or (call.id in ids and known.judge(DUPLICATE_ID, f"id {call.id} is that of another call")):
            return self._mender.context.ids.make("call_")
        ids.setdefault(call.id, known)
        return call.id

    def structure(self, waiting: Waiting) -> bool:
        """Whether the entries stand in a wrong place or form, and that is to be mended."""
        mend, number = False, waiting.frame.number
        if len(waiting.parts) == 1 and waiting.parts[0].fragment.as_wanted:
            return False
        seen: set[int] = set()
        for part in waiting.parts:
            if id(part.known) in seen and part.fragment.phase is Phase.MORE:
                message = "one event has two entries for the call"
                mend = self._mender.tell(REPEATED_INDEX, number, message, part.known.call) or mend
            seen.add(id(part.known))
        if all(part.fragment.as_wanted for part in waiting.parts):
            return mend
        if all(part.stays for part in waiting.parts):
            return mend
        for choice in look.items(look.get(waiting.frame.json, "choices")):
            calls = look.get(choice, "delta", "tool_calls")
            if isinstance(calls, dict) and calls:
                mend = self._mender.tell(TOOL_CALLS_OBJECT, number, "tool_calls is an object") or mend
            elif not look.items(calls) and isinstance(look.get(choice, "delta", "function_call"), dict):
                mend = self._mender.tell(LEGACY_FUNCTION_CALL, number, "the call comes as function_call") or mend
        return mend

    def lacks_delta(self, frame: Frame) -> bool:
        """Whether a choice of the event has no delta."""
        return any(self._is_bare(choice) for choice in look.items(look.get(frame.json, "choices")))

    def _is_bare(self, choice: Json) -> bool:
        """Whether it lacks its delta; a message may be all of an answer of which nothing was streamed."""
        if not isinstance(choice, dict) or isinstance(choice.get("delta"), dict):
            return False
        return "message" not in choice or bool(self._mender.head)

    def rewritten(
        self, waiting: Waiting, edits: list[tuple[Part, Edits | None]], finishes: dict[int, str | None], *, pin: bool
    ) -> dict[str, Json]:
        """The payload with everything in it that was told and is to be mended."""
        payload = dict(waiting.frame.json) if isinstance(waiting.frame.json, dict) else {}
        choices: list[Json] = []
        for place, choice in enumerate(look.items(payload.get("choices"))):
            number = choice_number(choice, place)
            mine = {part.place: edit for part, edit in edits if part.fragment.choice == number and _changes(part)}
            if not isinstance(choice, dict):
                choices.append(choice)
                continue
            rewritten = self._choice_rewritten(dict(choice), mine)
            if number in waiting.moved:
                rewritten = _moved(rewritten, nothing_told=waiting.moved[number])
            if waiting.bare and not isinstance(rewritten.get("delta"), dict):
                rewritten = {**rewritten, "delta": {}, "finish_reason": rewritten.get("finish_reason")}
            if number in finishes:
                rewritten["finish_reason"] = finishes[number]
            if self._mender.folded(number):
                rewritten["index"] = 0
            choices.append(rewritten)
        payload["choices"] = choices
        if pin:
            payload["id"] = self._mender.head["id"]
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
        legacy = "function_call" in delta and not look.items(delta.get("tool_calls"))
        if legacy and self._mender.on(LEGACY_FUNCTION_CALL):
            del delta["function_call"]
        if entries:
            delta["tool_calls"] = self._coalesced(entries)
        else:
            delta.pop("tool_calls", None)
            delta.pop("function_call", None)
        choice["delta"] = delta
        return choice

    def _coalesced(self, entries: list[Json]) -> list[Json]:
        """Entries of one index as one."""
        if not self._mender.on(REPEATED_INDEX):
            return entries
        by_index: dict[Json, dict[str, Json]] = {}
        out: list[Json] = []
        for entry in entries:
            first = by_index.get(entry.get("index")) if isinstance(entry, dict) else None
            if first is None:
                out.append(entry)
                if isinstance(entry, dict) and isinstance(entry.get("index"), int):
                    by_index[entry["index"]] = entry
                continue
            said = look.get(first, "function", "arguments"), look.get(entry, "function", "arguments")
            if all(map(_is_whole, said)):
                out.append(entry)
                continue
            joined = "".join(text for text in said if isinstance(text, str))
            first["function"] = {**first["function"], "arguments": joined}
        return out


def _is_whole(said: Json) -> bool:
    """Whether arguments are an object by themselves: joined to others they would be none."""
    return isinstance(said, str) and is_object(said)


def _changes(part: Part) -> bool:
    return part.fragment.phase is Phase.MORE and not part.stays


def _moved(choice: dict[str, Json], *, nothing_told: bool) -> dict[str, Json]:
    """A choice whose message's calls were said as deltas.

    A reader of both would run them twice, and openai-node puts a message in the place of what it has joined. What the
    message says otherwise is the delta where no delta has said anything.
    """
    message, delta = choice.pop("message"), choice.get("delta")
    rest = {key: value for key, value in message.items() if key not in {"tool_calls", "function_call"}}
    return {**choice, "delta": {**(rest if nothing_told else {}), **(delta if isinstance(delta, dict) else {})}}
