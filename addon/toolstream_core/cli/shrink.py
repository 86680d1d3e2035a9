"""`toolstream shrink`: the smallest reproduction of a bug, as a fixture. Knows the options."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from toolstream_core.cli.output import Output, OutputError, check_outputs
from toolstream_core.cli.reproduction import reproduction
from toolstream_core.cli.serving import repeats
from toolstream_core.defects.table import ROWS, UnknownDefectError, named
from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.report.paint import word
from toolstream_core.shrinking.candidate import digest, events, size
from toolstream_core.shrinking.law import Law, RecordCache, shows
from toolstream_core.shrinking.passes import passes
from toolstream_core.shrinking.search import Search
from toolstream_core.shrinking.tried import TriedCandidates
from toolstream_core.shrinking.verdicts import has_verdict, verdicts, worst
from toolstream_core.sources.demo import beside
from toolstream_core.sources.files import STDIN
from toolstream_core.state_file import StateError
from toolstream_core.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.cli.reproduction import Reproduction
    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.law import Oracle
    from toolstream_core.shrinking.search import Progress

DONE, CANNOT = 0, 2
"""Exit codes."""
_EVERY = 0.2
"""Seconds between two lines of progress on a terminal."""
_KIB = 1024


class _UsageError(ValueError):
    """What was asked cannot be done; the message says what would be right."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "shrink",
        help="cut saved answers down to the fewest and smallest events that still show a bug",
        usage="toolstream shrink FLOW [options] (--finding NAME | --verdict NAME | -- CMD…)",
        description="Cut saved answers down to the fewest and smallest events that still show a bug.",
        epilog="CMD is run behind a proxy that answers from each candidate; it has to fail (exit code other than 0) "
        "while the bug shows, with the same verdict each time. The calls keep their arguments.",
    )
    parser.add_argument("flow", type=Path, metavar="FLOW", help="a flow file, or whatever `toolstream extract` reads")
    told = "the bug is this finding: a name or code from `toolstream list`"
    parser.add_argument("--finding", type=_codes, metavar="NAME", help=told)
    told = "the bug is this verdict: of the conversation in FLOW, or, with CMD, of each run (default: the first run's)"
    parser.add_argument("--verdict", type=_verdict, metavar="NAME", help=told)
    told = "accept a result that fails otherwise than FLOW: with another verdict, or also when it is repaired"
    parser.add_argument("--any-failure", action="store_true", help=told)
    told = "the fixture to write, with its .expect.json beside it (default: FLOW with .min.flow), or - for stdout"
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help=told)
    parser.add_argument("--force", action="store_true", help="overwrite OUT")
    told = "allow candidates with defects that FLOW does not have, and without the fields that all its events have"
    parser.add_argument("--any", action="store_true", help=told)
    told = "remember what was tried in this file, and go on from there when started again"
    parser.add_argument("--state", type=Path, metavar="FILE", help=told)
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="run N commands at once (default 1)")
    told = "seconds after which a command is stopped and counts as one that did not fail (default 60)"
    parser.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help=told)
    told = "equal requests of CMD that one response answers (default 8); 0 is no limit"
    parser.add_argument("--provider-repeats", type=repeats, default=REPEATS, metavar="N", help=told)
    told = "for flaky commands: the bug has to show in K of K runs (default 1)"
    parser.add_argument("--repeat", type=positive, default=1, metavar="K", help=told)
    told = "the command's output has to hold this text too, so that another failure is not taken for the bug"
    parser.add_argument("--says", default="", metavar="TEXT", help=told)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Shrink, write the fixture and say what was gained."""
    from toolstream_core.cli.command_oracle import CommandError
    from toolstream_core.fixtures import FixtureError
    from toolstream_core.testing import ProxySessionError

    try:
        return _run(args)
    except (_UsageError, OutputError, FixtureError, StateError, CommandError, ProxySessionError) as error:
        print(f"toolstream shrink: {error}", file=sys.stderr)
        return CANNOT


def _run(args: argparse.Namespace) -> int:
    began = time.monotonic()
    output = _output(args)
    reader = RecordCache()
    saved = reproduction(args.flow, shows(reader, args.finding) if args.finding else None)
    if saved.note:
        print(f"toolstream shrink: {saved.note}", file=sys.stderr)
    law = Law(reader, saved.original, lax=args.any, for_client=args.finding is None)
    with _oracle(args, saved, reader) as oracle, _tried(args, saved.original) as tried:
        show = _Display(quiet=args.quiet)
        search = Search(law, oracle, tried=tried, jobs=args.jobs if args.command_line else 1, progress=show.progress)
        if not (law.allows(saved.original) and search.shows(saved.original)):
            raise _UsageError(_does_not_show(args, verdicts(saved.original, reader)))
        try:
            best = search.run(saved.original, passes(saved.original, lax=args.any))
        except KeyboardInterrupt:
            show.end()
            print(f"toolstream shrink: stopped after {search.tries} tries; {_how_to_go_on(args)}", file=sys.stderr)
            raise
        show.end()
    if output is None:
        sys.stdout.buffer.write(saved.flow_bytes(best))
    else:
        saved.write(best, output, replace=args.force)
    gained = f"{_told(saved.original)} → {_told(best)}; {search.tries} tries, {time.monotonic() - began:.0f} s"
    where, stream = ("standard output", sys.stderr) if output is None else (word(str(output)), sys.stdout)
    print(f"{gained}: {where}", file=stream)
    return DONE


def _output(args: argparse.Namespace) -> Path | None:
    """The file to write; `None` for standard output, which gets no expectation."""
    from toolstream_core.fixtures.expectation import expect_path

    output: Path = args.output or beside(args.flow).with_suffix(".min.flow")
    to_stdout = str(output) == STDIN
    outputs = [] if to_stdout else [Output(path, "-o", args.force) for path in (output, expect_path(output))]
    if args.state is not None:
        outputs.append(Output(args.state, "--state", force=None, is_own=Path.is_file))
    check_outputs(outputs, [args.flow])
    return None if to_stdout else output


@contextlib.contextmanager
def _oracle(args: argparse.Namespace, saved: Reproduction, reader: RecordCache) -> Iterator[Oracle]:
    if not (args.finding or args.verdict or args.command_line) or (args.finding and args.command_line):
        raise _UsageError("name the bug: --finding NAME, --verdict NAME, or a command after --")
    if not args.command_line:
        yield _saved_bug(args, saved.original, reader)
        return
    from toolstream_core.cli.command_oracle import Tries, command_bug

    tries = Tries(
        args.command_line,
        args.timeout,
        args.repeat,
        args.jobs,
        args.says,
        args.provider_repeats,
        args.verdict,
        args.any_failure,
    )
    with command_bug(tries, saved.original, saved.flow_bytes) as bug:
        yield bug.shows


def _saved_bug(args: argparse.Namespace, original: Candidate, reader: RecordCache) -> Oracle:
    """What a candidate itself has to show: the finding, and the verdict of the saved conversation."""
    verdict = args.verdict or (None if args.any_failure else worst(verdicts(original, reader)))
    wanted = [
        *([shows(reader, args.finding)] if args.finding else []),
        *([has_verdict(reader, verdict)] if verdict else []),
    ]
    return lambda candidate: all(oracle(candidate) for oracle in wanted)


def _tried(args: argparse.Namespace, original: Candidate) -> TriedCandidates:
    if args.state is None:
        return TriedCandidates()
    about = {
        "flow": digest(original),
        "finding": sorted(args.finding or ()),
        "command": args.command_line,
        "repeat": args.repeat,
        "says": args.says,
        "verdict": args.verdict,
        "any_failure": args.any_failure,
        "provider_repeats": args.provider_repeats,
    }
    return TriedCandidates.open(args.state, about)


def _does_not_show(args: argparse.Namespace, found: frozenset[Outcome]) -> str:
    if args.command_line:
        verdict = f" with the verdict {args.verdict}" if args.verdict else ""
        return f"the command did not fail{verdict} on {args.flow} (without secrets), so there is nothing to shrink"
    names = " or ".join(row.name for row in ROWS if row.code in (args.finding or ()))
    if args.verdict and args.verdict not in found:
        shown = ", ".join(sorted(found)) or "none"
        return f"{args.flow} does not show the verdict {args.verdict}; its verdicts on misread responses: {shown}"
    return f"{args.flow} does not show {names}; `toolstream inspect` tells what it shows"


def _how_to_go_on(args: argparse.Namespace) -> str:
    return "with --state FILE it could go on" if args.state is None else "the same command goes on from there"


def _told(candidate: Candidate) -> str:
    count, bytes_ = events(candidate), size(candidate)
    shown = f"{bytes_} bytes" if bytes_ < _KIB else f"{bytes_ / _KIB:.1f} KB"
    return f"{count} event{'' if count == 1 else 's'}, {shown}"


class _Display:
    """Progress on standard error: one line that changes on a terminal, else a line for each gain."""

    def __init__(self, *, quiet: bool) -> None:
        """Show nothing where it has to be `quiet`."""
        self._quiet = quiet
        self._began = self._last = time.monotonic()
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._before = (0, 0)
        self._open = False

    def progress(self, progress: Progress) -> None:
        """Show how far the search is."""
        now = time.monotonic()
        reached = (progress.events, progress.size)
        if self._quiet or (now - self._last < _EVERY if self._live else reached == self._before):
            return
        self._before, self._last = reached, now
        gained = f"{progress.events} events, {progress.size} bytes"
        line = f"{progress.stage}: {gained}; {progress.tries} tries, {now - self._began:.0f} s"
        print(f"\r{line}\033[K" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True)
        self._open = self._live

    def end(self) -> None:
        """Close the line that changes."""
        if self._open:
            print(file=sys.stderr)


def _codes(text: str) -> frozenset[str]:
    try:
        return named([text])
    except UnknownDefectError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _verdict(text: str) -> Outcome:
    try:
        return Outcome(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no verdict; there are {', '.join(Outcome)}") from None


def positive(text: str) -> int:
    """A count, as an option's value."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """A time, as an option's value."""
    try:
        found = float(text)
    except ValueError:
        found = 0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return found
