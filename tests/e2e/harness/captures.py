"""Captures as tests read them: in the order in which they were written. Knows flow files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mitmproxy import http
from mitmproxy.io import FlowReader

from tests.e2e.harness.script import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


def captured(folder: Path, count: int) -> list[http.HTTPFlow]:
    """So many captures, once they are there; a hidden file is none."""
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


def noted(flow: http.HTTPFlow) -> dict[str, Any]:
    """What toolstream says of it."""
    said: dict[str, Any] = flow.metadata["toolstream"]
    return said


def pieces(flow: http.HTTPFlow) -> list[bytes]:
    """What upstream said, as it was cut."""
    assert flow.response is not None
    body, at, out = flow.response.raw_content or b"", 0, []
    for _, size in noted(flow)["chunks"]:
        out.append(body[at : at + size])
        at += size
    assert at == len(body)
    return out
