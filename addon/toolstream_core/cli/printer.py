"""Prints what was read of saved answers, as text or as JSON. Knows the reports."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from toolstream_core.report import jsonform
from toolstream_core.report.layout import Blocks, Label, counted
from toolstream_core.report.paint import plain, word
from toolstream_core.report.text import EndLines, Lines
from toolstream_core.report.verdict import advice_text, as_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from toolstream_core.engine.sink import Sink
    from toolstream_core.model import Exchange, Record
    from toolstream_core.report.judging import SavedVerdict
    from toolstream_core.report.paint import Paint

    type Write = Callable[[str], None]
    type Hide = Callable[[str], str]
    type Elapsed = Callable[[], int] | None


class Printer(Protocol):
    """Is asked for sinks before an answer is read, told the record after it, and closed at the end."""

    def sinks(self, exchange: Exchange, hide: Hide, elapsed: Elapsed) -> Sequence[Sink]:
        """What the reader tells as it goes."""
        ...

    def add(self, record: Record, hide: Hide) -> None:
        """The answer that was read last was an LLM's."""
        ...

    def judged(self, verdict: SavedVerdict) -> None:
        """What a client made of one of the answers so far."""
        ...

    def advised(self, source: str, options: str) -> None:
        """What helps with the answer from `source`, as long as there is no verdict on it."""
        ...

    def close(self) -> None:
        """There are no more."""
        ...


class TextPrinter:
    """Lines as in the live log.

    `chunks`: chunk by chunk, or only what is told at the end; `None` is the one where there is a single
    stream, the other where there are several, so the first stream's lines wait for a second stream.
    """

    def __init__(self, write: Write, *, chunks: bool | None = None, paint: Paint = plain) -> None:
        """`write` takes one line."""
        self._blocks = Blocks(write)
        self._chunks = chunks
        self._paint = paint
        self._long: list[str] = []
        self._short: list[str] = []
        self._waiting: list[str] | None = None
        """The first stream's chunk lines, while it is not known to be one of several."""
        self._first: list[str] = []
        self._counts: Counter[str] = Counter()
        self._tags: dict[str, str] = {}
        """How the lines of each source begin."""
        self._advice: dict[str, str] = {}
        """What helps with the answers on which there is no verdict, by their sources."""

    def sinks(self, exchange: Exchange, hide: Hide, elapsed: Elapsed) -> Sequence[Sink]:
        """One that writes, or two that keep their lines until it is known which to write."""
        where = f"{exchange.host}{exchange.path.partition('?')[0]}"
        names = " ".join(word(hide(name)) for name in (exchange.source, where) if name)
        label = Label(f"#{self._counts['stream'] + 1}", names, status=exchange.status)
        self._tags[exchange.source] = label.tag

        def lines(make: type[Lines], write: Write) -> Lines:
            def hidden(line: str) -> None:
                write(hide(line))

            return make(hidden, label, elapsed=elapsed, paint=self._paint, hide=hide, syntax=as_command)

        if self._chunks is not None:
            return [lines(Lines if self._chunks else EndLines, self._blocks.line)]
        self._long, self._short = [], []
        if self._counts["stream"]:
            return [lines(EndLines, self._short.append)]
        return [lines(Lines, self._long.append), lines(EndLines, self._short.append)]

    def add(self, record: Record, hide: Hide) -> None:
        """Count it, and write its lines if they waited."""
        del hide
        self._counts.update(
            [
                "stream",
                *("call" for _ in record.calls),
                *(finding.severity.value for finding in record.findings),
            ]
        )
        if self._chunks is not None:
            return
        if self._counts["stream"] == 1:
            self._waiting, self._first = self._long, self._short
            return
        self._release(self._first)
        self._write_all(self._short)

    def judged(self, verdict: SavedVerdict) -> None:
        """Write a line behind those of the answer that came with the next request."""
        self._advice.pop(verdict.source, None)
        label = Label(self._tags[verdict.source])
        advice = advice_text(verdict.explained, as_command)
        lines = [*verdict.text.lines(label.begin(), label.tag, self._paint, advice)]
        if self._waiting is None:
            self._blocks.block(lines)
        else:
            self._waiting += lines
            self._first += lines

    def advised(self, source: str, options: str) -> None:
        """Keep it until there is a verdict, or the end."""
        self._advice[source] = options

    def close(self) -> None:
        """Write what still waits, what helps, and, for several streams, how many of everything."""
        if self._waiting is not None:
            self._release(self._waiting)
        for source, options in self._advice.items():
            self._blocks.block([f"{Label(self._tags[source]).begin()}→ {as_command(options)}"])
        if self._counts["stream"] > 1:
            told = ("stream", "call", "error", "warning", "note")
            self._blocks.line(", ".join(counted(self._counts[noun], noun) for noun in told))

    def _release(self, lines: list[str]) -> None:
        if self._waiting is not None:
            self._waiting = None
            self._write_all(lines)

    def _write_all(self, lines: list[str]) -> None:
        for line in lines:
            self._blocks.line(line)


class JsonPrinter:
    """The document of `docs/inspect.schema.json`, in one line, when everything was read."""

    def __init__(self, write: Write) -> None:
        """`write` takes one line."""
        self._write = write
        self._streams: list[dict[str, Any]] = []

    def sinks(self, exchange: Exchange, hide: Hide, elapsed: Elapsed) -> Sequence[Sink]:
        """The record says it all."""
        del exchange, hide, elapsed
        return ()

    def add(self, record: Record, hide: Hide) -> None:
        """Keep the stream's object."""
        self._streams.append({**jsonform.record_object(record, hide), "verdict": None})

    def judged(self, verdict: SavedVerdict) -> None:
        """Put it into the stream's object."""
        for stream in self._streams:
            if stream["source"] == verdict.source:
                stream["verdict"] = verdict.object

    def advised(self, source: str, options: str) -> None:
        """The document has the repair of each finding."""

    def close(self) -> None:
        """Write the document."""
        self._write(json.dumps(jsonform.document(self._streams)))
