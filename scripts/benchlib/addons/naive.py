"""Contender (b): what one writes first: split at blank lines, `json.loads` on each event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mitmproxy import http


class Splitter:
    """Holds what has come of an event that is not over."""

    def __init__(self) -> None:
        """Start between two events."""
        self.rest = b""

    def __call__(self, chunk: bytes) -> bytes | list[bytes]:
        """Read the events that `chunk` ends, and let it through."""
        *blocks, self.rest = (self.rest + chunk).split(b"\n\n")
        for block in blocks:
            data = block.removeprefix(b"data: ")
            if data != b"[DONE]":
                json.loads(data)
        return chunk or []


def responseheaders(flow: http.HTTPFlow) -> None:
    """Read every answer."""
    assert flow.response is not None
    flow.response.stream = Splitter()
