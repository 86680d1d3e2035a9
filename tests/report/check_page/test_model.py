"""The page's script without a document, in Node."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="there is no node")
def test_what_the_page_works_out() -> None:
    """Rows, filters, comparison, pairs: the tests stand in JavaScript beside this file."""
    assert NODE is not None
    tests = Path(__file__).with_name("model_test.mjs")
    model = files("toolstream_core.report.check_page") / "model.js"
    done = subprocess.run(
        [NODE, "--test-reporter=tap", tests, str(model)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout
