"""Writes the files that a program makes, or with `--check` tells how those that are there differ."""

from __future__ import annotations

import argparse
import difflib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def write_or_check(about: str, made: Mapping[Path, bytes]) -> int:
    """Write the files, by path; the exit code. With `--check` on the command line, print the differences: 1 for any."""
    parser = argparse.ArgumentParser(description=f"{about}.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where anything differs")
    if parser.parse_args().check:
        differences = list(_differences(made))
        sys.stderr.writelines(differences)
        return 1 if differences else 0
    for path, content in made.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return 0


def _differences(made: Mapping[Path, bytes]) -> Iterator[str]:
    for path, wanted in made.items():
        there = path.read_bytes() if path.exists() else b""
        if there != wanted:
            name = f"{path.parent.name}/{path.name}"
            old, new = (content.decode().splitlines(keepends=True) for content in (there, wanted))
            yield from difflib.unified_diff(old, new, name, f"{name} as it would be written")
