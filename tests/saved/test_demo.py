"""`demo:` and `demo:NAME`: the packaged flows, wherever a flow is expected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from toolstream_core.cli.main import main
from toolstream_core.errors import ToolstreamError
from toolstream_core.saved import demo
from toolstream_core.saved.files import files
from toolstream_core.saved.read import load
from toolstream_core.testing import Setup

NAMES = sorted(path.stem for path in (ROOT / "flows").glob("*.flow"))


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")


def test_all_of_them() -> None:
    """`demo:` is each packaged flow by its name, and nothing else that lies beside them."""
    assert list(files("demo:")) == [f"demo:{name}" for name in NAMES]


@pytest.mark.parametrize("written", ["demo:glm-5", "demo:glm-5.flow"])
def test_one_of_them(written: str) -> None:
    """With and without its ending."""
    assert [one.source for one in load(Path(written))] == [f"{written}#0", f"{written}#1"]


def test_a_file_of_such_a_name_is_read_with_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """As `./demo:x`."""
    Path("demo:x").write_bytes((ROOT / "flows" / "glm-5.flow").read_bytes())
    assert main(["inspect", "./demo:x"]) == 0
    assert "#1 ./demo:x#0 " in capsys.readouterr().out


def test_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    """Named as the user named it."""
    assert main(["inspect", "demo:glm-5"]) == 0
    assert capsys.readouterr().out.startswith("#1 demo:glm-5#0 ")
    assert main(["inspect", "--format", "json", "--exit-zero", "demo:"]) == 0
    told = capsys.readouterr()
    sources = [one["source"] for one in json.loads(told.out)["streams"]]
    assert [*dict.fromkeys(source.rpartition("#")[0] for source in sources)] == [f"demo:{name}" for name in NAMES]
    assert not told.err


def test_every_command_that_reads_flows() -> None:
    """From an empty folder; results without a name go to that folder."""
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


def test_the_provider_gets_them_as_they_are_named() -> None:
    """No folder is put in front of a name that is no path."""
    setup = Setup(flows=(Path("demo:"), Path("x.flow")))
    assert [one for one in setup.specs() if "provider" in one] == [
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
def test_an_unknown_name(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, with the name that is nearest."""
    assert main(words) == 2
    assert "unknown packaged flow 'demo:glm-4'; did you mean demo:glm-5?" in capsys.readouterr().err


def test_a_name_like_no_other() -> None:
    """The error names the command that lists all."""
    with pytest.raises(ToolstreamError, match=r"^unknown packaged flow 'demo:zzz'\. See `toolstream inspect demo:`$"):
        load(Path("demo:zzz"))


def test_a_results_place() -> None:
    """What is read from the package is not written there."""
    assert demo.beside("demo:glm-5") == Path("glm-5.flow")
    assert demo.beside("a/b.flow") == Path("a/b.flow")
