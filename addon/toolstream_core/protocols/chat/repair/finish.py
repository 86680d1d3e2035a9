"""How Chat Completions answers finish: whether what they say of it came too early, and what has to come before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.arguments import EMPTY_ARGUMENTS
from toolstream_core.defects.finish import CUT_OFF_CALL, EARLY_FINISH, MISSING_FINISH
from toolstream_core.protocols.chat.edit import says_text
from toolstream_core.protocols.chat.repair.finish_reason import MADE, OURS
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.missing_arguments import MissingArguments
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Waiting
    from toolstream_core.wire.frame import Frame

_WAIT: Final = (CUT_OFF_CALL, EARLY_FINISH, EMPTY_ARGUMENTS)
"""Rows for whose sake a finish waits where calls lack a part."""


class FinishOrder:
    """What comes before and behind the finishes of one stream's choices."""

    def __init__(self, stream: ChatStream, missing: MissingArguments) -> None:
        """For one stream."""
        self._stream = stream
        self._reporter = stream.reporter
        self._missing = missing
        self._waits = any(stream.reporter.on(row) for row in _WAIT)
        self._early_waits = stream.reporter.on(EARLY_FINISH)

    def resolved(self, number: int, choice: Choice, client_call: ClientCall) -> None:
        """A fragment came in event `number`: the turn was not over then, whatever an earlier finish said."""
        self._stream.last = number
        choice.unfinished.touch(client_call)
        if id(client_call) in choice.shortened:
            self._reporter.report(
                CUT_OFF_CALL, number, "the answer's end was said amid the arguments", client_call.call
            )
        if choice.finish is not None:
            choice.resumed = True
            message = f"a fragment comes after finish reason {choice.finish}"
            self._reporter.report(EARLY_FINISH, choice.finish_event, message)

    def text_came(self, frame: Frame) -> None:
        """Where text came, the choice that it belongs to was not over, whatever an earlier finish said."""
        for choice in self._stream.choices.values():
            if choice.finish is not None and says_text(frame, choice.number):
                message = f"more of the answer follows finish reason {choice.finish}"
                self._reporter.report(EARLY_FINISH, choice.finish_event, message)

    def arrives(self, waiting: Waiting) -> None:
        """An event that may say finishes has come: note where calls lack a part, settle the others."""
        for finish in waiting.content.finishes:
            if not finish.reason:
                continue
            choice = self._stream.choice(finish.choice)
            made = OURS.get(finish.reason, finish.reason) in MADE
            if self._waits and made and (choice.finish not in MADE or choice.resumed) and choice.unfinished:
                waiting.early.add(choice)
            else:
                choice.settle()

    def must_wait(self, first: Waiting) -> bool:
        """Whether an event's finish, or total, behind which nothing has come, waits to see whether more follows."""
        if self._stream.ending:
            return False
        if not [finish for finish in first.content.finishes if finish.reason]:
            return not first.parts and self.is_early_total(first.frame)
        return bool(first.early) or self._early_waits

    def following(self, queue: Sequence[Waiting]) -> Waiting | None:
        """What of the answer comes behind the first event; behind a finish, another one tells nothing."""
        finishes = queue[0].content.finishes
        for at, one in enumerate(queue):
            if at and (one.goes_on or (one.content.finishes and not finishes)):
                return one
        return None

    def is_early_total(self, frame: Frame) -> bool:
        """Whether the event is the total of the tokens, which comes last, and calls lack their finish."""
        if json_access.get(frame.json, "choices") != [] or not isinstance(json_access.get(frame.json, "usage"), dict):
            return False
        lacking = any(choice.calls and choice.finish is None for choice in self._stream.choices.values())
        return lacking and self._reporter.on(MISSING_FINISH)

    def before(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What has to be said before a finish: arguments that were kept back, `{}` for calls without any."""
        out: list[Frame] = []
        for finish in waiting.content.finishes:
            choice = self._stream.choice(finish.choice)
            if finish.reason and not (following and following.brings_more(choice)):
                choice.settle()
                again = choice.finish is not None and finish.reason in choice.reasons
                out.extend(self._missing.kept_back(choice, waiting.frame.number, waiting, again=again))
                if OURS.get(finish.reason, finish.reason) in MADE and not self._talks_on(following):
                    out.extend(self._missing.empty_objects(choice, waiting.frame.number, waiting))
        return out

    def _talks_on(self, following: Waiting | None) -> bool:
        """Whether text of the only choice follows its finish, or an error: so may arguments of a call without any."""
        content = following.content if following else None
        if content is None or content.end or len(self._stream.choices) > 1:
            return bool(content and content.error)
        return bool(content.error or content.text.strip() or content.thought.strip())
