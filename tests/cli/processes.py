"""Processes of toolstream: their command line, their environment, and a wait for what they do."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from tests.conftest import FLOWS, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLOW = FLOWS / "openai-chat-single.flow"


def toolstream(*words: str | Path) -> list[str]:
    """Return the command line that starts this Python's toolstream."""
    return [sys.executable, "-m", "toolstream_core.cli.main", *map(str, words)]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports the package."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "addon"), **more}


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait up to a minute until a condition is true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
