"""Old option names are accepted for one more version."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from toolstream_core.cli.arguments import RENAMED
from toolstream_core.cli.commands import COMMANDS
from toolstream_core.cli.main import main, parsed

FORMS = [
    ("inspect x --dialect gemini", "inspect x --protocol gemini"),
    ("inspect --dialect=gemini x", "inspect --protocol gemini x"),
    ("extract x -o d --only errors", "extract x -o d --when errors"),
    ("report x --finding empty-id --finding TS102", "report x --select empty-id --select TS102"),
    ("shrink x --finding empty-id", "shrink x --select empty-id"),
    ("shrink x --state s -- cmd --state t", "shrink x --resume s -- cmd --state t"),
    ("check --faults a,-b -- cmd --only c", "check --case a,-b -- cmd --only c"),
    ("check --faults=-preset -- cmd", "check --case=-preset -- cmd"),
    ("check --only a --jobs 2 --only b", "check --case a --case b --jobs 2"),
    ("check --json r -- cmd", "check --format json -o r -- cmd"),
    ("check --json - -- cmd", "check --format json -- cmd"),
    ("check --flow a --jobs 2 --flow b -- cmd", "check a b --jobs 2 -- cmd"),
    ("check --call ls -- cmd", "check calls:ls -- cmd"),
    ("run --capture-when errors --capture-text mask --capture-secret a", "run --when errors --text mask --secret a"),
    ("serve x --capture-when errors --capture-secret a", "serve x --when errors --secret a"),
    ("serve x --capture-text mask", "serve x --text mask"),
    ("serve x --log calls", "serve x --level calls"),
    ("serve x --log f", "serve x --log=f"),
]


@pytest.mark.parametrize(("old", "new"), FORMS)
def test_old_names(old: str, new: str) -> None:
    """An old name before `--` gives the arguments of the new one."""
    assert vars(parsed(old.split())) == vars(parsed(new.split()))


@pytest.mark.parametrize(
    ("command", "old"), [(command, old) for command, names in RENAMED.items() for old in names], ids=str
)
def test_each_old_name_is_tested_and_hidden(command: str, old: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help has the new names only, and CHANGELOG.md has both."""
    assert any(form.startswith(f"{command} ") and f" {old}" in form for form, _ in FORMS)
    assert main([command, "--help"]) == 0
    assert f"  {old} " not in capsys.readouterr().out.replace("--log FILE", "")
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert any(f"`{old}" in line and command in line for line in changes.splitlines() if line.startswith("|"))


def test_an_old_name_without_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    """It is an unknown option; the error names the new one."""
    assert set(RENAMED) <= set(COMMANDS)
    assert main(["shrink", "x", "--state"]) == 2
    assert "--resume" in capsys.readouterr().err
