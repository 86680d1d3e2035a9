"""What an interrupted check goes on from."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from toolstream_core.checking.runner import CheckState
from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from pathlib import Path

ABOUT = {"clients": {"a": ["python"]}, "calls": ("x",)}


def test_finished_cases_are_kept(tmp_path: Path) -> None:
    """Also where the last line was cut off; for their owner's eyes."""
    path = tmp_path / "state"
    with CheckState.open(path, ABOUT) as state:
        state.add("a", {"id": "p/fault/x", "grade": "ok"})
        state.add("b", {"id": "p/fault/x", "grade": "failed"})
    with path.open("a") as file:
        file.write('{"client": "a", "ca')
    with CheckState.open(path, ABOUT) as state:
        assert state.get("a", "p/fault/x") == {"id": "p/fault/x", "grade": "ok"}
        assert state.get("b", "p/fault/x") == {"id": "p/fault/x", "grade": "failed"}
        assert state.get("a", "p/fault/y") is None
        state.add("a", {"id": "p/fault/y", "grade": "ok"})
    with CheckState.open(path, ABOUT) as state:
        assert state.get("a", "p/fault/y") is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_former_reason_of_a_loop_is_read(tmp_path: Path) -> None:
    """From a check that was interrupted before the reason was renamed."""
    path = tmp_path / "state"
    with CheckState.open(path, ABOUT) as state:
        state.add("a", {"id": "i", "reason": "asked again and again"})
    with CheckState.open(path, ABOUT) as state:
        assert state.get("a", "i") == {"id": "i", "reason": "retried in a loop"}


def test_another_check_is_refused(tmp_path: Path) -> None:
    """And so is any other file."""
    path = tmp_path / "state"
    CheckState.open(path, ABOUT).__exit__()
    with pytest.raises(ToolstreamError, match="belongs to another command"):
        CheckState.open(path, {**ABOUT, "calls": ()})
    path.write_text("hello\n")
    with pytest.raises(ToolstreamError, match="is not a state file of"):
        CheckState.open(path, ABOUT)


def test_without_a_file_it_is_forgotten() -> None:
    """It is kept for this run."""
    with CheckState() as state:
        state.add("a", {"id": "i", "grade": "ok"})
        assert state.get("a", "i") is not None
