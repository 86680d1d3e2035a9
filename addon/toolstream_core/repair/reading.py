"""Interprets the text of a call's arguments: what it means, and the defect that names the deviation. Pure.

Each known way of writing arguments that differs from plain JSON text is one defect, and the reading names it. If its
repair is off, callers forward the text unchanged. Knows JSON and no protocol.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolstream_core.calls.arguments import BEGUN_MARK, EMPTY, MARKS, PLACEHOLDER, ArgumentText, is_garbage
from toolstream_core.calls.json_text import begun_inside, is_object, paired, without
from toolstream_core.calls.scanner import WHITE, WS
from toolstream_core.defects.arguments import (
    CUMULATIVE_ARGUMENTS,
    DOUBLE_ENCODED_ARGUMENTS,
    ENVELOPED_ARGUMENTS,
    LOST_BEGINNING,
    MERGED_CALLS,
    PLACEHOLDER_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SPLIT_SURROGATE,
    TRAILING_GARBAGE,
)
from toolstream_core.defects.defect import Defect

AGAIN: Final = ("{", '"')
"""The beginning of repeated arguments."""
LONGEST_PLACEHOLDER: Final = 64
"""Characters of the longest text that may be a placeholder."""
HIGH, LOW = "\ud800", "\udc00"
_PLACEHOLDER: Final = re.compile(rf"{PLACEHOLDER}|(?:{MARKS})?{WS}(?:{BEGUN_MARK})")
_SEVERAL: Final = re.compile(rf"{EMPTY}{{2,}}{WS}")
_BEGIN: Final = re.compile(rf'(?:{MARKS})?{EMPTY}*{WS}(?:{BEGUN_MARK}|\[/?|\{{|"|"\{{|"\{{{WS}\}}|n|nu|nul)?{WS}')
BEFORE: Final = re.compile(rf'{PLACEHOLDER}(?=[{{"])')
_MAY_HOLD: Final = re.compile(rf'{WS}"(?:[{WHITE}]|\\[nrt])*(?:\\?\Z|\{{)')
_SPACE: Final = re.compile(rf"[{WHITE}]+")


class Reading(NamedTuple):
    """The meaning of the arguments."""

    text: str
    defect: Defect | None = None
    """The defect for which this differs from the received text."""
    stands: bool = False
    """Whether the text is forwarded unchanged: the defect has no certain repair."""


def is_placeholder(text: str) -> bool:
    """Whether a text is `{}`, `null` or markup, which may stand for arguments that follow."""
    return len(text) <= LONGEST_PLACEHOLDER and _PLACEHOLDER.fullmatch(text) is not None


def may_become_placeholder(text: str) -> bool:
    """Whether a text is the start of placeholders, or some of them: `{`, `nul`, `{}{`."""
    return len(text) <= LONGEST_PLACEHOLDER and _BEGIN.fullmatch(text) is not None


def read(received: ArgumentText, *, over: bool) -> Reading:
    """The meaning of a text as far as it is certain; `over`: nothing follows."""
    raw = received.text()
    if not raw.strip(WHITE):
        return Reading(raw)
    if len(raw) <= LONGEST_PLACEHOLDER and _SEVERAL.fullmatch(raw):
        return _placeholders(raw)
    if received.beginning and not received.head:
        return Reading(received.beginning + raw, LOST_BEGINNING)
    if received.head:
        return read_in_call(received.beside(raw[received.head :]), received, over=over)
    if raw.lstrip(WHITE)[0] == '"':
        return _quoted(received, raw, over=over)
    if before := BEFORE.match(raw):
        intended = read_text(raw[before.end() :], over=over)
        return intended._replace(defect=intended.defect or PLACEHOLDER_ARGUMENTS)
    if received.spilled and (ended := received.ended_object()) is not None and raw.startswith(ended):
        return _after_object(ended, raw, over=over)
    if not received.viable and received.complete_again is not None:
        repeats = raw.lstrip(WHITE)[0] == "{"
        return Reading(received.complete_again, CUMULATIVE_ARGUMENTS if repeats else PLACEHOLDER_ARGUMENTS)
    return _characters(raw, over=over)


def read_text(text: str, *, over: bool) -> Reading:
    """As `read`, for a text in one fragment."""
    received = ArgumentText()
    received.add(text)
    return read(received, over=over)


def read_in_call(arguments: ArgumentText, call: ArgumentText, *, over: bool) -> Reading:
    """The meaning of arguments in a complete call, which may have further keys: they are not complete before it is."""
    if arguments.quoted:
        raw = arguments.text()
        return Reading(begun_inside(raw if over else raw[:LONGEST_PLACEHOLDER]), ENVELOPED_ARGUMENTS)
    if call.viable and arguments.ended:
        arguments = call.beside(arguments.ended_value())
    reading = read(arguments, over=over)
    if reading.defect not in {None, DOUBLE_ENCODED_ARGUMENTS}:
        return reading
    text = reading.text if call.ended or not arguments.ended else reading.text.rstrip(WHITE)[:-1]
    return reading._replace(text=text, defect=ENVELOPED_ARGUMENTS)


def repetition(complete: str, rest: str) -> Defect | None:
    """Why text after a complete object adds nothing, or may turn out to; `None` if it adds something."""
    again = begun_inside(rest) if rest[:1] == '"' else rest
    if not again or (again[0] == "{" and _SPACE.sub("", complete).startswith(_SPACE.sub("", again))):
        return REPLAYED_ARGUMENTS
    return TRAILING_GARBAGE if rest[0] != "{" and is_garbage(complete, rest) else None


def addition(rest: str) -> Defect:
    """The defect of text after a complete object that adds something."""
    return MERGED_CALLS if "{" in rest else TRAILING_GARBAGE


def _quoted(received: ArgumentText, raw: str, *, over: bool) -> Reading:
    """A JSON string that may hold the object, and what follows it."""
    if not received.ended:
        may_hold = not over and received.viable and _MAY_HOLD.match(raw) is not None
        return Reading("", DOUBLE_ENCODED_ARGUMENTS) if may_hold else Reading(raw)
    intended, complete = received.reading(may_be_empty=False)
    if complete and is_object(intended):
        return Reading(intended, DOUBLE_ENCODED_ARGUMENTS)
    return Reading(intended if intended != raw and is_object(intended[: intended.rfind("}") + 1]) else raw)


def _placeholders(raw: str) -> Reading:
    """Several placeholders without other text: the call has no arguments."""
    plain = _SPACE.sub("", raw)
    is_replayed = plain == "{}" * (len(plain) // 2) or plain == "null" * (len(plain) // 4)
    return Reading("{}" if "{" in plain else "null", REPLAYED_ARGUMENTS if is_replayed else PLACEHOLDER_ARGUMENTS)


def _after_object(complete: str, raw: str, *, over: bool) -> Reading:
    rest = without(complete.strip(WHITE), raw[len(complete) :].strip(WHITE))
    defect = repetition(complete, rest)
    if defect is None or (over and rest.startswith(AGAIN)):
        return Reading(raw, addition(rest), stands=True)
    return Reading(complete, defect)


def _characters(raw: str, *, over: bool) -> Reading:
    """The text itself, with split surrogate pairs joined."""
    if raw.isascii():
        return Reading(raw)
    surrogate = "" if over or not HIGH <= raw[-1] < LOW else raw[-1]
    text = paired(raw[: len(raw) - len(surrogate)])
    return Reading(text, SPLIT_SURROGATE if surrogate or text != raw else None)
