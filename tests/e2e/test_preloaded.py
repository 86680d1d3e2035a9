"""A forked mitmdump behaves like a mitmdump that was started separately."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness.mitmdump import Mitmdump, MitmdumpError
from tests.e2e.harness.preloaded import CAN_FORK, Preloaded, PreloadedMitmdump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not CAN_FORK, reason="this system has no pidfds")]

FACTS = """
import gc, json, os, signal, sys, threading
import toolstream_core

def load(loader):
    paths = [f"/proc/self/fd/{number}" for number in range(3, 64)]
    files = [os.readlink(path) for path in paths if os.path.lexists(path)]
    print("facts", json.dumps({
        "arguments": sys.argv,
        "collector": [gc.isenabled(), gc.get_threshold()],
        "environment": dict(os.environ),
        "files": sorted(file.partition(":")[0] for file in files),
        "folder": os.getcwd(),
        "group": os.getpgrp(),
        "package": toolstream_core.__file__,
        "path": sys.path,
        "signals": [str(signal.getsignal(number)) for number in (signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE)],
        "terminals": [os.isatty(number) for number in range(3)],
        "threads": threading.active_count(),
        "unbuffered": [sys.stdout.write_through, sys.stderr.write_through],
    }))

def done():
    print("done")
"""


@pytest.fixture(scope="module")
def preloaded() -> Iterator[Preloaded]:
    """The process that forks."""
    with Preloaded() as started:
        yield started


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """An addon that prints facts about its process when it is loaded, and a line at the end."""
    path = tmp_path / "facts.py"
    path.write_text(FACTS)
    return path


def forked(preloaded: Preloaded, confdir: Path, *scripts: Path, **options: str) -> PreloadedMitmdump:
    """A forked mitmdump that is not started yet."""
    proxy = PreloadedMitmdump(options, confdir=confdir, scripts=scripts or None)
    proxy.preloaded = preloaded
    return proxy


def facts(proxy: Mitmdump) -> dict[str, Any]:
    """The facts that the addon printed, from a process that ends normally."""
    with proxy:
        found: dict[str, Any] = json.loads(proxy.wait_for("^facts ").removeprefix("facts "))
    assert proxy.stop() == 0
    assert proxy.output[-1] == "done"
    return found


def test_a_fork_equals_a_started_process(preloaded: Preloaded, script: Path, tmp_path: Path) -> None:
    """A fork has no files, signals or variables of its parent and of other forks."""
    started = Mitmdump(confdir=tmp_path, scripts=[script], env={"TERM": "xterm"}, terminal=True)
    fork = forked(preloaded, tmp_path, script)
    fork.env, fork.terminal = {"TERM": "xterm"}, True
    with forked(preloaded, tmp_path):
        assert facts(fork) == facts(started)


def test_the_exit_code_of_a_fork_is_reported(preloaded: Preloaded, tmp_path: Path) -> None:
    """The exit code of a killed and of a failed fork is reported."""
    with forked(preloaded, tmp_path) as killed:
        assert killed.pid is not None
        os.kill(killed.pid, signal.SIGKILL)
        assert killed.stop() == -signal.SIGKILL
    with pytest.raises(MitmdumpError, match=r"(?s)ended with code 1.*'loud'"):
        forked(preloaded, tmp_path, toolstream_log="loud").start()


def test_forks_end_with_their_parent(tmp_path: Path) -> None:
    """A fork that is not stopped ends with its parent."""
    with Preloaded() as parent:
        left = forked(parent, tmp_path).start()
    assert left.stop() == 0
