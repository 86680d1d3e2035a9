"""Environment variables are restored after each test."""

from __future__ import annotations

import os
import urllib.request
from typing import TYPE_CHECKING

from toolstream_core.pytest_plugin.fixture import Environment

if TYPE_CHECKING:
    import pytest


def test_variables_are_set_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed, added and removed variables are restored."""
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


def test_the_opener_of_urllib_is_restored() -> None:
    """`urlopen` keeps the proxies of its first use, so its opener is replaced during the test."""
    opener = urllib.request.OpenerDirector()
    urllib.request.install_opener(opener)
    changed = Environment({}, [])
    changed.set()
    assert vars(urllib.request)["_opener"] is None
    changed.restore()
    assert vars(urllib.request)["_opener"] is opener
    urllib.request.install_opener(None)  # as it is before its first use
