"""How Converse blocks are broken, as far as no other protocol has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import Phase
from toolstream_core.protocols.bedrock.request import BedrockRequests
from toolstream_core.stages.inject.call_order import reused_id
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.wire_event import WireEvent


def _foreign_delta(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is not Phase.MORE or not injector.first_time(call):
        return None
    return [event, event.with_body({**event.body, "delta": {"text": "\n"}})]


def _null_arguments(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    """The first delta, whose text is empty, has null in its place."""
    del injector, call
    bare = event.phase is Phase.MORE and json_access.get(event.body, "delta", "toolUse", "input") == ""
    return [event.with_text(None)] if bare else None


EDITS: Final[dict[str, Edit]] = {"reused-id": reused_id(BedrockRequests().earlier_ids)}
"""Each does the same to every delta."""
EDITS_OF_ONE_DELTA: Final[dict[str, Edit]] = {"foreign-delta": _foreign_delta, "null-arguments": _null_arguments}
