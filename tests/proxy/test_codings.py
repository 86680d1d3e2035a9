"""What is told of codings that cannot be read."""

from __future__ import annotations

import pytest
from mitmproxy.test import tutils

from toolstream_core.proxy.live_responses import Codings
from toolstream_core.wire import coding


@pytest.mark.parametrize(("coding", "known"), [("", True), ("gzip", True), ("gzip, br", True), ("x-own", False)])
def test_only_what_can_be_decoded_is_rewritten(coding: str, *, known: bool) -> None:
    """Bytes that nobody can read go on as they came, labelled as they are."""
    response = tutils.tresp(headers=((b"content-encoding", coding.encode()),) if coding else ())
    assert Codings().reads(response) is known


def test_what_is_missing_is_told_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One line says what to install, however many answers come."""
    monkeypatch.setattr(coding, "_MAKE", None)
    codings = Codings()
    for name in (b"zstd", b"zstd", b"gzip, zstd", b"gzip"):
        codings.reads(tutils.tresp(headers=((b"content-encoding", name),)))
    [line] = [record.message for record in caplog.records if record.name == "toolstream_core.proxy.live_responses"]
    assert line == (
        "toolstream forwards responses with this coding unread: "
        "zstd is not available: install backports.zstd or zstandard"
    )
