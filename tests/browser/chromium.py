"""Which Chromium the browser tests use."""

from __future__ import annotations

import os
import shutil
from typing import Final

NAMES: Final = (
    "chromium-headless-shell", "chrome-headless-shell",
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
)  # fmt: skip
"""The headless shell first: it needs half the processor time."""


def program() -> str | None:
    """The browser's command: the one that `TOOLSTREAM_CHROMIUM` names, or the first that is installed."""
    return os.environ.get("TOOLSTREAM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
