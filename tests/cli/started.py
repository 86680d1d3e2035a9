"""How tests start toolstream as a user does."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FLOW = ROOT / "flows" / "openai-chat-single.flow"


def toolstream(*words: str | Path) -> list[str]:
    """The command line of this Python's toolstream."""
    return [sys.executable, "-m", "toolstream_core.cli.main", *map(str, words)]


def environment(**more: str) -> dict[str, str]:
    """For a process that has to find the package."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "addon"), **more}
