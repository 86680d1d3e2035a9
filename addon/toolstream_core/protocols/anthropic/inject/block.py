"""How Anthropic's content blocks are broken, as far as no other protocol has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import Phase

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.call_injector import CallInjector, Edit, Edited
    from toolstream_core.stages.inject.wire_event import WireEvent


def _missing_input(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    if event.phase is not Phase.OPEN or "input" not in event.body["content_block"]:
        return None
    block = {key: value for key, value in event.body["content_block"].items() if key != "input"}
    return [event.with_body({**event.body, "content_block": block})]


def _offset_index(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    del injector, call
    index = event.body.get(event.INDEX)
    return [event.at(index + 1)] if isinstance(index, int) else None


def _foreign_delta(injector: CallInjector, event: WireEvent, call: OpenCall) -> Edited:
    if event.phase is not Phase.MORE or not injector.first_time(call):
        return None
    return [event, event.with_body({**event.body, "delta": {"type": "text_delta", "text": "\n"}})]


EDITS: Final[dict[str, Edit]] = {"missing-input": _missing_input, "offset-index": _offset_index}
"""Each does the same to every delta."""
EDITS_OF_ONE_DELTA: Final[dict[str, Edit]] = {"foreign-delta": _foreign_delta}
