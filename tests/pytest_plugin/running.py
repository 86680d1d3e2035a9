"""Runs pytest in folders of their own, as users of the plugin do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HERE = ROOT / "tests" / "plugin_project"
_CLEAN = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "HTTPS_PROXY", "https_proxy", "OLLAMA_HOST", "NO_COLOR")


def project(folder: Path, *flows: str, **tests: str) -> Path:
    """A folder with saved flows and test files, the latter given by their text or the name of one of ours."""
    (folder / "flows").mkdir()
    for name in flows:
        for path in (ROOT / "flows").glob(f"{name}.*"):
            shutil.copy(path, folder / "flows")
    for name, text in tests.items():
        content = text if "\n" in text else (HERE / f"{text}.py").read_text()
        (folder / f"{name}.py").write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\ntoolstream_flows = flows\n")
    return folder


def run(folder: Path, *words: str, **environment: str) -> str:
    """What pytest prints; its exit code stands in the last line."""
    installed = bool(entry_points(group="pytest11", name="toolstream"))
    plugin = [] if installed else ["-p", "toolstream_core.pytest_plugin"]
    kept = {name: value for name, value in os.environ.items() if name not in _CLEAN}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT / "addon"), "COLUMNS": "200", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return f"{done.stdout.decode()}\nexit code {done.returncode}"
