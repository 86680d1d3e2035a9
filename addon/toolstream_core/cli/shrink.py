"""`toolstream shrink`: the smallest reproduction of a bug, as a fixture."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from toolstream_core.checking.client import Client, ProxySlots, Run
from toolstream_core.cli.arguments import not_found
from toolstream_core.cli.output import Output, ProgressLine, check_outputs, how_to_continue, interrupted_by_signals, say
from toolstream_core.errors import ToolstreamError
from toolstream_core.printable import counted, word
from toolstream_core.saved.demo import beside
from toolstream_core.saved.expectation import expect_path
from toolstream_core.saved.files import STDIN
from toolstream_core.saved.fixtures import flow_files, write_all
from toolstream_core.saved.flow import LlmFlow, packed
from toolstream_core.saved.read import as_client_got, flows_of, read_responses, turn_of
from toolstream_core.shrinking.candidate import Candidate, digest, events, size
from toolstream_core.shrinking.search import Condition, Oracle, Search, TriedCandidates, passes, shows, verdicts, worst
from toolstream_core.testing import Setup
from toolstream_core.verdict import Outcome

type Codes = frozenset[str] | None
"""The codes of the named defects."""


class Reproduction:
    """The responses in a flow file, without secrets."""

    def __init__(self, responses: Sequence[LlmFlow], note: str = "") -> None:
        """`note`: whether these are the provider's or the client's, where faults changed them; else empty."""
        self.flows = [one.flow for one in responses]
        self.original: Candidate = tuple(turn_of(number, one) for number, one in enumerate(responses))
        self.note = note


def reproduction(path: Path, shows: Callable[[Candidate], bool] | None) -> Reproduction:
    """The responses in a flow file; where a fault changed one, as the client received it, because that failed.

    `shows`: whether the bug shows, if that is cheap to find out; a bug that the response alone shows is accepted.
    Raises `ToolstreamError`.
    """
    sent = read_responses(path)
    got = [as_client_got(one) for one in sent]
    changed = [one for one, other in zip(sent, got, strict=True) if one is not other]
    if not changed:
        return Reproduction(sent)
    specs = ", ".join(dict.fromkeys(spec for one in changed for spec in one.caused.specs))
    broken = f"{', '.join(one.source for one in changed)}: changed by fault {specs}"
    provider = Reproduction(sent, f"{broken}; shrinking the response of the provider, because only it shows the bug")
    client = Reproduction(got, f"{broken}; shrinking the response that the client received")
    return provider if shows is not None and shows(provider.original) and not shows(client.original) else client


class CommandBug:
    """Tests whether a command fails with a candidate as with the original. Thread-safe."""

    def __init__(self, args: argparse.Namespace, slots: ProxySlots, folder: Path, saved: Reproduction) -> None:
        self._args = args
        self._slots = slots
        self._folder = folder
        self._saved = saved

    def shows(self, candidate: Candidate) -> bool:
        """Whether it fails, with the same verdict, and passes with the candidate repaired if the original does.

        Raises `ToolstreamError` if the command cannot be run.
        """
        wanted = self._args.verdict
        if candidate is self._saved.original:
            return self.verdicts is not None and (wanted is None or wanted in self.verdicts)
        found = self._verdicts(candidate)
        if found is None or self._args.any_failure:
            return found is not None
        if wanted not in found if wanted else worst(found) is not worst(self.verdicts or frozenset()):
            return False
        return not self._is_repaired or self._verdicts(candidate, ("safe",)) is None

    @cached_property
    def verdicts(self) -> frozenset[Outcome] | None:
        """The verdicts of the original; `None` if the command does not fail."""
        return self._verdicts(self._saved.original)

    @cached_property
    def _is_repaired(self) -> bool:
        """Whether the command passes with the original repaired."""
        return self._verdicts(self._saved.original, ("safe",)) is None

    def _verdicts(self, candidate: Candidate, repair: tuple[str, ...] = ()) -> frozenset[Outcome] | None:
        """The verdicts on misread responses in the first of the runs; `None` if one of them does not fail."""
        runs: list[Run] = []
        with tempfile.NamedTemporaryFile(suffix=".flow", dir=self._folder) as file:
            file.write(packed(flows_of(candidate, self._saved.flows)))
            file.flush()
            setup = Setup(
                flows=(Path(file.name),),
                repair=repair,
                provider_repeats=self._args.provider_repeats,
                network="loopback",
            )
            for _ in range(self._args.repeat):
                runs.append(self._run(setup))
                if not runs[-1].exit_code or self._args.says not in runs[-1].output:
                    return None
        judged = [one.verdict for one in runs[0].exchanges if one.verdict is not None]
        return frozenset(Outcome(one.verdict) for one in judged if not one.understood)

    def _run(self, setup: Setup) -> Run:
        command = tuple(self._args.command_line)
        # `check` fills in these words, but an empty prompt would not be the command's own.
        client = Client(name="", command=command, prompt="{prompt}", timeout=self._args.timeout, output=_OUTPUT)
        with self._slots.taken() as slot:
            run = slot.run(client, setup)
        if run.failure is not None:
            raise ToolstreamError(run.failure)
        return run


_OUTPUT = 1 << 24
"""Characters of the command's output in which the text of `--says` is searched."""
_KIB = 1024


