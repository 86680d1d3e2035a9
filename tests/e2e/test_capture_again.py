"""Exact replay: a response that is captured, replayed and captured again has the same chunks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e.harness.captures import captured, metadata, upstream_chunks
from tests.e2e.harness.client import Route
from tests.e2e.harness.proxies import Proxies, client
from toolstream_core.proxy.provider import OPTIONS
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mitmproxy import http

    from tests.e2e.harness.mitmdump import Mitmdump
    from toolstream_core.saved.flow import LlmFlow

pytestmark = pytest.mark.e2e

FLOWS = Path(__file__).resolve().parents[2] / "flows"
LATE = 5000
"""The maximum delay of a chunk on a busy machine in milliseconds."""


class Chain(NamedTuple):
    """A proxy that replays flows, and a proxy in front of it; both capture."""

    near: Mitmdump
    provider_folder: Path
    near_folder: Path


def chained(proxies: Proxies, folder: Path, flows: Path, speed: str) -> Chain:
    """Two proxies in a chain."""
    far, near = folder / "far", folder / "near"
    responses = {"toolstream_provider": str(flows), "toolstream_speed": speed, **OPTIONS}
    options = {"toolstream_log": "off"}
    provider = proxies.get("reverse:https://llm.invalid", toolstream_capture=str(far), **responses, **options)
    upstream = f"reverse:https://127.0.0.1:{provider.port}"
    return Chain(proxies.get(upstream, toolstream_capture=str(near), ssl_insecure="true", **options), far, near)


def fetch(proxy: Mitmdump, version: str, fixture: LlmFlow) -> bytes:
    """The response that a client receives for the request of a fixture."""
    route = Route(443, proxy.port, proxy.ca, tls=True, known=False)
    with client(version, route) as peer:
        return peer.request(fixture.path, fixture.request_body, {"content-type": "application/json"}).rest()


def captures_of_concurrent_requests(
    chain: Chain, versions: Sequence[str], fixtures: Sequence[LlmFlow]
) -> dict[bytes, list[http.HTTPFlow]]:
    """Send all requests concurrently, with alternating HTTP versions. Returns the captures by request body."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda version, fixture: fetch(chain.near, version, fixture), cycle(versions), fixtures))
    found: dict[bytes, list[http.HTTPFlow]] = {}
    for folder in (chain.provider_folder, chain.near_folder):
        for flow in captured(folder, len(fixtures)):
            found.setdefault(flow.request.content or b"", []).append(flow)
    return found


def distinct() -> list[LlmFlow]:
    """The flows of `flows/` without repeated requests."""
    return list({fixture.request_body: fixture for fixture in reversed(load(FLOWS))}.values())


def assert_same(fixture: LlmFlow, flow: http.HTTPFlow) -> None:
    """The capture has the chunks, findings and calls of the fixture."""
    assert upstream_chunks(flow) == [chunk.data for chunk in fixture.chunks], fixture.source
    record = metadata(flow)["record"]
    assert [call["arguments"] for call in record["calls"]] == [call.arguments for call in fixture.record.calls]
    assert [finding["code"] for finding in record["findings"]] == [finding.code for finding in fixture.record.findings]


def assert_in_time(fixture: LlmFlow, flow: http.HTTPFlow) -> None:
    """Each chunk was captured at its recorded time, in order."""
    times = [when for when, _ in metadata(flow)["chunks"]]
    due = [chunk.after - fixture.chunks[0].after for chunk in fixture.chunks]
    assert all(before <= after for before, after in pairwise(times))
    assert all(-LATE < when - wanted < LATE for when, wanted in zip(times, due, strict=True)), (times, due)


def test_a_replayed_capture_equals_the_original(proxies: Proxies, tmp_path: Path) -> None:
    """A replay in recorded time, and a replay of its captures without delay, send the original chunks."""
    fixtures = distinct()
    first = chained(proxies, tmp_path / "first", FLOWS, "1")
    found = captures_of_concurrent_requests(first, ("h1", "h2"), fixtures)
    for fixture in fixtures:
        for flow in found[fixture.request_body]:
            assert_same(fixture, flow)
            assert_in_time(fixture, flow)
    taken = sum(metadata(flow)["chunks"][-1][0] for flows in found.values() for flow in flows)
    assert taken > sum(fixture.chunks[-1].after for fixture in fixtures)  # of two captures each
    second = chained(proxies, tmp_path / "second", first.near_folder, "0")
    found = captures_of_concurrent_requests(second, ("h2", "h1"), fixtures)
    for fixture in fixtures:
        for flow in found[fixture.request_body]:
            assert_same(fixture, flow)
