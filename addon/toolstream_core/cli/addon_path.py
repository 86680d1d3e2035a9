"""`toolstream addon-path`: where the addon is, for `mitmdump -s "$(toolstream addon-path)"`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "print where the addon is, for mitmdump -s"
    subparsers.add_parser("addon-path", help=told, description=told).set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the path; 2 where the addon is not beside its package."""
    del args
    door = addon_path()
    if not door.is_file():
        print(f"toolstream: {door} is missing; install toolstream anew", file=sys.stderr)
        return 2
    print(door)
    return 0


def addon_path() -> Path:
    """The file that mitmproxy loads: beside the package, in a checkout and installed."""
    return Path(__file__).resolve().parents[2] / "toolstream.py"
