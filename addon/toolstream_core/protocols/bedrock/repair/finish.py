"""How a Converse message ends: stop reasons judged and repaired, and what is missing at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import FOREIGN_FINISH, MISSING_CALLS, MISSING_FINISH, REPEATED_STOP, WRONG_FINISH
from toolstream_core.defects.framing import NULL_USAGE
from toolstream_core.defects.row import WARNING
from toolstream_core.protocols.bedrock.converse_event import STOP

if TYPE_CHECKING:
    from toolstream_core.protocols.bedrock.converse_event import Payload
    from toolstream_core.protocols.bedrock.repair.block_sequence import BlockRepairer

_OURS: Final = {
    "stop": "end_turn",
    "STOP": "end_turn",
    "END_TURN": "end_turn",
    "completed": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "TOOL_USE": "tool_use",
    "TOOL_CALL": "tool_use",
    "length": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "content_filter": "content_filtered",
}
"""Other protocols' words for what Converse says."""
_NO_USAGE: Final = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


class FinishRepair:
    """The end of one message."""

    def __init__(self, repairer: BlockRepairer) -> None:
        """For one stream."""
        self._repairer = repairer
        self.failed = False
        """Whether the provider reported an error, or part of the stream could not be read."""
        self._stop: Payload | None = None
        """What `messageStop` said."""
        self._stops: tuple[Payload, ...] = ()
        """The same, and what the client was told."""
        self._calls = 0
        """How many calls the client had been given by then."""

    def stopped(self, body: Payload) -> Payload | None:
        """`messageStop` as the client is to get it; `None` where it has it already."""
        repairer = self._repairer
        if self._stop is not None:
            again = repairer.report(REPEATED_STOP, repairer.message.number, "the message stops twice")
            nothing_new = _bare(body) in self._stops and self._calls == len(repairer.calls)
            return None if again and nothing_new else body
        self._stop = _bare(body)
        repairer.close_whole(failed=self.failed)
        self._calls = len(repairer.calls)
        changed = self._reason(body)
        self._stops = (self._stop, _bare(changed))
        return changed

    def metadata(self, body: Payload) -> Payload:
        """`metadata` as the client is to get it, with what has to come before it."""
        self._finish("metadata comes without a messageStop before it")
        repairer = self._repairer
        bare = not isinstance(body.get("usage"), dict)
        if bare and repairer.report(NULL_USAGE, repairer.message.number, "metadata has no usage"):
            return {**body, "usage": dict(_NO_USAGE)}
        return body

    def at_end(self, *, clean: bool) -> None:
        """The body has ended: what it lacks is put."""
        if clean:
            self._finish("the stream ended without a messageStop")
        self._repairer.close_whole(failed=True)

    def _finish(self, message: str) -> None:
        """Put a stop reason where none came and calls are whole."""
        repairer = self._repairer
        if self._stop is not None or self.failed or not repairer.runnable:
            return
        repairer.close_whole(failed=False)
        if repairer.report(MISSING_FINISH, repairer.message.number, message):
            self._stop = {"stopReason": "tool_use"}
            self._stops, self._calls = (self._stop,), len(repairer.calls)
            repairer.put(STOP, self._stop)

    def _reason(self, body: Payload) -> Payload:
        repairer, reason = self._repairer, body.get("stopReason")
        reason = reason if isinstance(reason, str) else ""
        meant = _OURS.get(reason)
        runs = "end_turn" in {reason, meant} and repairer.runnable
        if "tool_use" in {reason, meant} and not repairer.calls:
            repairer.report(
                MISSING_CALLS, repairer.message.number, "the stop reason says tool_use and no toolUse block came"
            )
        if meant is not None:
            if repairer.report(FOREIGN_FINISH, repairer.message.number, f"the stop reason is {reason}"):
                return {**body, "stopReason": "tool_use" if runs else meant}
            return body
        message = "stop reason end_turn although tools are used"
        if runs and repairer.report(WRONG_FINISH, repairer.message.number, message, severity=WARNING):
            return {**body, "stopReason": "tool_use"}
        lacks = not reason and repairer.runnable and not self.failed
        if lacks and repairer.report(
            MISSING_FINISH, repairer.message.number, "messageStop comes without a stop reason"
        ):
            return {**body, "stopReason": "tool_use"}
        return body


def _bare(body: Payload) -> Payload:
    """Without the padding, which is random."""
    return {key: value for key, value in body.items() if key != "p"}
