"""Who the call is that a Converse block starts: its id and its name, judged and repaired."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.defects.identity import DECORATED_NAME, DUPLICATE_ID, MISSING_ID, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.stages.repair.names import plain_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.repair.client_message import ClientMessage

_USUAL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Identity(NamedTuple):
    """Who the provider says that a call is."""

    given_id: str
    name: str
    again: bool
    """Whether the block only says an earlier call once more."""


def identify(call: Identity, message: ClientMessage, judge: Callable[[Row, str], bool], tool: dict[str, Json]) -> None:
    """Repair in `tool` what the start of a block says of its call; `judge` reports a defect of it."""
    given, context = call.given_id, message.context
    if not given:
        repair = judge(MISSING_ID, "the block starts without an id")
    else:
        other = given in message.given_ids and not call.again
        repair = other and judge(DUPLICATE_ID, f"id {given} is that of another call")
    if repair:
        tool["toolUseId"] = context.ids.make(context.id_prefix)
    if given in message.earlier_ids:
        judge(REUSED_ID, f"id {given} was that of a call of an earlier turn")
    if given and not _USUAL_ID.fullmatch(given):
        judge(ODD_ID, f"the id has {len(given)} characters, or some that other APIs refuse")
    if not call.name:
        judge(MISSING_NAME, "the call has no name")
        return
    plain = plain_name(call.name, context.schemas)
    if plain != call.name and judge(DECORATED_NAME, f"the name is {call.name!r}, the tool is {plain}"):
        tool["name"] = plain
