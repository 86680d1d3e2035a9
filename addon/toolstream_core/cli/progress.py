"""The progress of a long command on standard error, and how to continue it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

_EVERY: Final = 0.1
"""Seconds between two states of the line."""


class ProgressLine:
    """One line that changes on a terminal; nothing elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        """Show nothing if `quiet`."""
        self.live = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._last = 0.0

    def show(self, line: str, *, last: bool = False) -> None:
        """Show `line`, unless the one before is too new; the `last` one always."""
        now = time.monotonic()
        if self.live and (last or now - self._last >= _EVERY):
            self._last = now
            print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def how_to_continue(args: argparse.Namespace) -> str:
    """What to do after an interrupt."""
    return "add --resume FILE to be able to continue" if args.resume is None else "run the same command to continue"
