"""Content codings that cannot be decoded."""

from __future__ import annotations

import pytest
from mitmproxy.test import tutils

from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.wire import coding


def decodes(addon: ToolstreamAddon, name: str) -> bool:
    """Whether the addon decodes a response with this coding."""
    headers = ((b"content-encoding", name.encode()),) if name else ()
    return addon._responses._decodes(tutils.tresp(headers=headers))


@pytest.mark.parametrize(("name", "known"), [("", True), ("gzip", True), ("gzip, br", True), ("x-own", False)])
def test_only_known_codings_are_decoded(name: str, *, known: bool) -> None:
    """A response with an unknown coding is forwarded unchanged."""
    assert decodes(ToolstreamAddon(), name) is known


def test_a_missing_decoder_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One line names the coding, for any number of responses."""
    monkeypatch.delitem(coding._STAGES, "zstd")
    addon = ToolstreamAddon()
    for name in ("zstd", "zstd", "gzip, zstd", "gzip"):
        decodes(addon, name)
    [line] = [record.message for record in caplog.records if record.name == "toolstream_core.proxy.live_responses"]
    assert line == "toolstream forwards responses with this coding unread: unknown content coding 'zstd'"
