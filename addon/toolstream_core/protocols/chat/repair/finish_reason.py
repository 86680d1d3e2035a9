"""The finish reasons of Chat Completions choices: what each has to become for the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import (
    CUT_OFF_CALL,
    EARLY_FINISH,
    EMPTY_FINISH,
    FOREIGN_FINISH,
    REPEATED_FINISH,
    WRONG_FINISH,
)
from toolstream_core.defects.row import NOTE, WARNING
from toolstream_core.protocols.chat.edit import says_text
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Finish, Json
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Waiting

OURS: Final = {
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
CALLS: Final = "tool_calls"
_STOP: Final = "stop"
_FINAL: Final = frozenset({CALLS, "length", "content_filter"})
"""Reasons that a later one does not replace, where they were said too early."""
MADE: Final = frozenset({_STOP, CALLS})
"""Reasons that say that the answer was made in full."""


class FinishReasons:
    """The finish reasons of one stream's choices."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._reporter = stream.reporter

    def changes(self, waiting: Waiting, following: Waiting | None) -> dict[int, str | None]:
        """The finish reasons that have to change, by choice as the wire numbers it."""
        changes: dict[int, str | None] = {}
        for finish in waiting.content.finishes:
            value = self._value(finish, waiting, following)
            if value != finish.reason:
                changes[finish.choice] = value
        return changes

    def leaves(self, finish: Finish, number: int, changes: dict[int, str | None]) -> None:
        """A finish leaves for the client."""
        choice = self._stream.choice(finish.choice)
        choice.reasons.add(finish.reason)
        value = changes.get(finish.choice, finish.reason)
        if value and (choice.finish is None or choice.resumed):
            choice.finish, choice.finish_event, choice.resumed = value, number, False
            self._stream.any_finished = True

    def is_nothing(self, waiting: Waiting, changes: dict[int, str | None], payload: dict[str, Json]) -> bool:
        """Whether an event said nothing but a finish that the client has; some take no chunk behind that."""
        again = [number for number, value in changes.items() if value is None and self._stream.choice(number).finish]
        if not again or waiting.parts or payload.get("usage"):
            return False
        return not any(_says_anything(choice) for choice in json_access.items(payload.get("choices")))

    def honest(self, choice: Choice, reason: str) -> str:
        """The reason, or `length` where it says that calls were made and one is half."""
        if reason in MADE and choice.unfinished.any_half and self._reporter.repairs_row(CUT_OFF_CALL):
            reason, choice.shortened = "length", choice.unfinished.half
        return reason

    def _value(self, finish: Finish, waiting: Waiting, following: Waiting | None) -> str | None:
        reporter, choice, number = self._reporter, self._stream.choice(finish.choice), waiting.frame.number
        if not finish.reason:
            return None if reporter.report(EMPTY_FINISH, number, 'the finish reason is ""') else finish.reason
        goes_on = following is not None and following.brings_more(choice)
        kept, choice.held = choice.held, None
        if choice.finish is not None and goes_on:
            return self._repeated(choice, finish.reason, finish.reason, number)
        value = str(kept) if kept in _FINAL else self._meant(choice, finish.reason, number)
        if choice.finish is not None:
            return self._again(choice, finish.reason, value, number)
        if kept is not None:
            reporter.because(EARLY_FINISH)
        if goes_on or (following is not None and says_text(following.frame, finish.choice)):
            repair = reporter.report(EARLY_FINISH, number, f"more of the answer follows finish reason {finish.reason}")
            if repair or (goes_on and choice in waiting.early and reporter.on(CUT_OFF_CALL)):
                reporter.because(EARLY_FINISH)
                choice.held, choice.held_event = value, number
                return None
        return value if goes_on else self.honest(choice, value)

    def _meant(self, choice: Choice, reason: str, number: int) -> str:
        """The reason in this protocol's words, and as it has to be where calls were made."""
        value = reason
        if (
            reason in OURS
            and not (reason == "function_call" and self._stream.speaks_legacy)
            and self._reporter.report(FOREIGN_FINISH, number, f"the finish reason is {reason}")
        ):
            value = OURS[reason]
        settled = choice.finish is not None and not choice.resumed
        if value != _STOP or settled or not choice.whole:
            return value
        wrong = self._reporter.report(WRONG_FINISH, number, "finish reason stop although calls were made")
        return CALLS if wrong else value

    def _again(self, choice: Choice, reason: str, value: str, number: int) -> str | None:
        """A finish where the client has one: it goes only where calls came in between and it says otherwise.

        Where a second one went on before there was any call, all of them do.
        """
        if choice.resumed and value != choice.finish:
            return value
        if not choice.calls:
            choice.loose = True
            return value
        return self._repeated(choice, reason, value, number)

    def _repeated(self, choice: Choice, reason: str, value: str, number: int) -> str | None:
        severity = NOTE if reason in choice.reasons or reason == choice.finish else WARNING
        message = f"finish reason {reason} after {choice.finish}"
        repair = self._reporter.report(REPEATED_FINISH, number, message, severity=severity)
        return value if choice.loose or not repair else None


def _says_anything(choice: Json) -> bool:
    """Whether a choice has more than an empty delta; so does what is no object."""
    delta = json_access.get(choice, "delta") or {}
    if not isinstance(choice, dict) or not isinstance(delta, dict):
        return True
    return any(delta.values()) or bool(choice.get("finish_reason"))
