"""The oracle of a command: it is run behind a proxy that answers from the candidate, and fails where the bug shows."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.shrinking.candidate import Candidate
    from toolstream_core.shrinking.law import Oracle

_NOT_STARTED = (126, 127)
"""What a shell ends with where it cannot start a command."""


class CommandError(ValueError):
    """The command cannot be run; the message says why."""


class Tries(NamedTuple):
    """How a command is run."""

    command: Sequence[str]
    timeout: float
    """Seconds; a command that takes longer is stopped and shows nothing."""
    repeat: int = 1
    """Runs that all have to fail."""
    jobs: int = 1
    says: str = ""
    """What its output has to hold too, where it fails."""
    repair: tuple[str, ...] = ()
    """What is done to the answers."""


@dataclass
class _Seat:
    """A proxy, the file that it answers from, and the command that runs."""

    session: ProxySession
    flow: Path
    process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End all of it."""
        if self.process is not None:
            _end(self.process)
        self.session.stop()


@contextlib.contextmanager
def command_oracle(tries: Tries, flow_bytes: Callable[[Candidate], bytes]) -> Iterator[Oracle]:
    """An oracle that may be asked from as many threads as there are jobs. Raises `CommandError` when asked."""
    seats: queue.SimpleQueue[_Seat] = queue.SimpleQueue()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolstream-shrink-")))
        for number in range(tries.jobs):
            seat = _Seat(ProxySession(), folder / f"{number}.flow")
            stack.callback(seat.close)
            seats.put(seat)

        def oracle(candidate: Candidate) -> bool:
            seat = seats.get()
            try:
                seat.flow.write_bytes(flow_bytes(candidate))
                return all(_fails(tries, seat) for _ in range(tries.repeat))
            finally:
                seats.put(seat)

        yield oracle


def _fails(tries: Tries, seat: _Seat) -> bool:
    seat.session.reset(Setup(flows=(seat.flow,), repair=tries.repair, speed=0, network="loopback"))
    if not tries.says:
        return _exit_code(tries, seat, subprocess.DEVNULL) != 0
    with tempfile.TemporaryFile() as output:
        if not _exit_code(tries, seat, output):
            return False
        output.seek(0)
        return tries.says.encode() in output.read()


def _exit_code(tries: Tries, seat: _Seat, output: IO[bytes] | int) -> int:
    """What the command ends with, where it ends in time; 0 where it is stopped. `output` gets what it says."""
    try:
        process = seat.process = subprocess.Popen(
            tries.command,
            env=seat.session.child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandError(f"{tries.command[0]} cannot be run: {error.strerror}") from error
    try:
        code = process.wait(tries.timeout)
    except subprocess.TimeoutExpired:
        return 0
    finally:
        _end(process)
        seat.process = None
    if code in _NOT_STARTED:
        raise CommandError(f"the command ended with {code}: a shell did not find it, or may not run it")
    return code


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop the command and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
