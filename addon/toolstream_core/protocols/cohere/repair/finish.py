"""How a Cohere v2 message ends: finish reasons judged and repaired, and what is missing at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import (
    FOREIGN_FINISH,
    MISSING_CALLS,
    MISSING_DONE,
    MISSING_FINISH,
    REPEATED_FINISH,
    WRONG_FINISH,
)
from toolstream_core.defects.framing import NULL_USAGE
from toolstream_core.protocols.cohere.wire import MESSAGE_END

if TYPE_CHECKING:
    from toolstream_core.protocols.cohere.repair.ends import EndRepairer
    from toolstream_core.protocols.cohere.wire import Payload

CALLED: Final = "TOOL_CALL"
COMPLETE: Final = "COMPLETE"
_OWN: Final = frozenset({CALLED, COMPLETE, "STOP_SEQUENCE", "MAX_TOKENS", "ERROR", "TIMEOUT"})
_OURS: Final = {
    "stop": COMPLETE,
    "STOP": COMPLETE,
    "end_turn": COMPLETE,
    "completed": COMPLETE,
    "tool_calls": CALLED,
    "tool_use": CALLED,
    "function_call": CALLED,
    "length": "MAX_TOKENS",
}
"""Other protocols' words for what this one says."""
_USAGE: Final = {"input_tokens": 0, "output_tokens": 0}


class FinishRepair:
    """The end of one message."""

    def __init__(self, repairer: EndRepairer) -> None:
        """For one stream."""
        self._repairer = repairer
        self.failed = False
        """Whether the provider reported an error."""
        self.over = False
        """Whether `message-end` has come, or was put."""
        self.done = False
        """Whether `[DONE]` has come."""
        self._calls = 0
        """How many calls the client had been given when the message ended."""

    def ending(self, payload: Payload) -> Payload | None:
        """`message-end` as the client is to get it; `None` where it has it."""
        repairer = self._repairer
        if self.done:
            return payload
        if self.over:
            gone = repairer.report(REPEATED_FINISH, repairer.number, "the message ends twice")
            return None if gone and self._calls == len(repairer.calls) else payload
        repairer.close_whole(failed=self.failed)
        self.over, self._calls = True, len(repairer.calls)
        delta = payload.get("delta")
        if not isinstance(delta, dict):
            return payload
        edits = self._reason(delta.get("finish_reason"))
        bare = not isinstance(delta.get("usage"), dict) and not self.failed
        if bare and repairer.report(NULL_USAGE, repairer.number, "message-end has no usage"):
            edits["usage"] = {"billed_units": dict(_USAGE), "tokens": dict(_USAGE)}
        return {**payload, "delta": {**delta, **edits}} if edits else payload

    def _reason(self, said: object) -> Payload:
        """What has to change in the finish reason."""
        repairer = self._repairer
        number, reason = repairer.number, said if isinstance(said, str) else ""
        if not reason:
            lacks = repairer.runnable and not self.failed
            message = "message-end comes without a finish reason"
            return {"finish_reason": CALLED} if lacks and repairer.report(MISSING_FINISH, number, message) else {}
        meant = reason if reason in _OWN else _meant(reason)
        made = meant == COMPLETE and repairer.runnable
        if meant == CALLED and not repairer.calls:
            repairer.report(MISSING_CALLS, number, "the finish reason says TOOL_CALL and no call came")
        if meant is not None and meant != reason:
            word = CALLED if made else meant
            foreign = repairer.report(FOREIGN_FINISH, number, f"the finish reason is {reason}")
            return {"finish_reason": word} if foreign else {}
        message = "finish reason COMPLETE although calls were made"
        return {"finish_reason": CALLED} if made and repairer.report(WRONG_FINISH, number, message) else {}

    def put(self, message: str) -> bool:
        """Put `message-end` where none came and calls are whole; whether that was done."""
        repairer = self._repairer
        if self.over or self.failed or repairer.torn or not repairer.runnable:
            return False
        repairer.close_whole(failed=False)
        if not repairer.report(MISSING_FINISH, repairer.number, message):
            return False
        self.over, self._calls = True, len(repairer.calls)
        usage = {"billed_units": dict(_USAGE), "tokens": dict(_USAGE)}
        repairer.put({"type": MESSAGE_END, "delta": {"finish_reason": CALLED, "usage": usage}})
        return True

    def at_end(self, *, clean: bool) -> None:
        """The body has ended: what it lacks is put."""
        repairer = self._repairer
        if clean and not self.done and self._lacks_done():
            repairer.put_done()
        for one in repairer.calls:
            if one.open:
                repairer.flush(one)

    def _lacks_done(self) -> bool:
        """Whether `[DONE]` is to be put behind the message's end, which is put before it where it has not come.

        Where events have no event lines, somebody wrote them from what a client had read: `[DONE]` is not in that.
        """
        repairer = self._repairer
        if not self.over:
            return self.put("the stream ended without message-end")
        whole = repairer.runnable and repairer.has_event_lines and not self.failed
        return whole and repairer.report(MISSING_DONE, repairer.number, "the stream ended without [DONE]")


def _meant(reason: str) -> str | None:
    """The word of this protocol for another one's, or for its own in another case; `None` where it is unknown."""
    own = reason.upper().replace("-", "_")
    return _OURS.get(reason) or (own if own in _OWN else None)
