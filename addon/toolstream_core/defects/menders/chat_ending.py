"""How a Chat Completions answer finishes: reasons judged and mended, and what has to be said before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.over import is_cut
from toolstream_core.defects.ending import (
    CUT_OFF_CALL,
    EARLY_FINISH,
    EMPTY_FINISH,
    FOREIGN_FINISH,
    MISSING_FINISH,
    REPEATED_FINISH,
    WRONG_FINISH,
)
from toolstream_core.defects.row import NOTE, WARNING
from toolstream_core.defects.wording import EMPTY_ARGUMENTS, LOST_ARGUMENTS
from toolstream_core.dialects.chat_edit import says_text
from toolstream_core.model import Phase
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.defects.menders.chat import ChatMender
    from toolstream_core.defects.menders.chat_call import KnownCall
    from toolstream_core.defects.menders.chat_state import Choice, Part, Waiting
    from toolstream_core.model import Event, Finish, Json, Said
    from toolstream_core.wire.frame import Frame

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
_MADE: Final = frozenset({_STOP, CALLS})
_WAIT: Final = (CUT_OFF_CALL, EARLY_FINISH, EMPTY_ARGUMENTS)
"""Rows for whose sake a finish waits where calls lack a part."""


class Endings:
    """The finishes of one stream's choices."""

    def __init__(self, mender: ChatMender) -> None:
        """For one stream."""
        self._mender = mender
        self.last = 0
        """Number of the last event that said anything."""
        self.finished = False
        """Whether any choice has finished, so that text which follows is looked at."""
        self._lost: list[tuple[KnownCall, int]] = []
        """Calls that a finish found without the arguments they need, and its event: more may follow it."""

    def heard(self, event: Event, known: KnownCall) -> None:
        """A fragment came: the turn was not over then, whatever an earlier finish said."""
        self.last = event.frame.number
        known.choice.unfinished.touch(known)
        if id(known) in known.choice.shortened:
            self._mender.tell(CUT_OFF_CALL, self.last, "the answer's end was said amid the arguments", known.call)
        if known.choice.finish is not None:
            known.choice.resumed = True
            message = f"a fragment comes after finish reason {known.choice.finish}"
            self._mender.tell(EARLY_FINISH, known.choice.finish_event, message)

    def spoke(self, said: Said, frame: Frame) -> None:
        """Where text came, the choice that it belongs to was not over, whatever an earlier finish said."""
        for choice in self._mender.choices.values() if said.text and self.finished else ():
            if choice.finish is not None and says_text(frame, choice.number):
                message = f"more of the answer follows finish reason {choice.finish}"
                self._mender.tell(EARLY_FINISH, choice.finish_event, message)

    def arrives(self, waiting: Waiting) -> None:
        """An event that may say finishes has come: note where calls lack a part, settle the others."""
        if not waiting.said.finishes:
            return
        waits = any(self._mender.on(row) for row in _WAIT)
        for finish in waiting.said.finishes:
            if not finish.reason:
                continue
            choice = self._mender.choice(finish.choice)
            made = OURS.get(finish.reason, finish.reason) in _MADE
            if waits and made and (choice.finish not in _MADE or choice.resumed) and choice.unfinished:
                waiting.early.add(choice)
            else:
                choice.settle()

    def must_wait(self, queue: Sequence[Waiting]) -> bool:
        """Whether the first event's finish, or total, waits to see whether more of the answer follows."""
        first = queue[0]
        if self._mender.ending or self.following(queue) is not None:
            return False
        if not any(finish.reason for finish in first.said.finishes):
            return self.is_early_total(first.frame)
        return bool(first.early) or self._mender.on(EARLY_FINISH)

    def following(self, queue: Sequence[Waiting]) -> Waiting | None:
        """What of the answer comes behind the first event; behind a finish, another one tells nothing."""
        finishes = bool(queue[0].said.finishes)
        return next((one for at, one in enumerate(queue) if at and (one.goes_on if finishes else one.speaks)), None)

    def is_early_total(self, frame: Frame) -> bool:
        """Whether the event is the total of the tokens, which comes last, and calls lack their finish."""
        if look.get(frame.json, "choices") != [] or not isinstance(look.get(frame.json, "usage"), dict):
            return False
        lacking = any(choice.known and choice.finish is None for choice in self._mender.choices.values())
        return lacking and self._mender.on(MISSING_FINISH)

    def before(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What has to be said before a finish: arguments that were kept back, `{}` for calls without any."""
        out: list[Frame] = []
        for finish in waiting.said.finishes:
            choice = self._mender.choice(finish.choice)
            if finish.reason and not _goes_on(choice, following):
                choice.settle()
                out.extend(self.kept_back(choice, waiting.frame.number, waiting))
                if OURS.get(finish.reason, finish.reason) in _MADE and not self._talks_on(following):
                    out.extend(self.arguments(choice, waiting.frame.number, waiting))
        return out

    def _talks_on(self, following: Waiting | None) -> bool:
        """Whether text of the only choice follows its finish, or an error: so may arguments of a call without any."""
        said = following.said if following else None
        if said is None or said.end or len(self._mender.choices) > 1:
            return bool(said and said.error)
        return bool(said.error or said.text.strip() or said.thought.strip())

    def changes(self, waiting: Waiting, following: Waiting | None) -> dict[int, str | None]:
        """The finish reasons that have to change, by choice as the wire numbers it."""
        changes: dict[int, str | None] = {}
        for finish in waiting.said.finishes:
            value = self._value(finish, waiting, following)
            if value != finish.reason:
                changes[finish.choice] = value
        return changes

    def leaves(self, finish: Finish, number: int, changes: dict[int, str | None]) -> None:
        """A finish leaves for the client."""
        choice = self._mender.choice(finish.choice)
        choice.said.add(finish.reason)
        value = changes.get(finish.choice, finish.reason)
        if value and (choice.finish is None or choice.resumed):
            choice.finish, choice.finish_event, choice.resumed = value, number, False
            self.finished = True

    def is_nothing(self, waiting: Waiting, changes: dict[int, str | None], payload: dict[str, Json]) -> bool:
        """Whether an event said nothing but a finish that the client has; some take no chunk behind that."""
        again = [number for number, value in changes.items() if value is None and self._mender.choice(number).finish]
        if not again or waiting.parts or payload.get("usage"):
            return False
        choices = look.items(payload.get("choices"))
        said = [value for choice in choices for value in (look.get(choice, "delta") or {}).values()]
        return not any(said) and not any(choice.get("finish_reason") for choice in choices)

    def honest(self, choice: Choice, reason: str) -> str:
        """The reason, or `length` where it says that calls were made and one is half."""
        if reason in _MADE and choice.unfinished.any_half and self._mender.mends(CUT_OFF_CALL):
            reason, choice.shortened = "length", choice.unfinished.half
        return reason

    def kept_back(self, choice: Choice, number: int, waiting: Waiting | None = None) -> list[Frame]:
        """Arguments that waited for what would make sense of them, and never came: they go on as they came."""
        out: list[Frame] = []
        for known in choice.keeping.values():
            rest = known.spelling.rest(whole=known.call.whole())
            choice.unfinished.touch(known)
            here = _parts(known, waiting)
            if rest and here and not known.told:
                here[-1].told.text += rest
            elif rest and known.told and not known.doubled:
                known.said = True
                out.append(self._more(known, rest, number))
        choice.keeping.clear()
        return out

    def arguments(self, choice: Choice, number: int, waiting: Waiting | None) -> list[Frame]:
        """`{}` for calls of which nothing was said but who they are."""
        out: list[Frame] = []
        if self._mender.failed or (waiting and waiting.said.error) or any(map(is_cut, choice.said)):
            return out
        for known in choice.unfinished.silent():
            if not known.call.name or not self._owes(known, number):
                continue
            known.said = True
            if here := _parts(known, waiting):
                here[-1].told.text = "{}"
            elif known.told:
                out.append(self._more(known, "{}", number))
        return out

    def _owes(self, known: KnownCall, number: int) -> bool:
        """Whether the client is to be given the `{}` that nobody said."""
        mender, call = self._mender, known.call
        if known.spelling.owes:
            return True
        if not (call.arguments.empty or known.says_null) or known.choice.unfinished.any_half or mender.astray:
            return False
        if not mender.context.may_be_empty(known.tool):
            self._lost.append((known, number))
            known.choice.unfinished.lost(known)
            return False
        return mender.tell(EMPTY_ARGUMENTS, number, "the call has no arguments, not even {}", call)

    def tell_lost(self) -> None:
        """The stream is over: tell the calls whose arguments never came."""
        for known, number in self._lost:
            call = known.call
            if call.arguments.empty or known.says_null:
                message = f"{call.name} has required parameters and got no arguments"
                self._mender.tell(LOST_ARGUMENTS, number, message, call)

    def _more(self, known: KnownCall, text: str, number: int) -> Frame:
        entry = {"index": known.index, "function": {"arguments": text}}
        return self._mender.delta(known.choice.number, {"tool_calls": [entry]}, number=number)

    def _value(self, finish: Finish, waiting: Waiting, following: Waiting | None) -> str | None:
        mender, choice, number = self._mender, self._mender.choice(finish.choice), waiting.frame.number
        if not finish.reason:
            return None if mender.tell(EMPTY_FINISH, number, 'the finish reason is ""') else finish.reason
        goes_on = _goes_on(choice, following)
        kept, choice.held = choice.held, None
        if choice.finish is not None and goes_on:
            return self._repeated(choice, finish.reason, finish.reason, number)
        value = str(kept) if kept in _FINAL else self._meant(choice, finish.reason, number)
        if choice.finish is not None:
            return self._again(choice, finish.reason, value, number)
        if kept is not None:
            mender.because(EARLY_FINISH)
        if goes_on or (following is not None and says_text(following.frame, finish.choice)):
            mend = mender.tell(EARLY_FINISH, number, f"more of the answer follows finish reason {finish.reason}")
            if mend or (goes_on and choice in waiting.early and mender.on(CUT_OFF_CALL)):
                mender.because(EARLY_FINISH)
                choice.held, choice.held_event = value, number
                return None
        return value if goes_on else self.honest(choice, value)

    def _meant(self, choice: Choice, reason: str, number: int) -> str:
        """The reason in this protocol's words, and as it has to be where calls were made."""
        mender, value = self._mender, reason
        if (
            reason in OURS
            and not (reason == "function_call" and mender.speaks_legacy)
            and mender.tell(FOREIGN_FINISH, number, f"the finish reason is {reason}")
        ):
            value = OURS[reason]
        settled = choice.finish is not None and not choice.resumed
        if value != _STOP or settled or not choice.whole:
            return value
        wrong = mender.tell(WRONG_FINISH, number, "finish reason stop although calls were made")
        return CALLS if wrong else value

    def _again(self, choice: Choice, reason: str, value: str, number: int) -> str | None:
        """A finish where the client has one: it goes only where calls came in between and it says otherwise.

        Where a second one went on before there was any call, all of them do.
        """
        if choice.resumed and value != choice.finish:
            return value
        if not choice.known:
            choice.loose = True
            return value
        return self._repeated(choice, reason, value, number)

    def _repeated(self, choice: Choice, reason: str, value: str, number: int) -> str | None:
        severity = NOTE if reason in choice.said or reason == choice.finish else WARNING
        message = f"finish reason {reason} after {choice.finish}"
        mend = self._mender.tell(REPEATED_FINISH, number, message, severity=severity)
        return value if choice.loose or not mend else None


def _parts(known: KnownCall, waiting: Waiting | None) -> list[Part]:
    """A call's deltas in an event that has not gone on."""
    parts = waiting.parts if waiting else []
    return [part for part in parts if part.known is known and part.fragment.phase is Phase.MORE]


def _goes_on(choice: Choice, following: Waiting | None) -> bool:
    """Whether more of the choice's calls follows; to say again whose it is, is no more."""
    mine = [part for part in following.parts if part.known.choice is choice] if following else []
    return any(part.says_more for part in mine)
