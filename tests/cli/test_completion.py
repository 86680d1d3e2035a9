"""Completion scripts in the shells that are installed."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from toolstream_core.cli.commands import COMMANDS, SHELLS
from toolstream_core.cli.completion import SCRIPTS
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

FORMS = [
    ("toolstream ins", {"inspect"}),
    ("toolstream addon", {"addon-path"}),
    ("toolstream help rep", {"repair", "report"}),
    ("toolstream completion ", {"bash", "zsh", "fish", "powershell"}),
    ("toolstream inspect --chu", {"--chunks"}),
    ("toolstream inspect x.flow --format ", {"text", "json"}),
    ("toolstream inspect --protocol gemini", {"gemini", "gemini-interactions", "gemini-live"}),
    ("toolstream inspect --select empty-i", {"empty-id"}),
    ("toolstream shrink --verdict spl", {"split-call"}),
    ("toolstream run --shape for:ai", {"for:aichat"}),
    ("toolstream run --fault deepse", {"deepseek"}),
    ("toolstream run --fault cut-off-call:ti", {"cut-off-call:times="}),
    ("toolstream fault stall:times=1,a", {"stall:times=1,at="}),
    ("toolstream run demo:deepseek-e", {"demo:deepseek-empty-id"}),
    ("toolstream check --case empty-i", {"empty-id"}),
    ("toolstream explain silen", {"silent"}),
]
IN_SHELLS = [form for form in FORMS if form[0].endswith((" ins", "completion ", "for:ai", "--format "))]
"""One line for each way in which a shell splits words, as all shells call the same function."""
BASH = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_toolstream
printf '%s\\n' "${COMPREPLY[@]}"
"""


def shell(name: str) -> str:
    """Return the shell's program; skip the test if it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def script_file(name: str, folder: Path) -> Path:
    """Write the completion script into a file and return its path."""
    path = folder / f"completion.{name}"
    path.write_text(SCRIPTS[name])
    return path


@pytest.fixture(autouse=True)
def tool(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a `toolstream` of this Python on the PATH."""
    folder = tmp_path_factory.mktemp("bin")
    path = folder / "toolstream"
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m toolstream_core.cli.main "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def offered_by_bash(line: str, folder: Path) -> set[str]:
    """Return the completions that bash offers."""
    command = [shell("bash"), "--norc", "-c", BASH, "bash", str(script_file("bash", folder)), line]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert result.stderr == ""
    return {*result.stdout.split()}


