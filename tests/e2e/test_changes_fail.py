"""An internal error in a repair: no byte is lost, nothing is delayed, and the log has one error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.changes import chat_ids, fetch, with_empty_ids
from tests.e2e.harness.lockstep import follow, lockstep
from tests.e2e.harness.proxies import HERE, Proxies, client, route
from tests.e2e.harness.samples import openai_chat
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

HEALTHY = openai_chat("call_1", "Bern")
DEFECTIVE = with_empty_ids(HEALTHY)
REWRITING = [
    "toolstream_core.protocols.chat.repair.stage:ChatRepair.take",
    "toolstream_core.protocols.chat.repair.events:ChatEvents.frames",
    "toolstream_core.wire.write:SseWriter.rewrite",
    "toolstream_core.engine.chain:Chain.take",
    "toolstream_core.engine.build:ChainFactory.stages",
]
READING = [
    "toolstream_core.engine.session:Session._recognise",
    "toolstream_core.wire.sse:SseFramer.feed",
    "toolstream_core.protocols.chat.resolver:ChatCalls.take",
    "toolstream_core.engine.record_builder:RecordBuilder.__call__",
    "toolstream_core.engine.record_builder:RecordBuilder.changed",
    "toolstream_core.report.lines:Lines.resolved",
    "toolstream_core.report.lines:Lines.changed",
    "toolstream_core.report.lines:Lines.found",
]
GUARDING = [
    "toolstream_core.engine.session:Session.feed_frames",
    "toolstream_core.proxy.live_response:LiveResponse.__init__",
    "toolstream_core.proxy.live_response:LiveResponse.hide",
]


@pytest.fixture(scope="module")
def sabotaged(proxies: Proxies) -> Iterator[Mitmdump]:
    """A repairing proxy in which a request can make a function fail."""
    with proxies.make({"toolstream_repair": "safe"}, scripts=(addon_script(), HERE / "saboteur.py")) as proxy:
        yield proxy


def stream(proxy: Mitmdump, upstream: Upstream, version: str, place: str, expected: tuple[bytes, ...]) -> None:
    """Request a stream with a defect. Each chunk must arrive before upstream sends the next."""
    planned, gates = lockstep(DEFECTIVE.chunks)
    plan = upstream.plan(planned)
    headers = {**plan.headers, "x-sabotage": place}
    with client(version, route(proxy, upstream)) as connection:
        follow(connection.request(DEFECTIVE.path, DEFECTIVE.body, headers), expected, gates, "identity")


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("place", [*REWRITING, *READING])
def test_after_an_error_the_stream_is_forwarded_unchanged(
    sabotaged: Mitmdump, secure: Upstream, place: str, version: str
) -> None:
    """After an error in a repair the stream is forwarded unchanged, and the next stream is repaired."""
    mark = len(sabotaged.output)
    stream(sabotaged, secure, version, place, DEFECTIVE.chunks)
    error = sabotaged.wait_for("toolstream stopped reading", after=mark)
    assert re.search(r"reading flow [0-9a-f-]{36} .*RuntimeError", error)
    printed = sabotaged.output[mark:]
    assert [line for line in printed if "toolstream stopped reading" in line] == [error]
    assert not [line for line in printed if "injected by" in line or "Traceback" in line or "crashed" in line]
    _, body, _ = fetch(sabotaged, secure, DEFECTIVE, version)
    assert body.count(b'"id": ""') == body.count(b'"id":""') == 0
    assert chat_ids(body) == ["call_1"]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("place", GUARDING)
def test_an_error_in_the_error_handling_is_logged(
    sabotaged: Mitmdump, secure: Upstream, place: str, version: str
) -> None:
    """After an error in toolstream's error handling the stream is forwarded, and toolstream or mitmproxy logs it."""
    mark = len(sabotaged.output)
    stream(sabotaged, secure, version, place, DEFECTIVE.chunks)
    sabotaged.wait_for("toolstream stopped reading|Addon error", after=mark)
    assert not [line for line in sabotaged.output[mark:] if "crashed" in line]


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_after_an_error_at_the_end_the_body_ends_normally(sabotaged: Mitmdump, secure: Upstream, version: str) -> None:
    """After an error at the end of a stream, its repairs remain and the body ends normally."""
    mark = len(sabotaged.output)
    place = {"x-sabotage": "toolstream_core.protocols.chat.repair.stage:ChatRepair.end"}
    _, body, _ = fetch(sabotaged, secure, DEFECTIVE, version, headers=place)
    sabotaged.wait_for("toolstream stopped reading", after=mark)
    assert chat_ids(body) == ["call_1"]
    assert body.endswith(b"data: [DONE]\n\n")
