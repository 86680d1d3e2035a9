"""Runs pytest in separate folders, as users of the plugin do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from tests.conftest import FLOWS, ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = ROOT / "tests" / "plugin_project"
_CLEAN = ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "HTTPS_PROXY", "https_proxy", "OLLAMA_HOST", "NO_COLOR")


def project(folder: Path, *flows: str, **tests: str) -> Path:
    """Create a folder with saved flows and test files, given by text or by the name of a file in `plugin_project`."""
    (folder / "flows").mkdir()
    for name in flows:
        for path in FLOWS.glob(f"{name}.*"):
            shutil.copy(path, folder / "flows")
    for name, text in tests.items():
        content = text if "\n" in text else (PROJECT / f"{text}.py").read_text()
        (folder / f"{name}.py").write_text(content)
    (folder / "pytest.ini").write_text("[pytest]\ntoolstream_flows = flows\n")
    return folder


def run(folder: Path, *words: str, **environment: str) -> str:
    """Return the output of pytest with its exit code in the last line."""
    installed = bool(entry_points(group="pytest11", name="toolstream"))
    plugin = [] if installed else ["-p", "toolstream_core.pytest_plugin"]
    kept = {name: value for name, value in os.environ.items() if name not in _CLEAN}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT / "addon"), "COLUMNS": "200", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    return f"{result.stdout.decode()}\nexit code {result.returncode}"
