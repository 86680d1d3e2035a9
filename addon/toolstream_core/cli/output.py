"""Where commands may write. A file's folder has to be there; a folder that is named as such is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def missing_folder(file: Path) -> str | None:
    """Why no file can be written there; `None` where its folder is there."""
    folder = file.absolute().parent
    return None if folder.is_dir() else f"there is no folder {folder}"
