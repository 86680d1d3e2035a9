"""Environment variables are put back, whatever happens to them."""

from __future__ import annotations

import os
import urllib.request
from typing import TYPE_CHECKING

from toolstream_core.pytest_plugin.fixture import Environment

if TYPE_CHECKING:
    import pytest


def test_variables_are_set_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were there, those that were not, and those that were removed."""
    monkeypatch.setenv("TS_A", "before")
    monkeypatch.delenv("TS_B", raising=False)
    monkeypatch.setenv("TS_C", "kept")
    changed = Environment({"TS_A": "1", "TS_B": "2"}, ["TS_C"])
    changed.set()
    assert (os.environ["TS_A"], os.environ["TS_B"], "TS_C" in os.environ) == ("1", "2", False)
    os.environ["TS_A"] = "by the test"
    changed.restore()
    assert (os.environ["TS_A"], "TS_B" in os.environ, os.environ["TS_C"]) == ("before", False, "kept")
    os.environ["TS_A"] = "1"
    os.environ["TS_C"] = "later"
    changed.restore(everything=False)
    assert (os.environ["TS_A"], os.environ["TS_C"]) == ("before", "later")


def test_urlopen_forgets_its_proxies() -> None:
    """It would keep those of its first use, before, during and after the test."""
    mine = urllib.request.OpenerDirector()
    urllib.request.install_opener(mine)
    changed = Environment({}, [])
    changed.set()
    assert vars(urllib.request)["_opener"] is None
    changed.restore()
    assert vars(urllib.request)["_opener"] is mine
    urllib.request.install_opener(None)  # as it is before its first use
