"""Paths for arguments: in a temporary folder of this process, which is removed when the process ends."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

_CONTENT: Final = "A sample file of toolstream.\n"


@cache
def _made() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="toolstream-")


def absent(stem: str) -> str:
    """A path that does not exist, in an existing folder."""
    folder = Path(_made().name, "absent")
    folder.mkdir(exist_ok=True)
    return str(folder / stem)


def sample_file(stem: str) -> str:
    """The path of a small text file."""
    path = Path(sample_folder("sample"), f"{stem}.txt")
    path.write_text(_CONTENT, encoding="utf-8")
    return str(path)


def sample_folder(stem: str) -> str:
    """The path of a folder with a small text file."""
    folder = Path(_made().name, stem)
    folder.mkdir(exist_ok=True)
    (folder / "sample.txt").write_text(_CONTENT, encoding="utf-8")
    return str(folder)


def clear() -> None:
    """Remove what calls have made of the paths that did not exist."""
    if _made.cache_info().currsize:
        shutil.rmtree(Path(_made().name, "absent"), ignore_errors=True)
        Path(_made().name, "absent").mkdir(exist_ok=True)
