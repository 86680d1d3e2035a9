"""How a Chat Completions answer finishes: reasons judged and mended, and what is missing at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.ending import (
    CUT_OFF_CALL,
    EARLY_FINISH,
    EMPTY_FINISH,
    FOREIGN_FINISH,
    MISSING_CALLS,
    MISSING_DONE,
    MISSING_FINISH,
    REPEATED_FINISH,
    WRONG_FINISH,
)
from toolstream_core.defects.framing import SPLIT_CHOICES
from toolstream_core.defects.row import NOTE, WARNING
from toolstream_core.defects.wording import EMPTY_ARGUMENTS, LOST_ARGUMENTS
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.defects.menders.chat import ChatMender
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.chat_state import Choice, Waiting
    from toolstream_core.model import Event, Finish, Json
    from toolstream_core.wire.frame import Frame

_OURS: Final = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "STOP": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_of_turn": "stop",
    "complete": "stop",
    "completed": "stop",
    "tool_use": "tool_calls",
    "tool_call": "tool_calls",
    "TOOL_CALLS": "tool_calls",
    "function_call": "tool_calls",
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "max_output_tokens": "length",
    "SAFETY": "content_filter",
}
"""Other protocols' words for what Chat Completions says."""
_CALLS: Final = "tool_calls"
_MADE = frozenset({"stop", _CALLS})


