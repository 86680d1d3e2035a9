"""The finish reasons of the choices of a response: received, sent and delayed ones."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from toolstream_core.defects.defect import NOTE, WARNING
from toolstream_core.defects.finish import (
    CUT_OFF_CALL,
    EARLY_FINISH,
    EMPTY_FINISH,
    FOREIGN_FINISH,
    MISSING_CALLS,
    REPEATED_FINISH,
    WRONG_FINISH,
)
from toolstream_core.defects.framing import SPLIT_CHOICES
from toolstream_core.model import Event, Phase
from toolstream_core.protocols.chat.edit import has_text
from toolstream_core.protocols.chat.repair.client import Client, Turn
from toolstream_core.protocols.chat.repair.stream import Stream, Waiting
from toolstream_core.protocols.requests.tools import forced_tool
from toolstream_core.repair.finish import FinishWords

WORDS: Final = FinishWords(called="tool_calls", complete="stop", cut="length", filtered="content_filter")
FINAL: Final = frozenset({WORDS.called, "length", "content_filter"})
"""Early reasons that a later one does not replace."""


class Finish:
    """The finish reasons of one choice."""

    def __init__(self) -> None:
        self.received: dict[str, None] = {}
        """Every reason that was received, the last one last."""
        self.sent: str | None = None
        """The reason that was sent."""
        self.event = 0
        """The number of its event."""
        self.resumed = False
        """Whether more of the calls arrived after it."""
        self.delayed: str | None = None
        """An early reason that was not sent yet."""
        self.shortened = False
        """Whether the client was sent `length` because a call was incomplete."""


class Finishes:
    """The finish reasons of one stream."""

    def __init__(self, client: Client, stream: Stream) -> None:
        self._client, self._stream = client, stream
        self._reporter = client.reporter
        self._report, self._on = client.reporter.report, client.reporter.on
        self.by_choice: dict[int, Finish] = {}
        self.called: set[int] = set()
        """Choices with calls that are forwarded unchanged."""

    def of(self, choice: int) -> Finish:
        """The finish reasons of a choice."""
        choice = self._client.choice(choice)
        return self.by_choice.get(choice) or self.by_choice.setdefault(choice, Finish())

    @property
    def any_sent(self) -> bool:
        """Whether the client has the finish of any choice."""
        return any(one.sent for one in self.by_choice.values())

    def note(self, waiting: Waiting) -> None:
        """Report an earlier finish reason if more of the response follows it."""
        event, number = waiting.event, waiting.event.frame.number
        for part in waiting.fragments:
            finish, repeated = self.of(part.fragment.choice), part.fragment.phase is Phase.WHOLE and part.state.is_open
            if finish.sent is None or self._stream.done or (repeated and not part.fresh):
                continue
            finish.resumed = True
            self._report(EARLY_FINISH, finish.event, f"a fragment comes after finish reason {finish.sent}")
            if finish.shortened and part.delta:
                message = "the finish reason came before the end of the arguments"
                self._report(CUT_OFF_CALL, number, message, part.state.intended.call)
        for choice, finish in self.by_choice.items() if event.content.text and not self._stream.done else ():
            if finish.sent is not None and has_text(event.frame, choice):
                self._report(EARLY_FINISH, finish.event, f"the response continues after finish reason {finish.sent}")

    def value(self, reason: str, number: int, event: Event, following: Waiting | None) -> str | None:
        """The finish reason to send for a received one; `None` if none is sent now."""
        finish, turn, at = self.of(number), self._client.turn(number), event.frame.number
        value = self._intended(finish, turn, reason, number, at, following)
        finish.received.pop(reason, None)
        finish.received[reason] = None
        if value and (finish.sent is None or finish.resumed):
            finish.sent, finish.event, finish.resumed = value, at, False
        return value

    def _intended(
        self, finish: Finish, turn: Turn, reason: str, number: int, at: int, following: Waiting | None
    ) -> str | None:
        if not reason:
            return None if self._report(EMPTY_FINISH, at, 'the finish reason is ""') else reason
        has_more, kept = (following is not None and following.has_more_of(number)), finish.delayed
        finish.delayed = None
        if finish.sent is not None and has_more:
            return self._repeated(finish, reason, reason, at)
        value = str(kept) if kept in FINAL else self._translated(finish, turn, reason, at)
        if finish.sent is not None:
            if finish.resumed and value != finish.sent:
                return value
            if not (turn.calls or self._client.choice(number) in self.called):
                return value
            return self._repeated(finish, reason, value, at)
        if has_more or (following is not None and has_text(following.event.frame, number)):
            message = f"the response continues after finish reason {reason}"
            repair = self._report(EARLY_FINISH, at, message)
            if repair or (has_more and self._on(CUT_OFF_CALL) and WORDS.is_complete(reason)):
                self._reporter.attribute_to(EARLY_FINISH)
                finish.delayed, finish.event = value, at
                return None
        return value if has_more else self.downgraded(finish, turn, value)

    def _translated(self, finish: Finish, turn: Turn, reason: str, at: int) -> str:
        value, legacy = reason, reason == "function_call" and not self._stream.checks_calls
        foreign = WORDS.translated(reason) != reason and not legacy
        if foreign and self._report(FOREIGN_FINISH, at, f"the finish reason is {reason}"):
            value = WORDS.translated(reason)
        is_sent = finish.sent is not None and not finish.resumed
        if value != WORDS.complete or is_sent or not turn.is_complete or self._is_forced:
            return value
        return WORDS.called if self._report(WRONG_FINISH, at, "finish reason stop although calls were made") else value

    @cached_property
    def _is_forced(self) -> bool:
        """Whether the request forces one tool: OpenAI sends `stop` then (vllm-project/vllm#25054)."""
        return forced_tool(self._client.context.exchange.request) != ""

    def _repeated(self, finish: Finish, reason: str, value: str, at: int) -> str | None:
        severity = NOTE if reason in finish.received or reason == finish.sent else WARNING
        message = f"finish reason {reason} after {next(reversed(finish.received), finish.sent)}"
        repair = self._report(REPEATED_FINISH, at, message, severity=severity)
        return None if repair else value

    def downgraded(self, finish: Finish, turn: Turn, reason: str) -> str:
        """The reason, or `length` if a call is incomplete."""
        promises = reason in {WORDS.complete, WORDS.called}
        finish.shortened = promises and turn.has_incomplete and self._reporter.repairs_at_end(CUT_OFF_CALL)
        return "length" if finish.shortened else reason

    def is_final(self, finish: Finish, turn: Turn) -> bool:
        """Whether a finish reason arrived after all calls, or they need none."""
        if finish.resumed:
            return all(one.intended.is_complete_object or one.intended.is_blank for one in turn.unfinished())
        return turn.is_complete

    def report_without_calls(self, choice: int) -> None:
        """Report a finish reason that promises calls in a choice without calls."""
        finish = self.of(choice)
        if WORDS.called not in map(WORDS.translated, finish.received) or self._client.turn(choice).calls:
            return
        if choice in self.called:
            return
        if self.called or any(turn.calls for turn in self._client.turns.values()):
            self._report(SPLIT_CHOICES, finish.event, "the finish reason promises calls, and another choice has them")
        else:
            self._report(
                MISSING_CALLS, finish.event, "the finish reason promises tool calls, but no call could be read"
            )
