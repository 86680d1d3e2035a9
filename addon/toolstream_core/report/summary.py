"""Lines about a whole stream: its calls, findings and faults, and one line on how it went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import Kind, Severity
from toolstream_core.report.paint import plain, printable, quoted, word

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from toolstream_core.model import Call, Finding, Injected, Record
    from toolstream_core.report.paint import Paint

MAX_ARGUMENTS = 2000
"""Characters of a call's arguments that a line shows."""


def summary(
    record: Record, paint: Paint = plain, hide: Callable[[str], str] = str, told: Container[Finding] = ()
) -> Iterator[str]:
    """The calls that were meant, the findings but for those that were told already, and one line on the whole."""
    for call in record.calls:
        yield call_line(call, paint, hide)
    for finding in record.findings:
        if finding not in told:
            yield finding_line(finding, paint, hide)
    for fault in record.faults:
        yield fault_line(fault, paint)
    for note in record.notes:
        yield f"{paint('name', note.name)}: {printable(hide(note.message))}"
    count = "1 call" if len(record.calls) == 1 else f"{len(record.calls)} calls"
    events = "1 event" if record.events == 1 else f"{record.events} events"
    reasons = ", ".join(word(reason) for reason in record.finish)
    finish = f"finish {paint('name', reasons)}" if reasons else "no finish reason"
    kind = "" if record.streamed else ", not streamed"
    changed = f", {record.changed} mended ({', '.join(record.changes)})" if record.changed else ""
    wrong = "".join(f", {_counted(number, name)}" for name, number in _severities(record) if number)
    yield f"{record.dialect}: {events}, {count}, {finish}{kind}{wrong}{changed}{_how_ended(record, paint)}"


def _severities(record: Record) -> list[tuple[str, int]]:
    return [(name.value, sum(finding.severity is name for finding in record.findings)) for name in Severity]


def _counted(number: int, name: str) -> str:
    return f"1 {name}" if number == 1 else f"{number} {name}s"


def call_line(call: Call, paint: Paint = plain, hide: Callable[[str], str] = str) -> str:
    """One resolved call with its arguments."""
    where = f"choice {call.choice} call {call.position}" if call.choice else f"call {call.position}"
    kind = "" if call.kind is Kind.FUNCTION else f" ({call.kind})"
    state = "" if call.complete else paint("error", "  not whole")
    guess = paint("warning", "  guessed") if call.guessed else ""
    name = paint("name", word(call.name) if call.name else '""')
    return f"{where}{kind} {name} id={quoted(call.id, 80)} {_arguments(hide(call.arguments))}{state}{guess}"


def fault_line(fault: Injected, paint: Paint = plain) -> str:
    """What became of a fault that was aimed at the stream."""
    if not fault.drawn:
        return f"fault {word(fault.spec)}: not drawn"
    if not fault.changes:
        return f"{paint('warning', f'fault {word(fault.spec)}')}: drawn, and found nothing to act on"
    changes = "1 change" if fault.changes == 1 else f"{fault.changes} changes"
    return f"{paint('warning', f'fault {word(fault.spec)}')}: {changes}"


def finding_line(finding: Finding, paint: Paint = plain, hide: Callable[[str], str] = str) -> str:
    """One finding with its code, place and message."""
    where = f"event {finding.event}" + ("" if finding.call is None else f" call {finding.call}")
    what = paint(finding.severity, f"{finding.severity} {finding.code} {finding.name}")
    return f"{what} at {where}: {printable(hide(finding.message))}"


def _arguments(text: str) -> str:
    if len(text) <= MAX_ARGUMENTS and text.isprintable():
        return text or '""'
    return quoted(text, MAX_ARGUMENTS)


def _how_ended(record: Record, paint: Paint) -> str:
    if record.broken:
        return paint("error", f", broken: {record.broken}")
    return "" if record.ended else paint("error", ", never ended")
