"""`toolstream addon-path`: where the addon is, for `mitmdump -s "$(toolstream addon-path)"`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from toolstream_core.cli.launch import door_path

if TYPE_CHECKING:
    import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "print where the addon is, for mitmdump -s"
    subparsers.add_parser("addon-path", help=told, description=told).set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the path; 2 where the addon is not beside its package."""
    del args
    door = door_path()
    if not door.is_file():
        print(f"toolstream: {door} is missing; install toolstream anew", file=sys.stderr)
        return 2
    print(door)
    return 0
