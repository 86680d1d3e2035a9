"""`toolstream repair`: saved streams, mended as a proxy would have mended them. Knows the options."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from toolstream_core.cli import rewriting
from toolstream_core.settings import SettingsError, Words, settings

if TYPE_CHECKING:
    import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "repair",
        help="mend saved streams, or say them in another lawful way",
        description="Write saved streams again as toolstream_repair and toolstream_shape would pass them on.",
        epilog="Exit code: 0 done, 2 usage, unreadable input, or no LLM stream in it.",
    )
    rewriting.add_paths(parser)
    told = "defects to mend, as in toolstream_repair, with commas between them; may be repeated (default: safe)"
    parser.add_argument("--repair", action="append", metavar="DEFECT", help=told)
    told = "shapes to give the streams, as in toolstream_shape; may be repeated"
    parser.add_argument("--shape", action="append", metavar="SHAPE", help=told)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Rewrite the streams and give the exit code."""
    shapes = rewriting.words(args.shape)
    repairs = rewriting.words(args.repair) or (() if shapes else ("safe",))
    try:
        wanted = settings(Words(repair=repairs, shape=shapes))
    except SettingsError as error:
        print(f"toolstream: {error}", file=sys.stderr)
        return rewriting.UNREADABLE
    return rewriting.run(args, wanted)
