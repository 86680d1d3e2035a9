from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolstream_core.cli import addon_path, main
from toolstream_core.version import __version__

ROOT = Path(__file__).resolve().parents[2]
FLOWS = ROOT / "flows"


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The command line as a user runs it, from the project's root."""
    return subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "addon", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="strict",
        check=False,
    )


@pytest.mark.parametrize("command", main.COMMANDS)
def test_every_command_has_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And the list of commands names it."""
    assert main.main([command, "--help"]) == 0
    assert f"toolstream {command}" in capsys.readouterr().out
    assert main.main(["--help"]) == 0
    assert command in capsys.readouterr().out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """As the package has it, installed or not."""
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"toolstream {__version__}\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "COMMAND"),
        (["inspekt"], "'inspekt'"),
        (["--verbose"], "COMMAND"),
        (["inspect"], "PATH"),
        (["inspect", "x", "--frmat", "json"], "--frmat json; did you mean --format?"),
        (["shrink", "x", "-s", "y"], "usage: toolstream shrink"),
        (["run", "--speed", "fast"], "'fast' is no speed: 1 is as recorded"),
        (["serve", "--port", "99999"], "'99999' is no port"),
        (["run", "--set", "x"], "'x' is not NAME=VALUE"),
        (["run", "--websocket", "no"], "'read', 'refuse', 'pass'"),
        (["inspect", "x", "--format", "xml"], "'xml'"),
        (["inspect", "x", "--dialect", "cohere"], "'cohere'"),
        (["inspect", "x", "--select", "TS999"], "TS302 cut-off-call"),
        (["addon-path", "x"], "x"),
    ],
)
def test_what_is_asked_wrongly_is_told_with_2(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In argparse's words, on standard error."""
    assert main.main(words) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.startswith("usage: toolstream")
    assert told in said.err


def test_only_the_module_of_the_command_is_loaded() -> None:
    """To load mitmproxy takes longer than to read a bare body."""
    code = (
        "import sys; from toolstream_core.cli.main import main; main(['addon-path']); "
        "sys.exit('mitmproxy' in sys.modules or 'toolstream_core.cli.inspect' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT / "addon")}, check=False
    )
    assert done.returncode == 0


def test_an_interrupted_command_says_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell says it of any program."""

    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(addon_path, "run", interrupted)
    assert main.main(["addon-path"]) == 130


def test_a_reader_that_has_enough_ends_it_quietly() -> None:
    """`toolstream inspect flows | head -1`, with more output than a pipe holds."""
    command = [sys.executable, "-m", "toolstream_core.cli.main", "inspect", "--chunks", *["flows"] * 8]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "addon"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == main.PIPE_CLOSED


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_told() -> None:
    """A report that is not whole must not look clean."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolstream_core.cli.main", "inspect", "flows/glm-5.flow"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": "addon"},
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["toolstream: [Errno 28] No space left on device"]


def test_closed_output_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has none then; the exit code is all that is asked for."""
    monkeypatch.setattr(sys, "stdout", None)
    assert main.main(["inspect", str(FLOWS / "glm-5.flow")]) == 0


def test_any_text_goes_to_any_terminal() -> None:
    """What its encoding does not have is escaped."""
    done = run("inspect", "flows/ruby-llm-responses.flow", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0
    assert "Troms\\xf8" in done.stdout
    assert done.stderr == ""


def test_the_words_are_those_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nobody gives any; the console script gives none."""
    monkeypatch.setattr(sys, "argv", ["toolstream", "addon-path"])

    def found(args: object) -> int:
        return 1

    monkeypatch.setattr(addon_path, "run", found)
    assert main.main() == 1
    assert capsys.readouterr().out == ""
