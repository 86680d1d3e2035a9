"""The sessions of failed cases: in the page, bounded, and left behind nowhere."""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from tests.browser.sessions import SESSIONS
from tests.conftest import ROOT
from toolstream_core.checking import client
from toolstream_core.checking.client import Client, ProxySlot, Sessions, captured_files
from toolstream_core.saved.flow import packed
from toolstream_core.saved.redact import redact
from toolstream_core.testing import Setup

if TYPE_CHECKING:
    from pathlib import Path


def loop() -> list[bytes]:
    """A flow file for each response of a client that misreads."""
    return [packed([redact(flow)]) for flow in SESSIONS["loop"]()]


def test_a_case_has_its_document_and_all_share_the_models() -> None:
    """Its responses are one conversation, although each is in a file of its own."""
    kept = Sessions()
    kept.add("a", loop())
    kept.add("b", loop())
    made = kept.object
    assert [*made["cases"]] == ["a", "b"]
    assert made["models"]
    assert not {"models", "projects", "defects"} & made["cases"]["a"].keys()
    assert [one["responses"] for one in made["cases"]["a"]["conversations"]] == [[*range(6)]]
    assert [one["source"] for one in made["cases"]["b"]["responses"]] == [f"b#{at}" for at in range(6)]


@pytest.mark.parametrize("captured", [[], [b"not a flow file"], [b"0:~"]])
def test_a_case_without_a_response_has_none(captured: list[bytes]) -> None:
    """The page then shows the case from the report."""
    kept = Sessions()
    kept.add("a", captured)
    assert kept.object["cases"] == {}


def test_no_more_is_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that does not fit is left out; a smaller one after it still fits."""
    kept = Sessions()
    monkeypatch.setattr(kept, "_left", 70_000)
    kept.add("long", loop() * 5)
    kept.add("short", loop()[:1])
    assert [*kept.object["cases"]] == ["short"]


def test_flow_files_that_are_too_long_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a run may hold any amount."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.flow").write_bytes(name.encode())
    (tmp_path / "other").write_bytes(b"x")
    assert captured_files(tmp_path) == (b"a", b"b")
    monkeypatch.setattr(client, "_MOST_CAPTURED", 1)
    assert captured_files(tmp_path) == ()


@pytest.mark.e2e
@pytest.mark.parametrize("capture", [False, True])
def test_a_run_has_its_flow_files_and_leaves_nothing(
    capture: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where they are wanted."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    agent = Client(name="a", command=(sys.executable, str(ROOT / "tests" / "checking" / "agent.py"), "right"))
    slot = ProxySlot()
    try:
        run = slot.run(agent, Setup(calls=("",), network="loopback"), capture=capture)
    finally:
        slot.close()
    assert run.exit_code == 0
    assert len(run.captured) == (2 if capture else 0)
    assert [*tmp_path.rglob("*.flow")] == []
