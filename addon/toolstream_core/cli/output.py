"""Shared by all commands: checks of output files, reading of input files, and lines for the user.

A command never overwrites one of its inputs, never writes two outputs to one file, and overwrites an existing file only
with `--force`, or if the output recognises its own earlier file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from toolstream_core.errors import ToolstreamError
from toolstream_core.printable import counted, word
from toolstream_core.redact import raised_at
from toolstream_core.saved.bare import belongs
from toolstream_core.saved.exchange import Exchange, RefusedError, UnreadableError
from toolstream_core.saved.files import READABLE, STDIN, files, is_special, write_atomic

type _Identity = tuple[int, int] | Path


class Output(NamedTuple):
    """A file that a command is going to write."""

    path: Path
    option: str = ""
    """The option that names it, for error messages."""
    force: bool | None = False
    """Whether `--force` was given; `None` if the command continues the file, which `--force` does not allow."""
    is_own: Callable[[Path], bool] = lambda _: False
    """Recognises a file that the same option wrote earlier, which may be overwritten or continued."""

    @property
    def prefix(self) -> str:
        """The beginning of a message on it."""
        return f"{self.option}: " if self.option else ""

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Raise `ToolstreamError` in place of `OSError`."""
        try:
            yield
        except OSError as error:
            raise ToolstreamError(f"{self.prefix}{self.path} cannot be written: {error.strerror}") from error


def check_outputs(outputs: Iterable[Output], inputs: Iterable[Path] = (), *, makes_folders: bool = False) -> None:
    """Raise `ToolstreamError` if the rule forbids one of the outputs, or if it cannot be written.

    Call it before any work is done. Devices and pipes are always allowed: they have no content to lose.
    """
    files = [one for one in outputs if not is_special(one.path)]
    existing = [one for one in files if os.path.lexists(one.path)]
    read = {} if not existing else {_identity(file): file for path in inputs for file in _files(path)}
    first: dict[_Identity, Output] = {}
    for one in files:
        identity, prefix = _identity(one.path), one.prefix
        if one.path.parts[:1] == ("-",):
            raise ToolstreamError(f"{prefix}{one.path} cannot be standard output here; name a file or folder")
        if (other := first.setdefault(identity, one)) is not one:
            raise ToolstreamError(
                f"{prefix}{one.path} and {other.path} ({other.option}) are the same file; name two files"
            )
        if identity in read:
            raise ToolstreamError(f"{prefix}{one.path} is an input of this command; name another file")
        if one.path.is_dir():
            raise ToolstreamError(f"{prefix}{one.path} is a folder; give a file")
        if os.path.lexists(one.path) and not one.force and not one.is_own(one.path):
            right = "name another file" if one.force is None else "add --force to overwrite it, or name another file"
            raise ToolstreamError(f"{prefix}{one.path} exists already; {right}")
    for one in files:
        _check_folder(one, makes_folders=makes_folders)


@contextlib.contextmanager
def printed_to(path: Path | None, inputs: Iterable[Path] = (), *, force: bool) -> Iterator[None]:
    """A context in which printed text is written to a file, if there is one. Raises `ToolstreamError`."""
    if path is None:
        yield
        return
    check_outputs([Output(path, "-o", force)], inputs)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        yield
    write_atomic(path, text.getvalue().encode("utf-8", "backslashreplace"), replace=force)


def _files(path: Path) -> Iterator[Path]:
    """An input, and all files in it if it is a folder."""
    yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


def _identity(path: Path) -> _Identity:
    """The identity of a file, equal for all its names, links included."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()
    return found.st_dev, found.st_ino


def _check_folder(output: Output, *, makes_folders: bool) -> None:
    folder = output.path.absolute().parent
    if not folder.is_dir():
        if makes_folders:
            return
        raise ToolstreamError(f"{output.prefix}there is no folder {folder}")
    with output.writing(), tempfile.TemporaryFile(dir=folder):
        pass


_EVERY: Final = 0.1
"""Seconds between two states of the line."""
_LOGGED_EVERY: Final = 30.0
"""Seconds between two lines if standard error is no terminal."""


class ProgressLine:
    """One line that changes on a terminal; elsewhere a line now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self._on = not quiet and sys.stderr is not None
        self.live = self._on and sys.stderr.isatty()
        self._last = 0.0 if self.live else time.monotonic()

    def show(self, line: str, *, last: bool = False) -> None:
        """Show `line`, unless the previous one is too new; on a terminal, the `last` one is always shown."""
        now = time.monotonic()
        if self.live and (last or now - self._last >= _EVERY):
            self._last = now
            print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)
        elif self._on and not (self.live or last) and now - self._last >= _LOGGED_EVERY:
            self._last = now
            print(line, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def how_to_continue(args: argparse.Namespace) -> str:
    """How to continue after an interrupt."""
    return "add --resume FILE to be able to continue" if args.resume is None else "run the same command to continue"


_LISTED: Final = 10
"""Skipped files of a folder that are listed by name."""


class Reading:
    """Passes each saved response to a function."""

    def __init__(self, saved: Callable[[str], Iterator[Exchange]], take: Callable[[Exchange], bool]) -> None:
        """`saved` returns the responses in a file. `take` receives each, and returns whether it is an LLM response."""
        self._saved = saved
        self._take = take
        self.failed = False
        """Whether something could not be read."""
        self._has_response = False
        """Whether the current path has a response, or something that should be one."""

    def read(self, path: str) -> None:
        """Read a file, or all files of a folder. Files without an LLM response are listed; one must have it."""
        named = path == STDIN or not Path(path).is_dir()
        self._has_response = False
        without = [file for file in files(path) if not self._file(file, named=named)]
        if named:
            for file in without:
                self._cannot(f"{shown_name(file)} contains no LLM response. Expected {READABLE}")
        elif without:
            shown = [word(str(Path(file).relative_to(path))) for file in without[:_LISTED]]
            more = f" and {len(without) - _LISTED} more" if len(without) > _LISTED else ""
            files_ = counted(len(without), "file")
            say(f"{shown_name(path)}: skipped {files_} without an LLM response: {', '.join(shown)}{more}")
        if not (named or self._has_response):
            self._cannot(f"{shown_name(path)} contains no file with an LLM response. Expected {READABLE}")

    def _file(self, file: str, *, named: bool) -> bool:
        """Read one file. Returns whether it had a response, or was reported."""
        found = False
        try:
            for saved in self._saved(file):
                found = self._response(saved) or found
                del saved  # a flow may be large, and the next one is read before this name is bound again
        except UnreadableError as error:
            if isinstance(error, RefusedError) and not named:
                return False
            self._cannot(f"{shown_name(file)} {error}")
            return True
        return found or belongs(Path(file))

    def _response(self, saved: Exchange) -> bool:
        source = word(saved.facts.source)
        if saved.missing:
            self._cannot(f"{source} cannot be read: {saved.missing}")
            return True
        try:
            taken = self._take(saved)
        except (UnreadableError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hide what the other responses say
            self._cannot(f"{source} cannot be read, because of a bug in toolstream: {raised_at(error)}")
            return True
        self._has_response = self._has_response or taken
        return taken

    def _cannot(self, message: str) -> None:
        self.failed = self._has_response = True
        say(message)


def shown_name(path: str) -> str:
    """A path for people."""
    return "standard input" if path == STDIN else word(path)


def say(message: object) -> None:
    """Print a line on standard error."""
    print(f"toolstream: {message}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM, and a terminal that is closed, end this process as Ctrl-C does: it ends what it started.

    Signals that it ignores (`nohup`) stay ignored.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    changed = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, before[number])


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
