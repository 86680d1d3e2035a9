"""Completion scripts, run in the shells that this machine has."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from toolstream_core.cli.commands import COMMANDS, SHELLS
from toolstream_core.cli.completion import arguments, script
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
    ("toolstream inspect --protocol gemini", {"gemini", "gemini-live"}),
    ("toolstream inspect --select empty-i", {"empty-id"}),
    ("toolstream shrink --verdict spl", {"split-call"}),
    ("toolstream run --shape for:ai", {"for:aichat"}),
    ("toolstream run --fault deepse", {"deepseek"}),
    ("toolstream check --case empty-i", {"empty-id"}),
    ("toolstream explain silen", {"silent"}),
]
BASH = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
_toolstream
printf '%s\\n' "${COMPREPLY[@]}"
"""


def shell(name: str) -> str:
    """The shell's program; the test is skipped where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def written(name: str, folder: Path) -> Path:
    """The script, in a file."""
    path = folder / f"completion.{name}"
    path.write_text(script(name))
    return path


def in_bash(line: str, folder: Path) -> set[str]:
    """What bash would offer."""
    command = [shell("bash"), "--norc", "-c", BASH, "bash", str(written("bash", folder)), line]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return {*done.stdout.split()}


@pytest.mark.parametrize(("line", "offered"), FORMS)
def test_bash(line: str, offered: set[str], tmp_path: Path) -> None:
    """After a colon, readline replaces only what follows it."""
    assert in_bash(line, tmp_path) == {one.rpartition(":")[2] for one in offered}


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
    """Lists with commas, values behind `=`; files and other commands are bash's own affair."""
    assert in_bash(line, tmp_path) - {"toolstream"} == offered


@pytest.mark.parametrize(("line", "offered"), FORMS)
def test_fish(line: str, offered: set[str], tmp_path: Path) -> None:
    """Its own `complete -C` says what it would offer."""
    ask = f"source {written('fish', tmp_path)}; complete -C {line!r}"
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", ask], capture_output=True, text=True, check=True, cwd=tmp_path, env=env
    )
    found = {row.partition("\t")[0] for row in done.stdout.splitlines()} - {"completion.fish"}
    assert {one for one in found if one.startswith(line.rpartition(" ")[2])} == offered


@pytest.mark.parametrize(("line", "offered"), FORMS)
def test_powershell(line: str, offered: set[str], tmp_path: Path) -> None:
    """Its own function says what it would offer."""
    ask = (
        f". {written('powershell', tmp_path).rename(tmp_path / 'c.ps1')}; "
        f"[System.Management.Automation.CommandCompletion]::CompleteInput('{line}', {len(line)}, $null)"
        ".CompletionMatches | ForEach-Object CompletionText"
    )
    done = subprocess.run(
        [shell("pwsh"), "-NoProfile", "-Command", ask], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert {*done.stdout.split()} == offered


SETUP = {
    "bash": 'source "{script}"\ntoolstream() {{ printf \'<%s>\' "$@"; echo END; }}\n',
    "zsh": 'autoload -Uz compinit && compinit -u -D\nsource "{script}"\n'
    "toolstream() {{ printf '<%s>' \"$@\"; echo END }}\n",
}


@pytest.mark.parametrize("name", SETUP)
@pytest.mark.parametrize(
    ("typed", "run"),
    [
        ("toolstream ins\t--form\tj\t", "<inspect><--format><json>"),
        ("toolstream che\t--case empty-id,empty-na\t -- echo", "<check><--case><empty-id,empty-name><--><echo>"),
        ("toolstream serve --shape for:aic\t", "<serve><--shape><for:aichat>"),
        ("toolstream expl\tphantom-\t", "<explain><phantom-call>"),
        ("toolstream inspect --request fil\t", "<inspect><--request><file.json>"),
    ],
)
def test_at_a_prompt(name: str, typed: str, run: str, tmp_path: Path) -> None:
    """The tab key in an interactive shell."""
    (tmp_path / "file.json").touch()
    (tmp_path / "rc").write_text(SETUP[name].format(script=written(name, tmp_path)) + "PS1='READY> '\n")
    words = {
        "bash": ["--noprofile", "--rcfile", str(tmp_path / "rc"), "-i"],
        "zsh": ["-f", "-i"],
    }[name]
    ours, theirs = os.openpty()
    env = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [shell(name), *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=env, start_new_session=True
    )
    os.close(theirs)
    try:
        if name == "zsh":
            os.write(ours, b"source ./rc\n")
        until(ours, r"READY> ")
        for part in re.findall(r"[^\t]+\t?", typed):
            os.write(ours, part.encode())
            until(ours, None)
        os.write(ours, b"\n")
        shown = until(ours, r"<[^\n]*>END")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert run in re.sub(r"(<--\w+)=", r"\1><", shown)


def until(terminal: int, wanted: str | None) -> str:
    """What the terminal shows up to a pattern, or until it shows nothing more for half a second."""
    shown = ""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (wanted and re.search(wanted, shown)):
        ready, _, _ = select.select([terminal], [], [], 0.5 if wanted is None else 5)
        if ready:
            shown += os.read(terminal, 4096).decode(errors="replace")
        elif wanted is None:
            break
    return shown


@pytest.mark.parametrize("name", SHELLS)
def test_scripts_hold_the_whole_table(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command with each option that its help shows."""
    assert main(["completion", name]) == 0
    text = capsys.readouterr().out
    for command in COMMANDS.values():
        assert command.name in text
        for flag in (flag for one in arguments(command) for flag in one.flags):
            assert (f"-l {flag[2:]} " if name == "fish" and flag.startswith("--") else flag) in text
