"""`toolstream repair`: saved streams, mended as a proxy would have mended them. Knows the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.cli import rewriting
from toolstream_core.cli.errors import UsageError
from toolstream_core.settings import SettingsError, Words, settings

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    """Rewrite the streams and give the exit code."""
    shapes = rewriting.words(args.shape)
    repairs = rewriting.words(args.repair) or (() if shapes else ("safe",))
    try:
        wanted = settings(Words(repair=repairs, shape=shapes))
    except SettingsError as error:
        raise UsageError(str(error)) from error
    return rewriting.run(args, wanted)
