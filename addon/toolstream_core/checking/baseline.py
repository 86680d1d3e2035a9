"""Whether the tool calls of a healthy run succeeded: a run whose calls fail cannot be the baseline of other cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.verdict.evidence import Sign, evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.protocols.requests.conversation import ToolResult
    from toolstream_core.testing.exchanges import Exchange

_FAILURE: Final = re.compile(
    r"\W*([\w .-]{0,40}(error|exception|not ?found|denied)\b ?[:(]|traceback\b|(failed|unable) to\b"
    r"|[a-z_][\w.-]*( [\w.-]+)? failed\b(?!:? *\d)"
    r"|(invalid|missing) (tool |function )?(argument|parameter|input)"
    r"|(unsupported|unknown|invalid|no such) (tool|function|call)\b"
    r"|(the )?([\w.-]+ )?(tool|function)\b.{0,80}\b(not found|does not exist|called with invalid))",
    re.IGNORECASE | re.DOTALL,
)
"""How the text of a failed call begins. Text further inside is no sign: a tool may return any text."""
_SHOWN: Final = 300
"""Characters of a result that are reported."""


def failed_call(asked: Sequence[Exchange]) -> str | None:
    """The failure that the client reported for a tool call of a healthy run, in its own words."""
    before = len(asked[0].request.shown.results) if asked else 0
    for one in asked:
        for result in one.request.shown.results[before:]:
            if evidence(result).sign is Sign.REJECTED or _FAILURE.match(result.text):
                return (
                    f"the healthy run cannot be the baseline: {_tool(result, asked)} failed: {result.text[:_SHOWN]!r}; "
                    "name a call that succeeds: 'calls:TOOL {JSON}'"
                )
    return None


def _tool(result: ToolResult, asked: Sequence[Exchange]) -> str:
    names = (call.name for one in asked for call in one.calls if call.id == result.id)
    return result.name or next(names, "the tool call")
