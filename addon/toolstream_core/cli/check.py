"""`toolstream check -- CMD…`: a client run once for each case, and graded by what it made of it. Knows the options."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.case import SelectionError
from toolstream_core.checking.document import document
from toolstream_core.checking.matrix import MatrixError
from toolstream_core.checking.runner import ClientCheck, Seats, withheld_text
from toolstream_core.checking.state import CheckState
from toolstream_core.checking.workdir import WorkdirError
from toolstream_core.cli.check_plan import about, clients_asked, plan_asked, rerun_of
from toolstream_core.cli.check_reports import ReportError, Reports
from toolstream_core.cli.errors import UsageError
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
    SelectionError, MatrixError, StateError, ReportError, SettingsError, CallSpecError, WorkdirError,
)  # fmt: skip
_EVERY: Final = 0.1
"""Seconds between two lines of progress on a terminal."""


def run(args: argparse.Namespace) -> int:
    """Check everything, whatever of it fails, write the reports, and give the exit code."""
    try:
        plan, clients = plan_asked(args), clients_asked(args)
        reports = Reports.of(args)
        return _check(args, plan, clients, reports)
    except _WRONG as error:
        raise UsageError(str(error)) from error


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
    reports.write(report, [check.sessions.object for check in checks])
    if interrupted:
        print(f"toolstream: stopped; {_how_to_go_on(args)}", file=sys.stderr)
        return INTERRUPTED
    if refused := [check.withheld for check in checks if check.withheld]:
        print(f"toolstream: {withheld_text(refused[0])}", file=sys.stderr)
        return CANNOT
    if _has_failed(report):
        return FAILED
    if plan.names_cases and not any(check.ran_wanted for check in checks):
        print(
            "toolstream: no named case could run. See `toolstream explain NAME` for the protocols of a case",
            file=sys.stderr,
        )
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
    return "add --resume FILE to be able to continue" if args.resume is None else "run the same command to continue"


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
