"""Marks, comments and metadata of flows, with which the list of flows shows problems. Knows mitmproxy's flow."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final, NamedTuple

from mitmproxy import http

from toolstream_core.model import Finding, Severity
from toolstream_core.printable import printable
from toolstream_core.proxy.deliveries import DESTREAMED
from toolstream_core.proxy.ui.known import Seen
from toolstream_core.report.lines import changed_text
from toolstream_core.report.verdict import ReportedVerdict, option_values
from toolstream_core.verdict import Outcome

MARK: Final = "toolstream_mark"
COMMENT: Final = "toolstream_comment"
PROTOCOL: Final = "toolstream_protocol"
FINDINGS: Final = "toolstream_findings"
VERDICT: Final = "toolstream_verdict"
MISREAD: Final = "toolstream_misread"
"""Keys of a flow's metadata, for filters; the first two have toolstream's own mark and comment."""
_LEFT: Final = (Outcome.SILENT, Outcome.ABORTED)
"""Verdicts on clients that sent nothing more."""
_ERROR: Final = 80
"""Characters of a provider's error that are shown."""


class Mark(enum.StrEnum):
    """Emoji of the list of flows, the most important first."""

    MISREAD = ":x:"
    WRONG = ":warning:"
    FAULT = ":zap:"
    CHANGED = ":wrench:"
    NOTE = ":small_red_triangle_down:"


class Summary(NamedTuple):
    """The entry of a response in the list of flows."""

    mark: Mark
    comment: str
    """The list shows about 30 characters of it."""


def summary(seen: Seen) -> Summary | None:
    """The summary of a response; `None` if there is nothing to show."""
    return next(_summaries(seen), None)


def put(flow: http.HTTPFlow, seen: Seen) -> None:
    """Mark a flow, unless its user did. Of several responses of a WebSocket the worst counts."""
    _put_metadata(flow, seen)
    found = summary(seen)
    if found is None:
        return
    mark, comment = flow.metadata.get(MARK, ""), flow.metadata.get(COMMENT, "")
    order = list(Mark)
    if mark in order and order.index(mark) < order.index(found.mark):
        return
    if flow.marked == mark:
        flow.marked = flow.metadata[MARK] = found.mark.value
    if flow.comment in (comment, DESTREAMED):
        flow.comment = flow.metadata[COMMENT] = found.comment


def clear(flow: http.HTTPFlow) -> None:
    """Remove the mark and comment of an earlier response of a flow, unless its user changed them."""
    if flow.marked and flow.marked == flow.metadata.get(MARK):
        del flow.metadata[MARK]
        flow.marked = ""
    if flow.comment and flow.comment == flow.metadata.get(COMMENT):
        del flow.metadata[COMMENT]
        flow.comment = ""
    for key in (PROTOCOL, FINDINGS, VERDICT, MISREAD):
        flow.metadata.pop(key, None)


def _put_metadata(flow: http.HTTPFlow, seen: Seen) -> None:
    record, judged = seen.record, seen.judged
    if record is not None:
        flow.metadata[PROTOCOL] = record.protocol
        if names := dict.fromkeys(one.name for one in record.findings):
            flow.metadata[FINDINGS] = ", ".join(names)
    if judged is not None:
        flow.metadata[VERDICT] = str(judged.verdict.outcome)
        if is_misread(judged):
            flow.metadata[MISREAD] = True


def is_misread(judged: ReportedVerdict) -> bool:
    """Whether the client did not do what the response requested."""
    return not judged.verdict.understood and judged.verdict.outcome not in _LEFT


def _summaries(seen: Seen) -> Iterator[Summary]:
    record, judged = seen.record, seen.judged
    if judged is not None and not judged.verdict.understood:
        yield Summary(Mark.MISREAD if is_misread(judged) else Mark.WRONG, _verdict(judged))
    if record is None:
        return
    if record.error:
        yield Summary(Mark.WRONG, f"provider error: {printable(seen.hide(record.error))[:_ERROR]}")
    left = [one for one in record.findings if one.name not in record.changes]
    for severity in (Severity.ERROR, Severity.WARNING):
        yield from (Summary(Mark.WRONG, _finding(one)) for one in left if one.severity is severity)
    if record.broken:
        yield Summary(Mark.WRONG, "truncated")
    yield from (Summary(Mark.FAULT, f"fault {one.spec}") for one in record.faults if one.changes)
    if record.changed:
        yield Summary(Mark.CHANGED, changed_text(record))
    yield from (Summary(Mark.NOTE, _finding(one)) for one in left)


def _verdict(judged: ReportedVerdict) -> str:
    event = judged.explained.event
    where = "" if event is None else f" at event {event}"
    advice = judged.explained.advice
    helps = [f"toolstream_{name}={value}" for one in advice[:1] for name, value in option_values(one).items()]
    return f"{judged.verdict.outcome}{where}{' → ' if helps else ''}{' '.join(helps)}"


def _finding(finding: Finding) -> str:
    return f"{finding.name} at event {finding.event}"
