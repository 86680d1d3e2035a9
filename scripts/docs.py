#!/usr/bin/env python3
"""Writes the generated pages of docs/ and the generated parts of README.md.

scripts/docs.py                    write all pages
scripts/docs.py --check            write nothing; print the differences and exit 1 if there are any
scripts/docs.py defects blocks     write only these pages
scripts/docs.py --real reports     also run the real clients that are available
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "addon"), str(ROOT / "scripts")]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGES: Final = {
    "agents": ("tables", "agents"),
    "client_models": ("tables", "client_models"),
    "defects": ("tables", "defects"),
    "blocks": ("blocks", "files"),
    "reports": ("reports", "files"),
}
"""The module of docslib and the function of each page. It returns contents by path, and `None` for a file to delete."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the pages. Returns 1 if a checked page differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"any of {', '.join(PAGES)}; all if none is named")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page differs")
    parser.add_argument("--real", action="store_true", help="run the real clients of the reports")
    options = parser.parse_args(arguments)
    if unknown := set(options.pages).difference(PAGES):
        parser.error(f"unknown page {min(unknown)!r}; expected {', '.join(PAGES)}")
    files: dict[Path, bytes | None] = {}
    for page in options.pages or PAGES:
        module, function = PAGES[page]
        words = {"real": True} if options.real and page == "reports" else {}
        files |= getattr(importlib.import_module(f"docslib.{module}"), function)(**words)
    differences = [line for path, content in files.items() for line in _difference(path, content)]
    if options.check:
        sys.stderr.writelines(differences)
        return 1 if differences else 0
    for path, content in files.items():
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
    return 0


def _difference(path: Path, wanted: bytes | None) -> Iterator[str]:
    """A unified diff of the current and the wanted content of a file."""
    current = path.read_bytes() if path.exists() else None
    if current != wanted:
        name = path.relative_to(ROOT).as_posix()
        old, new = ((content or b"").decode().splitlines(keepends=True) for content in (current, wanted))
        yield from difflib.unified_diff(old, new, name, f"{name}, generated")


if __name__ == "__main__":
    sys.exit(main())
