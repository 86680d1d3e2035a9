"""Every mitmproxy that is supported: the oldest, the pinned one and the newest load the addon, and all of it works."""

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
"""Seconds that an event stalls at least."""
FAULTS = ["stall:ms=300,at=event:2,model=stalls", "cut:at=event:3,model=breaks"]


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: version.name)
def version(request: pytest.FixtureRequest) -> Version:
    """One of them, where it can be had."""
    found: Version = request.param
    if found.unavailable:
        pytest.skip(found.unavailable)
    return found


@pytest.fixture(scope="module")
def tap(version: Version, proxies: Proxies) -> Tap:
    """What reads its JSON lines."""
    return proxies.tap(f"version-{version.name}")


@pytest.fixture(scope="module")
def proxy(version: Version, proxies: Proxies, tap: Tap) -> Iterator[Mitmdump]:
    """One that repairs, and breaks what two models say."""
    options = {"toolstream_repair": "safe", "toolstream_fault": FAULTS, "toolstream_jsonl": str(tap.path)}
    with proxies.make(options, program=version.program) as started:
        yield started


@pytest.fixture(scope="module")
def looking(version: Version, proxies: Proxies, tap: Tap) -> Iterator[Mitmdump]:
    """One that changes nothing."""
    with proxies.make({"toolstream_jsonl": str(tap.path)}, program=version.program) as started:
        yield started


def asking(sample: Sample, model: str) -> Sample:
    """The sample, asked for with another model."""
    return replace(sample, request=sample.request | {"model": model})


def told(tap: Tap, call_id: str) -> tuple[str, str, bool]:
    """What was told of the only call: name, arguments, and whether they are whole."""
    [call] = tap.end_of(call_id)["record"]["calls"]
    return call["name"], call["arguments"], call["complete"]


@HTTP
@pytest.mark.parametrize("coding", ["identity", "br", "zstd"])
def test_a_call_is_read(looking: Mitmdump, tap: Tap, secure: Upstream, coding: str, http: str) -> None:
    """Over TLS, in either HTTP version, in the codings for which mitmproxy brings what reads them."""
    sample = openai_chat(f"read_{coding}_{http}", "Bern")
    planned = sample_stream(sample, coding)
    reply, body, _ = fetch(looking, secure, sample, http, planned)
    assert (body, reply.headers.get("content-encoding", "identity")) == (planned.body, coding)
    assert told(tap, sample.call_id) == ("get_weather", '{"city": "Bern"}', True)


@HTTP
@pytest.mark.parametrize("coding", ["identity", "zstd"])
def test_a_call_is_repaired(proxy: Mitmdump, tap: Tap, secure: Upstream, coding: str, http: str) -> None:
    """What reaches the client is what the provider should have sent, decoded."""
    healthy = openai_chat(f"mended_{coding}_{http}", "Bern")
    broken = with_empty_ids(healthy)
    _, body, _ = fetch(proxy, secure, broken, http, sample_stream(broken, coding))
    said = [json.loads(event.removeprefix(b"data: ")) for event in body.split(b"\n\n") if b"data: {" in event]
    assert said == [json.loads(chunk.removeprefix(b"data: ")) for chunk in healthy.chunks[:-1]]
    assert told(tap, healthy.call_id) == ("get_weather", '{"city": "Bern"}', True)


@HTTP
def test_one_stream_waits(proxy: Mitmdump, secure: Upstream, http: str) -> None:
    """The gate holds on to mitmproxy's inside: a stall stands where it was asked for."""
    sample = asking(openai_chat("stalls", "Bern"), "stalls")

    def arrived() -> list[tuple[float, bytes]]:
        plan = secure.plan(sample_stream(sample))
        with client(http, route(proxy, secure)) as connection:
            begun = time.monotonic()
            reply = connection.request(sample.path, sample.body, plan.headers)
            return [(time.monotonic() - begun, chunk) for chunk in iter(reply.next_chunk, b"")]

    def is_soon(chunks: list[tuple[float, bytes]]) -> bool:
        early = b"".join(chunk for at, chunk in chunks if at < STALL)
        assert early.count(b"data:") <= 2
        return early.count(b"data:") == 2

    chunks = soon(arrived, is_soon)
    assert b"".join(chunk for _, chunk in chunks) == b"".join(sample.chunks)
    assert chunks[-1][0] >= STALL


@HTTP
def test_one_stream_breaks(proxy: Mitmdump, secure: Upstream, http: str) -> None:
    """A cut reaches the client as a connection that broke."""
    sample = asking(openai_chat("breaks", "Bern"), "breaks")
    plan = secure.plan(sample_stream(sample))
    got = b""
    with client(http, route(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        broken = None
        try:
            while chunk := reply.next_chunk():
                got += chunk
        except BrokenOffError as error:
            broken = error
    assert broken is not None
    assert b"".join(sample.chunks).startswith(got)
    assert got.count(b"data:") <= 3


def test_nothing_goes_wrong(proxy: Mitmdump, looking: Mitmdump) -> None:
    """Nothing that is there is missed."""
    for one in (proxy, looking):
        assert [line for line in one.output if "Error" in line or "Traceback" in line or "lacks" in line] == []


def loaded(proxies: Proxies, version: Version, upstream: Upstream, told: Path, *scripts: Path) -> set[str]:
    """The modules of a mitmdump that has passed an answer on in both HTTP versions."""
    sample = openai_chat("modules", "Bern")
    proxy = proxies.make(
        scripts=[*scripts, HERE / "modules.py"], env={PATH_VARIABLE: str(told)}, program=version.program
    )
    with proxy:
        for http in ("h1", "h2"):
            fetch(proxy, upstream, sample, http, sample_stream(sample, "zstd"))
    return set(told.read_text().splitlines())


def test_the_standard_library_is_the_part_that_mitmproxy_uses(
    version: Version, proxies: Proxies, secure: Upstream, tmp_path: Path
) -> None:
    """A standalone mitmproxy carries only those modules that it imports itself."""
    alone = loaded(proxies, version, secure, tmp_path / "alone", HERE / "pass_on.py")
    ours = loaded(proxies, version, secure, tmp_path / "ours", addon_script())
    assert "toolstream_core.proxy.addon" in ours
    more = {name for name in ours - alone if not name.startswith("toolstream")}
    assert {name for name in more if name.partition(".")[0] in sys.stdlib_module_names} == set()
