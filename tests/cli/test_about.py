from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from toolstream_core.cli import main as command_line
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    import pytest

ADDON_SCRIPT = ROOT / "addon" / "toolstream.py"


def test_addon_path_prints_the_path_of_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    """The path is one line for use in a shell command."""
    assert main(["addon-path"]) == 0
    assert capsys.readouterr().out == f"{ADDON_SCRIPT}\n"


def test_a_missing_script_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The error names a remedy; mitmdump would only report that the script does not exist."""
    monkeypatch.setattr(command_line, "addon_script", lambda: tmp_path / "toolstream.py")
    assert main(["addon-path"]) == 2
    output = capsys.readouterr()
    assert not output.out
    assert "missing" in output.err
