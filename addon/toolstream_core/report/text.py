"""A stream in lines of text, as it comes and when it is over. Knows the record and the nouns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Phase
from toolstream_core.report.paint import plain, quoted, word
from toolstream_core.report.summary import finding_line, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Change, Event, EventContent, Finding, Record, Seen
    from toolstream_core.report.paint import Paint

MAX_FRAGMENT = 160
"""Characters of one fragment that a line shows."""


class Lines(Sink):
    """The chunk-by-chunk lines of one stream: one for each event that concerns tool calls, the others folded."""

    live = True
    each = False

    def __init__(
        self,
        write: Callable[[str], None],
        label: str,
        *,
        model: str | None = None,
        elapsed: Callable[[], int] | None = None,
        mark: str = "",
        paint: Paint = plain,
        hide: Callable[[str], str] = str,
    ) -> None:
        """`label` begins and `mark` ends each line; `elapsed` gives ms since the request; `hide` redacts."""
        self._write = write
        self._label = label
        self._elapsed = elapsed
        self._paint = paint
        self._mark = f"  {paint('dim', mark)}" if mark else ""
        self._hide = hide
        self._named = False
        self._prefix = ""
        self._name_model(model)
        self._changes: dict[tuple[str, tuple[str, ...]], str] = {}
        """What is said of changes, by their kind and names."""
        self._alike: tuple[object, ...] = ()
        self._head = ""
        """How the line of the last fragment began, and of what it was made: those of one call are alike."""
        self._told: set[Finding] = set()
        """Findings that were told where they showed."""
        self._folded = 0
        self._folded_bytes = 0
        self._folded_from = 0

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Fold events without anything that concerns tool calls."""
        if not self._folded:
            self._folded_from = first
        self._folded += frames
        self._folded_bytes += size

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        """Tell an event that says something; one that only carries text is folded too."""
        if said.model and not self._named:
            self._name_model(said.model)
            self._named = True
        if not (told or said.finishes or said.error or said.end):
            self.quiet(event.frame.number, 1, len(event.frame.raw))
            return
        if self._folded:
            self.flush()
        number = event.frame.number
        for one in told:
            self._line(number, self._fragment(one))
        if said.error:
            self._line(number, self._paint("error", f"error {quoted(self._hide(said.error), MAX_FRAGMENT)}"))
        for finish in said.finishes:
            choice = f" of choice {finish.choice}" if finish.choice else ""
            self._line(number, f"finish {self._paint('name', word(finish.reason))}{choice}")
        if said.end and not said.finishes:
            self._line(number, "end")

    def on_each_skipped(self, event: Event, told: Sequence[ResolvedFragment], change: Change | None) -> None:
        """Tell a piece of arguments, and that it is changed: the line begins as that of the piece before it."""
        arguments = told[0].fragment.arguments
        if not isinstance(arguments, str):
            super().on_each_skipped(event, told, change)
            return
        if self._folded:
            self.flush()
        begin = f"{self._prefix}{self._time()}event {event.frame.number}  "
        self._write(f"{begin}{self._head}{quoted(self._hide(arguments), MAX_FRAGMENT)}{self._mark}")
        if change is not None:
            self._write(f"{begin}{self._change(change)}{self._mark}")

    def found(self, finding: Finding) -> None:
        """Tell what is wrong where it shows."""
        if self._folded:
            self.flush()
        self._told.add(finding)
        self._write(f"{self._prefix}{self._time()}{finding_line(finding, self._paint, self._hide)}{self._mark}")

    def changed(self, changed: Change) -> None:
        """Tell that the client gets an event otherwise than it came."""
        self._line(changed.event, self._change(changed))

    def ended(self, record: Record) -> None:
        """Tell the calls, the findings and how it ended."""
        self.flush()
        self._name_model(record.model)
        for line in summary(record, self._paint, self._hide, self._told):
            self._write(f"{self._prefix}{line}{self._mark}")

    def flush(self) -> None:
        """Tell the events folded so far in one line."""
        if not self._folded:
            return
        first, last = self._folded_from, self._folded_from + self._folded - 1
        where = f"event {first}" if first == last else f"events {first}-{last}"
        count = "1 event" if self._folded == 1 else f"{self._folded} events"
        text = self._paint("dim", f"{count} without tool calls, {self._folded_bytes} bytes")
        self._write(f"{self._prefix}{self._time()}{where}  {text}{self._mark}")
        self._folded = self._folded_bytes = 0

    def _change(self, changed: Change) -> str:
        key = (changed.kind, changed.rows)
        text = self._changes.get(key)
        if text is None:
            text = self._changes[key] = self._paint("name", f"{changed.kind}: {', '.join(changed.rows)}")
        return text

    def _line(self, number: int, text: str) -> None:
        self._write(f"{self._prefix}{self._time()}event {number}  {text}{self._mark}")

    def _time(self) -> str:
        return f"+{self._elapsed()}ms " if self._elapsed is not None else ""

    def _name_model(self, model: str | None) -> None:
        shown = f"{self._label} {word(model)}" if model else self._label
        self._prefix = f"{self._paint('dim', shown)} "

    def _fragment(self, one: ResolvedFragment) -> str:
        fragment, call = one
        arguments = fragment.arguments
        alike = (*fragment[:5], fragment.phase, arguments is ABSENT, call.position)
        if alike != self._alike:
            self._alike, self._head = alike, self._beginning(one)
        if not self._head.endswith("args="):
            return self._head
        said = quoted(self._hide(arguments), MAX_FRAGMENT) if isinstance(arguments, str) else _seen(arguments)
        return self._head + said

    def _beginning(self, one: ResolvedFragment) -> str:
        """The line up to the arguments; all of it where it has none."""
        fragment, call = one
        choice = f"choice {fragment.choice} " if fragment.choice else ""
        phase = "" if fragment.phase is Phase.MORE else f" {fragment.phase}"
        if fragment.phase is Phase.CLOSE and fragment.arguments is ABSENT and fragment.name is ABSENT:
            return f"{choice}call {call.position}{phase}: index={_seen(fragment.index)}"
        item = "" if fragment.item_id is ABSENT else f" item={_seen(fragment.item_id)}"
        return (
            f"{choice}call {call.position}{phase}: id={_seen(fragment.id)}{item} name={_seen(fragment.name)} "
            f"index={_seen(fragment.index)} args="
        )


class EndLines(Lines):
    """Only what is told at the end of a stream: the calls, the findings, the summary."""

    live = False


def _seen(value: Seen[str] | Seen[int]) -> str:
    if value is ABSENT:
        return "absent"
    if value is None:
        return "null"
    return quoted(value, 80) if isinstance(value, str) else str(value)
