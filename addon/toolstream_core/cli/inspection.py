"""Reads saved answers one after the other, whatever of them cannot be read. Knows sources and printers."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolstream_core.clients.advice import MAX_BODY, tried_repairs
from toolstream_core.clients.received import Answer
from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import Note, Severity
from toolstream_core.redact import raised_at, redacted
from toolstream_core.report.judging import Judging, SavedVerdict, as_sent
from toolstream_core.report.layout import counted
from toolstream_core.report.paint import word
from toolstream_core.sources.files import READABLE, STDIN, files
from toolstream_core.sources.layout import belongs
from toolstream_core.sources.saved import RefusedError, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.cli.printer import Printer
    from toolstream_core.model import Finding, Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.sources.saved import Saved

CLEAN, FOUND, UNREADABLE = 0, 1, 2
"""Exit codes."""
_BEHIND = "read here is what the provider sent; what the client got"
_LISTED = 10
"""Skipped files of a folder that are listed by name."""
_COUNTS = frozenset({Severity.ERROR, Severity.WARNING})


class Inspection:
    """What came of the paths so far."""

    def __init__(
        self,
        printer: Printer,
        saved: Callable[[str], Iterator[Saved]],
        keeps: Callable[[Finding], bool],
        dialects: Sequence[WireProtocol],
    ) -> None:
        """`saved` gives the answers in a file; `keeps` says which findings are wanted."""
        self._printer = printer
        self._saved = saved
        self._keeps = keeps
        self._dialects = dialects
        self._found = False
        self._unreadable = False
        self._verdicts: list[SavedVerdict] = []
        self._judging = Judging(self._verdicts.append)

    def read(self, path: str) -> None:
        """Read a file, or all files of a folder.

        A named file without an LLM response is an error; in a folder such files are only listed.
        """
        named = path == STDIN or not Path(path).is_dir()
        without = [file for file in files(path) if not self._file(file, named=named)]
        if named:
            for file in without:
                self._cannot(f"{_name(file)} contains no LLM response. Expected {READABLE}")
        elif without:
            shown = [word(str(Path(file).relative_to(path))) for file in without[:_LISTED]]
            more = f" and {len(without) - _LISTED} more" if len(without) > _LISTED else ""
            files_ = counted(len(without), "file")
            _tell(f"{_name(path)}: skipped {files_} without an LLM response: {', '.join(shown)}{more}")

    def close(self, *, exit_zero: bool) -> int:
        """Print what is left and give the exit code."""
        self._printer.close()
        if self._unreadable:
            return UNREADABLE
        return FOUND if self._found and not exit_zero else CLEAN

    def _file(self, file: str, *, named: bool) -> bool:
        """Read one file; whether anything was told of it."""
        told = False
        try:
            for saved in self._saved(file):
                told = self._answer(saved) or told
                del saved  # a flow may be large, and the next one is read before this name is bound again
        except UnreadableError as error:
            if isinstance(error, RefusedError) and not named:
                return False
            self._cannot(f"{_name(file)} {error}")
            return True
        return told or belongs(Path(file))

    def _answer(self, saved: Saved) -> bool:
        source = word(saved.exchange.source)
        if saved.missing:
            self._cannot(f"{source} cannot be read: {saved.missing}")
            return True
        try:
            record = self._record(saved)
            self._judge(saved, record)
        except (UnreadableError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hide what the other answers say
            self._cannot(f"{source} cannot be read, because of a bug in toolstream: {raised_at(error)}")
            return True
        if record is not None:
            self._found = self._found or any(one.severity in _COUNTS for one in record.findings)
        return record is not None

    def _record(self, saved: Saved) -> Record | None:
        hide = partial(redacted, secrets=saved.secrets)
        clock = _Clock(saved)
        sinks = self._printer.sinks(saved.exchange, hide, clock.now if saved.times else None)
        record = read_body(
            clock.chunks(),
            saved.exchange,
            broken=saved.broken,
            sinks=[_AsSaved(saved), _Sieve(self._keeps), *sinks],
            dialects=self._dialects,
        )
        if record is not None:
            self._printer.add(record, hide)
            if record.calls and clock.body and any(one.severity in _COUNTS for one in record.findings):
                options = tried_repairs(Answer(saved.exchange, bytes(clock.body), saved.broken))
                if options:
                    self._printer.advised(saved.exchange.source, options)
        return record

    def _judge(self, saved: Saved, record: Record | None) -> None:
        """Say what the client made of the answers that this request follows."""
        self._judging.take(saved, record)
        for one in self._verdicts:
            self._printer.judged(one)
        self._verdicts.clear()

    def _cannot(self, message: str) -> None:
        self._unreadable = True
        _tell(message)


class _Clock:
    """Says when the chunk came that is being read, and keeps the body while options could be tried on it."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved
        self._now = 0
        self.body = bytearray()
        """Empty where it is too long."""
        self._room = MAX_BODY

    def _keep(self, chunk: bytes) -> None:
        if self._room < len(chunk):
            self.body.clear()
            self._room = 0
        else:
            self.body += chunk
            self._room -= len(chunk)

    def now(self) -> int:
        return self._now

    def chunks(self) -> Iterator[bytes]:
        for number, chunk in enumerate(self._saved.chunks):
            if self._saved.times:
                self._now = self._saved.times[number]
            self._keep(chunk)
            yield chunk


class _AsSaved(Sink):
    """Puts what the file says of a response into its record; stands before the sinks that print it."""

    def __init__(self, saved: Saved) -> None:
        self._saved = saved

    def ended(self, record: Record) -> None:
        saved = self._saved
        record.unwrapped = [*saved.unwrapped]
        record.findings = [*saved.findings, *record.findings]
        record.faults = [*saved.faults]
        specs = ", ".join(one.spec for one in saved.faults if one.changes)
        if specs and saved.sent is not None:
            record.notes.append(Note(specs, f"{_BEHIND} had {_told(as_sent(saved))}"))


class _Sieve(Sink):
    """Takes findings that nobody wants out of a record; stands before the sinks that tell them."""

    def __init__(self, keeps: Callable[[Finding], bool]) -> None:
        self._keeps = keeps

    def ended(self, record: Record) -> None:
        record.findings = [finding for finding in record.findings if self._keeps(finding)]


def _told(got: Record | None) -> str:
    """What the client got, in a few words."""
    if got is None:
        return "nothing of an answer"
    names = ", ".join(dict.fromkeys(finding.name for finding in got.findings)) or "no findings"
    return f"{counted(got.events, 'event')}, {counted(len(got.calls), 'call')}, {names}"


def _name(path: str) -> str:
    return "standard input" if path == STDIN else word(path)


def _tell(message: str) -> None:
    print(f"toolstream: {message}", file=sys.stderr)
