"""The copy of the working directory."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from toolstream_core.checking.client import Workdir
from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["git", "no git", "no repository"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, in a repository or not, on a machine with Git or without."""
    folder = tmp_path / "project"
    for name in ("a.txt", "src/b.txt", "built/c.o", "built/deep/d", "e.log", "other/f", "other/.git/config"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / ".gitignore").write_text("# built\n/built/\n*.log\n")
    (folder / ".git").mkdir()
    if request.param == "git":
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "add", "a.txt"], cwd=folder, check=True)
    if request.param == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    return folder


def test_files_are_copied_without_ignored_ones(root: Path) -> None:
    """`.git` is left out too, and the copy is removed at the end."""
    with Workdir.of(root).copied() as copy:
        found = sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file())
        assert found == [".gitignore", "a.txt", "other/f", "src/b.txt"]
        assert (copy / "src" / "b.txt").read_text() == "src/b.txt"
        assert copy.name == root.name
        (copy / "a.txt").write_text("changed")
    assert not copy.exists()
    assert (root / "a.txt").read_text() == "a.txt"


def test_links_that_lead_out_are_not_copied(root: Path) -> None:
    """Neither are links over other links, and special files."""
    links = {
        "inside": "src/b.txt",
        "src/up": "../a.txt",
        "folder": "src",
        "out": "../secret",
        "absolute": str(root / "a.txt"),
        "around": f"../{root.name}/a.txt",
        "over": "out",
        "gone": "missing",
    }
    (root.parent / "secret").write_text("secret")
    for name, target in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "fifo")
    with Workdir.of(root).copied() as copy:
        kept = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_symlink()}
        assert kept == {"inside", "src/up", "folder", "gone"}
        assert not (copy / "fifo").exists()
        for name in kept:
            assert (copy / name).resolve().is_relative_to(copy.resolve())


def test_a_large_directory_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignored files do not count."""
    (root / "built" / "large").write_bytes(b"x" * 1000)
    monkeypatch.setattr("toolstream_core.checking.client.MAX_BYTES", 900)
    assert "a.txt" in Workdir.of(root).files
    (root / "large").write_bytes(b"x" * 1000)
    with pytest.raises(ToolstreamError, match="at most"):
        Workdir.of(root)
