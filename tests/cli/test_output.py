"""Which files commands write: never an input, and an existing file only where that is allowed."""

from __future__ import annotations

import os
import shutil
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy.exceptions import OptionsError

from tests.conftest import ROOT
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

FLOW = ROOT / "flows" / "deepseek-empty-id.flow"
HEALTHY = next(one for one in streams() if str(one) == "openai-chat, fragments of two")
HELD = b"kept by its owner"
AGENT = ["--", "false"]
"""A command that has to be left alone: it would end with 1."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a flow in it."""
    monkeypatch.chdir(tmp_path)
    Path("d").mkdir()
    shutil.copy(FLOW, "d/x.flow")


def held(path: Path) -> dict[Path, bytes]:
    """All files below a folder, and what is in them."""
    return {one: one.read_bytes() for one in path.rglob("*") if one.is_file()}


def test_the_folder_of_a_file_has_to_exist() -> None:
    """Also the current folder, which is not named; not where the command makes it."""
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
def test_an_existing_file_is_kept(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named in the error, and nothing else was written either."""
    Path("e").mkdir()
    for name in ("out.flow", "out.md", "e/new.expect.json", "e/out.flow"):
        Path(name).write_bytes(HELD)
    shutil.copy(FLOW, "e/x.flow")
    Path("e/x.sse").write_bytes(HEALTHY.body)
    before = held(tmp_path)
    assert main(words) == 2
    assert held(tmp_path) == before
    told = capsys.readouterr().err
    assert any(str(one.relative_to(tmp_path)) in told for one in before)


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
    """What cannot be written to standard output is refused."""
    before = held(tmp_path)
    assert main(words) == 2
    assert held(tmp_path) == before
    assert "cannot be standard output here; name a file or folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (["report", "d/x.flow", "-o", "-"], "#"),
        (["repair", "d/x.flow", "-o", "-"], ""),
        (["fault", "empty-id", "d/x.flow", "-o", "-"], ""),
        (["shrink", "d/x.flow", "--select", "empty-id", "--quiet", "-o", "-"], ""),
    ],
    ids=" ".join,
)
def test_a_dash_is_standard_output(
    words: list[str], begins: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The result alone: a report, or a flow file."""
    before = held(tmp_path)
    assert main(words) == 0
    assert held(tmp_path) == before
    written = capfdbinary.readouterr().out
    if begins:
        assert written.decode().startswith(begins)
    else:
        Path("back.flow").write_bytes(written)
        assert load(Path("back.flow"))


def symlinked(path: Path) -> Path:
    """Another name of a file."""
    Path("other").symlink_to(path)
    return Path("other")


def hard_linked(path: Path) -> Path:
    """Another name of a file."""
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
    """Whatever path names it, whatever folder holds it, with `--force` too."""
    paths = {"IN": source, "OUT": str(alias(Path("d/x.flow")))}
    before = held(tmp_path)
    assert main([paths.get(word, word) for word in words]) == 2
    assert held(tmp_path) == before


@pytest.mark.parametrize("source", ["d/x.flow", "d"])
def test_the_flows_beside_a_report_are_an_output_too(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where `--force` is given."""
    before = held(tmp_path)
    assert main(["run", source, "--report", "d/x.md", *AGENT]) == 2
    assert "--report: d/x.flow is an input of this command" in capsys.readouterr().err
    assert main(["run", source, "--report", "d/x.md", "--force", *AGENT]) == 2
    assert held(tmp_path) == before


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
def test_two_outputs_are_two_files(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else the second would overwrite the first."""
    before = held(tmp_path)
    assert main(words) == 2
    assert "are the same file" in capsys.readouterr().err
    assert held(tmp_path) == before


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
    """A file that is no input; a link is replaced, and what it leads to is kept."""
    Path("kept").write_bytes(HELD)
    Path("out.flow").symlink_to("kept")
    assert main(words) == 2
    assert main([*words, "--force"]) == 0
    assert Path("out.flow").read_bytes() != HELD
    assert Path("kept").read_bytes() == HELD


def test_a_baseline_is_an_input_of_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report of the run behind repair must not take its place."""
    Path("check.json").write_text('{"version": 1, "clients": []}')
    before = held(tmp_path)
    assert main(["check", "--compare", "check.json", "-o", "check.json", *AGENT]) == 2
    assert "is an input of this command" in capsys.readouterr().err
    assert held(tmp_path) == before


def test_what_is_no_file_is_written_to() -> None:
    """Devices and pipes hold nothing that could be lost."""
    null = Output(Path(os.devnull))
    check_outputs([null, null], [Path(os.devnull)])


REPORT: dict[str, Any] = {
    "version": 2, "toolstream": "1", "mitmproxy": "1", "started": "2026-11-25T10:00:00Z", "seconds": 0, "seed": 0,
    "clients": [],
}  # fmt: skip


@pytest.mark.parametrize("option", ["-o", "--junit", "--html"])
def test_check_overwrites_its_own_reports_alone(option: str) -> None:
    """As CI expects; a report of another kind, and any other file, needs `--force`."""
    path = Path("report")

    def written(kind: str) -> Reports:
        args = {"output": None, "junit": None, "html": None, "github": False, "compare": None, "force": False}
        named = {"output" if kind == "-o" else kind.removeprefix("--"): path}
        return Reports(Namespace(**{**args, **named}, format="json", flows=[], matrix=None, resume=None))

    path.touch()
    written(option).write(REPORT)
    before = path.read_bytes()
    written(option).write({**REPORT, "seconds": 9})
    assert path.read_bytes() != before
    for other in {"-o", "--junit", "--html"} - {option}:
        with pytest.raises(ToolstreamError, match=f"^{other}: report exists already; add --force"):
            written(other)


def test_events_are_appended_to_json_lines_of_toolstream_alone() -> None:
    """The addon refuses a file of anything else, and changes nothing of it."""
    path = Path("told.jsonl")
    for line in ('{"type":"event","flow":"1","stream":1}\n', '{"type": "replay", "flow": "1"}\n', ""):
        path.write_text(line)
        jsonl_outlet(str(path)).close()
        assert path.read_text() == line
    path.write_text('{"type":"message","role":"assistant"}\n')
    path.chmod(0o644)
    with pytest.raises(OptionsError, match=r"toolstream_jsonl: .* is not a file of toolstream"):
        jsonl_outlet(str(path))
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_log_is_appended_to_text(tmp_path: Path) -> None:
    """Whatever wrote that."""
    Path("run.log").write_text("began\n")
    assert main(["run", "d/x.flow", "--log", "run.log", "--level", "off", *AGENT]) == 1
    assert Path("run.log").read_text().startswith("began\n")
    assert held(tmp_path)[tmp_path / "d/x.flow"] == FLOW.read_bytes()


def test_progress_is_logged_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check takes minutes; a line now and then shows that it goes on, and none is asked for with --quiet."""
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
