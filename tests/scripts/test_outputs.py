"""scripts/outputs keeps what users see and reports each difference."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import outputs
from outputs import SUFFIX, Input, Kept, Tables, digest, inside, shown
from tests.conftest import FLOWS

if TYPE_CHECKING:
    from pathlib import Path

FLOW = "deepseek-empty-id.flow"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the kept outputs of one flow."""
    flows = tmp_path_factory.mktemp("flows")
    shutil.copy(FLOWS / FLOW, flows)
    target = tmp_path_factory.mktemp("kept")
    assert outputs.main(["keep", "--quick", "--flows", str(flows), str(target)]) == 0
    return target


def test_equal_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second run has the same outputs."""
    assert outputs.main(["compare", "--quick", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("0 of ")


def test_a_changed_output_is_reported(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report has the command and the lines that differ."""
    kept = Kept.read(folder / f"{FLOW}{SUFFIX}")
    argv = next(argv for argv in kept.digests if argv[0] == "repair")
    before = kept.texts[kept.digests[argv]]
    changed = before.replace(b" changed\n", b" altered\n")
    assert changed != before
    kept.digests[argv] = digest(changed)
    kept.texts[kept.digests[argv]] = changed
    kept.write(tmp_path)
    assert outputs.main(["compare", "--quick", str(tmp_path)]) == 1
    report = capsys.readouterr().out
    assert "== toolstream repair --diff -o - deepseek-empty-id.flow" in report
    assert "-2 streams, 6 events altered" in report
    assert "+2 streams, 6 events changed" in report
    assert report.endswith("1 of 4 outputs differ, repair 1\n")


def test_every_command_is_kept(tmp_path: Path) -> None:
    """Found defects are repaired one by one, other options together, and nothing is left out."""
    (tmp_path / FLOW).write_bytes((FLOWS / FLOW).read_bytes())
    with inside(tmp_path):
        tables = Tables()
        argvs = list(tables.commands(Input(FLOW, b"")))
        few = list(tables.commands(Input(FLOW, b"", faults=4)))
        without_input = set(tables.about_all())
    assert ("repair", "--repair", "empty-id", "-o", "-", FLOW) in argvs
    assert ("fault", "reused-index", "-o", "-", FLOW) in argvs
    assert ("fault", "cut", "-o", "-", FLOW) in argvs
    assert ("repair", "--repair", "safe", "--shape", "for:aichat", "-o", "-", FLOW) in argvs
    assert 10 < len(few) < len(argvs) - 20
    assert set(few) < set(argvs)
    together = {name for argv in argvs for word in argv for name in word.split(",")}
    assert {"missing-start", "foreign-delta", "bare-deltas", "stall", "bifrost"} <= together
    assert {("list",), ("explain", "empty-id"), ("explain", "glm-5"), ("repair", "--help")} <= without_input


def test_other_folders_are_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line with exit code 2, and existing outputs are not overwritten."""
    assert outputs.main(["compare", str(tmp_path)]) == 2
    assert "holds no outputs" in capsys.readouterr().err
    (tmp_path / f"x{SUFFIX}").write_bytes(b"text")
    assert outputs.main(["compare", str(tmp_path)]) == 2
    assert "was not written by keep" in capsys.readouterr().err
    Kept.of(Input("x", b""), []).write(tmp_path)
    assert outputs.main(["keep", str(tmp_path)]) == 2
    assert "already holds outputs" in capsys.readouterr().err


def test_long_lines_are_shown_from_the_first_difference() -> None:
    same = b"x" * 5000
    removed, added = list(shown(same + b"old" + same, same + b"new" + same))[-2:]
    assert removed.startswith("-…xxx")
    assert "xoldx" in removed
    assert "xnewx" in added
