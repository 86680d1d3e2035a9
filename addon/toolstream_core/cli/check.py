"""`toolstream check -- CMD…`: runs a client once for each case, grades it, and writes the reports."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO

from toolstream_core.agents import program
from toolstream_core.checking.cases import UNKNOWN, Kind, Plan, Selection, all_cases
from toolstream_core.checking.client import Client, ProxySlots, Workdir, clients_of
from toolstream_core.checking.report import (
    VERSION,
    comparison,
    current,
    document,
    junit,
    lines,
    summary,
    workflow_commands,
)
from toolstream_core.checking.runner import CheckState, ClientCheck, withheld_text
from toolstream_core.cli.arguments import CANNOT, INTERRUPTED, NOT_OK, OK
from toolstream_core.cli.commands import COMMANDS
from toolstream_core.cli.output import Output, ProgressLine, check_outputs, how_to_continue, interrupted_by_signals, say
from toolstream_core.cli.serve import flows_and_calls
from toolstream_core.errors import ToolstreamError
from toolstream_core.printable import printable
from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.read import load
from toolstream_core.settings import Words, settings
from toolstream_core.synthetic.responses import parse_calls, spec_text

_INTERPRETERS: Final = ("python", "deno", "ruby", "bash", "sh")


def requested_plan(args: argparse.Namespace) -> Plan:
    """The plan in the arguments. Raises `ToolstreamError`."""
    selection = Selection(tuple(word for text in args.case for part in text.split(",") if (word := part.strip())))
    known = all_cases()
    selection.check(known)
    if not any(map(selection.takes, known)):
        raise ToolstreamError("no case is left: --case excludes all cases that it names")
    flows, calls = flows_and_calls(args.flows)
    if args.upstream and (flows or calls):
        raise ToolstreamError(
            "--upstream and FLOW exclude each other: responses come from the client's provider or from saved flows"
        )
    if flows and calls:
        raise ToolstreamError("flows and calls: exclude each other. Expected one of them")
    for flow in flows:
        load(flow)
    settings(Words(repair=args.repair, shape=args.shape))
    return Plan(
        selection=selection,
        calls=tuple(map(spec_text, parse_calls(calls))),
        tools=tuple(args.tool),
        flows=flows,
        upstream=args.upstream,
        repair=tuple(args.repair),
        shape=tuple(args.shape),
        seed=args.seed,
        repeat=args.repeat,
        provider_repeats=args.provider_repeats,
        sessions=args.html is not None or args.format == "html",
    )


def requested_clients(args: argparse.Namespace) -> list[Client]:
    """The clients to check. Raises `ToolstreamError`."""
    if (args.matrix is None) == (not args.command_line):
        raise ToolstreamError("no client. Expected --matrix FILE, or a command: toolstream check -- python agent.py")
    if args.matrix is None and args.client:
        raise ToolstreamError("--client needs --matrix FILE")
    command = tuple(args.command_line)
    usual = Client(
        name=_name(command) if command else "",
        command=command,
        protocol=args.protocol,
        prompt=args.prompt,
        timeout=args.timeout,
        workdir=Workdir.of(Path.cwd()) if args.workdir == "copy" else None,
    )
    found = [usual] if args.matrix is None else clients_of(args.matrix, usual)
    if unknown := [name for name in args.client if name not in {client.name for client in found}]:
        raise ToolstreamError(f"{args.matrix} has no client {unknown[0]!r}")
    found = [client for client in found if not args.client or client.name in args.client]
    if args.upstream and any("{base_url}" in word for client in found for word in client.command):
        raise ToolstreamError(
            "{base_url} and --upstream exclude each other: {base_url} is the proxy, which sends the responses itself"
        )
    return found


def _name(command: Sequence[str]) -> str:
    """The name of the client: its program, or the script that an interpreter runs."""
    at, _ = program(command)
    words = [word for word in command[at:] if not word.startswith("-")] or list(command)
    names = [Path(word).name for word in words]
    runs_other = names[0].startswith(_INTERPRETERS) and len(names) > 1
    return names[1] if runs_other else names[0]


_NOT_KEPT: Final = frozenset({"selection", "flows", "sessions"})
"""Fields of the plan that may change when a check continues, and the flows, which are kept as texts."""
_OPTIONS: Final = (
    *("protocol", "tool", "workdir", "repair", "shape"),
    *("seed", "provider_repeats", "timeout", "prompt", "matrix"),
)
"""The options of the command line that runs a case again."""


def about(args: argparse.Namespace, plan: Plan, clients: Sequence[Client]) -> dict[str, object]:
    """The settings that must be equal for a check to continue."""
    return {
        "version": VERSION,
        "clients": {client.name: [client.shown, client.protocol] for client in clients},
        "flows": [str(path) for path in plan.flows],
        **{name: value for name, value in asdict(plan).items() if name not in _NOT_KEPT},
        "prompt": args.prompt,
    }


def rerun_of(args: argparse.Namespace, client: Client) -> Callable[[str], str]:
    """The command line that runs the case of an id again."""
    words = ["toolstream", "check", *map(str, args.flows)]
    default = COMMANDS["check"].parser().get_default
    for name in _OPTIONS:
        value = getattr(args, name)
        if value != default(name):
            values = value if isinstance(value, list) else [f"{value:g}" if isinstance(value, float) else str(value)]
            words += [word for one in values for word in (f"--{name.replace('_', '-')}", one)]
    words += ["--client", client.name] if args.matrix else []
    words += ["--upstream"] if args.upstream else []
    command = [] if args.matrix else ["--", *client.command]
    return lambda identity: shlex.join([*words, *_only(identity), *command])


def _only(identity: str) -> list[str]:
    """Choose the case, in the protocol of its run if that is known."""
    protocol, _, name = identity.partition("/")
    if protocol != UNKNOWN:
        return ["--case", identity]
    return [] if name == Kind.HEALTHY else ["--case", f"*/{name}"]


_LEAST_WIDTH: Final = 60
"""The assumed minimum width, in columns."""
_BEGINS: Final = {
    "-o": re.compile(rb'\s*\{\s*"version": ?\d+,\s*"toolstream": '),
    "--junit": re.compile(rb'.{,99}<testsuites name="toolstream check"', re.DOTALL),
    "--html": re.compile(rb".{,999}<title>toolstream check: ", re.DOTALL),
}
"""The beginning of the reports of each option."""


class Reports:
    """The reports that were requested."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Raise `ToolstreamError` for a report that cannot be written, or read."""
        self._json = args.format == "json"
        self._output, self._junit, self._html, self._github = args.output, args.junit, args.html, args.github
        if args.format == "html":
            if args.output is None or args.html is not None:
                raise ToolstreamError("--format html needs -o FILE, and excludes --html FILE")
            self._output, self._html = None, args.output
        paths = {"-o": self._output, "--junit": self._junit, "--html": self._html}
        outputs = [
            Output(path, option, args.force, partial(_is_report, begins=_BEGINS[option]))
            for option, path in paths.items()
            if path is not None
        ]
        if args.resume is not None:
            outputs.append(Output(args.resume, "--resume", force=None, is_own=Path.is_file))
        check_outputs(outputs, [one for one in (*args.flows, args.compare, args.matrix) if isinstance(one, Path)])
        self._raw = _earlier(args.compare)

    def announce(self, line: str) -> None:
        """Print a line before the report."""
        print(printable(line), file=self._text_output(), flush=True)

    def write(self, report: dict[str, Any], sessions: Sequence[dict[str, Any]] = ()) -> None:
        """Write all of them. `sessions` as for `check_page`. Raises `OSError`."""
        output = self._text_output()
        if self._junit is not None:
            write_atomic(self._junit, junit(report).encode(), replace=True)
        if self._html is not None:
            from toolstream_core.view.assemble import check_page

            page = check_page(report, self._raw, sessions)
            write_atomic(self._html, page.encode("utf-8", "backslashreplace"), replace=True)
        width = _width(output)
        text = [*lines(report, width), *(() if self._raw is None else comparison(self._raw, report, width))]
        document = json.dumps(report, ensure_ascii=False, indent=1)
        if self._output is not None:
            printed = f"{document if self._json else '\n'.join(text)}\n"
            write_atomic(self._output, printed.encode("utf-8", "surrogatepass"), replace=True)
        for line in text if self._json or self._output is None else ():
            print(line, file=output)
        if self._github:
            _write_github(report, output)
        if self._json and self._output is None:
            print(document)

    def _text_output(self) -> TextIO:
        """The output for people: standard output, unless it gets the JSON."""
        return sys.stderr if self._json and self._output is None else sys.stdout


