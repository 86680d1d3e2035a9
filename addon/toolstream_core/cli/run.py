"""`toolstream run -- CMD…`: a command whose LLM clients find the proxy by their environment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any

from toolstream_core.cli.serving import LEVELS, UsageError, add_options, flow_path, session_of, setup_of
from toolstream_core.testing import ProxySessionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType

NOT_FOUND = 127
NOT_EXECUTABLE = 126
_HANDED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "run a command behind the proxy: certificate and variables set, answered from flows where some are given"
    parser = subparsers.add_parser("run", help=told, description=told, usage="toolstream run [FLOW…] [options] -- CMD…")
    parser.add_argument("flows", nargs="*", type=flow_path, metavar="FLOW", help="a flow file, or a folder of such")
    add_options(parser)
    parser.add_argument("--level", choices=LEVELS, default="calls", help="what is logged of each answer")
    parser.add_argument("--log", type=flow_path, metavar="FILE", help="where to log; standard error without it")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """The command's own exit code; 2 where the proxy cannot start, 127 where there is no such command."""
    command: list[str] = args.command_line
    if not command:
        print(
            "toolstream run: give the command behind --, as in: toolstream run FLOW -- python agent.py", file=sys.stderr
        )
        return 2
    try:
        setup = setup_of(args, network="loopback" if args.flows else "all", log=args.level)
        with _log(args.log) as log, session_of(args, setup, log) as session:
            return _run(command, session.child_environment())
    except (UsageError, ProxySessionError) as error:
        print(f"toolstream run: {error}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def _log(path: Path | None) -> Iterator[IO[Any] | None]:
    """The file to log to, for its owner's eyes; nothing where that is standard error."""
    if path is None:
        yield None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise UsageError(f"--log: {path} cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "ab") as file:
        yield file


def _run(command: list[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        print(f"toolstream run: there is no command {command[0]!r}", file=sys.stderr)
        return NOT_FOUND
    except OSError as error:
        print(f"toolstream run: {command[0]} cannot be run: {error.strerror}", file=sys.stderr)
        return NOT_EXECUTABLE
    with _handing_on(process):
        code = process.wait()
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def _handing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let the command decide what a signal means.

    What a terminal sends (Ctrl-C) reaches the command by itself, as it is of the same process group.
    """

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if not (number in _BY_TERMINAL and _in_foreground()):
            with contextlib.suppress(OSError):
                process.send_signal(number)

    numbers = [getattr(signal, name) for name in _HANDED_ON if hasattr(signal, name)]
    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_BY_TERMINAL = {getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)}


def _in_foreground() -> bool:
    """Whether a terminal's signals reach this process group: only then has the command had them."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False
