"""The intended arguments of one block, and the name of each difference from what came."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_object, says_nothing
from toolstream_core.defects.arguments import (
    CUMULATIVE_ARGUMENTS,
    DOUBLE_ENCODED_ARGUMENTS,
    MERGED_CALLS,
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SNAPSHOT_ARGUMENTS,
    SPLIT_SURROGATE,
    TRAILING_GARBAGE,
)
from toolstream_core.repair.reading import LONGEST_PLACEHOLDER, Reading
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.repair.blocks.message import Block

MESSAGES: Final = {
    CUMULATIVE_ARGUMENTS.name: "a delta carries all arguments so far",
    DOUBLE_ENCODED_ARGUMENTS.name: "the arguments are JSON within a JSON string",
    SPLIT_SURROGATE.name: "a delta ends with half of a surrogate pair",
    TRAILING_GARBAGE.name: "other text follows the arguments",
    MERGED_CALLS.name: "arguments of another call follow complete ones",
    SNAPSHOT_ARGUMENTS.name: "a delta is a complete object: a newer state of the arguments, or another call",
    PLACEHOLDER_ARGUMENTS.name: "{} or null is sent before the real arguments",
    REPLAYED_ARGUMENTS.name: "the complete arguments came again",
}


def intended(block: Block, call: OpenCall, *, over: bool = False, fix_escapes: bool = False) -> Reading:
    """The certain part of the arguments; `over`: the provider sends no more of them."""
    arguments = call.arguments
    if arguments.empty and not block.meaning.begin:
        prefilled = call.start_input if over and not says_nothing(call.start_input) else None
        return Reading(arguments.text() if prefilled is None else prefilled)
    if not over and block.may_stand_for_more:
        return Reading("", PLACEHOLDER_ARGUMENTS)
    if fix_escapes and arguments.ended and not arguments.scanner.whole:
        return Reading(with_valid_escapes(arguments.text()))
    return block.meaning.read(over=over)


_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{0,3}\Z)))|\\|[\x00-\x1f]')
"""A valid escape; else a backslash or a control character that JSON wants escaped in a string."""


def with_valid_escapes(text: str) -> str:
    """JSON text whose strings escape what JSON wants escaped, and nothing else."""
    return _STRING.sub(lambda string: _ESCAPE.sub(lambda one: one[1] or json.dumps(one[0])[1:-1], string[0]), text)


def is_whole(block: Block, call: OpenCall, *, may_be_empty: bool) -> bool:
    """Whether all of the arguments have come."""
    if not call.whole(may_be_empty=may_be_empty):
        return False
    return not block.meaning.begin or is_object(block.meaning.read(over=True).text)


def says_none(call: OpenCall) -> bool:
    """Whether no arguments have come, or only a placeholder."""
    if call.arguments.empty:
        return call.start_input is None or says_nothing(call.start_input)
    return call.arguments.size < LONGEST_PLACEHOLDER and says_nothing(call.arguments.text())


def text_of(came: Json) -> str:
    """The text of a fragment."""
    if isinstance(came, str):
        return came
    said = json_access.argument_delta(came)[0] if isinstance(came, dict | int | float) else ""
    return said if isinstance(said, str) else ""


def row_of(block: Block, call: OpenCall, came: Json) -> tuple[Row, str]:
    """The deviation of a fragment that is not forwarded unchanged, and the message."""
    if came is None:
        return NULL_ARGUMENTS, "arguments are null"
    if not isinstance(came, str):
        return OBJECT_ARGUMENTS, f"arguments are no text, but {type(came).__name__}"
    row = intended(block, call).row or REPLAYED_ARGUMENTS
    return row, MESSAGES[row.name]


def contradiction(block: Block, call: OpenCall) -> tuple[Row, str] | None:
    """The defect that makes ended arguments unusable, if it is not repaired."""
    arguments = call.arguments
    if arguments.truncated or not arguments.spilled:
        return None
    reading = block.meaning.read(over=False)
    if reading.row is not None and (reading.stands or (reading.row is SNAPSHOT_ARGUMENTS and block.text.diverged)):
        return reading.row, MESSAGES[reading.row.name]
    whole = None if arguments.whole or block.repaired else arguments.ended_object()
    if whole is None:
        return None
    row = MERGED_CALLS if "{" in arguments.text()[len(whole) :] else TRAILING_GARBAGE
    return row, MESSAGES[row.name]
