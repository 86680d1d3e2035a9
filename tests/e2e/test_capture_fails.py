"""After an internal error in a hook or in the capture thread, the client gets the complete response."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e.harness.captures import read
from tests.e2e.harness.changes import sample_stream
from tests.e2e.harness.proxies import HERE, Proxies, client, route
from tests.e2e.harness.samples import MAKERS
from tests.e2e.harness.script import PATIENCE
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

MODES: dict[str, dict[str, str]] = {
    "unchanged": {},
    "repaired": {"toolstream_repair": "safe"},
    "delayed": {"toolstream_fault": "drip:ms=1"},
}
PROTOCOLS = ("openai-chat", "anthropic", "ollama")
"""Each place fails once in each mode and in each protocol."""
PLACES = [
    "live_responses:LiveResponses.on_request",
    "live_responses:LiveResponses.request_of",
    "live_responses:LiveResponses.begin",
    "live_responses:LiveResponses.close",
    "deliveries:Deliveries.refuses",
    "deliveries:Deliveries.begin",
    "deliveries:Deliveries.provides",
    "verdicts:Verdicts.on_request",
    "verdicts:Verdicts.responded",
    "report:Reporters.sinks",
    "live_response:LiveResponse.keep_sent",
    "capture.capture:Capture.begin",
    "capture.recording:Recording.end",
    "capture.recording:Recording._submit",
    "capture.recording:_Chunks.add",
    "capture.recording:_Chunks.flush",
    "capture.worker:Worker.submit",
    "capture.draft:Draft.add_upstream",
    "capture.draft:Draft.finish",
    "capture.draft:Draft.discard",
    "sent",
]
REPORTED = r"toolstream.*(stopped reading|is not captured|no verdict|cannot close).*RuntimeError at \w+\.py:\d+"


class Capturing(NamedTuple):
    """A proxy that captures, and in which a request can make a function fail."""

    proxy: Mitmdump
    folder: Path
    mode: int
    """The index in `MODES`."""


@pytest.fixture(scope="module", params=MODES)
def capturing(
    request: pytest.FixtureRequest, proxies: Proxies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Capturing]:
    """A capturing proxy of each mode."""
    folder = tmp_path_factory.mktemp("captures")
    options = MODES[request.param] | {"toolstream_capture": str(folder)}
    with proxies.make(options, scripts=(addon_script(), HERE / "saboteur.py")) as proxy:
        yield Capturing(proxy, folder, list(MODES).index(request.param))


def received(proxy: Mitmdump, upstream: Upstream, sample: Sample, place: str = "", number: str = "") -> bytes:
    """The response that the client receives while the function at `place` fails."""
    plan = upstream.plan(sample_stream(sample))
    headers = plan.headers | {"x-number": number} | ({"x-sabotage": place} if place else {})
    with client("h1", route(proxy, upstream)) as connection:
        return connection.request(sample.path, sample.body, headers).rest()


def captured_body(folder: Path, number: str) -> bytes | None:
    """The body of the response to the request of this number, once it is captured."""
    deadline = time.monotonic() + PATIENCE
    seen: set[Path] = set()
    while time.monotonic() < deadline:
        new = set(folder.glob("*.flow")) - seen
        for flow in map(read, new):
            if flow.request.headers["x-number"] == number:
                return None if flow.response is None else flow.response.content
        seen |= new
        time.sleep(0.01)
    pytest.fail("not captured")


@pytest.mark.parametrize("place", PLACES)
def test_an_error_loses_no_response_and_the_next_one_is_captured(
    capturing: Capturing, secure: Upstream, place: str
) -> None:
    """After an internal error the client gets the complete response, the log has no traceback, and captures go on."""
    proxy, folder, mode = capturing
    protocol = PROTOCOLS[(PLACES.index(place) + mode) % len(PROTOCOLS)]
    sample, mark = MAKERS[protocol]("call_1", "Bern"), len(proxy.output)
    where = "toolstream_core." + ("delivery.sent_bytes:SentBytes.take" if place == "sent" else f"proxy.{place}")
    assert received(proxy, secure, sample, where) == b"".join(sample.chunks)
    proxy.wait_for(REPORTED, after=mark)
    assert received(proxy, secure, sample, number=place) == b"".join(sample.chunks)
    assert captured_body(folder, place) == b"".join(sample.chunks)
    lines = proxy.output[mark:]
    assert not [line for line in lines if "crashed" in line or "Traceback" in line or "injected by" in line]
