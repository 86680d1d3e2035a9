"""Where commands may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.cli.main import main
from toolstream_core.cli.output import missing_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_s_folder_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the one that is not named."""
    monkeypatch.chdir(tmp_path)
    assert missing_folder(tmp_path / "a") is None
    assert missing_folder(tmp_path.joinpath("a").relative_to(tmp_path)) is None
    assert missing_folder(tmp_path / "no" / "a") == f"there is no folder {tmp_path / 'no'}"


@pytest.mark.parametrize("words", [["report"], ["shrink", "--finding", "empty-id"]], ids=lambda words: words[0])
def test_commands_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """Before they do anything."""
    flow = "flows/deepseek-empty-id.flow"
    assert main([*words, flow, "-o", str(tmp_path / "no" / "a.flow")]) == 2
    assert f"there is no folder {tmp_path / 'no'}" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
