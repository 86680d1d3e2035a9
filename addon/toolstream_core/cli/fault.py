"""`toolstream fault`: saved streams, broken on purpose. Knows the options."""

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
        "fault",
        help="break saved streams on purpose",
        description="Break saved streams: write them again as toolstream_fault would pass them on.",
        epilog="Exit code: 0 done, 2 usage, unreadable input, or no LLM stream in it.",
    )
    told = "NAME[:key=value,...], as in toolstream_fault; several are applied in order"
    parser.add_argument("specs", nargs="+", metavar="SPEC", help=told)
    rewriting.add_paths(parser)
    told = "the number that faults of a probability are drawn from (default: 0)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=told)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Rewrite the streams and give the exit code."""
    try:
        wanted = settings(Words(fault=tuple(args.specs), seed=args.seed))
    except SettingsError as error:
        print(f"toolstream: {error}", file=sys.stderr)
        return rewriting.UNREADABLE
    return rewriting.run(args, wanted)
