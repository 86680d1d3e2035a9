"""`toolstream run -- CMD…`: a command whose LLM clients find the proxy by their environment."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final, NamedTuple

from toolstream_core.agents import Launch, Upstream, launch, takes_terminal
from toolstream_core.cli.output import Output, say
from toolstream_core.cli.serve import appended, check_files, log_of, setup_of
from toolstream_core.errors import ToolstreamError
from toolstream_core.saved.files import write_atomic
from toolstream_core.testing import ProxySession, ProxySessionError, Setup
from toolstream_core.testing.session import routes

NOT_FOUND = 127
NOT_EXECUTABLE = 126
_HANDED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_BY_TERMINAL = {getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)}


class StartError(Exception):
    """A command that cannot be started."""

    def __init__(self, message: str, code: int) -> None:
        """`code` is the exit code of a shell."""
        super().__init__(message)
        self.code = code


def run_command(command: Sequence[str], environment: Mapping[str, str], running: Callable[[int | None], None]) -> int:
    """Run it to its end; 128 and the signal's number where one ended it. Raises `StartError`.

    It stays in this process group, so that the terminal in front is its own too. `running` gets its process id,
    and `None` when it has ended.
    """
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise StartError(f"command not found: {command[0]!r}", NOT_FOUND) from None
    except OSError as error:
        raise StartError(f"{command[0]} cannot be run: {error.strerror}", NOT_EXECUTABLE) from error
    with _forwarding_signals(process):
        running(process.pid)
        code = process.wait()
        running(None)
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def _forwarding_signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Forward signals to the command.

    A terminal's signals (Ctrl-C) reach the command directly, because it is in the same process group.
    """

    def forward(number: int, _frame: FrameType | None) -> None:
        if not (number in _BY_TERMINAL and _in_foreground()):
            with contextlib.suppress(OSError):
                process.send_signal(number)

    numbers = [getattr(signal, name) for name in _HANDED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether a terminal's signals reach this process group: only then the command has received them."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False


_SHOWN: Final = ("HTTPS_PROXY", "SSL_CERT_FILE", "OPENAI_BASE_URL", "OPENAI_API_KEY")
_LOGIN: Final = re.compile(r"//[^/@\s]+@")


def described(started: Launch, variables: Mapping[str, str], proxy: str) -> Iterator[str]:
    """One line on all clients, and one on the agent where the command is one; `variables` are those for all."""
    shown = [name for name in _SHOWN if name in variables]
    yield f"proxy {proxy}: set {', '.join(shown)} and {len(variables) - len(shown)} more variables"
    parts = [
        f"{word} {', '.join(names)}" for word, names in (("set", started.variables), ("not", started.removed)) if names
    ]
    if started.arguments:
        parts.append(f"arguments {_LOGIN.sub('//…@', shlex.join(started.arguments))}")
    if started.agent is not None and parts:
        yield f"{started.agent.name}: {'; '.join(parts)}"


def outputs_of(report: Path, *, force: bool) -> list[Output]:
    """The report and its flow file. Raises `ToolstreamError` if these cannot be two files."""
    if not report.name:
        raise ToolstreamError(f"--report: {report} is a folder; give a file")
    if report.suffix == ".flow":
        raise ToolstreamError(
            f"--report: {report} is the name of a flow file. Expected a Markdown file, such as report.md"
        )
    return [Output(path, "--report", force) for path in (report, report.with_suffix(".flow"))]


def write_report(report: Path, captured: Sequence[Path], *, replace: bool) -> list[str]:
    """Write a bug report on the flows with problems, or on all. Returns the lines to print. Raises `OSError`."""
    from toolstream_core.cli.report import reported
    from toolstream_core.report.markdown import bug_report
    from toolstream_core.saved.exchange import UnreadableError
    from toolstream_core.version import __version__

    try:
        responses = reported(captured)
    except (ToolstreamError, UnreadableError) as error:
        return [f"no report: {error}"]
    shown = [path for path, of in responses.items() if any(response.is_notable for response in of)]
    shown = shown or [path for path, of in responses.items() if of]
    if not shown:
        return ["no report: there was no LLM response"]
    flows = report.with_suffix(".flow")
    write_atomic(flows, b"".join(path.read_bytes() for path in shown), replace=replace)
    text = bug_report([response for path in shown for response in responses[path]], flows.name, __version__)
    write_atomic(report, text.encode(), replace=replace)
    return [f"report: {report}, with {flows}"]


VIEW_IDLE: Final = 60.0
"""After the client's end, the live view ends after this many seconds without a viewer."""
_CAPTURE: Final = "toolstream_capture"
_VIEW: Final = "toolstream_view"
_WEBSOCKET: Final = "toolstream_websocket"


def run(args: argparse.Namespace) -> int:
    """The command's own exit code; 127 if there is no such command. Raises `ToolstreamError`."""
    if not args.command_line:
        raise ToolstreamError("missing command after `--`. Expected, for example: toolstream run -- python agent.py")
    # The proxy removes the folder too, if this process is killed.
    with tempfile.TemporaryDirectory(prefix="toolstream-", ignore_cleanup_errors=True) as folder:
        return _run(args, Path(folder))


def _run(args: argparse.Namespace, folder: Path) -> int:
    upstream, setup = _requested(args, folder)
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
        for line in described(started, session.environment(), session.proxy_url):
            say(line)
    if session.view_address is not None:
        say(f"view: {session.view_address}")
    try:
        code = run_command(started.command, started.environment, session.accompany)
    except StartError as error:
        say(error)
        return error.code
    try:
        lines = _finish(session, args)
        log.show()
        if not args.quiet:
            for line in [*lines, *([f"the command exited with code {code}"] if code else [])]:
                say(line)
        _keep_view(session, args)
    except (ProxySessionError, OSError) as error:
        say(error)
    return code


def _keep_view(session: ProxySession, args: argparse.Namespace) -> None:
    """Write the live view to `-o`, or serve it until no viewer is connected any more."""
    if session.view_address is None:
        return
    if args.output is not None:
        write_atomic(args.output, session.view_page().encode("utf-8", "backslashreplace"), replace=args.force)
        return
    say(f"the view stays until Ctrl-C, or until no page has been connected for {VIEW_IDLE:.0f} s")
    with contextlib.suppress(KeyboardInterrupt):
        session.keep_view(VIEW_IDLE)


def _finish(session: ProxySession, args: argparse.Namespace) -> list[str]:
    """Write the report of `--report`; the summary."""
    passed = session.finish()
    lines = [] if args.report is None else write_report(args.report, passed.captured, replace=args.force)
    if not (args.capture or any(name == _CAPTURE for name, _ in args.options)):
        passed = replace(passed, captured=())
    elif passed.responses and not passed.captured:
        lines.insert(0, "captured: nothing; see --when, and the log for flows that could not be captured")
    return [*passed.lines(), *lines]


def _requested(args: argparse.Namespace, folder: Path) -> tuple[Upstream, Setup]:
    """The source of responses, and the setup of the proxy. Raises `ToolstreamError`."""
    setup = setup_of(args, network="all", log=args.level)
    upstream = Upstream.PROXIED if args.base_url is None else Upstream.FORWARDED
    if args.flows or "toolstream_provider" in setup.options:
        if isinstance(args.base_url, str):
            raise ToolstreamError(
                "--base-url URL needs a real provider instead of saved flows. Remove URL or the flows"
            )
        upstream, setup = Upstream.SAVED, replace(setup, network="loopback")
    outputs = [] if args.report is None else outputs_of(args.report, force=args.force)
    if args.output is not None:
        if _VIEW not in setup.options:
            raise ToolstreamError("-o writes the live view, and needs --view")
        outputs.append(Output(args.output, "-o", args.force))
    check_files(args, *outputs, *log_of(args))
    if args.report is not None and _CAPTURE not in setup.options:
        setup = replace(setup, options={**setup.options, _CAPTURE: [str(folder / "captures")]})
    return upstream, setup


def wants_sockets(setup: Setup) -> bool:
    """Whether the user requested WebSockets: otherwise agents use HTTP if they can."""
    return setup.options.get(_WEBSOCKET, [""])[-1] == "read"


class _Log(NamedTuple):
    """The log of the proxy."""

    file: IO[Any] | None = None
    kept: IO[bytes] | None = None
    """The log of a command that draws on the terminal, printed after the command."""

    def show(self) -> None:
        """Print the lines since the last call."""
        if self.kept is not None:
            shutil.copyfileobj(self.kept, sys.stderr.buffer)
            sys.stderr.flush()


@contextlib.contextmanager
def _log(args: argparse.Namespace, folder: Path) -> Iterator[_Log]:
    if args.log is not None:
        with appended(args.log) as file:
            yield _Log(file)
    elif sys.stderr.isatty() and takes_terminal(args.command_line):
        path = folder / "log"
        # The proxy shares the offset of its file, therefore the printed text is read through another one.
        with path.open("wb") as file, path.open("rb") as kept:
            log = _Log(file, kept)
            try:
                yield log
            finally:
                log.show()
    else:
        yield _Log()
