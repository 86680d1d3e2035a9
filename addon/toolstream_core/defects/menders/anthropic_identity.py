"""Who the call is that an Anthropic content block starts: its id and its name, judged and mended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.identity import DECORATED_NAME, DUPLICATE_ID, MISSING_ID, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.defects.menders.names import plain_name

if TYPE_CHECKING:
    from toolstream_core.defects.menders.anthropic_block import Block
    from toolstream_core.defects.menders.anthropic_blocks import BlocksMender
    from toolstream_core.model import Json

_USUAL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def identify(block: Block, mender: BlocksMender, content: dict[str, Json]) -> str:
    """Mend what the block's start says of them in `content`; the id that was made up, `""` where none was."""
    made, said = "", block.given_id
    if not said:
        mend = block.judge(MISSING_ID, "the block starts without an id")
    else:
        mend = said in mender.by_id and block.judge(DUPLICATE_ID, f"id {said} is that of another call")
    if mend:
        made = content["id"] = mender.context.ids.make("toolu_")
    if said in mender.earlier_ids:
        block.judge(REUSED_ID, f"id {said} was that of a call of an earlier turn")
    if said and not _USUAL_ID.fullmatch(said):
        block.judge(ODD_ID, f"the id has {len(said)} characters, or some that other APIs refuse")
    if not block.name:
        block.judge(MISSING_NAME, "the call has no name")
        return made
    plain = plain_name(block.name, mender.context.schemas)
    if plain != block.name and block.judge(DECORATED_NAME, f"the name is {block.name!r}, the tool is {plain}"):
        content["name"] = plain
    return made
