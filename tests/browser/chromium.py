"""The Chromium of the browser tests."""

from __future__ import annotations

import os
import shutil
from typing import Final

NAMES: Final = (
    "chromium-headless-shell", "chrome-headless-shell",
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
)  # fmt: skip
"""Commands in order of preference. The headless shell needs half the processor time."""


def program() -> str | None:
    """The command in `TOOLSTREAM_CHROMIUM`, or the first that is installed."""
    return os.environ.get("TOOLSTREAM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