def _is_report(path: Path, begins: re.Pattern[bytes]) -> bool:
    """Whether a file is empty or an earlier report."""
    with path.open("rb") as file:
        head = file.read(1200)
    return not head or begins.match(head) is not None


def _width(output: TextIO) -> int | None:
    """Columns of the terminal; `None` if it is not a terminal."""
    if not output.isatty():
        return None
    return max(shutil.get_terminal_size().columns, _LEAST_WIDTH)


def _write_github(report: dict[str, Any], output: Any) -> None:
    for line in workflow_commands(report):
        print(line, file=output)
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8", errors="replace") as file:
            file.write(summary(report))


def _earlier(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ToolstreamError(f"--compare: {path} cannot be read: {why}") from error
    read = current(report) if isinstance(report, dict) else None
    if read is None:
        raise ToolstreamError(f"--compare: {path} is not a report of `toolstream check --format json`")
    return read


def run(args: argparse.Namespace) -> int:
    """Check all clients, write the reports, and return the exit code."""
    clients, plan = requested_clients(args), requested_plan(args)
    return _check(args, plan, clients, Reports(args))


def _check(args: argparse.Namespace, plan: Plan, clients: Sequence[Client], reports: Reports) -> int:
    started, began = datetime.now(UTC), time.monotonic()
    progress = _Progress(quiet=args.quiet)
    checks: list[ClientCheck] = []
    interrupted = False
    with contextlib.ExitStack() as stack:
        stack.enter_context(interrupted_by_signals())
        with Output(args.resume, "--resume").writing():
            state = stack.enter_context(CheckState(args.resume, about(args, plan, clients)))
        slots = stack.enter_context(ProxySlots(args.jobs))
        try:
            for client in clients:
                rerun = rerun_of(args, client)
                check = ClientCheck(
                    client,
                    plan,
                    slots=slots,
                    state=state,
                    rerun=rerun,
                    on_case=progress.on_case,
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
        say(f"stopped; {how_to_continue(args)}")
        return INTERRUPTED
    if refused := [check.withheld for check in checks if check.withheld]:
        say(withheld_text(refused[0]))
        return CANNOT
    if _has_failed(report):
        return NOT_OK
    if plan.selection.is_positive and not any(check.ran_wanted for check in checks):
        say("no named case could run. See `toolstream explain NAME` for the protocols of a case")
        return CANNOT
    return OK


def _has_failed(report: dict[str, Any]) -> bool:
    """Whether a required case failed or could not be tried."""
    bad = ("failed", "harness-failure")
    return any(case["required"] and case["grade"] in bad for client in report["clients"] for case in client["cases"])


class _Progress(ProgressLine):
    """Shows the number of finished cases."""

    _failed = 0

    def on_case(self, case: dict[str, Any], done: int, cases: int) -> None:
        self._failed += case["grade"] == "failed"
        bar = f"{'━' * (20 * done // max(cases, 1)):─<20} " if self.live else "toolstream check: "
        self.show(f"{bar}{done}/{cases}, {self._failed} failed, {case['id']}", last=done == cases)
