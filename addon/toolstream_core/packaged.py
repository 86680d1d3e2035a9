"""Files inside the installed package: saved flows, defect pages, the addon's script.

Folders exist once in the repository. A clone has them next to `addon/`, an installed package has a copy inside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent


def packaged(folder: str) -> Path:
    """A folder, by its path in the repository."""
    installed = _PACKAGE / folder
    return installed if installed.is_dir() else _PACKAGE.parents[1] / folder


def addon_script() -> Path:
    """The script for `mitmdump -s`: it is next to the package, in a clone and when installed."""
    return _PACKAGE.parent / "toolstream.py"