class Endings:
    """The finishes of one stream's choices."""

    def __init__(self, mender: ChatMender) -> None:
        """For one stream."""
        self._mender = mender
        self.last = 0
        """Number of the last event that said anything."""

    def heard(self, event: Event, known: KnownCall) -> None:
        """A fragment came: the turn was not over then, whatever an earlier finish said."""
        self.last = event.frame.number
        if known.choice.finish is not None:
            message = f"a fragment comes after finish reason {known.choice.finish}"
            self._mender.tell(EARLY_FINISH, known.choice.finish_event, message)

    def must_wait(self, queue: Sequence[Waiting]) -> bool:
        """Whether the first event's finish waits to see whether more of the answer follows."""
        if len(queue) > 1 or self._mender.ending:
            return False
        if not any(finish.reason for finish in queue[0].said.finishes):
            return self.is_early_total(queue[0].frame)
        # A header beside a finish that has no arguments: they follow where every event says a finish.
        bare = any(part.known.call.arguments.empty for part in queue[0].parts)
        if self._mender.on(EARLY_FINISH) or (bare and self._mender.on(EMPTY_ARGUMENTS)):
            return True
        said = [self._mender.choice(finish.choice) for finish in queue[0].said.finishes]
        return self._mender.on(CUT_OFF_CALL) and any(self._is_half(known) for choice in said for known in choice.known)

    def is_early_total(self, frame: Frame) -> bool:
        """Whether the event is the total of the tokens, which comes last, and calls lack their finish."""
        lacking = any(choice.known and choice.finish is None for choice in self._mender.choices.values())
        if not lacking or not self._mender.on(MISSING_FINISH) or look.get(frame.json, "choices") != []:
            return False
        return isinstance(look.get(frame.json, "usage"), dict)

    def before(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What has to be said before a finish, or before the total: `{}` for calls that were made without arguments."""
        out: list[Frame] = []
        if not waiting.said.finishes and self.is_early_total(waiting.frame):
            if following is None and self._mender.ending_clean:
                return self._finishes()
            return self.at_done(following.frame.number) if following is not None and following.said.end else []
        for finish in waiting.said.finishes:
            if _OURS.get(finish.reason, finish.reason) in _MADE:
                out.extend(self._arguments(self._mender.choice(finish.choice), waiting.frame.number, waiting))
        return out

    def changes(self, waiting: Waiting, following: Waiting | None) -> dict[int, str | None]:
        """The finish reasons that have to change, by choice as the wire numbers it."""
        changes: dict[int, str | None] = {}
        for finish in waiting.said.finishes:
            value = self._value(finish, waiting.frame.number, following)
            if value != finish.reason:
                changes[finish.choice] = value
        return changes

    def finished(self, finish: Finish, number: int, changes: dict[int, str | None]) -> None:
        """A finish leaves for the client."""
        choice = self._mender.choice(finish.choice)
        choice.said.add(finish.reason)
        value = changes.get(finish.choice, finish.reason)
        if value and choice.finish is None:
            choice.finish, choice.finish_event = value, number

    def at_done(self, number: int) -> list[Frame]:
        """What has to come before `[DONE]`, seen at event `number`."""
        out: list[Frame] = []
        for choice in list(self._mender.choices.values()):
            self._without_calls(choice)
            if choice.finish is not None or self._mender.failed:
                continue
            whole = bool(choice.known) and all(self._is_whole(known) for known in choice.known)
            held = choice.held
            if held is None and not whole:
                continue
            if held is not None or self._mender.tell(MISSING_FINISH, number, "no finish reason came before [DONE]"):
                out.extend(self._arguments(choice, number, None))
                out.append(self._mender.delta(choice.number, {}, finish=held or _CALLS, number=number))
                choice.finish = held or _CALLS
        return out

    def at_end(self, *, clean: bool) -> list[Frame]:
        """What the body's end lacks."""
        mender = self._mender
        if mender.over:
            return []
        for choice in list(mender.choices.values()):
            self._without_calls(choice)
        out = self._finishes() if clean else []
        finished = [choice for choice in mender.choices.values() if choice.known and (choice.finish or choice.held)]
        half = mender.failed or not all(self._is_whole(known) for choice in finished for known in choice.known)
        if clean and finished and not half and mender.tell(MISSING_DONE, self.last, "the stream ended without [DONE]"):
            out.append(mender.context.writer.make(b"[DONE]", self.last + 1))
        return out

    def _finishes(self) -> list[Frame]:
        """The finishes that the body's end lacks."""
        out: list[Frame] = []
        mender = self._mender
        for choice in mender.choices.values():
            reason = choice.held if choice.finish is None else None
            if choice.finish is None and reason is None and self._lacks_finish():
                reason = _CALLS
            if reason is not None:
                out.append(mender.delta(choice.number, {}, finish=reason, number=self.last))
                choice.finish = reason
        return out

    def is_nothing(self, waiting: Waiting, changes: dict[int, str | None], payload: dict[str, Json]) -> bool:
        """Whether an event said nothing but a finish that the client has; some take no chunk behind that."""
        again = [number for number, value in changes.items() if value is None and self._mender.choice(number).finish]
        if not again or waiting.parts or payload.get("usage"):
            return False
        choices = look.items(payload.get("choices"))
        said = [value for choice in choices for value in (look.get(choice, "delta") or {}).values()]
        return not any(said) and not any(choice.get("finish_reason") for choice in choices)

    def _lacks_finish(self) -> bool:
        """Whether an answer without any end has made all its calls in full; a `{}` may be what comes before them."""
        mender = self._mender
        calls = [known for choice in mender.choices.values() for known in choice.known]
        if mender.failed or not all(choice.known for choice in mender.choices.values()):
            return False
        whole = all(self._is_full(known) for known in calls)
        return whole and mender.tell(MISSING_FINISH, self.last, "the stream ended without a finish reason")

    def _is_full(self, known: KnownCall) -> bool:
        said = known.call.arguments.reading()[0].strip()
        return self._is_whole(known) and (said not in {"", "{}"} or self._mender.context.takes_none(known.call.name))

    def _value(self, finish: Finish, number: int, following: Waiting | None) -> str | None:
        mender, choice, reason = self._mender, self._mender.choice(finish.choice), finish.reason
        value: str | None = reason
        if not reason:
            return None if mender.tell(EMPTY_FINISH, number, 'the finish reason is ""') else reason
        if (
            reason in _OURS
            and not (reason == "function_call" and mender.speaks_legacy)
            and mender.tell(FOREIGN_FINISH, number, f"the finish reason is {reason}")
        ):
            value = _OURS[reason]
        if choice.finish is not None and choice.known:
            severity = NOTE if reason in choice.said or reason == choice.finish else WARNING
            message = f"finish reason {reason} after {choice.finish}"
            return None if mender.tell(REPEATED_FINISH, number, message, severity=severity) else value
        whole = bool(choice.known) and all(self._is_whole(known) for known in choice.known)
        if (
            value == "stop"
            and whole
            and mender.tell(WRONG_FINISH, number, "finish reason stop although calls were made")
        ):
            value = _CALLS
        over = following is None or not following.parts
        if value in _MADE and over and any(map(self._is_half, choice.known)) and mender.mends(CUT_OFF_CALL):
            value = "length"
        if following is not None and (following.parts or following.said.text.strip()):
            message = f"more of the answer follows finish reason {reason}"
            if mender.tell(EARLY_FINISH, number, message):
                choice.held = value
                return None
        return value

    def _arguments(self, choice: Choice, number: int, waiting: Waiting | None) -> list[Frame]:
        """`{}` for calls of which nothing was said but who they are."""
        out: list[Frame] = []
        mender = self._mender
        for known in choice.known:
            call = known.call
            owed = known.spelling.owes
            if known.said or not (call.arguments.empty or owed) or known.doubled or not known.call.name:
                continue
            if not owed and not mender.context.may_be_empty(call.name):
                mender.tell(LOST_ARGUMENTS, number, f"{call.name} has required parameters and got no arguments", call)
                continue
            message = "the call has no arguments, not even {}"
            if not owed and not mender.tell(EMPTY_ARGUMENTS, number, message, call):
                continue
            known.said = True
            here = [part for part in waiting.parts if part.known is known] if waiting else []
            if here:
                here[-1].told.text = "{}"
            elif known.told:
                entry = {"index": known.index, "function": {"arguments": "{}"}}
                out.append(mender.delta(choice.number, {"tool_calls": [entry]}, number=number))
        return out

    def _without_calls(self, choice: Choice) -> None:
        """Tell a finish that says calls where none came."""
        said = {_OURS.get(reason, reason) for reason in choice.said}
        if _CALLS not in said or choice.known:
            return
        elsewhere = any(other.known for other in self._mender.choices.values())
        if elsewhere:
            message = "the finish reason says calls, which are in another choice"
            self._mender.tell(SPLIT_CHOICES, choice.finish_event, message)
        else:
            self._mender.tell(MISSING_CALLS, choice.finish_event, "the finish reason says tool calls and none came")

    def _is_half(self, known: KnownCall) -> bool:
        """Whether arguments have begun, and neither they nor what may follow the finish make them whole."""
        arguments = known.call.arguments
        return not (arguments.empty or arguments.ended or self._is_whole(known))

    def _is_whole(self, known: KnownCall) -> bool:
        may_be_empty = self._mender.context.may_be_empty(known.call.name)
        return known.nothing or known.spelling.whole or known.call.whole(may_be_empty=may_be_empty)
