"""Shared setup of the tests: hypothesis profiles, and the folder of recorded streams."""

from __future__ import annotations

import gc
import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
FLOWS = ROOT / "flows"

# Tests are deterministic and do not fail on a slow machine. To search further:
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

# A shell starts background jobs with SIGINT ignored, and every process that they start inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

_COLLECT_EVERY = 20_000
"""Objects that are allocated before the garbage collector runs: a test allocates many and keeps few."""
NO_SHARED = "no folder of recorded streams: put it beside the project as ../shared, or name it in TOOLSTREAM_SHARED"


def shared_dir() -> Path | None:
    """Return the folder of recorded streams that are too large for the repository, if this machine has it.

    For parametrized cases; a single test uses the fixture `shared`.
    """
    folder = Path(os.environ.get("TOOLSTREAM_SHARED") or ROOT.parent / "shared")
    return folder if folder.is_dir() else None


needs_shared = pytest.mark.skipif(shared_dir() is None, reason=NO_SHARED)
"""Skips a test, or a file as its `pytestmark`, if `shared_dir()` returns `None`."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of recorded streams, or skip the test."""
    folder = shared_dir()
    if folder is None:
        pytest.skip(NO_SHARED)
    return folder


def pytest_collection_finish() -> None:
    """Exclude the collected items from garbage collection: they live until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Repeat the steps that failed before the tests below the summary."""
    if failed := os.environ.get("TOOLSTREAM_FAILED_STEPS"):
        terminalreporter.write_line(f"FAILED before the tests: {failed}", red=True)