@pytest.mark.parametrize(("line", "offered"), FORMS)
def test_completions(line: str, offered: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`toolstream __complete` prints the completions for all shells."""
    assert main(["__complete", *line.split(" ")[1:]]) == 0
    assert {candidate.partition("\t")[0] for candidate in capsys.readouterr().out.splitlines()} == offered


@pytest.mark.parametrize(("line", "offered"), IN_SHELLS)
def test_bash(line: str, offered: set[str], tmp_path: Path) -> None:
    """After a colon, readline replaces only the text after it."""
    assert offered_by_bash(line, tmp_path) == {word.rpartition(":")[2] for word in offered}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("toolstream inspect --select empty-id,empty-n", {"empty-id,empty-name"}),
        ("toolstream inspect --format=j", {"json"}),
        ("toolstream run --shape=for:ai", {"aichat"}),
        ("toolstream inspect --request ", set()),
        ("toolstream run -- toolstre", set()),
        ("toolstream run x -- cmd --format ", set()),
        ("toolstream nonsense --form", set()),
    ],
)
def test_bash_lists_and_files(line: str, offered: set[str], tmp_path: Path) -> None:
    """Lists with commas and values after `=` are completed; files and other commands are left to bash."""
    assert offered_by_bash(line, tmp_path) - {"toolstream"} == offered


@pytest.mark.parametrize(("line", "offered"), IN_SHELLS)
def test_fish(line: str, offered: set[str], tmp_path: Path) -> None:
    """The completions of fish's `complete -C` are the expected ones."""
    script = f"source {script_file('fish', tmp_path)}; complete -C {line!r}"
    env = {**os.environ, "HOME": str(tmp_path)}
    result = subprocess.run(
        [shell("fish"), "--no-config", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, env=env
    )
    found = {row.partition("\t")[0] for row in result.stdout.splitlines()} - {"completion.fish"}
    assert {word for word in found if word.startswith(line.rpartition(" ")[2])} == offered


@pytest.mark.parametrize(("line", "offered"), IN_SHELLS)
def test_powershell(line: str, offered: set[str], tmp_path: Path) -> None:
    """The completions of PowerShell's own function are the expected ones."""
    script = (
        f". {script_file('powershell', tmp_path).rename(tmp_path / 'c.ps1')}; "
        f"[System.Management.Automation.CommandCompletion]::CompleteInput('{line}', {len(line)}, $null)"
        ".CompletionMatches | ForEach-Object CompletionText"
    )
    result = subprocess.run(
        [shell("pwsh"), "-NoProfile", "-Command", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert {*result.stdout.split()} == offered


SETUP = {"bash": 'source "{script}"\n', "zsh": 'autoload -Uz compinit && compinit -u -D\nsource "{script}"\n'}


SHOW = """
toolstream() {
  if [[ $1 == __complete ]]; then command toolstream "$@"; else printf '<%s>' "$@"; echo END; fi
}
PS1='READY> '
"""


@pytest.mark.parametrize("name", SETUP)
@pytest.mark.parametrize(
    "keys",
    [
        [("toolstream ins\t", "inspect "), ("--form\t", "--format "), ("j\t", "json ")],
        [("toolstream che\t", "check "), ("--case empty-id,empty-na\t", "empty-id,empty-name "), ("-- echo ", "echo ")],
        [("toolstream serve --shape for:aic\t", "for:aichat ")],
        [("toolstream run --fault cut-off-call:ti\t", "cut-off-call:times="), ("1", "1")],
        [("toolstream expl\t", "explain "), ("phantom-\t", "phantom-call ")],
        [("toolstream inspect --request fil\t", "file.json ")],
    ],
)
def test_at_a_prompt(name: str, keys: list[tuple[str, str]], tmp_path: Path) -> None:
    """The tab key completes in an interactive shell."""
    (tmp_path / "file.json").touch()
    (tmp_path / "rc").write_text(SETUP[name].format(script=script_file(name, tmp_path)) + SHOW)
    words = {"bash": ["--noprofile", "--rcfile", str(tmp_path / "rc"), "-i"], "zsh": ["-f", "-i"]}[name]
    terminal, child_terminal = os.openpty()
    env = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [shell(name), *words],
        stdin=child_terminal,
        stdout=child_terminal,
        stderr=child_terminal,
        cwd=tmp_path,
        env=env,
        start_new_session=True,
    )
    os.close(child_terminal)
    try:
        if name == "zsh":
            os.write(terminal, b"source ./rc\n")
        read_until(terminal, "READY> ")
        for typed, completed in keys:
            os.write(terminal, typed.encode())
            read_until(terminal, completed)
        os.write(terminal, b"\n")
        shown = read_until(terminal, ">END")
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    line = "".join(re.sub(r"\S+\t", completed, typed) for typed, completed in keys)
    assert "".join(f"<{word}>" for word in line.split()[1:]) in shown


def read_until(terminal: int, expected: str) -> str:
    """Return the text of the terminal up to an expected text."""
    shown = ""
    deadline = time.monotonic() + 60
    while expected not in shown and time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 5)
        if ready:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_offered(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option in the help of a command is offered with a description."""
    assert main(["help", name]) == 0
    shown = re.findall(r"^  (--[\w-]+)", capsys.readouterr().out, re.MULTILINE)
    assert main(["__complete", name, "--"]) == 0
    offered = dict(line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert {*shown} <= {*offered}
    assert all(offered.values())


@pytest.mark.parametrize("name", SHELLS)
def test_scripts_call_the_completion_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each printed script calls `toolstream __complete`."""
    assert main(["completion", name]) == 0
    assert "toolstream __complete " in capsys.readouterr().out
