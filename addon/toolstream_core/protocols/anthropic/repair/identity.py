"""The id and the name of a call in the start of its content block: judged and repaired."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DUPLICATE_ID, MISSING_ID
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.repair.identity import STRICT_ID, judge_id, judge_name

if TYPE_CHECKING:
    from collections.abc import Container

    from toolstream_core.protocols.anthropic.repair.events import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.emitted import Judge


class KnownIds:
    """The ids of calls that the client knows: those of this message, and those of earlier turns."""

    def __init__(self, context: Context, given: Container[str]) -> None:
        """`given` are the ids of this message, as the provider gave them."""
        self.context = context
        self.given = given

    @cached_property
    def earlier(self) -> frozenset[str]:
        """The ids in the request's conversation."""
        return earlier_ids(self.context.exchange.request)


def identify(content: Payload, given: str, name: str, ids: KnownIds, judge: Judge) -> str:
    """Repair the id `given` and the `name` in `content`; gives the id that was made up, or `""`."""
    made_up = ""
    if not given:
        repair = judge(MISSING_ID, "the block starts without an id") and name != ""
    else:
        repair = given in ids.given and judge(DUPLICATE_ID, f"id {given} is that of another call")
    if repair:
        made_up = content["id"] = ids.context.ids.make("toolu_")
    judge_id(given, ids.earlier, judge, STRICT_ID)
    plain = judge_name(name, ids.context.schemas, judge)
    if plain != name:
        content["name"] = plain
    return made_up
