"""The intended arguments of one block, and the name of each difference from what came."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import has_nothing, is_object
from toolstream_core.defects.arguments import (
    MERGED_CALLS,
    NULL_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SNAPSHOT_ARGUMENTS,
    TRAILING_GARBAGE,
)
from toolstream_core.repair.reading import LONGEST_PLACEHOLDER, Reading
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.defect import Defect
    from toolstream_core.model import Json
    from toolstream_core.repair.blocks.message import Block


def intended(block: Block, call: OpenCall, *, over: bool = False, fix_escapes: bool = False) -> Reading:
    """The certain part of the arguments; `over`: the provider sends no more of them."""
    arguments = call.arguments
    if arguments.empty and not block.meaning.begin:
        prefilled = call.start_input if over and not has_nothing(call.start_input) else None
        return Reading(arguments.text() if prefilled is None else prefilled)
    if not over and block.may_stand_for_more:
        return Reading("", PLACEHOLDER_ARGUMENTS)
    if fix_escapes and arguments.ended and not arguments.scanner.is_complete:
        return Reading(with_valid_escapes(arguments.text()))
    return block.meaning.read(over=over)


_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_ESCAPE: Final = re.compile(r'(\\(?:["\\/bfnrt]|u(?:[0-9a-fA-F]{4}|[0-9a-fA-F]{0,3}\Z)))|\\|[\x00-\x1f]')
"""A valid escape; else a backslash or a control character that JSON wants escaped in a string."""


def with_valid_escapes(text: str) -> str:
    """JSON text whose strings escape what JSON wants escaped, and nothing else."""
    return _STRING.sub(lambda string: _ESCAPE.sub(lambda one: one[1] or json.dumps(one[0])[1:-1], string[0]), text)


def is_complete(block: Block, call: OpenCall, *, may_be_empty: bool) -> bool:
    """Whether all of the arguments have come."""
    if not call.is_complete(may_be_empty=may_be_empty):
        return False
    return not block.meaning.begin or is_object(block.meaning.read(over=True).text)


def has_none(call: OpenCall) -> bool:
    """Whether no arguments have come, or only a placeholder."""
    if call.arguments.empty:
        return call.start_input is None or has_nothing(call.start_input)
    return call.arguments.size < LONGEST_PLACEHOLDER and has_nothing(call.arguments.text())


def text_of(received: Json) -> str:
    """The text of a fragment."""
    if isinstance(received, str):
        return received
    text = json_access.argument_delta(received)[0] if isinstance(received, dict | int | float) else ""
    return text if isinstance(text, str) else ""


def defect_of(block: Block, call: OpenCall, received: Json) -> Defect:
    """The deviation of a fragment that is not forwarded unchanged."""
    if received is None:
        return NULL_ARGUMENTS
    if not isinstance(received, str):
        return OBJECT_ARGUMENTS
    return intended(block, call).defect or REPLAYED_ARGUMENTS


def contradiction(block: Block, call: OpenCall) -> Defect | None:
    """The defect that makes ended arguments unusable, if it is not repaired."""
    arguments = call.arguments
    if arguments.truncated or not arguments.spilled:
        return None
    reading = block.meaning.read(over=False)
    if reading.defect is not None and (
        reading.stands or (reading.defect is SNAPSHOT_ARGUMENTS and block.text.diverged)
    ):
        return reading.defect
    complete = None if arguments.is_complete or block.repaired else arguments.ended_object()
    if complete is None:
        return None
    return MERGED_CALLS if "{" in arguments.text()[len(complete) :] else TRAILING_GARBAGE
