"""`toolstream check -- CMD…`: a client run once for each case, and graded by what it made of it. Knows the options."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.cli.shrink import positive, seconds
from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from toolstream_core.checking.run import Client
    from toolstream_core.checking.runner import ClientCheck, Plan
    from toolstream_core.cli.check_reports import Reports

DONE, FAILED, CANNOT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""
PROMPT: Final = "Use the tools to do what you were asked to, once, and then say what came of it."
_EVERY: Final = 0.1
"""Seconds between two lines of progress on a terminal."""


class UsageError(ValueError):
    """What was asked is not possible; the message says what would be."""


# A table, read from top to bottom.
def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "check",
        help="run a client once for each fault, and grade what it makes of it",
        usage="toolstream check [options] -- CMD…",
        description="Run a client once for each case (healthy, faults, shapes, transit faults, presets of providers), "
        "behind a proxy that answers with calls of the tools that it offers, and grade what it makes of it.",
        epilog="Exit code: 0 every required case passed, 1 one failed or could not be tried, 2 usage.",
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
    parser.add_argument("--timeout", type=seconds, default=60.0, metavar="S", help=told)
    told = "run each case K times; the worst run counts (default 1)"
    parser.add_argument("--repeat", type=positive, default=1, metavar="K", help=told)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="arguments and faults are drawn from it")
    told = "a call to make: 'TOOL {JSON}'; may be repeated (without it, the first tool, with arguments by its schema)"
    parser.add_argument("--call", action="append", default=[], metavar="CALL", help=told)
    parser.add_argument(
        "--flow", action="append", default=[], type=Path, metavar="FLOW", help="answer from saved flows"
    )
    parser.add_argument("--upstream", action="store_true", help="let the client's own provider answer")
    told = "run behind repair: safe, …; may be repeated"
    parser.add_argument("--repair", action="append", default=[], metavar="DEFECT", help=told)
    parser.add_argument("--prompt", default=PROMPT, metavar="TEXT", help="what {prompt} in CMD stands for")
    told = "the clients of this file, instead of CMD: [clients.NAME] with command = [...]"
    parser.add_argument("--matrix", type=Path, metavar="TOML", help=told)
    told = "with --matrix: only the client of this name; may be repeated"
    parser.add_argument("--client", action="append", default=[], metavar="NAME", help=told)
    told = "remember what was run in this file, and go on from there when started again"
    parser.add_argument("--resume", type=Path, metavar="STATE", help=told)
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - is standard output")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write it as JUnit XML")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write it as a page")
    parser.add_argument("--github", action="store_true", help="annotations, and a summary, for GitHub Actions")
    told = "the JSON of an earlier run without --repair: tell what repair saves"
    parser.add_argument("--compare", type=Path, metavar="JSON", help=told)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check everything, whatever of it fails, write the reports, and give the exit code."""
    from toolstream_core.checking.case import SelectionError
    from toolstream_core.checking.matrix import MatrixError
    from toolstream_core.checking.state import StateError
    from toolstream_core.cli.check_reports import ReportError, Reports
    from toolstream_core.settings import SettingsError
    from toolstream_core.synthetic.call_specs import CallSpecError

    try:
        plan, clients = _plan(args), _clients(args)
        reports = Reports.of(args)
        return _check(args, plan, clients, reports)
    except (UsageError, SelectionError, MatrixError, StateError, ReportError, SettingsError, CallSpecError) as error:
        print(f"toolstream check: {error}", file=sys.stderr)
        return CANNOT


def _check(args: argparse.Namespace, plan: Plan, clients: Sequence[Client], reports: Reports) -> int:
    from toolstream_core.checking.document import document
    from toolstream_core.checking.runner import ClientCheck, Seats
    from toolstream_core.checking.state import CheckState

    signal.signal(signal.SIGTERM, _interrupt)
    started, began = datetime.now(UTC), time.monotonic()
    progress = _Progress(quiet=args.quiet)
    checks: list[ClientCheck] = []
    interrupted = False
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(
            CheckState() if args.resume is None else CheckState.open(args.resume, _about(args, plan, clients))
        )
        seats = stack.enter_context(Seats(args.jobs))
        try:
            for client in clients:
                rerun = _rerun(args, client)
                check = ClientCheck(client, plan, seats=seats, state=state, rerun=rerun, tell=progress.tell)
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
    return FAILED if _has_failed(report) else DONE


