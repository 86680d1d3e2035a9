"""Checks ids and names of calls, for all protocols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Protocol

from toolstream_core.calls.parameters import plain_name
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.identity import DECORATED_NAME, MISSING_NAME, ODD_ID, REUSED_ID
from toolstream_core.model import Json
from toolstream_core.stages.context import Context
from toolstream_core.wire import json_access

USUAL_ID: Final = re.compile(r"[\w.:|/+=-]{1,64}", re.ASCII)
"""Ids in the form that providers send."""
STRICT_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Ids that the APIs of Anthropic and Bedrock accept."""


class Judge(Protocol):
    """Reports the defects of a call."""

    def __call__(self, defect: Defect, message: str) -> bool:
        """Report a defect. Returns whether to repair it."""


def judge_id(identity: str, context: Context, judge: Judge, usual: re.Pattern[str] = USUAL_ID) -> None:
    """Report an id that a call of an earlier turn has, or that is not `usual`."""
    # Nearly always the request does not even have the text, and its ids need not be read.
    if json_access.has_text(context.exchange.request, identity) and identity in context.earlier_ids:
        judge(REUSED_ID, f"id {identity} was already used in an earlier turn")
    if identity and not usual.fullmatch(identity):
        judge(ODD_ID, f"the id has {len(identity)} characters, or some that other APIs refuse")


def judge_name(name: str, offered: Mapping[str, Json], judge: Judge) -> str:
    """Report a missing name, or a name with other characters around it. Returns the name to send."""
    if not name:
        judge(MISSING_NAME, "the call has no name")
        return name
    plain = plain_name(name, offered)
    return plain if plain != name and judge(DECORATED_NAME, f"the name is {name!r}, the tool is {plain}") else name


def may_begin_tool(name: str, offered: Mapping[str, Json]) -> bool:
    """Whether `name` can be the beginning of an offered tool's name, with or without `functions.`."""
    complete = [f"{before}{tool}" for tool in offered for before in ("", "functions.")]
    return name not in offered and any(one.startswith(name) and one != name for one in complete)
