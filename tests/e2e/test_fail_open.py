"""A bug of ours changes no byte, keeps nobody waiting, and is told once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import Proxies, client, way
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import lockstep
from tests.e2e.test_held_back import follow

if TYPE_CHECKING:
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

PLACES = [
    "toolstream_core.wire.coding:Decoder.decode",
    "toolstream_core.wire.sse:SseFramer.feed",
    "toolstream_core.pipeline:Pipeline.feed",
    "toolstream_core.record:Reader.__call__",
    "toolstream_core.record:Reader.finished",
    "toolstream_core.calls.chat:ChatCalls.take",
    "toolstream_core.report.text:Lines.heard",
    "toolstream_core.report.text:Lines.ended",
    "toolstream_core.proxy.watch:Watch.hide",
    "toolstream_core.proxy.watch:Watch.__init__",
]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("place", PLACES)
def test_bug_is_told_and_nothing_else_happens(proxies: Proxies, secure: Upstream, place: str, version: str) -> None:
    """Every piece arrives as it is sent, and the next stream is read as ever."""
    proxy = proxies.sabotaged()
    mark = len(proxy.output)
    sample = openai_chat("call_1", "Bern")
    planned, gates = lockstep(sample.pieces, coding="gzip")
    plan = secure.plan(planned)
    with client(version, way(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | {"x-sabotage": place})
        follow(reply, sample.pieces, gates, "gzip")
        proxy.wait_for(r"toolstream.*RuntimeError|Addon error", after=mark)
        planned, gates = lockstep(sample.pieces, coding="gzip")
        plan = secure.plan(planned)
        reply = connection.request(sample.path, sample.body, plan.headers)
        follow(reply, sample.pieces, gates, "gzip")
    proxy.wait_for(r"openai-chat: 7 events, 1 call", after=mark)
    told = "\n".join(proxy.output[mark:])
    assert len(re.findall("RuntimeError", told)) == 1
    assert "has crashed" not in told
