"""Reads the responses in files and folders one after the other. Reports on stderr what cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from toolstream_core.model import ABSENT
from toolstream_core.printable import word
from toolstream_core.redact import raised_at
from toolstream_core.report.layout import counted
from toolstream_core.saved.exchange import RefusedError, UnreadableError
from toolstream_core.saved.files import READABLE, STDIN, answers, files
from toolstream_core.saved.layout import belongs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.model import Json
    from toolstream_core.saved.exchange import Saved

_LISTED: Final = 10
"""Skipped files of a folder that are listed by name."""


class Reading:
    """Passes each saved response to a function."""

    def __init__(self, saved: Callable[[str], Iterator[Saved]], take: Callable[[Saved], bool]) -> None:
        """`saved` gives the responses in a file. `take` gets them, and returns whether it is an LLM response."""
        self._saved = saved
        self._take = take
        self.failed = False
        """Whether something could not be read."""

    def read(self, path: str) -> None:
        """Read a file, or all files of a folder.

        A named file without an LLM response is an error; in a folder such files are only listed.
        """
        named = path == STDIN or not Path(path).is_dir()
        without = [file for file in files(path) if not self._file(file, named=named)]
        if named:
            for file in without:
                self._cannot(f"{shown_name(file)} contains no LLM response. Expected {READABLE}")
        elif without:
            shown = [word(str(Path(file).relative_to(path))) for file in without[:_LISTED]]
            more = f" and {len(without) - _LISTED} more" if len(without) > _LISTED else ""
            files_ = counted(len(without), "file")
            _tell(f"{shown_name(path)}: skipped {files_} without an LLM response: {', '.join(shown)}{more}")

    def _file(self, file: str, *, named: bool) -> bool:
        """Read one file; whether it had a response, or was reported."""
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

    def _response(self, saved: Saved) -> bool:
        source = word(saved.exchange.source)
        if saved.missing:
            self._cannot(f"{source} cannot be read: {saved.missing}")
            return True
        try:
            return self._take(saved)
        except (UnreadableError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must not hide what the other responses say
            self._cannot(f"{source} cannot be read, because of a bug in toolstream: {raised_at(error)}")
            return True

    def _cannot(self, message: str) -> None:
        self.failed = True
        _tell(message)


def saved_responses(path: str, request: Json = ABSENT) -> Iterator[Saved]:
    """The responses in a file of any form; `request` is that of a bare body. Raises `UnreadableError`."""
    return answers(path, _read_flows, request)


def _read_flows(stream: BinaryIO, source: str) -> Iterator[Saved]:
    from toolstream_core.proxy import flowfile

    return flowfile.answers(stream, source)


def shown_name(path: str) -> str:
    """A path for people."""
    return "standard input" if path == STDIN else word(path)


def _tell(message: str) -> None:
    print(f"toolstream: {message}", file=sys.stderr)
