"""Defects in the framing and the end of a stream. Knows no protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.calls.json_text import lost_beginning
from toolstream_core.calls.parameters import plain_name
from toolstream_core.defects.arguments import (
    INVALID_ARGUMENTS,
    LOST_ARGUMENTS,
    MERGED_CALLS,
    TRAILING_GARBAGE,
)
from toolstream_core.defects.defect import NOTE, Defect
from toolstream_core.defects.finish import CUT_OFF_CALL, MISSING_FINISH, TRUNCATED_STREAM, UNTERMINATED_BODY
from toolstream_core.defects.framing import (
    JOINED_EVENTS,
    OVERSIZE_FRAME,
    UNPARSABLE_DATA,
    UNREADABLE_BODY,
    UNTERMINATED_EVENT,
)
from toolstream_core.defects.identity import MISSING_NAMESPACE, UNKNOWN_TOOL
from toolstream_core.model import ABSENT, Call, EventContent, Finding, Kind, Record
from toolstream_core.wire.frame import Frame, holds_several
from toolstream_core.wire.numbers import non_finite

# A client may disconnect after the end of the response: many close the connection on `[DONE]`, before the body's end.
BY_CLIENT: Final = re.compile(r"\bclient\b", re.IGNORECASE)
_EXPLAINED = frozenset(defect.code for defect in (LOST_ARGUMENTS, INVALID_ARGUMENTS, MERGED_CALLS, TRAILING_GARBAGE))
"""Findings of a call that explain why its arguments are incomplete although it was not truncated."""
_ALL_EXPLAINED = _EXPLAINED | {CUT_OFF_CALL.code}
"""Findings of a call that explain why its arguments are incomplete."""
_JOINED: Final = "this event holds several JSON texts; a blank line between events is missing"
_INCOMPLETE: Final = "incomplete"
_NO_JSON = frozenset({b"[DONE]", b""})


class Framing:
    """Reports defects of frames, each once."""

    def __init__(self, found: Callable[[Finding], None], quiet: Callable[[bytes], bool], *, is_lines: bool) -> None:
        """`found` gets each finding. `quiet` frames have none, because most of them are skipped.

        `is_lines`: the protocol sends JSON lines; those of other protocols are a file's, whose last line may be open.
        """
        self._found = found
        self._quiet = quiet
        self._is_lines = is_lines
        self._has_ended = False
        """Whether the terminal event arrived: every later frame is checked."""
        self._reported: set[str] = set()

    def without_data(self, frame: Frame) -> None:
        """Check a frame without data."""
        if frame.oversize:
            self._report(OVERSIZE_FRAME, frame, "an event of more than 8 MiB was forwarded unread")

    def with_data(self, frame: Frame, content: EventContent) -> None:
        """Check a frame that was read."""
        self._has_ended = self._has_ended or content.end
        data = frame.data or b""
        if not (content.fragments or content.error) or b"NaN" in data or b"Infinity" in data:
            why = _unreadable(frame, content)
            if why and (self._has_ended or not self._quiet(frame.raw)):
                joined = holds_several(data)
                self._report(*((JOINED_EVENTS, frame, _JOINED) if joined else (UNPARSABLE_DATA, frame, why)))
        if frame.trailing and (self._is_lines or frame.raw[:1] != b"{" or frame.json is ABSENT):
            message = "the last event lacks its terminator; a reader that keeps to the standard drops it"
            self._report(UNTERMINATED_EVENT, frame, "the last line lacks its line feed" if self._is_lines else message)

    def _report(self, defect: Defect, frame: Frame, message: str) -> None:
        if defect.code not in self._reported:
            self._reported.add(defect.code)
            self._found(defect.found(frame.number, message))


def _unreadable(frame: Frame, content: EventContent) -> str:
    """The message for data that is not valid JSON; `""` if it is."""
    data = (frame.data or b"").strip()
    if not (content.fragments or content.error or data in _NO_JSON or data[:1] == b":") and frame.json is ABSENT:
        # An event without its terminator was truncated: that it is not JSON is no defect of its own.
        return "" if frame.trailing and not holds_several(data) else "the data of this event is not JSON"
    if frame.parsed and (b"NaN" in data or b"Infinity" in data) and non_finite(data.decode("utf-8", "replace")):
        return "the data of this event has a number that is none in JSON"
    return ""


def cut_off(calls: Sequence[OpenCall], findings: Sequence[Finding]) -> Sequence[OpenCall]:
    """The truncated calls: incomplete ones that no finding explains."""
    explained = {finding.call for finding in findings if finding.code in _EXPLAINED} if calls else ()
    return [call for call in calls if call.position not in explained]


def check(record: Record, unread: str | None, incomplete: Sequence[OpenCall] = ()) -> list[Finding]:
    """The defects in the end of the response; `incomplete`: the truncated calls that it declares complete.

    A part that is missing because the client disconnected is a note: the provider's stream was correct. A part that an
    unread event may have is no defect.
    """
    truncated_positions = {(call.choice, call.position) for call in incomplete}
    last = max(record.events - 1, 0)
    findings = []
    if unread:
        findings.append(UNREADABLE_BODY.found(last, f"reading stopped here: {unread}"))
    found = {finding.code for finding in record.findings}
    complete, gap = MISSING_FINISH.code in found, OVERSIZE_FRAME.code in found
    left = record.broken is not None and BY_CLIENT.search(record.broken) is not None
    severity = NOTE if left else None
    if not (record.ended or record.error or unread or ((complete or gap) and not record.broken)):
        how = f"the connection broke ({record.broken})" if record.broken else "the body ended"
        message = f"{how} before the response was complete"
        findings.append(TRUNCATED_STREAM.found(last, message, severity=severity))
    elif record.broken and record.ended and not left:
        message = f"the connection broke after the last event ({record.broken})"
        findings.append(UNTERMINATED_BODY.found(last, message))
    reported = {finding.call for finding in record.findings if finding.code in _ALL_EXPLAINED}
    findings += _too_long(record.calls)
    for position, call in enumerate(record.calls):
        known = call.complete or call.truncated or call.kind is Kind.SERVER
        if not (known or unread or gap or position in reported):
            declared = (call.choice, call.position) in truncated_positions
            defect, lack = (CUT_OFF_CALL, _INCOMPLETE) if declared else _lack(call)
            message = f"the arguments of {call.name or 'a call'} are {lack}"
            lower = None if declared or defect is not CUT_OFF_CALL else severity
            findings.append(defect.found(max(call.events, default=last), message, position, severity=lower))
    return findings


def unknown_tools(record: Record, tools: Container[str]) -> Iterator[Finding]:
    """Calls of tools that are not among `tools`, which are all allowed ones."""
    named = {finding.call for finding in record.findings if finding.code == MISSING_NAMESPACE.code}
    for position, call in enumerate(record.calls):
        known = not call.name or plain_name(call.name, tools) in tools or position in named
        if call.kind is not Kind.SERVER and not (known or call.guessed):
            message = f"the request offers no tool {call.name!r}"
            yield UNKNOWN_TOOL.found(next(iter(call.events), 0), message, position)


def _too_long(calls: Sequence[Call]) -> list[Finding]:
    """One finding for all calls whose arguments are too long to keep."""
    long = [position for position, call in enumerate(calls) if call.truncated]
    if not long:
        return []
    more = f" and of {len(long) - 1} more" if len(long) > 1 else ""
    name = calls[long[0]].name or "a call"
    message = (
        f"the arguments of {name}{more} are longer than toolstream keeps; they were forwarded and not read to the end"
    )
    return [CUT_OFF_CALL.found(max(calls[long[0]].events, default=0), message, long[0])]


def _lack(call: Call) -> tuple[Defect, str]:
    """The defect of incomplete arguments, and its text: if no value is open, they are invalid, not truncated."""
    if begin := lost_beginning(call.arguments):
        return INVALID_ARGUMENTS, f"not valid JSON: {begin} is missing at their beginning"
    text = ArgumentText()
    text.add(call.arguments)
    closed = text.ended if call.kind is Kind.CUSTOM else text.closed
    return (INVALID_ARGUMENTS, "not valid JSON") if closed else (CUT_OFF_CALL, _INCOMPLETE)
