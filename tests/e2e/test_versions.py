"""The supported versions of mitmproxy: the addon works in the oldest, the pinned and the newest."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.changes import fetch, sample_stream, with_empty_ids
from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.modules import PATH_VARIABLE
from tests.e2e.harness.proxies import HERE, client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.soon import soon
from tests.e2e.harness.versions import VERSIONS, Version
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.tap import Tap
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

HTTP = pytest.mark.parametrize("http", ["h1", "h2"])
STALL = 0.28
"""The minimum delay of a stalled event in seconds."""
FAULTS = ["stall:ms=300,at=event:2,model=stalls", "cut:at=event:3,model=breaks"]


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: version.name)
def version(request: pytest.FixtureRequest) -> Version:
    """A version of mitmproxy; skipped if it is not installed."""
    found: Version = request.param
    if found.unavailable:
        pytest.skip(found.unavailable)
    return found


@pytest.fixture(scope="module")
def tap(version: Version, proxies: Proxies) -> Tap:
    """The reader of its JSON lines."""
    return proxies.tap(f"version-{version.name}")


@pytest.fixture(scope="module")
def proxy(version: Version, proxies: Proxies, tap: Tap) -> Iterator[Mitmdump]:
    """A mitmdump with safe repairs, and with faults for two models."""
    options = {"toolstream_repair": "safe", "toolstream_fault": FAULTS, "toolstream_jsonl": str(tap.path)}
    with proxies.make(options, program=version.program) as started:
        yield started


@pytest.fixture(scope="module")
def observing(version: Version, proxies: Proxies, tap: Tap) -> Iterator[Mitmdump]:
    """A mitmdump that changes nothing."""
    with proxies.make({"toolstream_jsonl": str(tap.path)}, program=version.program) as started:
        yield started


def with_model(sample: Sample, model: str) -> Sample:
    """The sample with another model in its request."""
    return replace(sample, request=sample.request | {"model": model})


def reported_call(tap: Tap, call_id: str) -> tuple[str, str, bool]:
    """The only reported call: its name, its arguments, and whether they are complete."""
    [call] = tap.end_of(call_id)["record"]["calls"]
    return call["name"], call["arguments"], call["complete"]


@HTTP
@pytest.mark.parametrize("coding", ["identity", "br", "zstd"])
def test_a_call_is_read(observing: Mitmdump, tap: Tap, secure: Upstream, coding: str, http: str) -> None:
    """A call is read over TLS, in both HTTP versions, and in the codings of mitmproxy's dependencies."""
    sample = openai_chat(f"read_{coding}_{http}", "Bern")
    planned = sample_stream(sample, coding)
    reply, body, _ = fetch(observing, secure, sample, http, planned)
    assert (body, reply.headers.get("content-encoding", "identity")) == (planned.body, coding)
    assert reported_call(tap, sample.call_id) == ("get_weather", '{"city": "Bern"}', True)


@HTTP
@pytest.mark.parametrize("coding", ["identity", "zstd"])
def test_a_call_is_repaired(proxy: Mitmdump, tap: Tap, secure: Upstream, coding: str, http: str) -> None:
    """The client receives the repaired stream, decoded."""
    healthy = openai_chat(f"repaired_{coding}_{http}", "Bern")
    broken = with_empty_ids(healthy)
    _, body, _ = fetch(proxy, secure, broken, http, sample_stream(broken, coding))
    received = [json.loads(event.removeprefix(b"data: ")) for event in body.split(b"\n\n") if b"data: {" in event]
    assert received == [json.loads(chunk.removeprefix(b"data: ")) for chunk in healthy.chunks[:-1]]
    assert reported_call(tap, healthy.call_id) == ("get_weather", '{"city": "Bern"}', True)


@HTTP
def test_stall_delays_an_event(proxy: Mitmdump, secure: Upstream, http: str) -> None:
    """`stall`, which uses mitmproxy's internals, delays an event."""
    sample = with_model(openai_chat("stalls", "Bern"), "stalls")

    def arrived() -> list[tuple[float, bytes]]:
        plan = secure.plan(sample_stream(sample))
        with client(http, route(proxy, secure)) as connection:
            start = time.monotonic()
            reply = connection.request(sample.path, sample.body, plan.headers)
            return [(time.monotonic() - start, chunk) for chunk in iter(reply.next_chunk, b"")]

    def is_soon(chunks: list[tuple[float, bytes]]) -> bool:
        early = b"".join(chunk for at, chunk in chunks if at < STALL)
        assert early.count(b"data:") <= 2
        return early.count(b"data:") == 2

    chunks = soon(arrived, is_soon)
    assert b"".join(chunk for _, chunk in chunks) == b"".join(sample.chunks)
    assert chunks[-1][0] >= STALL


@HTTP
def test_cut_disconnects(proxy: Mitmdump, secure: Upstream, http: str) -> None:
    """`cut` truncates the response for the client."""
    sample = with_model(openai_chat("breaks", "Bern"), "breaks")
    plan = secure.plan(sample_stream(sample))
    received = b""
    with client(http, route(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        broken = None
        try:
            while chunk := reply.next_chunk():
                received += chunk
        except BrokenOffError as error:
            broken = error
    assert broken is not None
    assert b"".join(sample.chunks).startswith(received)
    assert received.count(b"data:") <= 3


def test_no_errors_are_logged(proxy: Mitmdump, observing: Mitmdump) -> None:
    """The log has no error and no missing feature of mitmproxy."""
    for one in (proxy, observing):
        assert [line for line in one.output if "Error" in line or "Traceback" in line or "lacks" in line] == []


def loaded(proxies: Proxies, version: Version, upstream: Upstream, output: Path, *scripts: Path) -> set[str]:
    """The modules that a mitmdump has loaded after a response in both HTTP versions."""
    sample = openai_chat("modules", "Bern")
    proxy = proxies.make(
        scripts=[*scripts, HERE / "modules.py"], env={PATH_VARIABLE: str(output)}, program=version.program
    )
    with proxy:
        for http in ("h1", "h2"):
            fetch(proxy, upstream, sample, http, sample_stream(sample, "zstd"))
    return set(output.read_text().splitlines())


def test_the_addon_uses_only_modules_of_mitmproxy(
    version: Version, proxies: Proxies, secure: Upstream, tmp_path: Path
) -> None:
    """The addon imports only standard modules that mitmproxy imports: its standalone binaries have no others."""
    alone = loaded(proxies, version, secure, tmp_path / "alone", HERE / "pass_on.py")
    with_addon = loaded(proxies, version, secure, tmp_path / "addon", addon_script())
    assert "toolstream_core.proxy.addon" in with_addon
    more = {name for name in with_addon - alone if not name.startswith("toolstream")}
    assert {name for name in more if name.partition(".")[0] in sys.stdlib_module_names} == set()
