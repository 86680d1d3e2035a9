"""Lines about a whole stream: its calls, findings and faults, and one line on how it went."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.model import Kind, Severity
from toolstream_core.report.layout import ID, LEAST, WIDTH, Marked, counted, foreign, middle, shortened
from toolstream_core.report.paint import plain, printable, word
from toolstream_core.settings import protocols_of, shape_names

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from toolstream_core.model import Call, Finding, Injected, Record
    from toolstream_core.report.paint import Paint

    type Hide = Callable[[str], str]

_BY_CHANCE: Final = re.compile(r"[:,](?:p|times)=")


def overview(record: Record, model: str | None) -> Marked:
    """One line on the whole stream; `model` is the one that was named before."""
    calls, events = counted(len(record.calls), "call"), counted(record.events, "event")
    reasons = ", ".join(foreign(reason) for reason in record.finish)
    finish = f"finish {reasons}" if reasons else "no finish reason"
    kind = "" if record.streamed else ", not streamed"
    other = f", model {foreign(record.model)}" if record.model and record.model != model else ""
    changed = f", {changed_text(record)}" if record.changed else ""
    wrong = "".join(f", {counted(number, name)}" for name, number in _severities(record) if number)
    ending = _how_ended(record)
    text = f"{events}, {calls}, {finish}{kind}{other}{wrong}{changed}{ending}"
    return Marked(text, (("error", ending),) if ending else ())


def notes(record: Record, hide: Hide = str) -> Iterator[Marked]:
    """What became of each fault, and what was done beside the events."""
    for fault in record.faults:
        yield Marked(
            fault_line(fault, record.dialect), (("warning", f"fault {word(fault.spec)}"),) if fault.drawn else ()
        )
    if record.unwrapped:
        removed = "; ".join(printable(hide(note.message)) for note in record.unwrapped)
        yield Marked(f"unwrapped: {removed}")
    for note in record.notes:
        yield Marked(f"{note.name}: {printable(hide(note.message))}")


def changed_text(record: Record) -> str:
    """Events that repairs or shapes changed."""
    shapes = {*record.changes} & shape_names()
    verb = "changed" if shapes and len(shapes) < len(record.changes) else "rewritten" if shapes else "repaired"
    return f"{counted(record.changed, 'event')} {verb} ({', '.join(record.changes)})"


def _severities(record: Record) -> list[tuple[str, int]]:
    return [(name.value, sum(finding.severity is name for finding in record.findings)) for name in Severity]


def call_line(call: Call, paint: Paint = plain, hide: Hide = str, room: int = WIDTH) -> str:
    """One resolved call with its arguments, in `room` columns: long arguments are shortened in the middle."""
    where = f"choice {call.choice} call {call.position}" if call.choice else f"call {call.position}"
    kind = "" if call.kind is Kind.FUNCTION else f" ({call.kind})"
    state = "" if call.complete else "  incomplete"
    guess = "  guessed" if call.guessed else ""
    name = foreign(call.name) if call.name else '""'
    begin = f" id={shortened(hide(call.id), ID)} "
    room -= len(where) + len(kind) + 1 + len(name) + len(begin) + len(state) + len(guess)
    arguments = _arguments(hide(call.arguments), room)
    return (
        f"{where}{kind} {name}{begin}{arguments}"
        f"{paint('error', state) if state else ''}{paint('warning', guess) if guess else ''}"
    )


def delivered_lines(calls: Sequence[Call], paint: Paint, hide: Hide, room: int) -> Iterator[str]:
    """The calls as the client got them, each in `room` columns."""
    if not calls:
        yield "client received no calls"
    for call in calls:
        yield _GOT + call_line(call, paint, hide, room - len(_GOT))


_GOT: Final = "client received "


def fault_line(fault: Injected, dialect: str) -> str:
    """What became of a fault that was aimed at a stream of that protocol."""
    return f"fault {word(fault.spec)}: {_fate(fault, dialect)}"


def _fate(fault: Injected, dialect: str) -> str:
    if fault.changes:
        return counted(fault.changes, "change")
    can = protocols_of(fault.spec.partition(":")[0])
    if dialect not in can:
        return f"not possible in {dialect}, only in {', '.join(can)}"
    if fault.drawn:
        return "selected, but nothing in this response matches"
    if _BY_CHANCE.search(fault.spec):
        return "not applied: skipped by p or times, or no matching call"
    return "not applied: no matching call"


def finding_line(finding: Finding, hide: Hide = str) -> Marked:
    """One finding with its code, place and message."""
    where = f"event {finding.event}" + ("" if finding.call is None else f" call {finding.call}")
    name = f"{finding.severity} {finding.code} {finding.name}"
    return Marked(f"{name} at {where}: {printable(hide(finding.message))}", ((finding.severity, name),))


def help_without_verdict(record: Record, repaired: Container[str] = ()) -> Iterator[str]:
    """The repairs of errors and warnings in a response without calls, on which there is never a verdict.

    `repaired` are the codes of the repairs that are on.
    """
    if not record.calls:
        found = [one for one in record.findings if one.severity is not Severity.NOTE and one.code not in repaired]
        yield from filter(None, dict.fromkeys(map(help_with, found)))


def help_with(finding: Finding) -> str:
    """The option that repairs a finding, and whether it guesses; `""` without a repair."""
    if finding.repair is None:
        return ""
    guesses = " (unsafe)" if finding.repair == "unsafe" else ""
    return f"--set toolstream_repair={finding.name}{guesses}"


def _arguments(text: str, room: int) -> str:
    if text.isprintable() and room >= LEAST:
        return middle(text, room, count=True) or '""'
    return shortened(text, room, count=True)


def _how_ended(record: Record) -> str:
    if record.broken:
        return f", truncated: {record.broken}"
    return "" if record.ended else ", unfinished"
