"""The package as it is built: what is in it, what it says of itself, and that it is built the same twice."""

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
    """Build an sdist from a folder, and a wheel from that sdist, as an installer would."""
    made = target / "dist"
    _hatch(source, "sdist", made)
    [sdist] = made.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        tar.extractall(target, filter="data")
    _hatch(target / sdist.name.removesuffix(".tar.gz"), "wheel", made)
    return sorted(made.iterdir())


def _hatch(source: Path, kind: str, target: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sdist and the wheel."""
    return build(ROOT, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: list[Path]) -> zipfile.ZipFile:
    """The wheel."""
    [path] = [one for one in built if one.suffix == ".whl"]
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """What an index shows of it."""
    return Parser().parsestr(wheel.read(f"{NAME}-{__version__}.dist-info/METADATA").decode())


def tracked(*folders: str) -> set[str]:
    """The repository's files in these folders, and those that are new."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_has_the_addon_and_the_folders_that_it_reads(wheel: zipfile.ZipFile) -> None:
    """Every tracked file of them, and nothing else: no tests, no caches, no files of the machine that built it."""
    wanted = {name.removeprefix("addon/") for name in tracked("addon")}
    wanted |= {f"toolstream_core/{name}" for name in tracked("flows", "docs/defects")}
    info = {name for name in wheel.namelist() if name.startswith(f"{NAME}-{__version__}.dist-info/")}
    assert {*wheel.namelist()} - info == wanted
    assert "toolstream_core/py.typed" in wanted
    assert {name.partition("/")[2] for name in info} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_the_sdist_has_what_the_wheel_is_built_from(built: list[Path]) -> None:
    """And the texts, but no tests: they need the repository's scripts and pins."""
    with tarfile.open(next(one for one in built if one.suffix == ".gz")) as tar:
        there = {name.partition("/")[2] for name in tar.getnames()}
    assert tracked("addon", "docs", "flows", "README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE") <= there
    assert not {name for name in there if name.startswith(("tests", "scripts", "requirements"))}


def test_two_builds_are_the_same_bytes(built: list[Path], tmp_path: Path) -> None:
    """Also the second from another folder, with other times and permissions."""
    with tarfile.open(next(one for one in built if one.suffix == ".gz")) as tar:
        tar.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    for path in source.rglob("*"):
        os.utime(path, (1, 1))
    again = build(source, tmp_path)
    assert [one.name for one in again] == [one.name for one in built]
    assert [one.read_bytes() for one in again] == [one.read_bytes() for one in built]


def test_what_the_index_shows(metadata: Message) -> None:
    """Name, version, Python, classifiers, and a README."""
    assert metadata["Name"] == "mitmproxy-toolstream"
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.12"
    assert {"Framework :: Pytest", "Typing :: Typed"} <= {*metadata.get_all("Classifier", [])}
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert all("extra ==" in one for one in metadata.get_all("Requires-Dist", []) if not one.startswith("mitmproxy>"))


def test_entry_points(wheel: zipfile.ZipFile) -> None:
    """The command, the pytest plugin, and the script for mitmproxy-addon-launcher."""
    assert wheel.read(f"{NAME}-{__version__}.dist-info/entry_points.txt").decode() == (
        "[console_scripts]\ntoolstream = toolstream_core.cli.main:main\n\n"
        "[mitmproxy_addon_launcher.addon_script]\ntoolstream = toolstream_core.script\n\n"
        "[pytest11]\ntoolstream = toolstream_core.pytest_plugin\n"
    )


def test_ci_elsewhere_runs_what_ci_runs() -> None:
    """One list of checks."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "- run: .ci/run\n" in workflow
