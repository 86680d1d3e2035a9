"""`toolstream run -- CMD…`: a command whose LLM clients find the proxy by their environment."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from toolstream_core.agents import Upstream, launch, recognise
from toolstream_core.cli.child import StartError, run_command
from toolstream_core.cli.output import Output, OutputError
from toolstream_core.cli.run_report import outputs_of, write_report
from toolstream_core.cli.run_told import told_of
from toolstream_core.cli.serving import (
    FLOW_HELP,
    UsageError,
    add_options,
    check_files,
    flow_or_calls,
    flow_path,
    setup_of,
)
from toolstream_core.proxy.option_table import LEVELS
from toolstream_core.testing import ProxySession, ProxySessionError
from toolstream_core.testing.routes import RouteError, routes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.agents import Launch
    from toolstream_core.testing import Setup

USAGE: Final = 2
_CAPTURE: Final = "toolstream_capture"
_HEAD: Final = 1 << 16
"""Bytes of an existing file that are read to recognise it."""
_WEBSOCKET: Final = "toolstream_websocket"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    described = (
        "run a command behind the proxy: certificate and variables set, answered from flows where some are given"
    )
    parser = subparsers.add_parser(
        "run", help=described, description=described, usage="toolstream run [FLOW…] [options] -- CMD…"
    )
    parser.add_argument("flows", nargs="*", type=flow_or_calls, metavar="FLOW", help=FLOW_HELP)
    add_options(parser)
    parser.add_argument(
        "--base-url",
        nargs="?",
        type=_address,
        const=True,
        metavar="URL",
        help="for clients that ignore proxy variables: base URLs name the proxy, which forwards to URL, or to where "
        "each variable leads without it",
    )
    parser.add_argument("--level", choices=LEVELS, default="calls", help="what is logged of each answer")
    parser.add_argument(
        "--log", type=flow_path, metavar="FILE", help="append the log to FILE (default: standard error)"
    )
    parser.add_argument(
        "--report", type=flow_path, metavar="FILE", help="write a bug report on what passed, with its flows beside it"
    )
    parser.add_argument("--force", action="store_true", help="overwrite the files of --report")
    parser.add_argument(
        "--quiet", action="store_true", help="say neither what was set nor a summary (the log: --level off)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """The command's own exit code; 2 where the proxy cannot start, 127 where there is no such command."""
    if not args.command_line:
        print(
            "toolstream run: give the command behind --, as in: toolstream run FLOW -- python agent.py", file=sys.stderr
        )
        return USAGE
    try:
        # The proxy removes the folder too, should this process be killed.
        with tempfile.TemporaryDirectory(prefix="toolstream-", ignore_cleanup_errors=True) as folder:
            return _run(args, Path(folder))
    except (UsageError, OutputError, RouteError, ProxySessionError) as error:
        return _failed(error, USAGE)


def _run(args: argparse.Namespace, folder: Path) -> int:
    upstream, setup = _asked(args, folder)
    given = args.base_url if isinstance(args.base_url, str) else None
    forwarded = routes(os.environ, given) if upstream is Upstream.FORWARDED else None
    with _log(args, folder) as log:
        session = ProxySession(setup, port=args.port, log=log, keep=False, routes=forwarded, folder=str(folder))
        with session:
            started = launch(
                args.command_line,
                session.child_environment(),
                own=os.environ,
                proxy=session.proxy_url,
                upstream=upstream,
                sockets=wants_sockets(setup),
            )
            code, lines = _run_in(session, started, args)
    if not args.quiet:
        _say(lines)
    return code


def _run_in(session: ProxySession, started: Launch, args: argparse.Namespace) -> tuple[int, list[str]]:
    """Run the command; its exit code, and what is to be told behind the log."""
    if not args.quiet:
        _say(told_of(started, session.environment(), session.proxy_url))
    try:
        code = run_command(started.command, started.environment, session.accompany)
    except StartError as error:
        return _failed(error, error.code), []
    try:
        return code, _finish(session, args)
    except (ProxySessionError, OSError) as error:
        return _failed(error, code), []


def _finish(session: ProxySession, args: argparse.Namespace) -> list[str]:
    """Write the report that was asked for; what passed."""
    passed = session.finish()
    lines = [] if args.report is None else write_report(args.report, passed.captured, replace=args.force)
    if not (args.capture or any(name == _CAPTURE for name, _ in args.options)):
        passed = replace(passed, captured=())
    elif passed.answers and not passed.captured:
        lines.insert(0, "captured: nothing; --capture-when says which flows are, and the log why one could not be")
    return [*passed.lines(), *lines]


def _asked(args: argparse.Namespace, folder: Path) -> tuple[Upstream, Setup]:
    """Who answers, and what the proxy is to do. Raises `UsageError` and `OutputError`."""
    setup = setup_of(args, network="all", log=args.level)
    upstream = Upstream.PROXIED if args.base_url is None else Upstream.FORWARDED
    if args.flows or "toolstream_provider" in setup.options:
        if isinstance(args.base_url, str):
            raise UsageError("--base-url URL asks a real provider; with saved flows, base URLs name the proxy anyway")
        upstream, setup = Upstream.SAVED, replace(setup, network="loopback")
    outputs = [] if args.report is None else outputs_of(args.report, force=args.force)
    if args.log is not None:
        outputs.append(Output(args.log, "--log", force=None, is_own=_may_append))
    check_files(args, *outputs)
    if args.report is not None and _CAPTURE not in setup.options:
        setup = replace(setup, options={**setup.options, _CAPTURE: [str(folder / "captures")]})
    return upstream, setup


def _may_append(log: Path) -> bool:
    """Whether a file is text to which a log may be added: no saved flows, and no saved response."""
    from toolstream_core.engine.session import read_body
    from toolstream_core.model import Exchange
    from toolstream_core.sources.files import Kind, begun
    from toolstream_core.sources.saved import UnreadableError

    try:
        with begun(str(log)) as file:
            return file.kind is Kind.BODY and read_body([file.whole().read(_HEAD)], Exchange(source=str(log))) is None
    except UnreadableError:
        return False


def wants_sockets(setup: Setup) -> bool:
    """Whether the user asked for WebSockets by name: agents that can ask over HTTP too do so otherwise."""
    return setup.options.get(_WEBSOCKET, [""])[-1] == "read"


@contextlib.contextmanager
def _log(args: argparse.Namespace, folder: Path) -> Iterator[IO[Any] | None]:
    """The file to log to, for its owner's eyes; nothing where that is standard error.

    What would be logged into the picture of a command that draws on the whole terminal comes behind its end.
    """
    if args.log is not None:
        try:
            descriptor = os.open(args.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise UsageError(f"--log: {args.log} cannot be written: {error.strerror}") from error
        with os.fdopen(descriptor, "ab") as file:
            yield file
    elif sys.stderr.isatty() and _takes_terminal(args.command_line):
        with (folder / "log").open("w+b") as file:
            try:
                yield file
            finally:
                file.seek(0)
                shutil.copyfileobj(file, sys.stderr.buffer)
                sys.stderr.flush()
    else:
        yield None


def _takes_terminal(command: list[str]) -> bool:
    found = recognise(command)
    return found is not None and found.agent.takes_terminal(command[found.at :])


def _address(text: str) -> str:
    if "://" not in text:
        message = f"{text!r} is no URL; flows stand before the options"
        raise argparse.ArgumentTypeError(message)
    return text


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"toolstream run: {line}", file=sys.stderr, flush=True)


def _failed(error: Exception, code: int) -> int:
    print(f"toolstream run: {error}", file=sys.stderr)
    return code
