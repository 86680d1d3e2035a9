"""`toolstream addon-path`: where the addon is, for `mitmdump -s "$(toolstream addon-path)"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.launch import door_path

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    """Print the path. Raises `UsageError`."""
    del args
    door = door_path()
    if not door.is_file():
        raise UsageError(f"{door} is missing. Install toolstream again")
    print(door)
    return 0
