"""The command line and the environment of a toolstream process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FLOW = ROOT / "flows" / "openai-chat-single.flow"


def toolstream(*words: str | Path) -> list[str]:
    """Return the command line that starts this Python's toolstream."""
    return [sys.executable, "-m", "toolstream_core.cli.main", *map(str, words)]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports the package."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "addon"), **more}
