"""Entry points for mitmproxy-addon-launcher and for Python versions that are too old."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e.harness.mitmdump import Mitmdump

ADDON = ROOT / "addon"
CORE = ADDON / "toolstream_core"
OLDEST = (3, 8)


@pytest.mark.e2e
def test_the_launchers_script_is_the_addon() -> None:
    """The launcher imports the module, and mitmproxy loads its file as a script."""
    spec = importlib.util.find_spec("toolstream_core.script")
    assert spec is not None
    with Mitmdump({"toolstream_log": "calls"}, scripts=[Path(spec.origin or "")]) as proxy:
        assert proxy.port


@pytest.mark.parametrize(
    "words", [["-m", "toolstream_core.cli.main", "list"], ["toolstream.py"], ["-c", "import toolstream_core"]]
)
def test_an_older_python_gets_an_error(words: list[str]) -> None:
    """The error is one line with exit code 2 for each module that may be started or imported first."""
    pretend = f"import sys; sys.version_info = (3, 11, 9); sys.argv = {words!r}; import runpy; "
    start = {"-m": "runpy.run_module(sys.argv[1])", "-c": words[-1]}.get(words[0], "runpy.run_path(sys.argv[0])")
    result = _python(sys.executable, pretend + start)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("toolstream needs Python 3.12 or newer; this is Python 3.11.")
    assert result.stderr.count("\n") == 1


def test_mitmproxy_on_an_older_python_gets_an_error() -> None:
    """Mitmproxy reports an exception of a script and exits; after `SystemExit` it would run without the addon."""
    load = "from toolstream_core import proxy"
    pretend = (
        f"import sys, types; sys.version_info = (3, 11, 9); sys.modules['mitmproxy'] = types.ModuleType('m'); {load}"
    )
    result = _python(sys.executable, pretend)
    assert result.stderr.splitlines()[-1].startswith("ImportError: toolstream needs Python 3.12 or newer;")


def test_the_version_check_has_old_syntax() -> None:
    """Older Python versions must parse the modules that check the version."""
    for path in (ADDON / "toolstream.py", CORE / "__init__.py", CORE / "script.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST)


def _python(program: str, code: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ADDON)}
    return subprocess.run(
        [program, "-c", code], cwd=ADDON, env=environment, capture_output=True, text=True, check=False
    )
