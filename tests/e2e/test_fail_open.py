"""An internal error changes no byte, delays nothing, and is logged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.lockstep import follow, lockstep
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import openai_chat

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

READING = [
    "toolstream_core.wire.coding:Decoder.decode",
    "toolstream_core.wire.sse:SseFramer.feed",
    "toolstream_core.protocols.chat.resolver:ChatCalls.take",
    "toolstream_core.engine.record_builder:RecordBuilder.__call__",
    "toolstream_core.engine.record_builder:RecordBuilder.finished",
    "toolstream_core.report.lines:Lines.resolved",
    "toolstream_core.report.lines:Lines.ended",
]
GUARDING = [
    "toolstream_core.engine.session:Session.feed_frames",
    "toolstream_core.proxy.live_response:LiveResponse.__init__",
    "toolstream_core.proxy.backlog:Backlog.add",
    "toolstream_core.proxy.live_response:LiveResponse.hide",
]


def stream(proxy: Mitmdump, upstream: Upstream, version: str, headers: dict[str, str]) -> None:
    """Request a stream. Each chunk must arrive before upstream sends the next."""
    sample = openai_chat("call_1", "Bern")
    planned, gates = lockstep(sample.chunks, coding="gzip")
    plan = upstream.plan(planned)
    with client(version, route(proxy, upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | headers)
        follow(reply, sample.chunks, gates, "gzip")


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("place", READING)
def test_an_error_while_reading_is_logged_once(proxies: Proxies, secure: Upstream, place: str, version: str) -> None:
    """The log has one error with the flow's id and without content, and the next stream is read."""
    proxy = proxies.sabotaged()
    mark = len(proxy.output)
    stream(proxy, secure, version, {"x-sabotage": place})
    error = proxy.wait_for("toolstream stopped reading", after=mark)
    assert re.search(r"reading flow [0-9a-f-]{36} .*RuntimeError", error)
    stream(proxy, secure, version, {})
    proxy.wait_for(" 7 events, 1 call", after=mark)
    printed = proxy.output[mark:]
    assert [line for line in printed if "toolstream stopped reading" in line] == [error]
    assert not [line for line in printed if "injected by" in line or "Traceback" in line or "crashed" in line]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("place", GUARDING)
def test_an_error_in_the_error_handling_is_logged(proxies: Proxies, secure: Upstream, place: str, version: str) -> None:
    """An error in toolstream's error handling is logged by toolstream or mitmproxy, and the stream is forwarded."""
    proxy = proxies.sabotaged()
    mark = len(proxy.output)
    stream(proxy, secure, version, {"x-sabotage": place})
    proxy.wait_for("toolstream stopped reading|Addon error", after=mark)
    stream(proxy, secure, version, {})
    proxy.wait_for(" 7 events, 1 call", after=mark)
    assert not [line for line in proxy.output[mark:] if "crashed" in line]
