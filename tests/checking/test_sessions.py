"""The recorded sessions of failed cases: in the page, limited in size, and without files left."""

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
    """A flow file for each response of a client that misreads them."""
    return [packed([redact(flow)]) for flow in SESSIONS["loop"]()]


def test_a_case_has_its_document_and_all_share_the_models() -> None:
    """Its responses are a conversation, although each is in a separate file."""
    kept = Sessions()
    kept.add("a", loop())
    kept.add("b", loop())
    document = kept.object
    assert [*document["cases"]] == ["a", "b"]
    assert document["models"]
    assert not {"models", "projects", "defects"} & document["cases"]["a"].keys()
    assert [one["responses"] for one in document["cases"]["a"]["conversations"]] == [[*range(6)]]
    assert [one["source"] for one in document["cases"]["b"]["responses"]] == [f"b#{at}" for at in range(6)]


@pytest.mark.parametrize("captured", [[], [b"not a flow file"], [b"0:~"]])
def test_a_case_without_a_response_has_no_document(captured: list[bytes]) -> None:
    """The page shows the report of the case."""
    kept = Sessions()
    kept.add("a", captured)
    assert kept.object["cases"] == {}


def test_the_size_of_all_documents_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that does not fit is left out, and a smaller one after it is kept."""
    kept = Sessions()
    monkeypatch.setattr(kept, "_left", 70_000)
    kept.add("long", loop() * 5)
    kept.add("short", loop()[:1])
    assert [*kept.object["cases"]] == ["short"]


def test_flow_files_that_are_too_long_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may write any number of bytes."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.flow").write_bytes(name.encode())
    (tmp_path / "other").write_bytes(b"x")
    assert captured_files(tmp_path) == (b"a", b"b")
    monkeypatch.setattr(client, "_MOST_CAPTURED", 1)
    assert captured_files(tmp_path) == ()


@pytest.mark.e2e
@pytest.mark.parametrize("capture", [False, True])
def test_a_run_captures_flow_files_and_removes_them(
    capture: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It captures them only on request."""
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
