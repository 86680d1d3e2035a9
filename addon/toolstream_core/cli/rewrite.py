"""`toolstream repair` and `toolstream fault`: saved streams as the proxy would forward them."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolstream_core.cli.output import Output, check_outputs, say, shown_name
from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import Change, Note, Record, StreamFacts
from toolstream_core.printable import counted, first_difference, printable, word
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.redact import redacted
from toolstream_core.report.lines import fault_line
from toolstream_core.saved.demo import located
from toolstream_core.saved.exchange import Exchange, NewBody, UnreadableError
from toolstream_core.saved.files import STDIN, pairs, rewritten, write_atomic
from toolstream_core.settings import Settings, Words, settings
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.transit.actions import repair_cut
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.write import encoded

_CONTEXT: Final = 40
"""Characters that `--diff` shows on each side of a change."""


def rewrite(args: argparse.Namespace, settings: Settings) -> int:
    """Rewrite IN to OUT. Raises `ToolstreamError`."""
    targets = _targets(args)
    work = Rewriting(settings, diff=args.diff)
    left_out = 0
    for source, target in targets:
        before = work.met
        try:
            data = rewritten(source, work.body, args.request)
        except UnreadableError as error:
            raise ToolstreamError(f"{word(source)} {error}") from error
        if work.met == before:
            left_out += 1
            continue
        work.report_unwrapped(source)
        if target == STDIN:
            sys.stdout.buffer.write(data)
        else:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(Path(target), data, replace=args.force)
    if not work.met:
        raise ToolstreamError(f"no LLM stream in {shown_name(args.source)}")
    if left_out:
        print(f"left out {counted(left_out, 'file')} without an LLM stream", file=sys.stderr)
    work.sum_up()
    return 0


def _targets(args: argparse.Namespace) -> Sequence[tuple[str, str]]:
    """Each input file with its output file. Raises `ToolstreamError`."""
    found = list(pairs(args.source, args.output))
    outputs = [Output(Path(target), force=args.force) for _, target in found if target != STDIN]
    inputs = [] if args.source == STDIN else [located(args.source)]
    check_outputs(outputs, inputs, makes_folders=bool(inputs) and inputs[0].is_dir())
    return found


@dataclass
class Rewriting(Sink):
    """Rewrites responses and counts the changes."""

    settings: Settings
    diff: bool = False
    met: int = 0
    """The number of LLM responses, also of unreadable ones."""
    _responses: int = 0
    _changed: set[tuple[int, int]] = field(default_factory=set)
    _faults: list[str] = field(default_factory=list)
    _broken: list[str] = field(default_factory=list)
    _taken: int = 0
    """Events that timing and connection faults removed."""
    _put: int = 0
    """Events that they inserted."""
    _unwrapped: Sequence[Note] = ()
    """The format around the last response."""
    _hide: Callable[[str], str] = str

    live = True

    def body(self, saved: Exchange) -> NewBody:
        self._hide, self._unwrapped = (lambda text: redacted(text, saved.secrets)), saved.unwrapped
        faults = drawn(self.settings, saved.facts, self._responses + 1)
        picks = [pick for _, pick in faults]
        chunks = list(saved.chunks)
        ids = ResponseIds(_seed(saved.facts.source, chunks))
        body = Session(saved.facts, self.settings, lambda _: [self], ids=ids, number=self._responses + 1, transit=picks)
        out = [b"".join(body.feed(chunk)) if chunk else b"" for chunk in chunks]
        out.append(b"".join(body.end(broken=saved.broken)))
        if saved.facts.content_encoding and body.failure is not None:
            self.met += 1
            say(f"{word(saved.facts.source)} is written unchanged, because it cannot be read: {body.failure}")
            return NewBody([*chunks, b""])
        if faults:
            before = _events(out, saved.facts)
            schedule = Schedule(saved.facts, faults, socket=saved.socket)
            out = [bytes_of(schedule.feed(sent)) if sent else b"" for sent in out]
            out[-1] += bytes_of(schedule.feed(b""))
            after = _events(out, saved.facts)
            self._taken += (before - after).total()
            self._put += (after - before).total()
        record = body.record(broken=saved.broken)
        if record is not None:
            self._responses += 1
            self.met += 1
            self._faults += [
                f"{word(saved.facts.source)}: {fault_line(fault, record.protocol)}" for fault in record.faults
            ]
        defect = None if record is None or saved.broken is not None else body.cut_off(record)
        if defect is None:
            return NewBody(out)
        if saved.socket is not None:
            out[-1] += encoded(saved.socket.error(ErrorKind.SERVER)) + b"\n"
            return NewBody(out)
        self._broken.append(f"{word(saved.facts.source)}: {defect.name}: the client sees a disconnect")
        return NewBody(out, repair_cut(defect.name).why)

    def changed(self, changed: Change) -> None:
        """Count a change, and print it with `--diff`."""
        self._changed.add((self._responses, changed.event))
        if not self.diff:
            return
        print(f"event {changed.event}  {changed.kind}: {', '.join(changed.names)}", file=sys.stderr)
        sides = (self._hide(side.decode("utf-8", "replace")) for side in (changed.before, changed.after))
        for sign, text in zip("-+", differing(*sides), strict=True):
            for line in filter(None, text.splitlines()):
                print(f"{sign} {printable(line)}", file=sys.stderr)

    def ended(self, record: Record) -> None:
        """The end is not printed."""

    def report_unwrapped(self, source: str) -> None:
        """Report that only the bare stream is written."""
        if self._unwrapped:
            removed = "; ".join(printable(self._hide(one.message)) for one in self._unwrapped)
            print(f"{shown_name(source)}: wrote the bare stream, without {removed}", file=sys.stderr)

    def sum_up(self) -> None:
        for line in (*self._faults, *self._broken):
            print(line, file=sys.stderr)
        counts = ((self._taken, "removed"), (self._put, "inserted"))
        moved = "".join(f", {number} {what}" for number, what in counts if number)
        changed = f"{counted(len(self._changed), 'event')} changed{moved}"
        print(f"{counted(self._responses, 'stream')}, {changed}", file=sys.stderr)


def differing(before: str, after: str) -> tuple[str, str]:
    """Both texts without their common beginning and end, except some characters."""
    begin = first_difference(before, after)
    end = first_difference(before[begin:][::-1], after[begin:][::-1])
    left, right = max(begin - _CONTEXT, 0), max(end - _CONTEXT, 0)

    def part(text: str) -> str:
        return f"{'…' if left else ''}{text[left : len(text) - right]}{'…' if right else ''}"

    return part(before), part(after)


def _events(chunks: Sequence[bytes], exchange: StreamFacts) -> Counter[bytes]:
    """The events of a body that carry data, its coding undone."""
    frames = BodyFraming(exchange.content_type).cut(b"".join(chunks))
    return Counter(frame.raw for frame in frames if frame.data is not None)


def _seed(source: str, chunks: Iterable[bytes]) -> str:
    """A seed for a response: its content and its place in its file, independent of the path."""
    checksum = hashlib.sha256()
    for chunk in chunks:
        checksum.update(chunk)
    place = source.rpartition("#")[2]
    return f"{place if place.replace('.', '').isdecimal() else 0}|{checksum.hexdigest()}"


def repair(args: argparse.Namespace) -> int:
    """Rewrite the streams. Returns the exit code."""
    repairs = args.repair or ([] if args.shape else ["safe"])
    return rewrite(args, settings(Words(repair=repairs, shape=args.shape)))


def fault(args: argparse.Namespace) -> int:
    """Rewrite the streams. Returns the exit code."""
    return rewrite(args, settings(Words(fault=tuple(args.specs), seed=args.seed)))
