"""The built package: its files, its metadata, and reproducible builds."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from toolstream_core.version import __version__

if TYPE_CHECKING:
    from email.message import Message
    from pathlib import Path

NAME = "mitmproxy_toolstream"


def build(source: Path, target: Path) -> list[Path]:
    """Build an sdist from a folder and a wheel from that sdist, as an installer does."""
    dist = target / "dist"
    _hatch(source, "sdist", dist)
    [sdist] = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        tar.extractall(target, filter="data")
    _hatch(target / sdist.name.removesuffix(".tar.gz"), "wheel", dist)
    return sorted(dist.iterdir())


def _hatch(source: Path, kind: str, target: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the sdist and the wheel."""
    return build(ROOT, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: list[Path]) -> zipfile.ZipFile:
    [path] = [file for file in built if file.suffix == ".whl"]
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """Return the metadata that an index shows."""
    return Parser().parsestr(wheel.read(f"{NAME}-{__version__}.dist-info/METADATA").decode())


def tracked(*folders: str) -> set[str]:
    """Return the repository's files in these folders, including untracked ones."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_has_the_addon_and_the_folders_that_it_reads(wheel: zipfile.ZipFile) -> None:
    """The wheel has all tracked files of these folders, and neither tests nor caches."""
    expected = {name.removeprefix("addon/") for name in tracked("addon")}
    expected |= {f"toolstream_core/{name}" for name in tracked("flows", "docs/defects")}
    info = {name for name in wheel.namelist() if name.startswith(f"{NAME}-{__version__}.dist-info/")}
    assert {*wheel.namelist()} - info == expected
    assert "toolstream_core/py.typed" in expected
    assert {name.partition("/")[2] for name in info} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_the_sdist_has_the_sources_of_the_wheel(built: list[Path]) -> None:
    """It has the documentation, but no tests, as they need the repository's scripts and pins."""
    with tarfile.open(next(path for path in built if path.suffix == ".gz")) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert tracked("addon", "docs", "flows", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE") <= names
    assert not {name for name in names if name.startswith(("tests", "scripts", "requirements"))}


def test_builds_are_reproducible(built: list[Path], tmp_path: Path) -> None:
    """Another folder with other times and permissions gives the same bytes."""
    with tarfile.open(next(path for path in built if path.suffix == ".gz")) as tar:
        tar.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    for path in source.rglob("*"):
        os.utime(path, (1, 1))
    second_build = build(source, tmp_path)
    assert [path.name for path in second_build] == [path.name for path in built]
    assert [path.read_bytes() for path in second_build] == [path.read_bytes() for path in built]


def test_the_metadata(metadata: Message) -> None:
    """Name, version, Python versions, classifiers and README are set."""
    assert metadata["Name"] == "mitmproxy-toolstream"
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.12"
    assert {"Framework :: Pytest", "Typing :: Typed"} <= {*metadata.get_all("Classifier", [])}
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert all(
        "extra ==" in requirement
        for requirement in metadata.get_all("Requires-Dist", [])
        if not requirement.startswith("mitmproxy>")
    )


def test_entry_points(wheel: zipfile.ZipFile) -> None:
    """The package has the command, the pytest plugin and the script for mitmproxy-addon-launcher."""
    assert wheel.read(f"{NAME}-{__version__}.dist-info/entry_points.txt").decode() == (
        "[console_scripts]\ntoolstream = toolstream_core.cli.main:main\n\n"
        "[mitmproxy_addon_launcher.addon_script]\ntoolstream = toolstream_core.script\n\n"
        "[pytest11]\ntoolstream = toolstream_core.pytest_plugin\n"
    )


def test_github_runs_the_same_ci_script() -> None:
    """There is one list of checks."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "- run: .ci/run\n" in workflow
