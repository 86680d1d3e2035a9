"""`toolstream version`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.version import __version__

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    del args
    print(f"toolstream {__version__}")
    return 0
