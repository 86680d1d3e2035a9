"""Commands never overwrite an input, and an existing file only if that is allowed."""

from __future__ import annotations

import os
import shutil
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy.exceptions import OptionsError

from tests.conftest import FLOWS
from tests.invariants.healthy import streams
from toolstream_core.cli import output
from toolstream_core.cli.check import Reports
from toolstream_core.cli.main import main
from toolstream_core.cli.output import Output, check_outputs
from toolstream_core.errors import ToolstreamError
from toolstream_core.proxy.report import jsonl_outlet
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Callable

FLOW = FLOWS / "deepseek-empty-id.flow"
HEALTHY = next(stream for stream in streams() if str(stream) == "openai-chat, fragments of two")
EXISTING = b"kept by its owner"
AGENT = ["--", "false"]
"""A command that must not run; it would exit with 1."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change into a folder with a flow."""
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    shutil.copy(FLOW, "d/x.flow")


def contents(path: Path) -> dict[Path, bytes]:
    """Return the paths and contents of all files below a folder."""
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_the_folder_of_an_output_must_exist() -> None:
    """The current folder needs no name, and a command that creates folders accepts any."""
    check_outputs([Output(Path("a")), Output(Path("d/a"))])
    check_outputs([Output(Path("no/a"))], makes_folders=True)
    with pytest.raises(ToolstreamError, match=r"^--x: there is no folder .*/no$"):
        check_outputs([Output(Path("no/a"), "--x")])
    with pytest.raises(ToolstreamError, match="d is a folder; give a file"):
        check_outputs([Output(Path("d"))])


