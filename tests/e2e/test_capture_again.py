"""The invariant of exact replay: captured, replayed and captured again, an answer has the same chunks."""

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
"""Milliseconds by which a chunk may be late on a busy machine."""


class Chain(NamedTuple):
    """A proxy that answers, and one before it that takes it for the provider; both capture."""

    near: Mitmdump
    provider_folder: Path
    near_folder: Path


def chained(proxies: Proxies, folder: Path, flows: Path, speed: str) -> Chain:
    """Two proxies one behind the other."""
    far, near = folder / "far", folder / "near"
    responses = {"toolstream_provider": str(flows), "toolstream_speed": speed, **OPTIONS}
    kept = {"toolstream_log": "off"}
    provider = proxies.get("reverse:https://llm.invalid", toolstream_capture=str(far), **responses, **kept)
    upstream = f"reverse:https://127.0.0.1:{provider.port}"
    return Chain(proxies.get(upstream, toolstream_capture=str(near), ssl_insecure="true", **kept), far, near)


def ask(proxy: Mitmdump, version: str, fixture: LlmFlow) -> bytes:
    """What a client gets for the request of a fixture."""
    route = Route(443, proxy.port, proxy.ca, tls=True, known=False)
    with client(version, route) as peer:
        return peer.request(fixture.path, fixture.request_body, {"content-type": "application/json"}).rest()


def asked_at_once(
    chain: Chain, versions: Sequence[str], fixtures: Sequence[LlmFlow]
) -> dict[bytes, list[http.HTTPFlow]]:
    """What both proxies captured of each fixture's request, over the versions of HTTP in turns."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda version, fixture: ask(chain.near, version, fixture), cycle(versions), fixtures))
    found: dict[bytes, list[http.HTTPFlow]] = {}
    for folder in (chain.provider_folder, chain.near_folder):
        for flow in captured(folder, len(fixtures)):
            found.setdefault(flow.request.content or b"", []).append(flow)
    return found


def distinct() -> list[LlmFlow]:
    """What is in `flows/`, but for what was asked twice."""
    return list({fixture.request_body: fixture for fixture in reversed(load(FLOWS))}.values())


def assert_same(fixture: LlmFlow, flow: http.HTTPFlow) -> None:
    """Bytes, cuts, findings and calls."""
    assert upstream_chunks(flow) == [chunk.data for chunk in fixture.chunks], fixture.source
    said = metadata(flow)["record"]
    assert [call["arguments"] for call in said["calls"]] == [call.arguments for call in fixture.record.calls]
    assert [one["code"] for one in said["findings"]] == [one.code for one in fixture.record.findings]


def assert_in_time(fixture: LlmFlow, flow: http.HTTPFlow) -> None:
    """Each chunk when it is due, and in order."""
    times = [when for when, _ in metadata(flow)["chunks"]]
    due = [chunk.after - fixture.chunks[0].after for chunk in fixture.chunks]
    assert all(before <= after for before, after in pairwise(times))
    assert all(-LATE < when - wanted < LATE for when, wanted in zip(times, due, strict=True)), (times, due)


def test_captured_replayed_and_captured_again(proxies: Proxies, tmp_path: Path) -> None:
    """Where an answer is sent, and where it comes in; from the flows in their time, then from the captures at once."""
    fixtures = distinct()
    first = chained(proxies, tmp_path / "first", FLOWS, "1")
    found = asked_at_once(first, ("h1", "h2"), fixtures)
    for fixture in fixtures:
        for flow in found[fixture.request_body]:
            assert_same(fixture, flow)
            assert_in_time(fixture, flow)
    taken = sum(metadata(flow)["chunks"][-1][0] for flows in found.values() for flow in flows)
    assert taken > sum(fixture.chunks[-1].after for fixture in fixtures)  # of two captures each
    second = chained(proxies, tmp_path / "second", first.near_folder, "0")
    found = asked_at_once(second, ("h2", "h1"), fixtures)
    for fixture in fixtures:
        for flow in found[fixture.request_body]:
            assert_same(fixture, flow)
