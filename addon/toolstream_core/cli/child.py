"""A command that runs in the terminal of ours: its signals, and its exit code as a shell tells it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

NOT_FOUND = 127
NOT_EXECUTABLE = 126
_HANDED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_BY_TERMINAL = {getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)}


class StartError(Exception):
    """A command that cannot be started."""

    def __init__(self, message: str, code: int) -> None:
        """`code` is the exit code that a shell gives."""
        super().__init__(message)
        self.code = code


def run_command(command: Sequence[str], environment: Mapping[str, str], running: Callable[[int | None], None]) -> int:
    """Run it to its end; 128 and the signal's number where one ended it. Raises `StartError`.

    It stays in this process group, so that the terminal in front is its own too. `running` is told of its process,
    and of `None` when that has ended.
    """
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise StartError(f"command not found: {command[0]!r}", NOT_FOUND) from None
    except OSError as error:
        raise StartError(f"{command[0]} cannot be run: {error.strerror}", NOT_EXECUTABLE) from error
    with _handing_on(process):
        running(process.pid)
        code = process.wait()
        running(None)
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


def _in_foreground() -> bool:
    """Whether a terminal's signals reach this process group: only then has the command had them."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return False