@pytest.mark.parametrize(
    "words",
    [
        ["repair", "d/x.flow", "-o", "out.flow"],
        ["fault", "empty-id", "d/x.flow", "-o", "out.flow"],
        ["repair", "d", "-o", "e"],
        ["report", "d/x.flow", "-o", "out.flow"],
        ["shrink", "d/x.flow", "--select", "empty-id", "-o", "out.flow"],
        ["shrink", "d/x.flow", "--select", "empty-id", "-o", "e/new.flow"],
        ["extract", "d/x.flow", "-o", "e", "--name", "x"],
        ["run", "d/x.flow", "--report", "out.md", *AGENT],
        ["run", "calls:", "--report", "e/out.md", *AGENT],
        ["check", "-o", "out.flow", *AGENT],
        ["check", "--junit", "out.flow", *AGENT],
        ["check", "--html", "out.flow", *AGENT],
        ["check", "--resume", "out.flow", *AGENT],
        ["run", "calls:", "--log", "e/x.flow", *AGENT],
        ["run", "calls:", "--log", "e/x.sse", *AGENT],
        ["run", "calls:", "--jsonl", "out.md", *AGENT],
        ["serve", "calls:", "--jsonl", "out.md"],
    ],
    ids=" ".join,
)
def test_an_existing_file_is_not_overwritten(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names it, and nothing else is written."""
    Path("e").mkdir()
    for name in ("out.flow", "out.md", "e/new.expect.json", "e/out.flow"):
        Path(name).write_bytes(EXISTING)
    shutil.copy(FLOW, "e/x.flow")
    Path("e/x.sse").write_bytes(HEALTHY.body)
    before = contents(tmp_path)
    assert main(words) == 2
    assert contents(tmp_path) == before
    error = capsys.readouterr().err
    assert any(str(path.relative_to(tmp_path)) in error for path in before)


@pytest.mark.parametrize(
    "words",
    [
        ["extract", "d/x.flow", "-o", "-"],
        ["repair", "d", "-o", "-"],
        ["fault", "empty-id", "d", "-o", "-"],
        ["shrink", "d/x.flow", "--select", "empty-id", "--resume", "-"],
        ["run", "d/x.flow", "--report", "-", *AGENT],
        ["run", "calls:", "--log", "-", *AGENT],
        ["run", "calls:", "--jsonl", "-", *AGENT],
        ["serve", "calls:", "--jsonl", "-"],
        *(["check", option, "-", *AGENT] for option in ("--junit", "--html", "--resume")),
    ],
    ids=" ".join,
)
def test_a_dash_is_no_file(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that cannot be standard output rejects `-`."""
    before = contents(tmp_path)
    assert main(words) == 2
    assert contents(tmp_path) == before
    assert "cannot be standard output here; name a file or folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (["report", "d/x.flow", "-o", "-"], "#"),
        (["repair", "d/x.flow", "-o", "-"], ""),
        (["fault", "empty-id", "d/x.flow", "-o", "-"], ""),
        (["shrink", "d/x.flow", "--select", "empty-id", "--quiet", "-o", "-"], ""),
    ],
    ids=" ".join,
)
def test_a_dash_is_standard_output(
    words: list[str], start: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Only the result is written: a report or a flow file."""
    before = contents(tmp_path)
    assert main(words) == 0
    assert contents(tmp_path) == before
    written = capfdbinary.readouterr().out
    if start:
        assert written.decode().startswith(start)
    else:
        Path("back.flow").write_bytes(written)
        assert load(Path("back.flow"))


def symlinked(path: Path) -> Path:
    """Return a symbolic link to a file."""
    Path("other").symlink_to(path)
    return Path("other")


def hard_linked(path: Path) -> Path:
    """Return a hard link to a file."""
    os.link(path, "other")
    return Path("other")


@pytest.mark.parametrize("source", ["d/x.flow", "d"])
@pytest.mark.parametrize("alias", [Path, lambda path: Path("./d/../d") / path.name, symlinked, hard_linked])
@pytest.mark.parametrize(
    "words",
    [
        ["shrink", "IN", "--select", "empty-id", "--force", "-o", "OUT"],
        ["report", "IN", "--force", "-o", "OUT"],
        ["repair", "IN", "--force", "-o", "OUT"],
        ["run", "IN", "--log", "OUT", *AGENT],
        ["run", "IN", "--jsonl", "OUT", *AGENT],
        ["run", "IN", "--force", "--report", "OUT", *AGENT],
        ["serve", "IN", "--jsonl", "OUT"],
        ["check", "IN", "--force", "-o", "OUT", *AGENT],
        ["check", "IN", "--resume", "OUT", *AGENT],
    ],
    ids=" ".join,
)
def test_an_input_is_never_overwritten(
    words: list[str], alias: Callable[[Path], Path], source: str, tmp_path: Path
) -> None:
    """Neither another path of the file nor `--force` changes that."""
    paths = {"IN": source, "OUT": str(alias(Path("d/x.flow")))}
    before = contents(tmp_path)
    assert main([paths.get(word, word) for word in words]) == 2
    assert contents(tmp_path) == before


@pytest.mark.parametrize("source", ["d/x.flow", "d"])
def test_the_flows_next_to_a_report_are_an_output(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They never overwrite an input, not even with `--force`."""
    before = contents(tmp_path)
    assert main(["run", source, "--report", "d/x.md", *AGENT]) == 2
    assert "--report: d/x.flow is an input of this command" in capsys.readouterr().err
    assert main(["run", source, "--report", "d/x.md", "--force", *AGENT]) == 2
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "words",
    [
        ["run", "calls:", "--report", "out.md", "--log", "./out.md", *AGENT],
        ["run", "calls:", "--report", "out.md", "--jsonl", "out.flow", *AGENT],
        ["check", "-o", "out", "--junit", "d/../out", *AGENT],
        ["check", "-o", "out", "--resume", "out", *AGENT],
        ["shrink", "d/x.flow", "--select", "empty-id", "-o", "out", "--resume", "out"],
    ],
    ids=" ".join,
)
def test_two_outputs_must_differ(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second output would overwrite the first."""
    before = contents(tmp_path)
    assert main(words) == 2
    assert "are the same file" in capsys.readouterr().err
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "words",
    [
        ["repair", "d/x.flow", "-o", "out.flow"],
        ["fault", "empty-id", "d/x.flow", "-o", "out.flow"],
        ["report", "d/x.flow", "-o", "out.flow"],
        ["shrink", "d/x.flow", "--select", "empty-id", "-o", "out.flow"],
        ["extract", "d/x.flow", "-o", ".", "--name", "out"],
    ],
    ids=lambda words: words[0],
)
def test_force_overwrites(words: list[str]) -> None:
    """A link is replaced, and its target is kept."""
    Path("kept").write_bytes(EXISTING)
    Path("out.flow").symlink_to("kept")
    assert main(words) == 2
    assert main([*words, "--force"]) == 0
    assert Path("out.flow").read_bytes() != EXISTING
    assert Path("kept").read_bytes() == EXISTING


def test_a_baseline_is_an_input_of_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The new report must not overwrite the report of the run without repair."""
    Path("check.json").write_text('{"version": 1, "clients": []}')
    before = contents(tmp_path)
    assert main(["check", "--compare", "check.json", "-o", "check.json", *AGENT]) == 2
    assert "is an input of this command" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_devices_are_written_to() -> None:
    """Devices and pipes have no content that could be lost."""
    null = Output(Path(os.devnull))
    check_outputs([null, null], [Path(os.devnull)])


REPORT: dict[str, Any] = {
    "version": 2, "toolstream": "1", "mitmproxy": "1", "started": "2026-11-25T10:00:00Z", "seconds": 0, "seed": 0,
    "clients": [],
}  # fmt: skip


@pytest.mark.parametrize("option", ["-o", "--junit", "--html"])
def test_check_overwrites_its_own_reports_only(option: str) -> None:
    """CI runs overwrite their reports; another kind of file needs `--force`."""
    path = Path("report")

    def reports(kind: str) -> Reports:
        args = {"output": None, "junit": None, "html": None, "github": False, "compare": None, "force": False}
        named = {"output" if kind == "-o" else kind.removeprefix("--"): path}
        return Reports(Namespace(**{**args, **named}, format="json", flows=[], matrix=None, resume=None))

    path.touch()
    reports(option).write(REPORT)
    before = path.read_bytes()
    reports(option).write({**REPORT, "seconds": 9})
    assert path.read_bytes() != before
    for other in {"-o", "--junit", "--html"} - {option}:
        with pytest.raises(ToolstreamError, match=f"^{other}: report exists already; add --force"):
            reports(other)


def test_events_are_appended_to_toolstreams_json_lines_only() -> None:
    """The addon rejects any other file and does not change it."""
    path = Path("lines.jsonl")
    for line in ('{"type":"event","flow":"1","stream":1}\n', '{"type": "replay", "flow": "1"}\n', ""):
        path.write_text(line)
        jsonl_outlet(str(path)).close()
        assert path.read_text() == line
    path.write_text('{"type":"message","role":"assistant"}\n')
    path.chmod(0o644)
    with pytest.raises(OptionsError, match=r"toolstream_jsonl: .* is not a file of toolstream"):
        jsonl_outlet(str(path))
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_log_is_appended_to_a_text_file(tmp_path: Path) -> None:
    """The file may be from another program."""
    Path("run.log").write_text("began\n")
    assert main(["run", "d/x.flow", "--log", "run.log", "--level", "off", *AGENT]) == 1
    assert Path("run.log").read_text().startswith("began\n")
    assert contents(tmp_path)[tmp_path / "d/x.flow"] == FLOW.read_bytes()


def test_progress_is_logged_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line every half minute shows that the check continues; `--quiet` prints none."""
    now = [100.0]
    monkeypatch.setattr("toolstream_core.cli.output.time.monotonic", lambda: now[0])
    lines, quiet = output.ProgressLine(quiet=False), output.ProgressLine(quiet=True)
    for after in (1.0, 29.0, 1.0, 30.0):
        now[0] += after
        lines.show(f"at {now[0]:.0f}")
        quiet.show("never")
    lines.show("the last one", last=True)
    lines.end()
    assert capsys.readouterr().err == "at 130\nat 161\n"
