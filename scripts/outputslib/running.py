"""Runs toolstream's commands in this process and gives back all that a user would see. Knows the command line."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

COLUMNS = "110"
"""The width of the terminal that help is written for."""


class Shown(NamedTuple):
    """What one command showed."""

    end: str
    """`exit 0`, or the exception that left the command."""
    err: bytes
    out: bytes

    def text(self) -> bytes:
        """All of it, as it is kept and compared."""
        return b"".join((self.end.encode(), b"\n--- stderr\n", self.err, b"\n--- stdout\n", self.out))


def run(argv: Sequence[str]) -> Shown:
    """Run one command as `toolstream` would, in the current folder."""
    from toolstream_core.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            end = f"exit {main(argv)}"
        except Exception as error:  # noqa: BLE001 - a command that fails is an output to compare, too
            end = f"{type(error).__name__}: {error}"
    return Shown(end, _written(err), _written(out))


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Commands run in `folder`, and nothing of the user's terminal shows in their outputs."""
    kept = dict(os.environ)
    os.environ.update(COLUMNS=COLUMNS, NO_COLOR="1")
    os.environ.pop("FORCE_COLOR", None)
    # Each command asks for its version, which is read from the installed package's files each time.
    version = importlib.metadata.version
    importlib.metadata.version = functools.cache(version)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        importlib.metadata.version = version
        os.environ.clear()
        os.environ.update(kept)
