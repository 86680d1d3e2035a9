"""`toolstream check -- CMD…`: a client run once for each case, and graded by what it made of it. Knows the options."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.case import SelectionError
from toolstream_core.checking.document import document
from toolstream_core.checking.matrix import MatrixError
from toolstream_core.checking.runner import ClientCheck, Seats, withheld_text
from toolstream_core.checking.state import CheckState
from toolstream_core.checking.workdir import WorkdirError
from toolstream_core.cli.check_plan import PROMPT, TIMEOUT, UsageError, about, clients_asked, plan_asked, rerun_of
from toolstream_core.cli.check_reports import ReportError, Reports
from toolstream_core.cli.output import OutputError
from toolstream_core.cli.serving import repeats
from toolstream_core.cli.shrink import positive, seconds
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.settings import SettingsError
from toolstream_core.state_file import StateError
from toolstream_core.synthetic.call_specs import CallSpecError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import FrameType

    from toolstream_core.checking.plan import Plan
    from toolstream_core.checking.run import Client

DONE, FAILED, CANNOT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""
_WRONG: Final = (
    SelectionError, MatrixError, StateError, OutputError, ReportError, SettingsError, CallSpecError, UsageError,
    WorkdirError,
)  # fmt: skip
_EVERY: Final = 0.1
"""Seconds between two lines of progress on a terminal."""


# A table, read from top to bottom.
def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "check",
        help="run a client once for each fault, and grade what it makes of it",
        usage="toolstream check [options] -- CMD…",
        description="Run a client once for each case (healthy, faults, shapes, transit faults, presets of providers), "
        "behind a proxy that answers with calls of the tools that it offers, and grade what it makes of it. The client "
        "runs the tools that are called. Without --tool and --call, only tools that read are called.",
        epilog="Exit code: 0 every required case passed, 1 one failed or could not be tried, 2 usage, or no named case "
        "could run, or no tool is harmless and none is named.",
    )
    told = "the protocol that the client speaks (without it, the one of its first request)"
    parser.add_argument("--protocol", choices=[one.name for one in PROTOCOLS], help=told)
    told = "which cases: names, codes, families, kinds or globs of them, with commas between them; -WORD takes out"
    parser.add_argument("--faults", action="append", default=[], metavar="WORDS", help=told)
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="only the case of this id; may be repeated"
    )
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="run N clients at once (default 1)")
    told = "seconds after which the client is stopped (default 60)"
    parser.add_argument("--timeout", type=seconds, default=TIMEOUT, metavar="S", help=told)
    told = "run each case K times; the worst run counts (default 1)"
    parser.add_argument("--repeat", type=positive, default=1, metavar="K", help=told)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="arguments and faults are drawn from it")
    told = "call this tool with generated arguments; may be repeated (default: harmless tools, chosen by their names)"
    parser.add_argument("--tool", action="append", default=[], metavar="NAME", help=told)
    told = "make this call: 'TOOL {JSON}'; may be repeated"
    parser.add_argument("--call", action="append", default=[], metavar="CALL", help=told)
    told = "run the client in the working directory itself (default), or in a copy that is removed afterwards"
    parser.add_argument("--workdir", choices=("here", "copy"), default="here", help=told)
    parser.add_argument(
        "--flow", action="append", default=[], type=Path, metavar="FLOW", help="answer from saved flows"
    )
    told = "equal requests that one response of --flow answers (default 8); 0 is no limit"
    parser.add_argument("--provider-repeats", type=repeats, default=REPEATS, metavar="N", help=told)
    parser.add_argument("--upstream", action="store_true", help="let the client's own provider answer")
    told = "run behind repair: safe, …; may be repeated"
    parser.add_argument("--repair", action="append", default=[], metavar="DEFECT", help=told)
    told = "let answers come in another lawful form, or for:CLIENT; may be repeated"
    parser.add_argument("--shape", action="append", default=[], metavar="SHAPE", help=told)
    _add_clients(parser)
    _add_reports(parser)
    parser.set_defaults(run=run)


def _add_clients(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", default=PROMPT, metavar="TEXT", help="what {prompt} in CMD stands for")
    told = "the clients of this file, instead of CMD: [clients.NAME] with command = [...]"
    parser.add_argument("--matrix", type=Path, metavar="TOML", help=told)
    told = "with --matrix: only the client of this name; may be repeated"
    parser.add_argument("--client", action="append", default=[], metavar="NAME", help=told)


def _add_reports(parser: argparse.ArgumentParser) -> None:
    told = "remember what was run in this file, and go on from there when started again"
    parser.add_argument("--resume", type=Path, metavar="STATE", help=told)
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - is standard output")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write it as JUnit XML")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write it as a page")
    parser.add_argument("--force", action="store_true", help="overwrite files that are no earlier reports of check")
    parser.add_argument("--github", action="store_true", help="annotations, and a summary, for GitHub Actions")
    told = "the JSON of an earlier run without --repair: tell what repair saves"
    parser.add_argument("--compare", type=Path, metavar="JSON", help=told)
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Check everything, whatever of it fails, write the reports, and give the exit code."""
    try:
        plan, clients = plan_asked(args), clients_asked(args)
        reports = Reports.of(args)
        return _check(args, plan, clients, reports)
    except _WRONG as error:
        print(f"toolstream check: {error}", file=sys.stderr)
        return CANNOT


