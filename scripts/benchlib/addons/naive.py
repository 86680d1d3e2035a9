"""Contender (b): a naive addon that splits at blank lines and calls `json.loads` on each event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mitmproxy import http


class Splitter:
    """Keeps the bytes of an incomplete event."""

    def __init__(self) -> None:
        """Start between two events."""
        self.rest = b""

    def __call__(self, chunk: bytes) -> bytes | list[bytes]:
        """Parse the events that `chunk` completes, and forward it."""
        *blocks, self.rest = (self.rest + chunk).split(b"\n\n")
        for block in blocks:
            data = block.removeprefix(b"data: ")
            if data != b"[DONE]":
                json.loads(data)
        return chunk or []


def responseheaders(flow: http.HTTPFlow) -> None:
    """Read every response."""
    assert flow.response is not None
    flow.response.stream = Splitter()
