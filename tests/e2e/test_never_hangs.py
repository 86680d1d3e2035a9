"""After an internal error in what delivers a response, its client gets the response or an error, and never waits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.changes import streamed
from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import HERE, Proxies, client, way
from tests.e2e.harness.samples import JSON, MAKERS, openai_chat
from tests.e2e.harness.script import Answer, Send
from toolstream_core.cli.launch import door_path
from toolstream_core.engine.session import read_body
from toolstream_core.model import Exchange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.script import Answer as Planned
    from tests.e2e.harness.upstream import Upstream
    from toolstream_core.cli.launch import Mitmdump

pytestmark = pytest.mark.e2e

VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])
SCRIPTS = (door_path(), HERE / "saboteur.py")
MADE_HERE = [
    "toolstream_core.proxy.timing:Timing._fetch",
    "toolstream_core.proxy.delivery_loop:WatchedDelivery._advance",
    "toolstream_core.proxy.saved_chunks:SavedChunks.extend",
    "toolstream_core.proxy.action_queue:ActionQueue.read",
]
ON_THE_WAY = [
    "toolstream_core.proxy.delivery_loop:WatchedDelivery._advance",
    "toolstream_core.delivery.schedule:Schedule.begin",
    "toolstream_core.delivery.schedule:Schedule.feed",
    "toolstream_core.proxy.timing:Timing._close",
]


@pytest.fixture(scope="module")
def destreaming(proxies: Proxies) -> Iterator[Mitmdump]:
    """A proxy that asks for complete responses, in which the functions fail that a request names."""
    with proxies.make({"toolstream_shape": "destream"}, scripts=SCRIPTS) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def dripping(proxies: Proxies) -> Iterator[Mitmdump]:
    """A proxy that delays every event."""
    with proxies.make({"toolstream_fault": "drip:ms=1"}, scripts=SCRIPTS) as proxy:
        yield proxy


def got(
    proxy: Mitmdump, upstream: Upstream, version: str, sample: Sample, answer: Planned, place: str = ""
) -> bytes | None:
    """What the client gets; `None` where its connection breaks."""
    plan = upstream.plan(answer)
    headers = plan.headers | ({"x-sabotage": place} if place else {})
    with client(version, way(proxy, upstream)) as connection:
        try:
            return connection.request(sample.path, sample.body, headers).rest()
        except (BrokenOffError, ConnectionError):
            return None


@VERSIONS
def test_a_response_with_an_odd_status_becomes_a_stream(destreaming: Mitmdump, secure: Upstream, version: str) -> None:
    """A value of another type where the API has a string."""
    sample = MAKERS["openai-responses"]("call_1", "Bern")
    odd = json.dumps({**json.loads(sample.whole_body), "status": []}).encode()
    body = got(destreaming, secure, version, sample, Answer((Send(odd),), content_type=JSON))
    assert body is not None
    record = read_body([body], Exchange(path=sample.path, content_type=sample.content_type))
    assert record is not None
    assert [call.name for call in record.calls] == ["get_weather"]


@VERSIONS
@pytest.mark.parametrize("dialect", MAKERS)
def test_a_response_that_cannot_be_streamed_goes_on_unchanged(
    destreaming: Mitmdump, secure: Upstream, version: str, dialect: str
) -> None:
    """As upstream sent it."""
    sample = MAKERS[dialect]("call_1", "Bern")
    place = "toolstream_core.protocols.protocol:WireProtocol.streamed"
    mark = len(destreaming.output)
    answer = Answer((Send(sample.whole_body),), content_type=JSON)
    assert got(destreaming, secure, version, sample, answer, place) == sample.whole_body
    destreaming.wait_for("toolstream stopped reading", after=mark)


@VERSIONS
@pytest.mark.parametrize("place", MADE_HERE)
def test_a_response_that_is_made_here_breaks_off(
    destreaming: Mitmdump, secure: Upstream, version: str, place: str
) -> None:
    """No part of it is taken for all of it."""
    sample = openai_chat("call_1", "Bern")
    mark = len(destreaming.output)
    answer = Answer((Send(sample.whole_body),), content_type=JSON)
    assert got(destreaming, secure, version, sample, answer, place) is None
    destreaming.wait_for("toolstream stopped reading", after=mark)
    assert not [line for line in destreaming.output[mark:] if "crashed" in line or "Traceback" in line]


@VERSIONS
@pytest.mark.parametrize("place", ON_THE_WAY)
def test_a_response_that_upstream_streams_loses_nothing(
    dripping: Mitmdump, secure: Upstream, version: str, place: str
) -> None:
    """Every byte, in order, and the end."""
    sample = openai_chat("call_1", "Bern")
    mark = len(dripping.output)
    assert got(dripping, secure, version, sample, streamed(sample), place) == b"".join(sample.pieces)
    assert not [line for line in dripping.output[mark:] if "crashed" in line]
