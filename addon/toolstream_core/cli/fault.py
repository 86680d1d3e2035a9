"""`toolstream fault`: saved streams, broken on purpose. Knows the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.cli import rewriting
from toolstream_core.cli.errors import UsageError
from toolstream_core.settings import SettingsError, Words, settings

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    """Rewrite the streams and give the exit code."""
    try:
        wanted = settings(Words(fault=tuple(args.specs), seed=args.seed))
    except SettingsError as error:
        raise UsageError(str(error)) from error
    return rewriting.run(args, wanted)
