from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import environment, toolstream
from tests.conftest import FLOWS, ROOT
from toolstream_core.cli import main
from toolstream_core.cli.arguments import EPILOG
from toolstream_core.cli.commands import COMMANDS
from toolstream_core.version import __version__


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, from the project's root."""
    return subprocess.run(
        toolstream(*words),
        cwd=ROOT,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="strict",
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Three ways print the same text with the exit codes, and the list of commands names the command."""
    assert main.main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"toolstream {command}" in text
    assert " ".join(text.split()).endswith(COMMANDS[command].epilog)
    assert main.main(["help", command]) == 0
    assert capsys.readouterr().out == text
    assert main.main(["--help"]) == main.main(["-h"]) == main.main(["help"]) == 0
    text = capsys.readouterr().out
    assert text.count(f"\n  {command} ") == 3
    assert all(str(code) in text for code in (0, 1, 2, 130))


def test_the_help_of_run_has_its_own_exit_codes() -> None:
    """`run` exits with the code of its command."""
    assert COMMANDS["check"].epilog == EPILOG
    text = " ".join(COMMANDS["run"].parser().format_help().split())
    assert "findings of severity" not in text
    assert all(code in text for code in ("that of CMD", "2 ", "126 ", "127 ", "130 "))


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is that of the package, installed or not."""
    assert main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"toolstream {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing command. See `toolstream help`"),
        (["inspekt"], "unknown command 'inspekt'; did you mean inspect? See `toolstream help`"),
        (["help", "serv"], "unknown command 'serv'; did you mean serve?"),
        (["--verbose"], "expected a command before --verbose"),
        (["inspect"], "missing argument: PATH. See `toolstream help inspect`"),
        (
            ["inspect", "x", "--frmat", "json"],
            "unknown option --frmat; did you mean --format? See `toolstream help inspect`",
        ),
        (["inspect", "x", "--protcol", "y"], "unknown option --protcol; did you mean --protocol?"),
        (["run", "--provider", "flows", "--", "x"], "unknown option --provider; did you mean --provider-repeats?"),
        (["shrink", "x", "-s", "y"], "unknown option -s. See `toolstream help shrink`"),
        (["run", "--speed", "fast"], "--speed: 'fast' is not a speed. Expected: 1 as recorded"),
        (["serve", "--port", "99999"], "--port: '99999' is not a port"),
        (["run", "--set", "x"], "--set: 'x' is not NAME=VALUE"),
        (["run", "--websocket", "no"], "--websocket: unknown value 'no'. Expected one of: read, refuse, pass"),
        (["run", "--when", "finding"], "--when: unknown value 'finding'; did you mean findings?"),
        (["run", "--log", "calls"], "'calls' is a level. Expected: --level calls, or --log ./calls for a file"),
        (
            ["inspect", "x", "--format", "jsn"],
            "--format: unknown value 'jsn'; did you mean json? Expected one of: text, json",
        ),
        (
            ["inspect", "x", "--protocol", "antropic"],
            "--protocol: unknown protocol 'antropic'; did you mean anthropic?",
        ),
        (["probe", "x", "--protocol", "openai-realtime"], "unknown protocol 'openai-realtime'; did you mean openai-"),
        (["inspect", "x", "--select", "emptyid"], "--select: unknown defect 'emptyid'; did you mean empty-id?"),
        (["inspect", "x", "--select", "TS999"], "unknown defect 'TS999'. See"),
        (["run", "--fault", "deepsek"], "--fault: unknown fault 'deepsek'; did you mean deepseek?"),
        (
            ["fault", str(FLOWS / "glm-5.flow"), "empty-id", "-o", "y"],
            "is a file. Expected the name of a fault; files come after it",
        ),
        (["inspect", "--request", "no.json", "x"], "no.json cannot be read: No such file or directory"),
        (["fault", "emptyid", "x", "-o", "y"], "unknown fault 'emptyid'; did you mean empty-id?"),
        (["check", "--repair", "saef"], "--repair: unknown defect 'saef'; did you mean safe?"),
        (["serve", "x", "--shape", "for:aichatt"], "unknown client 'for:aichatt'; did you mean for:aichat?"),
        (["shrink", "x", "--verdict", "splitcall"], "--verdict: unknown verdict 'splitcall'; did you mean split-call?"),
        (["addon-path", "x"], "unexpected argument 'x'"),
        (["completion", "zhs"], "unknown value 'zhs'; did you mean zsh?"),
    ],
)
def test_usage_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is one line on standard error with a prefix, and the exit code is 2."""
    assert main.main(words) == 2
    output = capsys.readouterr()
    assert not output.out
    assert output.err.startswith("toolstream: ")
    assert output.err.count("\n") == 1
    assert message in output.err


@pytest.mark.parametrize("words", [["--help"], *([command, "--help"] for command in COMMANDS)], ids=" ".join)
def test_help_loads_declarations_only(words: list[str]) -> None:
    """Neither mitmproxy nor the modules of the commands are imported."""
    code = (
        "import sys; from toolstream_core.cli.main import main; main(sys.argv[1:]); "
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *words]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    loaded = result.stderr.split()
    assert "mitmproxy" not in loaded
    assert len(loaded) <= 120


def test_an_interrupted_command_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shells use this code for any program."""

    def interrupted(args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "print_addon_path", interrupted)
    assert main.main(["addon-path"]) == 130


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    """`toolstream inspect flows | head -1` prints no error, also with more output than a pipe buffers."""
    command = toolstream("inspect", "--chunks", *["flows"] * 8)
    with subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == main.PIPE_CLOSED


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_write_error_is_an_error() -> None:
    """An incomplete report must not look clean."""
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            toolstream("inspect", "flows/glm-5.flow"),
            cwd=ROOT,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr.splitlines() == ["toolstream: No space left on device"]


@pytest.mark.parametrize("name", ["stdout", "stderr"])
@pytest.mark.parametrize("words", [["inspect"], ["view", "--format", "json"]], ids=" ".join)
def test_a_closed_stream_is_no_error(words: list[str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has no `sys.stdout` then, and only the exit code matters."""
    monkeypatch.setattr(sys, name, None)
    assert main.main([*words, str(FLOWS / "glm-5.flow")]) == 0
    getattr(sys, name).close()


def test_characters_outside_the_encoding_are_escaped() -> None:
    """A terminal with another encoding gets escapes."""
    result = run("inspect", "flows/ruby-llm-responses.flow", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result.returncode == 0
    assert "Troms\\xf8" in result.stdout
    assert result.stderr == ""


def test_arguments_default_to_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The console script passes no arguments."""
    monkeypatch.setattr(sys, "argv", ["toolstream", "addon-path"])

    def found(args: object) -> int:
        return 1

    monkeypatch.setattr(main, "print_addon_path", found)
    assert main.main() == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shrink", "-"], "standard input has no name to derive the output's from. Add -o FILE"),
        (["run", "-", "--", "x"], "standard input cannot be served; save it to a file and name that file"),
        (["serve", "-"], "standard input cannot be served; save it to a file and name that file"),
        (["check", "-", "--", "x"], "standard input cannot be served; save it to a file and name that file"),
        (["mcp", "-"], "- cannot be read: standard input carries the protocol"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_standard_input_is_rejected_where_it_cannot_be_read(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-` is never a file name."""
    assert main.main(words) == 2
    assert message in capsys.readouterr().err