def run(args: argparse.Namespace) -> int:
    """Shrink, write the fixture and print how small it is. Raises `ToolstreamError`."""
    began = time.monotonic()
    finding = frozenset().union(*args.select) if args.select else None
    output = _output(args)
    saved = reproduction(args.flow, shows(finding) if finding else None)
    if saved.note:
        say(saved.note)
    condition = Condition(saved.original, lax=args.any, for_client=finding is None)
    with (
        interrupted_by_signals(),
        _oracle(args, finding, saved) as oracle,
        _tried(args, finding, saved.original) as tried,
    ):
        show = _Display(quiet=args.quiet)
        search = Search(
            condition, oracle, tried=tried, jobs=args.jobs if args.command_line else 1, progress=show.progress
        )
        if not (condition.allows(saved.original) and search.shows(saved.original)):
            raise ToolstreamError(_does_not_show(args, verdicts(saved.original)))
        try:
            best = search.run(saved.original, passes(saved.original, lax=args.any))
        except KeyboardInterrupt:
            show.end()
            say(f"stopped after {search.tries} tries; {how_to_continue(args)}")
            raise
        show.end()
    made = flows_of(best, saved.flows)
    if output is None:
        sys.stdout.buffer.write(packed(made))
    else:
        write_all(output.parent, flow_files(output.name, made), replace=args.force)
    gained = (
        f"{_described(saved.original)} → {_described(best)}; {search.tries} tries, {time.monotonic() - began:.0f} s"
    )
    where, stream = ("standard output", sys.stderr) if output is None else (word(str(output)), sys.stdout)
    print(f"{gained}: {where}", file=stream)
    return 0


def _output(args: argparse.Namespace) -> Path | None:
    """The file to write; `None` for standard output, which gets no expectation."""
    if str(args.flow) == STDIN and args.output is None:
        raise ToolstreamError("standard input has no name to derive the output's from. Add -o FILE")
    output: Path = args.output or beside(args.flow).with_suffix(".min.flow")
    to_stdout = str(output) == STDIN
    outputs = [] if to_stdout else [Output(path, "-o", args.force) for path in (output, expect_path(output))]
    if args.resume is not None:
        outputs.append(Output(args.resume, "--resume", force=None, is_own=Path.is_file))
    check_outputs(outputs, [args.flow])
    return None if to_stdout else output


@contextlib.contextmanager
def _oracle(args: argparse.Namespace, finding: Codes, saved: Reproduction) -> Iterator[Oracle]:
    if finding and args.command_line:
        raise ToolstreamError("--select and a command exclude each other. Expected one of them")
    if not (finding or args.verdict or args.command_line):
        raise ToolstreamError("no bug to keep. Expected --select DEFECT, --verdict NAME, or a command after `--`")
    if not args.command_line:
        yield _saved_bug(args, finding, saved.original)
        return

    with tempfile.TemporaryDirectory(prefix="toolstream-shrink-") as folder, ProxySlots(args.jobs) as slots:
        yield CommandBug(args, slots, Path(folder), saved).shows


def _saved_bug(args: argparse.Namespace, finding: Codes, original: Candidate) -> Oracle:
    """The oracle without a command: a candidate needs the finding, and the verdict of the saved conversation."""
    verdict = args.verdict or (None if args.any_failure else worst(verdicts(original)))
    has_finding = shows(finding) if finding else None
    return lambda candidate: (
        (has_finding is None or has_finding(candidate)) and (verdict is None or verdict in verdicts(candidate))
    )


def _tried(args: argparse.Namespace, finding: Codes, original: Candidate) -> TriedCandidates:
    about = {
        "flow": digest(original),
        "finding": sorted(finding or ()),
        "command": args.command_line,
        "repeat": args.repeat,
        "says": args.says,
        "verdict": args.verdict,
        "any_failure": args.any_failure,
        "provider_repeats": args.provider_repeats,
    }
    return TriedCandidates(args.resume, about)


def _does_not_show(args: argparse.Namespace, found: frozenset[Outcome]) -> str:
    if args.command_line:
        verdict = f" with the verdict {args.verdict}" if args.verdict else ""
        return f"the command did not fail{verdict} with {args.flow} (without secrets). Nothing to shrink"
    if args.verdict and args.verdict not in found:
        shown = ", ".join(sorted(found)) or "none"
        return f"no verdict {args.verdict} in {args.flow}. Its verdicts on misread responses: {shown}"
    return not_found(args)


def _described(candidate: Candidate) -> str:
    count, bytes_ = events(candidate), size(candidate)
    shown = f"{bytes_} bytes" if bytes_ < _KIB else f"{bytes_ / _KIB:.1f} KB"
    return f"{counted(count, 'event')}, {shown}"


class _Display(ProgressLine):
    """Progress on standard error: one line that changes on a terminal, else a line for each gain."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._quiet = quiet
        self._began = time.monotonic()
        self._before = (0, 0)

    def progress(self, stage: str, count: int, length: int, tries: int) -> None:
        line = f"{stage}: {count} events, {length} bytes; {tries} tries, {time.monotonic() - self._began:.0f} s"
        if self.live:
            self.show(line)
        elif not self._quiet and (count, length) != self._before:
            self._before = (count, length)
            print(line, file=sys.stderr, flush=True)
