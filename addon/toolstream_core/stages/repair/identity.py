"""Ids and names of calls, judged alike in all protocols. What an id has to be replaced by is each protocol's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.identity import DECORATED_NAME, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.stages.repair.names import plain_name

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from toolstream_core.model import Json
    from toolstream_core.stages.repair.emitted import Judge

USUAL_ID: Final = re.compile(r"[\w.:|/+=-]{1,64}", re.ASCII)
"""Ids as providers make them."""
STRICT_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Ids that Anthropic's API and Bedrock's take."""


def judge_id(identity: str, earlier: Container[str], judge: Judge, usual: re.Pattern[str] = USUAL_ID) -> None:
    """Report an id that is one of the `earlier` calls of the conversation, and one that is not `usual`."""
    if identity in earlier:
        judge(REUSED_ID, f"id {identity} was that of a call of an earlier turn")
    if identity and not usual.fullmatch(identity):
        judge(ODD_ID, f"the id has {len(identity)} characters, or some that other APIs refuse")


def judge_name(name: str, offered: Mapping[str, Json], judge: Judge) -> str:
    """Report a name that is missing, or that has something around it; the name that the client is to get."""
    if not name:
        judge(MISSING_NAME, "the call has no name")
        return name
    plain = name if name in offered else plain_name(name, offered)
    return plain if plain != name and judge(DECORATED_NAME, f"the name is {name!r}, the tool is {plain}") else name
