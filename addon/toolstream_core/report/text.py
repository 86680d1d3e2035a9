"""A stream in lines of text, as it comes and when it is over. Knows the record and the nouns."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Phase
from toolstream_core.report.layout import ID, MARGIN, WIDTH, Label, counted, foreign, seen, shortened
from toolstream_core.report.paint import plain
from toolstream_core.report.summary import call_line, finding_line, help_without_verdict, notes, overview

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Change, Event, EventContent, Finding, Record, Seen
    from toolstream_core.report.layout import Marked
    from toolstream_core.report.paint import Paint

_NUMBER = 11
"""Columns of `event 8` and what stands between it and the text."""
_WITH_ITEM = 16
"""Columns of an id where the id of an item stands beside it."""
_CALL_ID, _ITEM, _NAME, _PLACE = range(4)
"""The columns that are aligned."""


class Lines(Sink):
    """The lines of one stream: a head, one line for each event that concerns tool calls, and what it came to.

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
    ) -> None:
        """`elapsed` gives ms since the request; `hide` redacts.

        `syntax` writes options as the command in use takes them; `repaired` are the codes of the repairs that are on.
        """
        self._write = write
        self._label = label
        self._elapsed = elapsed
        self._paint = paint
        self._hide = hide
        self._syntax = syntax
        self._repaired = repaired
        self._protocol = ""
        self._model: str | None = None
        self._headed = False
        self._changes: dict[tuple[str, tuple[str, ...]], str] = {}
        """What is written of changes, by their kind and rows."""
        self._widths = [0, 0, 0, 0]
        """The widest id, item id, name and place so far: the columns that follow are aligned."""
        self._alike: tuple[object, ...] = ()
        self._head = ""
        """How the line of the last fragment began, and of what it was made: those of one call are alike."""
        self._found: set[Finding] = set()
        """Findings that were written where they showed."""
        self._folded = 0
        self._folded_bytes = 0
        self._folded_from = 0

    @override
    def begun(self, record: Record) -> None:
        self._protocol = record.dialect
        if record.model:
            self._begin(record.model)

    @override
    def quiet(self, first: int, frames: int, size: int) -> None:
        if not self._folded:
            self._folded_from = first
        self._folded += frames
        self._folded_bytes += size

    @override
    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        if not self._headed and said.model:
            self._begin(said.model)
        if not (told or said.finishes or said.error or said.end):
            self.quiet(event.frame.number, 1, len(event.frame.raw))
            return
        if self._folded:
            self.flush()
        number = event.frame.number
        for one in told:
            self._line(number, self._fragment(one))
        if said.error:
            room = WIDTH - MARGIN - _NUMBER - len("error ")
            text = shortened(self._hide(said.error), room, count=True)
            self._line(number, self._paint("error", f"error {text}"))
        for finish in said.finishes:
            choice = f" of choice {finish.choice}" if finish.choice else ""
            self._line(number, f"finish {foreign(finish.reason)}{choice}")
        if said.end and not said.finishes:
            self._line(number, "end")

    @override
    def on_each_skipped(self, event: Event, told: Sequence[ResolvedFragment], change: Change | None) -> None:
        arguments = told[0].fragment.arguments
        if not isinstance(arguments, str):
            super().on_each_skipped(event, told, change)
            return
        if self._folded:
            self.flush()
        begin = self._event(event.frame.number)
        self._write(f"{begin}{self._head}{self._arguments(arguments)}")
        if change is not None:
            self._write(f"{begin}{self._change(change)}")

    @override
    def found(self, finding: Finding) -> None:
        if self._folded:
            self.flush()
        self._found.add(finding)
        self._finding(finding, self._begin_line())

    @override
    def changed(self, changed: Change) -> None:
        self._line(changed.event, self._change(changed))

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
        self._write(f"{self._begin_line()}{where:<{_NUMBER - 2}}  {text}")
        self._folded = self._folded_bytes = 0

    def _begin(self, model: str | None) -> None:
        """Write the head."""
        self._headed = True
        self._model = model
        self._write(self._label.head(model, self._protocol))

    def _begin_line(self) -> str:
        if not self._headed:
            self._begin(None)
        return self._label.begin(f"+{self._elapsed()}ms" if self._elapsed is not None else "")

    def _event(self, number: int) -> str:
        return f"{self._begin_line()}{f'event {number}':<{_NUMBER - 2}}  "

    def _line(self, number: int, text: str) -> None:
        self._write(f"{self._event(number)}{text}")

    def _change(self, changed: Change) -> str:
        key = (changed.kind, changed.rows)
        text = self._changes.get(key)
        if text is None:
            text = self._changes[key] = f"{changed.kind}: {', '.join(changed.rows)}"
        return text

    def _finding(self, finding: Finding, begin: str) -> None:
        self._marked(begin, finding_line(finding, self._hide))

    def _marked(self, begin: str, marked: Marked) -> None:
        for line in marked.lines(begin, self._label.tag, self._paint):
            self._write(line)

    def _fragment(self, one: ResolvedFragment) -> str:
        fragment, call = one
        arguments = fragment.arguments
        alike = (*fragment[:5], fragment.phase, arguments is ABSENT, call.position)
        if alike != self._alike:
            self._alike, self._head = alike, self._beginning(one)
        if not self._head.endswith("args="):
            return self._head
        return self._head + (self._arguments(arguments) if isinstance(arguments, str) else seen(arguments))

    def _arguments(self, text: str) -> str:
        return shortened(self._hide(text), WIDTH - MARGIN - _NUMBER - len(self._head), count=True)

    def _beginning(self, one: ResolvedFragment) -> str:
        """The line up to the arguments; all of it where it has none."""
        fragment, call = one
        choice = f"choice {fragment.choice} " if fragment.choice else ""
        phase = "" if fragment.phase is Phase.MORE else f" {fragment.phase}"
        where = self._aligned(_PLACE, f"{choice}call {call.position}{phase}")
        index = f"index={seen(fragment.index)}"
        if fragment.phase is Phase.CLOSE and fragment.arguments is ABSENT and fragment.name is ABSENT:
            return f"{where}  {index}"
        item, room = "", ID
        if fragment.item_id is not ABSENT:
            room = _WITH_ITEM
            item = f"{self._aligned(_ITEM, f'item={self._id(fragment.item_id, room)}')}  "
        identity = self._aligned(_CALL_ID, f"id={self._id(fragment.id, room)}")
        name = self._aligned(_NAME, f"name={seen(fragment.name, room)}")
        return f"{where}  {identity}  {item}{name}  {index}  args="

    def _id(self, value: Seen[str], room: int) -> str:
        return seen(self._hide(value) if isinstance(value, str) else value, room)

    def _aligned(self, column: int, text: str) -> str:
        self._widths[column] = max(self._widths[column], len(text))
        return f"{text:<{self._widths[column]}}"


class EndLines(Lines):
    """The head, and what the stream came to: the calls, the findings, the overview."""

    live = False
