"""Who the call is that a Converse block starts: its id and its name, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.defects.identity import DUPLICATE_ID, MISSING_ID
from toolstream_core.stages.repair.identity import STRICT_ID, judge_id, judge_name

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.repair.client_message import ClientMessage
    from toolstream_core.stages.repair.emitted import Judge


class Identity(NamedTuple):
    """Who the provider says that a call is."""

    given_id: str
    name: str
    again: bool
    """Whether the block only says an earlier call once more."""


def identify(call: Identity, message: ClientMessage, judge: Judge, tool: dict[str, Json]) -> None:
    """Repair in `tool` what the start of a block says of its call; `judge` reports a defect of it."""
    given, context = call.given_id, message.context
    if not given:
        repair = judge(MISSING_ID, "the block starts without an id") and call.name != ""
    else:
        other = given in message.given_ids and not call.again
        repair = other and judge(DUPLICATE_ID, f"id {given} is that of another call")
    if repair:
        tool["toolUseId"] = context.ids.make(context.id_prefix)
    judge_id(given, message.earlier_ids, judge, STRICT_ID)
    name = judge_name(call.name, context.schemas, judge)
    if name != call.name:
        tool["name"] = name
