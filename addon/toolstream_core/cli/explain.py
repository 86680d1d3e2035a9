"""`toolstream explain`: what a name means. Knows the options."""

from __future__ import annotations

import argparse

from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.list import run as run_list
from toolstream_core.report.names import explainable, explained
from toolstream_core.suggest import unknown


def run(args: argparse.Namespace) -> int:
    """Print what the name means. Raises `UsageError`."""
    if args.name is None:
        return run_list(argparse.Namespace(format="text", output=None, force=False))
    told = explained(args.name)
    if told is None:
        raise UsageError(unknown("name", args.name, explainable()))
    print(told, end="")
    return 0
