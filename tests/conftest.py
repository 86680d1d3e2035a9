"""What all tests share: how hypothesis searches, and where the recorded streams are. Knows pytest."""

from __future__ import annotations

import gc
import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Tests run the same way every time and never fail for a slow machine; to look further, now and then:
# scripts/test --hypothesis-profile=search
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("search", settings.get_profile("ci"), derandomize=False, max_examples=3000)
settings.load_profile("ci")

# Where the tests run in the background, a shell has Ctrl-C ignored, and so would everything that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

_COLLECT_EVERY = 20_000
"""Objects that are made before the garbage collector looks for cycles: a test makes many and leaves few."""
NO_SHARED = "no folder of recorded streams: put it beside the project as ../shared, or name it in TOOLSTREAM_SHARED"


def shared_dir() -> Path | None:
    """Recorded streams too large to be kept with the project, where this machine has them.

    For what is parametrized over them; a single test asks for the fixture `shared`.
    """
    folder = Path(os.environ.get("TOOLSTREAM_SHARED") or ROOT.parent / "shared")
    return folder if folder.is_dir() else None


needs_shared = pytest.mark.skipif(shared_dir() is None, reason=NO_SHARED)
"""Skips a test, or a whole file as its `pytestmark`, where `shared_dir()` gives nothing."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """Where the recorded streams are; without them the test is skipped."""
    folder = shared_dir()
    if folder is None:
        pytest.skip(NO_SHARED)
    return folder


def pytest_collection_finish() -> None:
    """What collecting made stays to the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Repeat what failed before the tests, where whoever looks at the tests' last line sees it."""
    if failed := os.environ.get("TOOLSTREAM_FAILED_STEPS"):
        terminalreporter.write_line(f"FAILED before the tests: {failed}", red=True)
