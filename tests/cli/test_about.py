from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolstream_core.cli import main as command_line
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    import pytest

DOOR = Path(__file__).resolve().parents[2] / "addon" / "toolstream.py"


def test_the_path_is_that_of_the_door(capsys: pytest.CaptureFixture[str]) -> None:
    """As one line, for the shell to put into a command."""
    assert main(["addon-path"]) == 0
    assert capsys.readouterr().out == f"{DOOR}\n"


def test_a_door_that_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With what helps; mitmdump would only say that there is no such script."""
    monkeypatch.setattr(command_line, "addon_script", lambda: tmp_path / "toolstream.py")
    assert main(["addon-path"]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert "missing" in told.err
