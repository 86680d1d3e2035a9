"""The log lines of a response: its chunks, calls, findings and faults, and one line on the stream."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final, override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.engine.sink import Sink
from toolstream_core.model import (
    ABSENT,
    Call,
    Change,
    Event,
    EventContent,
    Finding,
    Injected,
    Kind,
    Phase,
    Record,
    Seen,
    Severity,
)
from toolstream_core.printable import counted, printable, word
from toolstream_core.report.columns import (
    EVENT,
    ID,
    ID_BESIDE_ITEM,
    LEAST,
    MARGIN,
    WIDTH,
    Label,
    Marked,
    Paint,
    foreign,
    middle,
    plain,
    seen,
    shortened,
)
from toolstream_core.settings import protocols_of, shape_names

type Hide = Callable[[str], str]


_BY_CHANCE: Final = re.compile(r"[:,](?:p|times)=")


def overview(record: Record, model: str | None) -> Marked:
    """One line on the stream; `model` was named before."""
    calls, events = counted(len(record.calls), "call"), counted(record.events, "event")
    reasons = ", ".join(foreign(reason) for reason in record.finish)
    finish = f"finish {reasons}" if reasons else "no finish reason"
    kind = "" if record.streamed else ", not streamed"
    other = f", model {foreign(record.model)}" if record.model and record.model != model else ""
    changed = f", {changed_text(record)}" if record.changed else ""
    counts = Counter(finding.severity for finding in record.findings)
    wrong = "".join(f", {counted(counts[name], name.value)}" for name in Severity if counts[name])
    ending = "" if record.ended else ", unfinished"
    if record.broken:
        ending = f", truncated: {record.broken}"
    text = f"{events}, {calls}, {finish}{kind}{other}{wrong}{changed}{ending}"
    return Marked(text, (("error", ending),) if ending else ())


def notes(record: Record, hide: Hide = str) -> Iterator[Marked]:
    """The result of each fault, and the other notes on the response."""
    for fault in record.faults:
        yield Marked(
            fault_line(fault, record.protocol), (("warning", f"fault {word(fault.spec)}"),) if fault.drawn else ()
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


def call_line(call: Call, paint: Paint = plain, hide: Hide = str, width: int = WIDTH) -> str:
    """One resolved call with its arguments, in `width` columns: long arguments are shortened in the middle."""
    where = f"choice {call.choice} call {call.position}" if call.choice else f"call {call.position}"
    kind = "" if call.kind is Kind.FUNCTION else f" ({call.kind})"
    state = "" if call.complete else "  incomplete"
    guess = "  guessed" if call.guessed else ""
    name = foreign(hide(call.name)) if call.name else '""'
    begin = f" id={shortened(hide(call.id), ID)} "
    width -= len(where) + len(kind) + 1 + len(name) + len(begin) + len(state) + len(guess)
    arguments = _arguments(hide(call.arguments), width)
    return (
        f"{where}{kind} {name}{begin}{arguments}"
        f"{paint('error', state) if state else ''}{paint('warning', guess) if guess else ''}"
    )


def delivered_lines(calls: Sequence[Call], paint: Paint, hide: Hide, width: int) -> Iterator[str]:
    """The calls as the client got them, each in `width` columns."""
    if not calls:
        yield "client received no calls"
    for call in calls:
        yield _GOT + call_line(call, paint, hide, width - len(_GOT))


_GOT: Final = "client received "


def fault_line(fault: Injected, protocol: str) -> str:
    """The result of a fault in a stream of that protocol."""
    return f"fault {word(fault.spec)}: {_fate(fault, protocol)}"


def _fate(fault: Injected, protocol: str) -> str:
    if fault.changes:
        return counted(fault.changes, "change")
    can = protocols_of(fault.spec.partition(":")[0])
    if protocol not in can:
        return f"not possible in {protocol}, only in {', '.join(can)}"
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
    """Advice on a response without calls, which never has a verdict; repairs of codes in `repaired` are on."""
    if not record.calls:
        found = [one for one in record.findings if one.severity is not Severity.NOTE and one.code not in repaired]
        yield from filter(None, dict.fromkeys(map(help_with, found)))


def help_with(finding: Finding) -> str:
    """The option that repairs a finding, and whether it is unsafe; `""` without a repair."""
    if finding.repair is None:
        return ""
    guesses = " (unsafe)" if finding.repair == "unsafe" else ""
    return f"--set toolstream_repair={finding.name}{guesses}"


def _arguments(text: str, width: int) -> str:
    if text.isprintable() and width >= LEAST:
        return middle(text, width, count=True) or '""'
    return shortened(text, width, count=True)


_CALL_ID, _ITEM, _NAME, _PLACE = range(4)
"""The columns that are aligned."""


class Lines(Sink):
    """The lines of one stream: a head, one line for each event that concerns tool calls, and the result.

    A line has at most 120 columns.
    """

    live = True
    each = False

    def __init__(
        self,
        write: Callable[[str], None],
        label: Label,
        *,
        elapsed: Callable[[], int] | None = None,
        paint: Paint = plain,
        hide: Callable[[str], str] = str,
        syntax: Callable[[str], str] = str,
        repaired: Container[str] = (),
        shows: Callable[[Finding], bool] | None = None,
    ) -> None:
        """`elapsed` returns ms since the request; `hide` redacts; `shows` selects findings (default: all).

        `syntax` writes options for the command in use; `repaired` are the codes of the repairs that are on.
        """
        self._write = write
        self._label = label
        self._elapsed = elapsed
        self._paint = paint
        self._hide = hide
        self._syntax = syntax
        self._repaired = repaired
        self._shows = shows
        self._protocol = ""
        self._model: str | None = None
        self._headed = False
        self._widths = [0, 0, 0, 0]
        """The widest id, item id, name and place so far: the columns that follow are aligned."""
        self._alike: tuple[object, ...] = ()
        self._head = ""
        """The beginning of the last fragment's line, up to its arguments; equal for equal `_alike`."""
        self._found: set[Finding] = set()
        """Findings that were written at their event."""
        self._folded = 0
        self._folded_bytes = 0
        self._folded_from = 0

    @override
    def begun(self, record: Record) -> None:
        self._protocol = record.protocol
        if record.model:
            self._begin(record.model)

    @override
    def quiet(self, first: int, frames: int, size: int) -> None:
        if not self._folded:
            self._folded_from = first
        self._folded += frames
        self._folded_bytes += size

    @override
    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        if not self._headed and content.model:
            self._begin(content.model)
        if not (fragments or content.finishes or content.error or content.end):
            self.quiet(event.frame.number, 1, len(event.frame.raw))
            return
        if self._folded:
            self.flush()
        number = event.frame.number
        for one in fragments:
            self._line(number, self._fragment(one))
        if content.error:
            room = WIDTH - MARGIN - EVENT - len("error ")
            text = shortened(self._hide(content.error), room, count=True)
            self._line(number, self._paint("error", f"error {text}"))
        for finish in content.finishes:
            choice = f" of choice {finish.choice}" if finish.choice else ""
            self._line(number, f"finish {foreign(finish.reason)}{choice}")
        if content.end and not content.finishes:
            self._line(number, "end")

    @override
    def on_each_skipped(
        self, number: int, arguments: str, call: OpenCall, change: Change | None, event: Callable[[], Event]
    ) -> None:
        if self._folded:
            self.flush()
        begin = self._event(number)
        self._write(f"{begin}{self._head}{self._arguments(arguments)}")
        if change is not None:
            self._write(f"{begin}{_change(change)}")

    @override
    def found(self, finding: Finding) -> None:
        if self._shows is not None and not self._shows(finding):
            return
        if self._folded:
            self.flush()
        self._found.add(finding)
        self._finding(finding, self._begin_line())

    @override
    def changed(self, changed: Change) -> None:
        self._line(changed.event, _change(changed))

    @override
    def ended(self, record: Record) -> None:
        self.flush()
        if not self._headed:
            self._begin(record.model)
        begin = self._label.begin()
        for call in record.calls:
            self._write(begin + call_line(call, self._paint, self._hide, WIDTH - len(begin)))
        for finding in record.findings:
            if finding not in self._found:
                self._finding(finding, begin)
        for marked in (*notes(record, self._hide), overview(record, self._model)):
            self._marked(begin, marked)
        for option in help_without_verdict(record, self._repaired):
            self._write(f"{begin}→ {self._syntax(option)}")

    def flush(self) -> None:
        """Write the events folded so far as one line."""
        if not self._folded:
            return
        first, last = self._folded_from, self._folded_from + self._folded - 1
        where = f"event {first}" if first == last else f"events {first}-{last}"
        text = f"{counted(self._folded, 'event')} without tool calls, {self._folded_bytes} bytes"
        self._write(f"{self._begin_line()}{where:<{EVENT - 2}}  {text}")
        self._folded = self._folded_bytes = 0

    def _begin(self, model: str | None) -> None:
        self._headed = True
        self._model = model
        self._write(self._label.head(model, self._protocol))

    def _begin_line(self) -> str:
        if not self._headed:
            self._begin(None)
        return self._label.begin(f"+{self._elapsed()}ms" if self._elapsed is not None else "")

    def _event(self, number: int) -> str:
        return f"{self._begin_line()}{f'event {number}'.ljust(EVENT - 2)}  "

    def _line(self, number: int, text: str) -> None:
        self._write(f"{self._event(number)}{text}")

    def _finding(self, finding: Finding, begin: str) -> None:
        self._marked(begin, finding_line(finding, self._hide))

    def _marked(self, begin: str, marked: Marked) -> None:
        for line in marked.lines(begin, self._label.tag, self._paint):
            self._write(line)

    def _fragment(self, resolved: ResolvedFragment) -> str:
        fragment, call = resolved
        arguments = fragment.arguments
        alike = (*fragment[:5], fragment.phase, arguments is ABSENT, call.position)
        if alike != self._alike:
            self._alike, self._head = alike, self._beginning(resolved)
        if not self._head.endswith("args="):
            return self._head
        return self._head + (self._arguments(arguments) if isinstance(arguments, str) else seen(arguments))

    def _arguments(self, text: str) -> str:
        return shortened(self._hide(text), WIDTH - MARGIN - EVENT - len(self._head), count=True)

    def _beginning(self, resolved: ResolvedFragment) -> str:
        """The line up to the arguments, or all of it without arguments."""
        fragment, call = resolved
        choice = f"choice {fragment.choice} " if fragment.choice else ""
        phase = "" if fragment.phase is Phase.MORE else f" {fragment.phase}"
        where = self._aligned(_PLACE, f"{choice}call {call.position}{phase}")
        index = f"index={seen(fragment.index)}"
        if fragment.phase is Phase.CLOSE and fragment.arguments is ABSENT and fragment.name is ABSENT:
            return f"{where}  {index}"
        item, room = "", ID
        if fragment.item_id is not ABSENT:
            room = ID_BESIDE_ITEM
            item = f"{self._aligned(_ITEM, f'item={self._hidden(fragment.item_id, room)}')}  "
        identity = self._aligned(_CALL_ID, f"id={self._hidden(fragment.id, room)}")
        name = self._aligned(_NAME, f"name={self._hidden(fragment.name, room)}")
        return f"{where}  {identity}  {item}{name}  {index}  args="

    def _hidden(self, value: Seen[str], width: int) -> str:
        return seen(self._hide(value) if isinstance(value, str) else value, width)

    def _aligned(self, column: int, text: str) -> str:
        self._widths[column] = max(self._widths[column], len(text))
        return f"{text:<{self._widths[column]}}"


def _change(changed: Change) -> str:
    return f"{changed.kind}: {', '.join(changed.names)}"


class EndLines(Lines):
    """The head and the result of the stream: the calls, the findings, the overview."""

    live = False
