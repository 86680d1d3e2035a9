"""Reads the flow files that a capture writes, in the order in which they were written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


def captured(folder: Path, count: int) -> list[http.HTTPFlow]:
    """Wait for `count` captures, and read them. Hidden files do not count."""
    deadline = time.monotonic() + PATIENCE
    while len(paths := sorted(folder.glob("*.flow"), key=lambda path: path.stem[-4:])) < count:
        assert time.monotonic() < deadline, f"{len(paths)} of {count} captures: {[path.name for path in paths]}"
        time.sleep(0.01)
    assert len(paths) == count
    return [read(path) for path in paths]


def read(path: Path) -> http.HTTPFlow:
    """The flow of a capture."""
    with path.open("rb") as file:
        [flow] = FlowReader(file).stream()
    assert isinstance(flow, http.HTTPFlow)
    return flow


def metadata(flow: http.HTTPFlow) -> dict[str, Any]:
    """Toolstream's metadata of a flow."""
    found: dict[str, Any] = flow.metadata["toolstream"]
    return found


def upstream_chunks(flow: http.HTTPFlow) -> list[bytes]:
    """The response body in the chunks that upstream sent."""
    assert flow.response is not None
    body, at, out = flow.response.raw_content or b"", 0, []
    for _, size in metadata(flow)["chunks"]:
        out.append(body[at : at + size])
        at += size
    assert at == len(body)
    return out
