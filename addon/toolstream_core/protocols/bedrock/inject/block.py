"""How Converse blocks are broken, as far as no other protocol has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import Phase
from toolstream_core.protocols.bedrock.request import BedrockRequests

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.wire_event import WireEvent


def _reused_id(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del call
    earlier = min(BedrockRequests().earlier_ids(injector.context.exchange.request), default=None)
    return [event.with_id(earlier)] if earlier and event.phase is Phase.OPEN else None


def _foreign_delta(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is not Phase.MORE or not injector.first_time(call):
        return None
    return [event, event.with_body({**event.body, "delta": {"text": "\n"}})]


EDITS: Final[dict[str, Edit]] = {"reused-id": _reused_id}
"""Each does the same to every delta."""
EDITS_OF_ONE_DELTA: Final[dict[str, Edit]] = {"foreign-delta": _foreign_delta}