def _plan(args: argparse.Namespace) -> Plan:
    from toolstream_core.checking.case import Selection
    from toolstream_core.checking.cases import all_cases
    from toolstream_core.checking.runner import Plan
    from toolstream_core.settings import Words, settings
    from toolstream_core.synthetic.call_specs import parse_calls, spec_text

    words = tuple(word for text in args.faults for part in text.split(",") if (word := part.strip()))
    selections = (Selection(words), Selection(tuple(args.only)))
    known = all_cases()
    for selection in selections:
        selection.check(known)
    if args.flow and args.upstream:
        raise UsageError("--flow and --upstream: either saved flows answer, or the client's own provider")
    if args.call and (args.flow or args.upstream):
        raise UsageError("--call: calls are made only where neither --flow nor --upstream answers")
    if missing := [path for path in args.flow if not path.exists()]:
        raise UsageError(f"there is no {missing[0]}; give a flow file or a folder of such")
    settings(Words(repair=args.repair))
    return Plan(
        selections=selections,
        calls=tuple(map(spec_text, parse_calls(args.call))),
        flows=tuple(args.flow),
        upstream=args.upstream,
        repair=tuple(args.repair),
        seed=args.seed,
        repeat=args.repeat,
    )


def _clients(args: argparse.Namespace) -> list[Client]:
    from toolstream_core.checking.matrix import clients_of
    from toolstream_core.checking.run import Client

    if (args.matrix is None) == (not args.command_line):
        raise UsageError("give the client behind --, as in: toolstream check -- python agent.py; or --matrix FILE")
    if args.matrix is None:
        if args.client:
            raise UsageError("--client names one of the clients of --matrix FILE")
        command = tuple(args.command_line)
        found = [
            Client(
                name=_name(command),
                command=command,
                protocol=args.protocol,
                prompt=args.prompt,
                timeout=args.timeout,
            )
        ]
    else:
        found = clients_of(args.matrix, prompt=args.prompt, timeout=args.timeout)
        if unknown := [name for name in args.client if name not in {client.name for client in found}]:
            raise UsageError(f"{args.matrix} has no client {unknown[0]!r}")
        found = [client for client in found if not args.client or client.name in args.client]
    if args.upstream and any("{base_url}" in word for client in found for word in client.command):
        raise UsageError(
            "{base_url} is the proxy's, which answers itself; with --upstream the client asks its provider"
        )
    return found


def _name(command: Sequence[str]) -> str:
    """What the client is called: its program, or the script that an interpreter runs."""
    words = [word for word in command if not word.startswith("-")] or list(command)
    names = [Path(word).name for word in words]
    interpreters = ("python", "node", "npx", "deno", "bun", "uv", "ruby", "java", "bash", "sh", "env")
    runs_other = names[0].startswith(interpreters) and len(names) > 1
    return names[1] if runs_other else names[0]


def _about(args: argparse.Namespace, plan: Plan, clients: Sequence[Client]) -> dict[str, object]:
    """What has to be the same for a check to go on."""
    return {
        "clients": {client.name: [client.command, client.protocol] for client in clients},
        "calls": plan.calls,
        "flows": [str(path) for path in plan.flows],
        "upstream": plan.upstream,
        "repair": plan.repair,
        "seed": plan.seed,
        "repeat": plan.repeat,
        "prompt": args.prompt,
    }


def _rerun(args: argparse.Namespace, client: Client) -> Callable[[str], str]:
    """The command line that runs the case of an id again."""
    words = ["toolstream", "check"]
    for option, values in (
        ("--protocol", [args.protocol] if args.protocol else []),
        ("--call", args.call),
        ("--flow", args.flow),
        ("--repair", args.repair),
        ("--seed", [args.seed] if args.seed else []),
        ("--timeout", [f"{args.timeout:g}"] if args.timeout != 60 else []),  # noqa: PLR2004 - the usual one
        ("--prompt", [args.prompt] if args.prompt != PROMPT else []),
        ("--matrix", [args.matrix] if args.matrix else []),
        ("--client", [client.name] if args.matrix else []),
    ):
        words += [word for value in values for word in (option, str(value))]
    words += ["--upstream"] if args.upstream else []
    command = [] if args.matrix else ["--", *client.command]
    return lambda identity: shlex.join([*words, "--only", identity, *command])


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
