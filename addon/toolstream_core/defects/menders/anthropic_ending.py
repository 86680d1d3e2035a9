"""How an Anthropic message ends: stop reasons judged and mended, and what is missing at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.ending import (
    FOREIGN_FINISH,
    MISSING_CALLS,
    MISSING_DONE,
    MISSING_FINISH,
    REPEATED_STOP,
    UNCLOSED_CALL,
    WRONG_FINISH,
)
from toolstream_core.defects.framing import NULL_USAGE
from toolstream_core.defects.row import WARNING

if TYPE_CHECKING:
    from toolstream_core.defects.menders.anthropic_block import Block
    from toolstream_core.defects.menders.anthropic_blocks import BlocksMender as AnthropicMender
    from toolstream_core.model import Json

_OURS: Final = {
    "stop": "end_turn",
    "STOP": "end_turn",
    "completed": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "MAX_TOKENS": "max_tokens",
    "content_filter": "refusal",
}
"""Other protocols' words for what Messages say."""


class Endings:
    """The end of one message."""

    def __init__(self, mender: AnthropicMender) -> None:
        """For one stream."""
        self._mender = mender
        self.failed = False
        """Whether the provider reported an error."""
        self._reason: str | None = None
        self._over = False

    def ending(self, payload: dict[str, Json], kind: str) -> dict[str, Json] | None:
        """`message_delta` or `message_stop` as the client is to get it, what it lacks put; `None` where it has it."""
        if self._over and kind == "message_stop":
            gone = self._mender.tell(REPEATED_STOP, self._mender.number, "the message stops twice")
            return None if gone else payload
        self._close_all()
        if kind == "message_stop":
            self._over = True
            if self._reason is None:
                self._finish("message_stop comes without a stop reason")
            return payload
        return self._delta(payload)

    def at_end(self, *, clean: bool) -> None:
        """What the body's end lacks is put."""
        mender = self._mender
        if self._over or self.failed or not clean:
            return
        if self._reason is not None:
            whole = self._calls and all(block.whole for block in mender.blocks)
            if whole and mender.tell(
                MISSING_DONE, mender.number, "the stream ended without message_stop", severity=WARNING
            ):
                mender.put({"type": "message_stop"})
            return
        if self._calls and all(block.whole for block in mender.blocks):
            self._close_all()
            if self._finish("the stream ended without a stop reason"):
                mender.put({"type": "message_stop"})

    @property
    def _calls(self) -> list[Block]:
        return [block for block in self._mender.blocks if block.is_call]

    def _close_all(self) -> None:
        for block in self._mender.blocks:
            if block.open and block.is_call and block.whole and not self.failed:
                message = "no content_block_stop came for the call"
                if self._mender.tell(UNCLOSED_CALL, self._mender.number, message, block.call):
                    self._mender.close(block)

    def _finish(self, message: str) -> bool:
        """Put a stop reason where none came and calls are whole; whether that was done."""
        mender, calls = self._mender, self._calls
        if self.failed or not calls or not all(block.whole for block in mender.blocks):
            return False
        if not mender.tell(MISSING_FINISH, mender.number, message):
            return False
        self._reason = "tool_use"
        delta = {"stop_reason": "tool_use", "stop_sequence": None}
        mender.put({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}})
        return True

    def _delta(self, payload: dict[str, Json]) -> dict[str, Json]:
        mender, changed = self._mender, payload
        delta = payload.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        calls = self._calls
        if isinstance(reason, str) and reason:
            self._reason = reason
        made = bool(calls) and all(block.whole for block in calls)
        meant = _OURS.get(reason) if isinstance(reason, str) else None
        if meant is not None:
            meant = "tool_use" if made and meant == "end_turn" else meant
            if mender.tell(FOREIGN_FINISH, mender.number, f"the stop reason is {reason}"):
                self._reason = meant
                changed = {**changed, "delta": {**changed["delta"], "stop_reason": meant}}
        message = "stop reason end_turn although tools are used"
        if made and reason == "end_turn" and mender.tell(WRONG_FINISH, mender.number, message, severity=WARNING):
            changed = {**changed, "delta": {**changed["delta"], "stop_reason": "tool_use"}}
        if "tool_use" in {reason, meant} and not calls:
            mender.tell(MISSING_CALLS, mender.number, "the stop reason says tool_use and no tool_use block came")
        bare = not isinstance(payload.get("usage"), dict)
        if bare and mender.tell(NULL_USAGE, mender.number, "message_delta has no usage"):
            changed = {**changed, "usage": {"output_tokens": 0}}
        return changed
