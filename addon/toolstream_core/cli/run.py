"""`toolstream run -- CMD…`: a command whose LLM clients find the proxy by their environment."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.agents import Upstream, launch, recognise
from toolstream_core.cli.child import StartError, run_command
from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.output import Output
from toolstream_core.cli.run_report import outputs_of, write_report
from toolstream_core.cli.run_told import told_of
from toolstream_core.cli.serving import appended, check_files, log_of, setup_of
from toolstream_core.fixtures.atomic import write_atomic
from toolstream_core.testing import ProxySession, ProxySessionError
from toolstream_core.testing.routes import RouteError, routes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from toolstream_core.agents import Launch
    from toolstream_core.testing import Setup

VIEW_IDLE: Final = 60.0
"""Seconds without a viewer after which the live view ends with its client."""
_CAPTURE: Final = "toolstream_capture"
_VIEW: Final = "toolstream_view"
_WEBSOCKET: Final = "toolstream_websocket"


def run(args: argparse.Namespace) -> int:
    """The command's own exit code; 127 where there is no such command. Raises `UsageError`."""
    if not args.command_line:
        raise UsageError("missing command after `--`. Expected, for example: toolstream run -- python agent.py")
    try:
        # The proxy removes the folder too, should this process be killed.
        with tempfile.TemporaryDirectory(prefix="toolstream-", ignore_cleanup_errors=True) as folder:
            return _run(args, Path(folder))
    except (RouteError, ProxySessionError) as error:
        raise UsageError(str(error)) from error


def _run(args: argparse.Namespace, folder: Path) -> int:
    upstream, setup = _asked(args, folder)
    given = args.base_url if isinstance(args.base_url, str) else None
    forwarded = routes(os.environ, given) if upstream is Upstream.FORWARDED else None
    with _log(args, folder) as log:
        session = ProxySession(setup, port=args.port, log=log.file, keep=False, routes=forwarded, folder=str(folder))
        with session:
            started = launch(
                args.command_line,
                session.child_environment(),
                own=os.environ,
                proxy=session.proxy_url,
                upstream=upstream,
                sockets=wants_sockets(setup),
            )
            return _run_in(session, started, args, log)


def _run_in(session: ProxySession, started: Launch, args: argparse.Namespace, log: _Log) -> int:
    """Run the command, and print the summary after the log; the command's exit code."""
    if not args.quiet:
        _say(told_of(started, session.environment(), session.proxy_url))
    if session.view_address is not None:
        _say([f"view: {session.view_address}"])
    try:
        code = run_command(started.command, started.environment, session.accompany)
    except StartError as error:
        return _failed(error, error.code)
    try:
        lines = _finish(session, args)
        log.show()
        if not args.quiet:
            _say(lines)
        _keep_view(session, args)
    except (ProxySessionError, OSError) as error:
        return _failed(error, code)
    return code


def _keep_view(session: ProxySession, args: argparse.Namespace) -> None:
    """Write the live view to `-o`, or serve it until nobody looks at it any more."""
    if session.view_address is None:
        return
    if args.output is not None:
        write_atomic(args.output, session.view_page().encode("utf-8", "backslashreplace"), replace=args.force)
        return
    _say([f"the view stays until Ctrl-C, or until no page has been connected for {VIEW_IDLE:.0f} s"])
    with contextlib.suppress(KeyboardInterrupt):
        session.keep_view(VIEW_IDLE)


def _finish(session: ProxySession, args: argparse.Namespace) -> list[str]:
    """Write the report that was asked for; what passed."""
    passed = session.finish()
    lines = [] if args.report is None else write_report(args.report, passed.captured, replace=args.force)
    if not (args.capture or any(name == _CAPTURE for name, _ in args.options)):
        passed = replace(passed, captured=())
    elif passed.answers and not passed.captured:
        lines.insert(0, "captured: nothing; see --when, and the log for flows that could not be captured")
    return [*passed.lines(), *lines]


def _asked(args: argparse.Namespace, folder: Path) -> tuple[Upstream, Setup]:
    """Who answers, and what the proxy is to do. Raises `UsageError`."""
    setup = setup_of(args, network="all", log=args.level)
    upstream = Upstream.PROXIED if args.base_url is None else Upstream.FORWARDED
    if args.flows or "toolstream_provider" in setup.options:
        if isinstance(args.base_url, str):
            raise UsageError("--base-url URL needs a real provider instead of saved flows. Remove URL or the flows")
        upstream, setup = Upstream.SAVED, replace(setup, network="loopback")
    outputs = [] if args.report is None else outputs_of(args.report, force=args.force)
    if args.output is not None:
        if _VIEW not in setup.options:
            raise UsageError("-o writes the live view, and needs --view")
        outputs.append(Output(args.output, "-o", args.force))
    check_files(args, *outputs, *log_of(args))
    if args.report is not None and _CAPTURE not in setup.options:
        setup = replace(setup, options={**setup.options, _CAPTURE: [str(folder / "captures")]})
    return upstream, setup


def wants_sockets(setup: Setup) -> bool:
    """Whether the user asked for WebSockets by name: agents that can ask over HTTP too do so otherwise."""
    return setup.options.get(_WEBSOCKET, [""])[-1] == "read"


class _Log(NamedTuple):
    """What the proxy logs to."""

    file: IO[Any] | None = None
    """`None` for standard error."""
    kept: IO[bytes] | None = None
    """The log of a command that draws on the whole terminal, to be printed when the command has ended."""

    def show(self) -> None:
        """Print what was kept since the last call."""
        if self.kept is not None:
            shutil.copyfileobj(self.kept, sys.stderr.buffer)
            sys.stderr.flush()


@contextlib.contextmanager
def _log(args: argparse.Namespace, folder: Path) -> Iterator[_Log]:
    if args.log is not None:
        with appended(args.log) as file:
            yield _Log(file)
    elif sys.stderr.isatty() and _takes_terminal(args.command_line):
        path = folder / "log"
        # The proxy shares the offset of its file, so what is printed is read through another one.
        with path.open("wb") as file, path.open("rb") as kept:
            log = _Log(file, kept)
            try:
                yield log
            finally:
                log.show()
    else:
        yield _Log()


def _takes_terminal(command: list[str]) -> bool:
    found = recognise(command)
    return found is not None and found.agent.takes_terminal(command[found.at :])


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"toolstream: {line}", file=sys.stderr, flush=True)


def _failed(error: Exception, code: int) -> int:
    print(f"toolstream: {error}", file=sys.stderr)
    return code
