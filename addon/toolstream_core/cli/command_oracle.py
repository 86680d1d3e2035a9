"""The oracle of a command: it runs behind a proxy that answers from the candidate, and fails while the bug shows."""

from __future__ import annotations

import contextlib
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.checking.run import Client
from toolstream_core.checking.runner import Seats
from toolstream_core.shrinking.verdicts import worst
from toolstream_core.testing import Setup
from toolstream_core.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.checking.run import Run
    from toolstream_core.shrinking.candidate import Candidate

    type Flows = Callable[[Candidate], bytes]

_OUTPUT = 1 << 24
"""Characters of the command's output in which `says` is looked for."""


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
    provider_repeats: int = 0
    verdict: Outcome | None = None
    """The verdict that is the bug; without it, the worst one of the original."""
    any_failure: bool = False
    """Whether any failure is the bug."""


class CommandBug:
    """Whether a command fails with a candidate as it fails with the original. May be asked from several threads."""

    def __init__(self, tries: Tries, seats: Seats, folder: str, original: Candidate, flow_bytes: Flows) -> None:
        """`flow_bytes` gives the flow file of a candidate; files are written to `folder`."""
        self._tries = tries
        self._seats = seats
        self._folder = folder
        self._original = original
        self._flow_bytes = flow_bytes

    def shows(self, candidate: Candidate) -> bool:
        """Whether it fails, with the same verdict, and passes with the candidate repaired if the original does."""
        if candidate is self._original:
            return self.verdicts is not None and (self._tries.verdict is None or self._tries.verdict in self.verdicts)
        found = self._verdicts(candidate)
        if found is None or self._tries.any_failure:
            return found is not None
        wanted = self._tries.verdict
        if wanted not in found if wanted else worst(found) is not worst(self.verdicts or frozenset()):
            return False
        return not self._is_repaired or self._verdicts(candidate, ("safe",)) is None

    @cached_property
    def verdicts(self) -> frozenset[Outcome] | None:
        """The verdicts of the original; `None` where the command does not fail."""
        return self._verdicts(self._original)

    @cached_property
    def _is_repaired(self) -> bool:
        """Whether the command passes with the original repaired."""
        return self._verdicts(self._original, ("safe",)) is None

    def _verdicts(self, candidate: Candidate, repair: tuple[str, ...] = ()) -> frozenset[Outcome] | None:
        """The verdicts on misread responses in the first of the runs; `None` where one of them does not fail."""
        runs: list[Run] = []
        with tempfile.NamedTemporaryFile(suffix=".flow", dir=self._folder) as file:
            file.write(self._flow_bytes(candidate))
            file.flush()
            setup = Setup(
                flows=(Path(file.name),),
                repair=repair,
                provider_repeats=self._tries.provider_repeats,
                network="loopback",
            )
            for _ in range(self._tries.repeat):
                runs.append(self._run(setup))
                if not runs[-1].exit_code or self._tries.says not in runs[-1].output:
                    return None
        judged = [one.verdict for one in runs[0].exchanges if one.verdict is not None]
        return frozenset(Outcome(one.verdict) for one in judged if not one.understood)

    def _run(self, setup: Setup) -> Run:
        # Of the words that `check` fills in, an empty prompt would be none of the command's own.
        client = Client(
            name="", command=tuple(self._tries.command), prompt="{prompt}", timeout=self._tries.timeout, output=_OUTPUT
        )
        with self._seats.taken() as seat:
            run = seat.run(client, setup)
        if run.failure is not None:
            raise CommandError(run.failure)
        return run


@contextlib.contextmanager
def command_bug(tries: Tries, original: Candidate, flow_bytes: Flows) -> Iterator[CommandBug]:
    """A bug whose `shows` raises `CommandError` where the command cannot be run."""
    with tempfile.TemporaryDirectory(prefix="toolstream-shrink-") as folder, Seats(tries.jobs) as seats:
        yield CommandBug(tries, seats, folder, original, flow_bytes)
