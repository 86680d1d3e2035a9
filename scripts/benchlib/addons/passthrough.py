"""Contender (a): mitmproxy's own streaming."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mitmproxy import http


def responseheaders(flow: http.HTTPFlow) -> None:
    """Stream every response."""
    assert flow.response is not None
    flow.response.stream = True
