"""Calls that come whole, each in one event, with arguments that are an object: judged alike in all protocols."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS
from toolstream_core.defects.identity import DECORATED_NAME, MISSING_NAME
from toolstream_core.stages.repair.identity import judge_id
from toolstream_core.stages.repair.names import plain_name
from toolstream_core.wire import numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Fragment, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter


class WholeCallJudge:
    """Judges the calls of one stream, and says what an entry has to have instead."""

    def __init__(self, context: Context, reporter: Reporter, earlier_ids: Callable[[Json], frozenset[str]]) -> None:
        """`earlier_ids` reads the ids of the request's earlier calls."""
        self._context = context
        self._report = reporter.report
        self._earlier_ids = earlier_ids

    @cached_property
    def _earlier(self) -> frozenset[str]:
        return self._earlier_ids(self._context.exchange.request)

    def identity(self, fragment: Fragment, call: OpenCall, event: int) -> None:
        """Report what is wrong with the id, and that the name is missing."""
        if not call.name:
            self._report(MISSING_NAME, event, "the call has no name", call)
        if identity := nonblank(fragment.id):
            judge_id(identity, self._earlier, partial(self._judge, event, call))

    def changes(self, fragment: Fragment, call: OpenCall, arguments: tuple[str, Json], event: int) -> dict[str, Json]:
        """What the call has to have instead; `arguments`: under which key it has them, and what is there.

        The name of the tool that is offered, in place of one with something around it, and an object in place of its
        JSON text.
        """
        changes: dict[str, Json] = {}
        name, offered = fragment.name, self._context.schemas
        if (
            isinstance(name, str)
            and name
            and offered
            and name not in offered
            and (plain := plain_name(name, offered)) != name
        ):
            message = f"the name is {name!r}, the tool is {plain}"
            if self._report(DECORATED_NAME, event, message, call):
                changes["name"] = plain
        key, value = arguments
        if isinstance(value, str) and is_object(value):
            message = "the arguments are JSON text where an object belongs"
            if self._report(DOUBLE_ENCODED_ARGUMENTS, event, message, call):
                changes[key] = numbers.loads(value)
        return changes

    def _judge(self, event: int, call: OpenCall, row: Row, message: str) -> bool:
        return self._report(row, event, message, call)
