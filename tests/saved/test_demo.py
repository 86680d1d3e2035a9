"""The packaged flows `demo:` and `demo:NAME`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import FLOWS
from toolstream_core.cli.main import main
from toolstream_core.errors import ToolstreamError
from toolstream_core.saved import demo
from toolstream_core.saved.files import files
from toolstream_core.saved.read import load
from toolstream_core.testing import Setup

NAMES = sorted(path.stem for path in FLOWS.glob("*.flow"))


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")


def test_all_packaged_flows() -> None:
    """`demo:` means all packaged flows and no other file."""
    assert list(files("demo:")) == [f"demo:{name}" for name in NAMES]


@pytest.mark.parametrize("name", ["demo:glm-5", "demo:glm-5.flow"])
def test_one_packaged_flow(name: str) -> None:
    """The extension `.flow` is optional."""
    assert [fixture.source for fixture in load(Path(name))] == [f"{name}#0", f"{name}#1"]


def test_a_file_with_such_a_name_needs_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """`./demo:x` is a file."""
    Path("demo:x").write_bytes((FLOWS / "glm-5.flow").read_bytes())
    assert main(["inspect", "./demo:x"]) == 0
    assert "#1 ./demo:x#0 " in capsys.readouterr().out


def test_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    """The report shows the name that the user gave."""
    assert main(["inspect", "demo:glm-5"]) == 0
    assert capsys.readouterr().out.startswith("#1 demo:glm-5#0 ")
    assert main(["inspect", "--format", "json", "--exit-zero", "demo:"]) == 0
    output = capsys.readouterr()
    sources = [stream["source"] for stream in json.loads(output.out)["streams"]]
    assert [*dict.fromkeys(source.rpartition("#")[0] for source in sources)] == [f"demo:{name}" for name in NAMES]
    assert not output.err


def test_each_command_that_reads_flows() -> None:
    """Each command reads packaged flows and writes its result into the current folder."""
    assert main(["fault", "reused-index", "demo:openai-chat-parallel", "-o", "broken.flow"]) == 0
    assert main(["repair", "demo:", "-o", "repaired"]) == 0
    assert {path.stem for path in Path("repaired").iterdir()} == {*NAMES}
    assert main(["extract", "demo:glm-5", "-o", "kept"]) == 0
    assert main(["report", "demo:deepseek-empty-id", "-o", "report.md"]) == 0
    assert "toolstream serve demo:deepseek-empty-id" in Path("report.md").read_text(encoding="utf-8")
    assert main(["shrink", "demo:deepseek-empty-id", "--select", "empty-id", "--quiet"]) == 0
    assert main(["doctor", "demo:glm-5"]) == 0
    assert {path.name for path in Path().iterdir()} == {
        "broken.flow",
        "deepseek-empty-id.min.expect.json",
        "deepseek-empty-id.min.flow",
        "kept",
        "repaired",
        "report.md",
    }


def test_the_provider_gets_the_name_of_a_packaged_flow() -> None:
    """Paths become absolute; the name of a packaged flow does not change."""
    setup = Setup(flows=(Path("demo:"), Path("x.flow")))
    assert [spec for spec in setup.specs() if "provider" in spec] == [
        "toolstream_provider=demo:",
        f"toolstream_provider={Path.cwd() / 'x.flow'}",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "demo:glm-4"],
        ["repair", "demo:glm-4", "-o", "x"],
        ["extract", "demo:glm-4", "-o", "x"],
        ["report", "demo:glm-4"],
        ["shrink", "demo:glm-4", "--select", "empty-id"],
        ["doctor", "demo:glm-4"],
        ["serve", "demo:glm-4"],
        ["run", "demo:glm-4", "--", "true"],
        ["check", "demo:glm-4", "--", "true"],
    ],
    ids=lambda words: words[0],
)
def test_an_unknown_name_is_a_usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits with 2 and suggests the nearest name."""
    assert main(words) == 2
    assert "unknown packaged flow 'demo:glm-4'; did you mean demo:glm-5?" in capsys.readouterr().err


def test_a_name_without_a_similar_name() -> None:
    """The error names the command that lists all packaged flows."""
    with pytest.raises(ToolstreamError, match=r"^unknown packaged flow 'demo:zzz'\. See `toolstream inspect demo:`$"):
        load(Path("demo:zzz"))


def test_the_path_of_a_result() -> None:
    """The result of a packaged flow is written into the current folder."""
    assert demo.beside("demo:glm-5") == Path("glm-5.flow")
    assert demo.beside("a/b.flow") == Path("a/b.flow")