def _check(args: argparse.Namespace, plan: Plan, clients: Sequence[Client], reports: Reports) -> int:
    started, began = datetime.now(UTC), time.monotonic()
    progress = _Progress(quiet=args.quiet)
    checks: list[ClientCheck] = []
    interrupted = False
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, _interrupt))
        state = stack.enter_context(_state(args, plan, clients))
        seats = stack.enter_context(Seats(args.jobs))
        try:
            for client in clients:
                rerun = rerun_of(args, client)
                check = ClientCheck(
                    client,
                    plan,
                    seats=seats,
                    state=state,
                    rerun=rerun,
                    tell=progress.tell,
                    announce=reports.announce,
                )
                checks.append(check)
                check.run()
        except KeyboardInterrupt:
            interrupted = True
    progress.end()
    report = document(
        [check.report() for check in checks],
        started=started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        seconds=time.monotonic() - began,
        seed=plan.seed,
    )
    reports.write(report)
    if interrupted:
        print(f"toolstream check: stopped; {_how_to_go_on(args)}", file=sys.stderr)
        return INTERRUPTED
    if refused := [check.withheld for check in checks if check.withheld]:
        print(f"toolstream check: {withheld_text(refused[0])}", file=sys.stderr)
        return CANNOT
    if _has_failed(report):
        return FAILED
    if plan.names_cases and not any(check.ran_wanted for check in checks):
        print("toolstream check: no named case could run; `toolstream explain NAME` lists protocols", file=sys.stderr)
        return CANNOT
    return DONE


def _state(args: argparse.Namespace, plan: Plan, clients: Sequence[Client]) -> CheckState:
    """What was run before. Raises `StateError`, `UsageError`."""
    if args.resume is None:
        return CheckState()
    try:
        return CheckState.open(args.resume, about(args, plan, clients))
    except OSError as error:
        raise UsageError(f"--resume: {args.resume} cannot be written: {error.strerror}") from error


def _has_failed(report: dict[str, Any]) -> bool:
    """Whether a required case failed, or could not be tried, or its client did not even get healthy answers right."""
    bad = ("failed", "harness-failure")
    return any(case["required"] and case["grade"] in bad for client in report["clients"] for case in client["cases"])


def _how_to_go_on(args: argparse.Namespace) -> str:
    return "with --resume STATE it could go on" if args.resume is None else "the same command goes on from there"


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class _Progress:
    """One line on standard error that changes on a terminal; nothing elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._on = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._last = 0.0
        self._failed = 0

    def tell(self, case: dict[str, Any], over: int, cases: int) -> None:
        """A case is over."""
        self._failed += case["grade"] == "failed"
        now = time.monotonic()
        if self._on and (now - self._last >= _EVERY or over == cases):
            self._last = now
            bar = "━" * (20 * over // max(cases, 1))
            line = f"{bar:─<20} {over}/{cases}, {self._failed} failed, {case['id']}"
            print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self._on:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
