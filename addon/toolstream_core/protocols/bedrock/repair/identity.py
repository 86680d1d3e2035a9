"""Who the call is that a Converse block starts: its id and its name, judged and repaired."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.identity import DECORATED_NAME, DUPLICATE_ID, MISSING_ID, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.stages.repair.names import plain_name

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.repair.block_sequence import BlockRepairer
    from toolstream_core.protocols.bedrock.repair.client_block import Block

_USUAL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def identify(block: Block, repairer: BlockRepairer, tool: dict[str, Json]) -> None:
    """Repair in `tool` what the start of `block` says of them."""
    given = block.given_id
    if not given:
        repair = block.judge(MISSING_ID, "the block starts without an id")
    else:
        other = given in repairer.by_id and not block.again
        repair = other and block.judge(DUPLICATE_ID, f"id {given} is that of another call")
    if repair:
        tool["toolUseId"] = repairer.context.ids.make(repairer.context.id_prefix)
    if given in repairer.earlier_ids:
        block.judge(REUSED_ID, f"id {given} was that of a call of an earlier turn")
    if given and not _USUAL_ID.fullmatch(given):
        block.judge(ODD_ID, f"the id has {len(given)} characters, or some that other APIs refuse")
    if not block.name:
        block.judge(MISSING_NAME, "the call has no name")
        return
    plain = plain_name(block.name, repairer.context.schemas)
    if plain != block.name and block.judge(DECORATED_NAME, f"the name is {block.name!r}, the tool is {plain}"):
        tool["name"] = plain
