"""How an Anthropic message ends: stop reasons judged and repaired, and a missing end added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import (
    FOREIGN_FINISH,
    MISSING_CALLS,
    MISSING_DONE,
    MISSING_FINISH,
    REPEATED_STOP,
    WRONG_FINISH,
)
from toolstream_core.defects.framing import NULL_USAGE
from toolstream_core.defects.row import WARNING
from toolstream_core.protocols.anthropic.repair.last_frame import was_end
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.protocols.anthropic.repair.events import Payload
    from toolstream_core.protocols.anthropic.repair.order import OrderRepairer
    from toolstream_core.wire.frame import Frame

_STOP_REASONS: Final = {
    "stop": "end_turn",
    "STOP": "end_turn",
    "completed": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "content_filter": "refusal",
}
"""The Messages API's stop reason for each finish reason of other protocols."""
_OF_A_STOP: Final = frozenset({"type", "amazon-bedrock-invocationMetrics"})
"""The keys of an event that only stops a message."""


class FinishRepair:
    """Judges and repairs the end of one message."""

    def __init__(self, repairer: OrderRepairer) -> None:
        """`repairer` is that of the message's blocks."""
        self._repairer = repairer
        self._message = repairer.message
        self.failed = False
        """Whether the provider reported an error."""
        self._reason: str | None = None
        self._over = False
        self._blocks = 0
        """How many the client had been given by then."""

    def repaired(self, payload: Payload, kind: str) -> Payload | None:
        """`message_delta` or `message_stop` as the client is to get it; `None` if it is dropped.

        Whatever has to come before it is put.
        """
        if self._over and kind == "message_stop":
            drop = self._repairer.report(REPEATED_STOP, self._repairer.number, "the message stops twice")
            drop = drop and self._blocks == self._message.count
            return None if drop and payload.get("type") == kind and payload.keys() <= _OF_A_STOP else payload
        given = json_access.get(payload, "delta", "stop_reason")
        reason = given if isinstance(given, str) and given else self._reason
        if reason or kind == "message_stop":
            self._repairer.let_go()
            self._repairer.close_whole(failed=self.failed, stopped=kind == "message_stop")
        if kind == "message_stop":
            self._over, self._blocks = True, self._message.count
            if self._reason is None:
                self._finish("message_stop comes without a stop reason")
            return payload
        return self._delta(payload)

    def at_end(self, cut: Frame | None, *, clean: bool) -> Frame | None:
        """The body has ended: put what it lacks. `cut` is an incomplete last frame; gives `None` if it is dropped."""
        repairer = self._repairer
        replaceable = cut is None or self._reason is not None or was_end(cut)
        put = replaceable and clean and not (self._over or self.failed) and self._message.runnable and self._put()
        if not put:
            repairer.flush_open()
        return None if put else cut

    def _put(self) -> bool:
        """Put the missing end of a message whose calls are whole; whether that was done."""
        repairer = self._repairer
        if self._reason is None and repairer.torn:
            return False
        repairer.close_whole(failed=False, stopped=True)
        if self._reason is None:
            put = self._finish("the stream ended without a stop reason")
        else:
            message = "the stream ended without message_stop"
            put = repairer.report(MISSING_DONE, repairer.number, message, severity=WARNING)
        if put:
            repairer.put({"type": "message_stop"})
        return put

    def _finish(self, message: str) -> bool:
        """Put the missing stop reason if the calls are whole; whether that was done."""
        repairer = self._repairer
        if self.failed or repairer.torn or not self._message.runnable:
            return False
        if not repairer.report(MISSING_FINISH, repairer.number, message):
            return False
        self._reason = "tool_use"
        delta = {"stop_reason": "tool_use", "stop_sequence": None}
        repairer.put({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}})
        return True

    def _delta(self, payload: Payload) -> Payload:
        repairer, changed = self._repairer, payload
        delta = payload.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        reason = reason if isinstance(reason, str) else ""
        self._reason = reason or self._reason
        meant = _STOP_REASONS.get(reason)
        made = "end_turn" in {reason, meant} and self._message.runnable
        if meant is not None:
            meant = "tool_use" if made and meant == "end_turn" else meant
            if repairer.report(FOREIGN_FINISH, repairer.number, f"the stop reason is {reason}"):
                self._reason = meant
                changed = {**changed, "delta": {**changed["delta"], "stop_reason": meant}}
        message = "stop reason end_turn although tools are used"
        if made and reason == "end_turn" and repairer.report(WRONG_FINISH, repairer.number, message, severity=WARNING):
            changed = {**changed, "delta": {**changed["delta"], "stop_reason": "tool_use"}}
        if "tool_use" in {reason, meant} and not self._message.calls:
            repairer.report(MISSING_CALLS, repairer.number, "the stop reason says tool_use and no tool_use block came")
        bare = not isinstance(payload.get("usage"), dict)
        if bare and repairer.report(NULL_USAGE, repairer.number, "message_delta has no usage"):
            changed = {**changed, "usage": {"output_tokens": 0}}
        return changed
