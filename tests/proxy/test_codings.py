"""Content codings that cannot be decoded."""

from __future__ import annotations

import pytest
from mitmproxy.test import tutils

from toolstream_core.proxy.live_responses import Codings
from toolstream_core.wire import coding


@pytest.mark.parametrize(("coding", "known"), [("", True), ("gzip", True), ("gzip, br", True), ("x-own", False)])
def test_only_known_codings_are_decoded(coding: str, *, known: bool) -> None:
    """A response with an unknown coding is forwarded unchanged."""
    response = tutils.tresp(headers=((b"content-encoding", coding.encode()),) if coding else ())
    assert Codings().reads(response) is known


def test_a_missing_decoder_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One line names the package to install, for any number of responses."""
    monkeypatch.setattr(coding, "_MAKE", None)
    codings = Codings()
    for name in (b"zstd", b"zstd", b"gzip, zstd", b"gzip"):
        codings.reads(tutils.tresp(headers=((b"content-encoding", name),)))
    [line] = [record.message for record in caplog.records if record.name == "toolstream_core.proxy.live_responses"]
    assert line == (
        "toolstream forwards responses with this coding unread: "
        "zstd is not available: install backports.zstd or zstandard"
    )
