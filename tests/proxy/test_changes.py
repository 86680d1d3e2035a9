"""Headers of a rewritten response."""

from __future__ import annotations

import pytest
from mitmproxy.test import tflow, tutils

from toolstream_core.proxy.flow_facts import relabel


@pytest.mark.parametrize(
    ("request_version", "response_version", "length", "chunked"),
    [
        ("HTTP/1.1", "HTTP/1.1", True, True),
        ("HTTP/1.1", "HTTP/2.0", True, True),
        ("HTTP/1.1", "HTTP/1.1", False, True),
        ("HTTP/1.1", "HTTP/1.0", True, True),
        ("HTTP/2.0", "HTTP/1.1", True, False),
    ],
)
def test_a_rewritten_response_is_chunked(
    request_version: str, response_version: str, *, length: bool, chunked: bool
) -> None:
    """A rewritten response to an HTTP/1.1 request ends by its chunked coding, not by the end of the connection."""
    flow = tflow.tflow(resp=tutils.tresp(headers=((b"content-length", b"7"),) if length else ()))
    assert flow.response
    flow.request.http_version, flow.response.http_version = request_version, response_version
    relabel(flow)
    assert flow.response.headers.get("transfer-encoding") == ("chunked" if chunked else None)
    assert "content-length" not in flow.response.headers


@pytest.mark.parametrize(
    ("received", "forwarded"), [("close", None), ("Close, X-Own", "X-Own"), ("keep-alive", "keep-alive"), (None, None)]
)
def test_a_chunked_response_does_not_announce_the_end_of_the_connection(
    received: str | None, forwarded: str | None
) -> None:
    """The client gets no `connection: close`, while the provider's header still counts for its own connection."""
    headers = ((b"connection", received.encode()),) if received is not None else ()
    flow = tflow.tflow(resp=tutils.tresp(http_version=b"HTTP/1.0", headers=headers))
    before = flow.response
    assert before is not None
    before.stream = True
    relabel(flow)
    assert flow.response is not None
    assert flow.response.headers.get("connection") == forwarded
    assert (flow.response.http_version, flow.response.stream) == ("HTTP/1.1", True)
    assert (before.http_version, before.headers.get("connection")) == ("HTTP/1.0", received)
    assert "transfer-encoding" not in before.headers
